//! Sorting: `std`'s sequential sorts on pieces, put together in parallel.
//!
//! | sort | pieces are made by | depth |
//! |---|---|---|
//! | unstable | partitioning around a sampled median, in place | O(n) expected |
//! | stable | halving; they are merged through a buffer of n items | O((n/P) log n) |
//!
//! Both do O(n log n) work. The depth of the unstable one is that of the first partition, and the
//! merges of the stable one have O(log^2 n) of its depth.
//!
//! There are [`PIECES`] or [`UNEQUAL_PIECES`] pieces for each worker. More would balance better and
//! cost more merging; `std`'s sorts are faster than anything that is put together from smaller
//! pieces. The merge splits the longer run in the middle and the other where that item belongs, so
//! the forks of a merge of n items are O(log^2 n) deep (Traoré, Roch, Maillard, Gautier, Bernard,
//! section 4). It forks only if another worker is out of work.
//!
//! In a pool of one worker both are `std`'s sort. Nearly sorted items are not partitioned: the few
//! that are out of order are sorted by themselves, and merged with the others.

use std::cmp::Ordering;
use std::mem::{self, MaybeUninit};
use std::ptr;
use std::slice;

use crate::par::convert::AsPar;
use crate::scheduler::worker::Worker;

/// How many pieces there are for each worker in a stable sort, which are of one size, and in an
/// unstable one, whose sizes are a matter of luck.
const PIECES: usize = 4;
const UNEQUAL_PIECES: usize = 16;

/// The fewest items that are worth sorting apart: some hundred microseconds.
const SMALLEST_SORT: usize = 8_000;

/// The fewest items that are worth merging apart: some ten microseconds.
const SMALLEST_MERGE: usize = 8_000;

/// Runs `sort` on a worker with the number of items that a piece has, or returns `None` if there is
/// too little to sort, or the pool has one worker.
fn on_worker<R: Send>(
    len: usize,
    pieces: usize,
    sort: impl FnOnce(&Worker, usize) -> R + Send,
) -> Option<R> {
    if len < 2 * SMALLEST_SORT {
        return None;
    }
    let with_pieces = |worker: &Worker| {
        let workers = worker.num_workers();
        let piece = (len / (pieces * workers)).max(SMALLEST_SORT);
        (workers > 1).then(|| sort(worker, piece))
    };
    match Worker::current() {
        Some(worker) => with_pieces(worker),
        None => crate::pool::global().run(with_pieces),
    }
}

/// Sorts in place, and may reorder equal items. Returns `false` if `std`'s sort is to do it.
pub(super) fn unstable<T, F>(items: &mut [T], compare: &F) -> bool
where
    T: Send,
    F: Fn(&T, &T) -> Ordering + Sync,
{
    let sorted = on_worker(items.len(), UNEQUAL_PIECES, |worker, piece| {
        match nearly_sorted(items, compare) {
            None => quicksort(worker, items, piece, compare),
            Some(kept) => {
                quicksort(worker, &mut items[kept..], piece, compare);
                // Two sorted runs, which `std`'s stable sort merges.
                items.sort_by(compare);
            }
        }
    });
    sorted.is_some()
}

/// How many neighbours are looked at, and one in how many may be out of order, for a slice to be
/// taken for nearly sorted.
const LOOKS: usize = 1024;
const DISORDER: usize = 16;

/// Moves the items that are out of order to the end, if they are few. Returns how many are in
/// order, at the beginning.
///
/// An item that is less than the one before it is moved, and so is that one: either of the two can
/// be the one that does not belong there.
fn nearly_sorted<T, F>(items: &mut [T], compare: &F) -> Option<usize>
where
    F: Fn(&T, &T) -> Ordering,
{
    let falls = |pair: &[T]| compare(&pair[1], &pair[0]) == Ordering::Less;
    let looks = items.windows(2).step_by(items.len().div_ceil(LOOKS));
    if looks.filter(|pair| falls(pair)).count() > LOOKS / DISORDER {
        return None;
    }
    let mut kept = 1;
    for place in 1..items.len() {
        if kept > 0 && compare(&items[place], &items[kept - 1]) == Ordering::Less {
            kept -= 1;
            if place - kept > items.len() / DISORDER + place / DISORDER {
                return None;
            }
        } else {
            items.swap(kept, place);
            kept += 1;
        }
    }
    Some(kept)
}

