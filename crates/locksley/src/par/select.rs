//! Partitioning in place by all workers, and selection on top of it.
//!
//! ```text
//!   chunks:     | f f b b | f b b b | f f f b |     each is partitioned on its own
//!   front ends:                 ^                   there are as many front items as this
//!   swap:           b b     b b   |   f f f         items on the wrong side, pairwise
//! ```
//!
//! The chunks are partitioned by a parallel loop. The swaps are sequential: they move at most half
//! of the items once, in long runs, which costs less than a tenth of the comparisons.

use std::cmp::Ordering;
use std::ops::Range;

use crate::par::convert::ParSlice;
use crate::scheduler::worker::Worker;

/// Smallest number of items in a chunk: some ten microseconds.
const SMALLEST_CHUNK: usize = 8_000;

/// Number of chunks for each worker.
const CHUNKS: usize = 4;

/// Moves the items for which `is_front` returns `true` to the front, and returns their number.
pub(super) fn partition<T, F>(items: &mut [T], is_front: &F) -> usize
where
    T: Send,
    F: Fn(&T) -> bool + Sync,
{
    let workers = Worker::current().map_or_else(
        || crate::pool::global().workers(),
        |worker| worker.num_workers(),
    );
    let chunk = (items.len() / (CHUNKS * workers)).max(SMALLEST_CHUNK);
    if workers == 1 || items.len() <= chunk {
        return partition_here(items, is_front);
    }
    let fronts: Vec<usize> = items
        .par_chunks_mut(chunk)
        .map(|chunk| partition_here(chunk, is_front))
        .collect();
    let front = fronts.iter().sum();
    swap_misplaced(items, chunk, &fronts, front);
    front
}

/// Partitions on this worker.
fn partition_here<T, F: Fn(&T) -> bool>(items: &mut [T], is_front: &F) -> usize {
    let mut front = 0;
    for place in 0..items.len() {
        let is_front = is_front(&items[place]);
        items.swap(front, place);
        front += usize::from(is_front);
    }
    front
}

/// Swaps the items that lie on the wrong side of `front`.
fn swap_misplaced<T>(items: &mut [T], chunk: usize, fronts: &[usize], front: usize) {
    let len = items.len();
    let chunks = fronts.iter().enumerate().map(|(number, &count)| {
        let start = number * chunk;
        (start, start + count, len.min(start + chunk))
    });
    let mut early = chunks
        .clone()
        .map(|(_, mid, end)| mid..end.min(front))
        .filter(|run| !run.is_empty());
    let mut late = chunks
        .map(|(start, mid, _)| start.max(front)..mid)
        .filter(|run| !run.is_empty());
    let (mut a, mut b) = (0..0, 0..0);
    loop {
        if a.is_empty() {
            let Some(run) = early.next() else { return };
            a = run;
        }
        if b.is_empty() {
            let Some(run) = late.next() else { return };
            b = run;
        }
        let count = a.len().min(b.len());
        let (left, right) = items.split_at_mut(b.start);
        left[a.start..a.start + count].swap_with_slice(&mut right[..count]);
        a.start += count;
        b.start += count;
    }
}

/// Number of items in the sample that a pivot is chosen from.
const SAMPLE: usize = 255;

/// Largest number of pivots that are tried: several times what items in any usual order take. If
/// all were bad, `std`'s selection goes on, which is linear in the worst case.
const PIVOTS: usize = 24;

/// Puts the item of rank `rank` where it belongs, with no larger ones before it and no smaller ones
/// after it.
pub(super) fn select<T, F>(items: &mut [T], rank: usize, compare: &F)
where
    T: Send + Sync,
    F: Fn(&T, &T) -> Ordering + Sync,
{
    assert!(rank < items.len(), "the rank is below the length");
    let mut part = 0..items.len();
    for _ in 0..PIVOTS {
        if part.len() <= CHUNKS * SMALLEST_CHUNK {
            break;
        }
        let equal = around_pivot(&mut items[part.clone()], rank - part.start, compare);
        let equal = part.start + equal.start..part.start + equal.end;
        if equal.contains(&rank) {
            return;
        }
        part = if rank < equal.start {
            part.start..equal.start
        } else {
            equal.end..part.end
        };
    }
    let _ = items[part.clone()].select_nth_unstable_by(rank - part.start, compare);
}

/// Partitions around a pivot of about the rank: smaller items, equal ones, larger ones. Returns the
/// range of the equal ones. There is at least one.
fn around_pivot<T, F>(items: &mut [T], rank: usize, compare: &F) -> Range<usize>
where
    T: Send + Sync,
    F: Fn(&T, &T) -> Ordering + Sync,
{
    let step = items.len() / SAMPLE;
    for number in 0..SAMPLE {
        items.swap(number, number * step);
    }
    items[..SAMPLE].sort_unstable_by(compare);
    let at = (rank as f64 / items.len() as f64 * SAMPLE as f64) as usize;
    items.swap(0, at.min(SAMPLE - 1));
    let (pivot, rest) = items.split_first_mut().expect("there are items");
    let pivot = &*pivot;
    let less = partition(rest, &|item| compare(item, pivot) == Ordering::Less);
    let more = &mut rest[less..];
    let equal = partition(more, &|item| compare(item, pivot) == Ordering::Equal);
    items.swap(0, less);
    less..less + equal + 1
}
