//! Sorting: `std`'s sequential sorts on pieces, combined in parallel.
//!
//! | sort | pieces are made by | depth |
//! |---|---|---|
//! | unstable | partitioning around a sampled median, in place | O(n) expected |
//! | stable | halving; they are merged through a buffer of n items | O((n/P) log n) |
//!
//! Both do O(n log n) work. The depth of the unstable one is that of the first partition; of the
//! depth of the stable one, the merges take O(log^2 n).
//!
//! There are [`PIECES`] or [`UNEQUAL_PIECES`] pieces for each worker. More pieces would balance
//! better but cost more merging; `std`'s sorts are faster than anything combined from smaller
//! pieces. The merge splits the longer run in the middle and the other run where that item belongs,
//! so the forks of a merge of n items are O(log^2 n) deep (Traoré, Roch, Maillard, Gautier,
//! Bernard, section 4). It forks only if another worker is out of work.
//!
//! In a pool of one worker both are `std`'s sort. The unstable sort does not partition nearly
//! sorted items: it sorts the few that are out of order, and merges them with the others.

use std::cmp::Ordering;
use std::mem::{self, MaybeUninit};
use std::ptr;
use std::slice;

use crate::par::convert::AsPar;
use crate::scheduler::worker::Worker;

/// Number of pieces for each worker in a stable sort, whose pieces have one size, and in an
/// unstable one, whose pieces depend on the pivots.
const PIECES: usize = 4;
const UNEQUAL_PIECES: usize = 16;

/// Smallest number of items that are worth a piece to sort: some hundred microseconds.
const SMALLEST_SORT: usize = 8_000;

/// Smallest number of items that are worth a merge of their own: some ten microseconds.
const SMALLEST_MERGE: usize = 8_000;

/// Runs `sort` on a worker with the number of items of a piece. Returns `None` without running it
/// if there are too few items, or the pool has one worker.
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

/// Sorts in place, and may reorder equal items. Returns `false` if it leaves that to `std`'s sort.
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

/// A slice counts as nearly sorted if, of [`SAMPLED_PAIRS`] pairs of neighbours, at most one in
/// `DISORDER` is out of order.
const SAMPLED_PAIRS: usize = 1024;
const DISORDER: usize = 16;

/// Moves the items that are out of order to the end, if they are few. Returns the number of items
/// at the beginning, which are in order.
///
/// If an item is less than the one before it, both are moved, since either of them may be the
/// misplaced one.
fn nearly_sorted<T, F>(items: &mut [T], compare: &F) -> Option<usize>
where
    F: Fn(&T, &T) -> Ordering,
{
    let falls = |pair: &[T]| compare(&pair[1], &pair[0]) == Ordering::Less;
    let looks = items
        .windows(2)
        .step_by(items.len().div_ceil(SAMPLED_PAIRS));
    if looks.filter(|pair| falls(pair)).count() > SAMPLED_PAIRS / DISORDER {
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

/// Sorts by partitioning down to pieces.
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
    worker.expose_next_fork();
    worker.join(
        |worker| quicksort(worker, left, piece, compare),
        |worker| quicksort(worker, &mut right[1..], piece, compare),
    );
}

/// Number of items in the sample whose median is the pivot.
const SAMPLE: usize = 63;

/// Moves the items that are less than a pivot to the front, and the pivot behind them. Returns the
/// position of the pivot.
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
    // No branch depends on the items: every item is swapped to the end of the lesser ones, which
    // then grow by one if the item is less.
    let mut less = 0;
    for place in 0..rest.len() {
        let is_less = compare(&rest[place], pivot) == Ordering::Less;
        rest.swap(less, place);
        less += usize::from(is_less);
    }
    items.swap(0, less);
    less
}

/// Sorts, and keeps the order of equal items. Returns `false` if it leaves that to `std`'s sort.
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

/// Destination of the sorted items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Goal {
    /// The slice itself.
    Items,
    /// The buffer, as bitwise copies. The items stay in the slice, in some order, and remain the
    /// owners of their contents.
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
/// Whenever this returns or panics, `items` has all items, each once. The buffer has bitwise copies
/// that are never dropped; it has the sorted sequence if it is the goal.
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
        worker.expose_next_fork();
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
            // SAFETY: from here on the items count as uninitialized memory. They are valid again
            // when the merge is done, or, if a comparison panics, when `back` has copied them.
            let items = unsafe { slice::from_raw_parts_mut(to.cast::<MaybeUninit<T>>(), len) };
            let (left, right) = sorted.split_at(mid);
            merge(worker, left, right, items, compare);
            mem::forget(back);
        }
    }
}

/// Copies a buffer back when it is dropped, so that items that were being overwritten are valid
/// again.
struct CopyBack<T> {
    from: *const T,
    to: *mut T,
    len: usize,
}

impl<T> Drop for CopyBack<T> {
    fn drop(&mut self) {
        // SAFETY: it is made of two disjoint slices of that length, which outlive it. No worker
        // writes to them any more: a panic leaves a join only after both sides are done.
        unsafe { ptr::copy_nonoverlapping(self.from, self.to, self.len) };
    }
}

/// Copies items bitwise.
fn copy<T>(from: &[T], to: &mut [MaybeUninit<T>]) {
    assert_eq!(from.len(), to.len());
    // SAFETY: both have the same length, and `to` is borrowed exclusively. `MaybeUninit` never
    // drops the copies.
    unsafe { ptr::copy_nonoverlapping(from.as_ptr(), to.as_mut_ptr().cast(), from.len()) };
}

/// Merges two sorted sequences by copying. Of equal items, those of `left` come first.
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
        worker.expose_next_fork();
        worker.join(first, second);
    } else {
        first(worker);
        second(worker);
    }
}

/// A shared slice that is sent to another worker, although its items may not be `Sync`.
struct Lent<'l, T>(&'l [T]);

// SAFETY: every item of a merge is accessed by one worker at a time: sub-merges are disjoint, and
// the pivot, which is in one of them, is accessed only before they begin.
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
        // SAFETY: `from` is a valid item, copied bitwise into a slot that never drops it.
        slot.write(unsafe { ptr::read(from) });
        r += usize::from(is_right);
        l += usize::from(!is_right);
    }
    let (to_left, to_right) = to[l + r..].split_at_mut(left.len() - l);
    copy(&left[l..], to_left);
    copy(&right[r..], to_right);
}

/// Returns references to the items of two sorted sequences, merged.
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
    // SAFETY: the merge has written all `len` references, which need not be dropped.
    unsafe { merged.set_len(len) };
    merged
}