/// Sorts by partitioning until there are pieces.
fn quicksort<T, F>(worker: &Worker, items: &mut [T], piece: usize, compare: &F)
where
    T: Send,
    F: Fn(&T, &T) -> Ordering + Sync,
{
    if items.len() <= piece {
        return items.sort_unstable_by(compare);
    }
    let mid = partition(items, compare);
    let least = items.len() / 16;
    if mid < least || items.len() - mid < least {
        // Few different items, or an unlucky sample: `std`'s sort handles both well.
        return items.sort_unstable_by(compare);
    }
    let (left, right) = items.split_at_mut(mid);
    // The pivot is the first item on the right, and stays there.
    worker.expect_thief();
    worker.join(
        |worker| quicksort(worker, left, piece, compare),
        |worker| quicksort(worker, &mut right[1..], piece, compare),
    );
}

/// How many items the pivot is the median of.
const SAMPLE: usize = 63;

/// Moves the items that are less than a pivot to the front, and the pivot behind them. Returns
/// where the pivot is.
fn partition<T, F>(items: &mut [T], compare: &F) -> usize
where
    F: Fn(&T, &T) -> Ordering,
{
    // The sample goes to the front, in order; its middle is the pivot.
    let step = items.len() / SAMPLE;
    for number in 0..SAMPLE {
        items.swap(number, number * step);
    }
    items[..SAMPLE].sort_unstable_by(compare);
    items.swap(0, SAMPLE / 2);
    let Some((pivot, rest)) = items.split_first_mut() else {
        return 0;
    };
    // Without a branch that depends on the items: one that is not less is swapped with itself or
    // with the first one that is not less.
    let mut less = 0;
    for place in 0..rest.len() {
        let is_less = compare(&rest[place], pivot) == Ordering::Less;
        rest.swap(less, place);
        less += usize::from(is_less);
    }
    items.swap(0, less);
    less
}

/// Sorts, and keeps equal items in order. Returns `false` if `std`'s sort is to do it.
pub(super) fn stable<T, F>(items: &mut [T], compare: &F) -> bool
where
    T: Send,
    F: Fn(&T, &T) -> Ordering + Sync,
{
    let sorted = on_worker(items.len(), PIECES, |worker, piece| {
        let mut buffer = Vec::with_capacity(items.len());
        let buffer = &mut buffer.spare_capacity_mut()[..items.len()];
        merge_sort(worker, items, buffer, Goal::Items, piece, compare);
    });
    sorted.is_some()
}

/// Where the sorted items shall be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Goal {
    /// Where they were.
    Items,
    /// In the buffer, as copies. The items stay where they are, in some order, and own what they
    /// own.
    Buffer,
}

impl Goal {
    fn other(self) -> Goal {
        match self {
            Goal::Items => Goal::Buffer,
            Goal::Buffer => Goal::Items,
        }
    }
}

/// Sorts by halving and merging.
///
/// Whenever it returns or panics, `items` has all items, each once. The buffer has bitwise
/// copies that nothing ever drops; it is the sorted sequence if that is the goal.
fn merge_sort<T, F>(
    worker: &Worker,
    items: &mut [T],
    buffer: &mut [MaybeUninit<T>],
    goal: Goal,
    piece: usize,
    compare: &F,
) where
    T: Send,
    F: Fn(&T, &T) -> Ordering + Sync,
{
    let len = items.len();
    if len <= piece {
        items.sort_by(compare);
        if goal == Goal::Buffer {
            copy(items, buffer);
        }
        return;
    }
    let mid = len / 2;
    {
        let (left, right) = items.split_at_mut(mid);
        let (left_buffer, right_buffer) = buffer.split_at_mut(mid);
        worker.expect_thief();
        worker.join(
            |worker| merge_sort(worker, left, left_buffer, goal.other(), piece, compare),
            |worker| merge_sort(worker, right, right_buffer, goal.other(), piece, compare),
        );
    }
    match goal {
        Goal::Buffer => {
            let (left, right) = items.split_at(mid);
            merge(worker, left, right, buffer, compare);
        }
        Goal::Items => {
            let (from, to) = (buffer.as_ptr().cast::<T>(), items.as_mut_ptr());
            let back = CopyBack { from, to, len };
            // SAFETY: both halves of the buffer were the goal, so copies of all items are in it.
            let sorted = unsafe { slice::from_raw_parts(from, len) };
            // SAFETY: the items count as memory to write to from here on. They are whole again when
            // the merge is done, or, if a comparison panics, when `back` has filled them.
            let items = unsafe { slice::from_raw_parts_mut(to.cast::<MaybeUninit<T>>(), len) };
            let (left, right) = sorted.split_at(mid);
            merge(worker, left, right, items, compare);
            mem::forget(back);
        }
    }
}

/// Copies a buffer back when it is dropped: items that were being overwritten are whole again.
struct CopyBack<T> {
    from: *const T,
    to: *mut T,
    len: usize,
}

impl<T> Drop for CopyBack<T> {
    fn drop(&mut self) {
        // SAFETY: made of two slices of that length, in different memory, which outlive it. No
        // worker writes to them any more: a panic leaves a join only after both sides are done.
        unsafe { ptr::copy_nonoverlapping(self.from, self.to, self.len) };
    }
}

/// Copies items bitwise.
fn copy<T>(from: &[T], to: &mut [MaybeUninit<T>]) {
    assert_eq!(from.len(), to.len());
    // SAFETY: of the same length, and one of them is borrowed exclusively. `MaybeUninit` never
    // drops the copies.
    unsafe { ptr::copy_nonoverlapping(from.as_ptr(), to.as_mut_ptr().cast(), from.len()) };
}

/// Merges two sorted sequences by copying. Equal items of the left one come first.
fn merge<T, F>(worker: &Worker, left: &[T], right: &[T], to: &mut [MaybeUninit<T>], compare: &F)
where
    F: Fn(&T, &T) -> Ordering + Sync,
    T: Send,
{
    assert_eq!(left.len() + right.len(), to.len());
    let ends = left.last().zip(right.first());
    if ends.is_some_and(|(last, first)| compare(first, last) != Ordering::Less) {
        let (to_left, to_right) = to.split_at_mut(left.len());
        copy(left, to_left);
        copy(right, to_right);
        return;
    }
    if to.len() < 2 * SMALLEST_MERGE {
        return merge_here(left, right, to, compare);
    }
    let (left_mid, right_mid) = if left.len() >= right.len() {
        let mid = left.len() / 2;
        let pivot = &left[mid];
        let before = |item: &T| compare(item, pivot) == Ordering::Less;
        (mid, right.partition_point(before))
    } else {
        let mid = right.len() / 2;
        let pivot = &right[mid];
        let before = |item: &T| compare(pivot, item) != Ordering::Less;
        (left.partition_point(before), mid)
    };
    let (left, late_left) = left.split_at(left_mid);
    let (right, late_right) = right.split_at(right_mid);
    let (to, late_to) = to.split_at_mut(left_mid + right_mid);
    let (late_left, late_right) = (Lent(late_left), Lent(late_right));
    let mut first = |worker: &Worker| merge(worker, left, right, to, compare);
    let second = |worker: &Worker| {
        merge(worker, late_left.get(), late_right.get(), late_to, compare);
    };
    if worker.wanted() {
        worker.expect_thief();
        worker.join(first, second);
    } else {
        first(worker);
        second(worker);
    }
}

/// A shared slice that goes to another worker whose items can be sent but perhaps not shared.
struct Lent<'l, T>(&'l [T]);

// SAFETY: every item of a merge is looked at by one worker at a time: sub-merges are disjoint, and
// the pivot, which is in one of them, is looked at only before they begin.
unsafe impl<T: Send> Send for Lent<'_, T> {}

impl<'l, T> Lent<'l, T> {
    fn get(self) -> &'l [T] {
        self.0
    }
}

/// Merges two sorted sequences on this worker.
fn merge_here<T, F>(left: &[T], right: &[T], to: &mut [MaybeUninit<T>], compare: &F)
where
    F: Fn(&T, &T) -> Ordering,
{
    let (mut l, mut r) = (0, 0);
    for slot in &mut *to {
        if l == left.len() || r == right.len() {
            break;
        }
        let is_right = compare(&right[r], &left[l]) == Ordering::Less;
        let from: *const T = if is_right { &right[r] } else { &left[l] };
        // SAFETY: a live item, copied bitwise into a slot that never drops it.
        slot.write(unsafe { ptr::read(from) });
        r += usize::from(is_right);
        l += usize::from(!is_right);
    }
    let (to_left, to_right) = to[l + r..].split_at_mut(left.len() - l);
    copy(&left[l..], to_left);
    copy(&right[r..], to_right);
}

/// References to the items of two sorted sequences, merged.
pub(super) fn merged<'m, T: Ord + Sync>(left: &'m [T], right: &'m [T]) -> Vec<&'m T> {
    let (left, right): (Vec<&T>, Vec<&T>) = (left.par().collect(), right.par().collect());
    let len = left.len() + right.len();
    let mut merged = Vec::with_capacity(len);
    let to = &mut merged.spare_capacity_mut()[..len];
    let compare = |a: &&T, b: &&T| a.cmp(b);
    match Worker::current() {
        Some(worker) => merge(worker, &left, &right, to, &compare),
        None if len < 2 * SMALLEST_MERGE => merge_here(&left, &right, to, &compare),
        None => crate::pool::global().run(|worker| merge(worker, &left, &right, to, &compare)),
    }
    // SAFETY: the merge has written all of them; references need no owner.
    unsafe { merged.set_len(len) };
    merged
}
