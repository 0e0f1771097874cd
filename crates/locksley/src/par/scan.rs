//! Prefix sums, in place.
//!
//! ```text
//!   round:    | tile 0          | tile 1          |  ...         one tile for each worker
//!   at once:    scan, from the    scan, from        ...
//!               sum so far        its own start
//!   next round:                   put the sum of all before it in front of each item
//! ```
//!
//! Every tile fits in a worker's cache, so the second pass over it, which its worker makes at the
//! beginning of the next round, costs no memory traffic. With P workers there are at most
//! (2 - 1/P) n applications of the operation, and about (1 + c) n / (P + c) of them on the longest
//! path, where the second pass takes the part c of the time of the first: 2n/(P+1) for c = 1, which
//! is optimal (Roch, Traoré: parallel prefix). For sums of numbers c is about a
//! [quarter](SECOND_PASS), so on two workers a scan takes 0.56 of the sequential time at best.
//!
//! While no worker is out of work, or in a pool of one, one tile after the other is scanned from
//! the sum so far, and there is no second pass.

use std::mem;

use crate::scheduler::worker::Worker;

/// The size of a tile in bytes: half of a second-level cache. A round takes some 40 microseconds
/// then, which is many times what it costs to meet.
const TILE: usize = 512 << 10;

/// The fewest items of a tile: some microseconds.
const SMALLEST_TILE: usize = 4_000;

/// What part of a first pass a second one takes: it is made in the cache, and its operations do not
/// depend on each other.
const SECOND_PASS: usize = 4;

/// Replaces each item by the combination of all items up to it.
pub(super) fn inclusive<T, F>(items: &mut [T], op: &F)
where
    T: Clone + Send,
    F: Fn(&T, &T) -> T + Sync,
{
    let tile = (TILE / size_of::<T>().max(1)).min(items.len() / 8);
    if tile < SMALLEST_TILE {
        return scan(items, op);
    }
    match Worker::current() {
        Some(worker) => rounds(worker, items, tile, op),
        None => crate::pool::global().run(|worker| rounds(worker, items, tile, op)),
    }
}

/// Scans on this worker, from the first item on.
#[inline]
fn scan<T, F: Fn(&T, &T) -> T>(items: &mut [T], op: &F) {
    let Some((mut before, rest)) = items.split_first_mut() else {
        return;
    };
    for item in rest {
        *item = op(before, item);
        before = item;
    }
}

/// What one worker does in a round.
struct Lane<'t, T> {
    /// The tile of the round before, and what comes in front of each of its items.
    late: Option<(&'t mut [T], T)>,
    /// The tile of this round.
    tile: &'t mut [T],
    /// The index of the worker that did it.
    worker: usize,
}

impl<T> Lane<'_, T> {
    fn run<F: Fn(&T, &T) -> T>(&mut self, worker: &Worker, op: &F) {
        self.worker = worker.index();
        if let Some((tile, before)) = self.late.take() {
            for item in tile {
                *item = op(&before, item);
            }
        }
        scan(self.tile, op);
    }
}

/// Takes the next tile off, of `len` items or what is left.
fn next_tile<'t, T>(rest: &mut &'t mut [T], len: usize) -> &'t mut [T] {
    let len = len.min(rest.len());
    let (tile, others) = mem::take(rest).split_at_mut(len);
    *rest = others;
    tile
}

fn rounds<T, F>(worker: &Worker, items: &mut [T], tile: usize, op: &F)
where
    T: Clone + Send,
    F: Fn(&T, &T) -> T + Sync,
{
    let mut rest = items;
    // What all tiles so far come to, and those that lack what was before them.
    let mut sum: Option<T> = None;
    let mut late: Vec<(&mut [T], T)> = Vec::new();
    let mut helped = false;
    while !rest.is_empty() || !late.is_empty() {
        let count = if helped || worker.wanted() {
            worker.num_workers()
        } else {
            1
        };
        let mut lanes = Vec::with_capacity(count);
        // The first lane has no second pass to make, and does as much more of the first.
        let longer = if count > 1 { tile / SECOND_PASS } else { 0 };
        let first = next_tile(&mut rest, tile + longer);
        if let (Some(sum), Some(item)) = (&sum, first.first_mut()) {
            *item = op(sum, item);
        }
        lanes.push(Lane {
            late: None,
            tile: first,
            worker: worker.index(),
        });
        let mut late_ones = late.drain(..);
        while lanes.len() < count || late_ones.len() > 0 {
            let len = if lanes.len() < count { tile } else { 0 };
            lanes.push(Lane {
                late: late_ones.next(),
                tile: next_tile(&mut rest, len),
                worker: worker.index(),
            });
        }
        drop(late_ones);
        at_once(worker, &mut lanes, op);
        helped = lanes.iter().any(|lane| lane.worker != worker.index());
        for (number, lane) in lanes.into_iter().enumerate() {
            let Some(last) = lane.tile.last() else {
                continue;
            };
            let so_far = match &sum {
                Some(sum) if number > 0 => op(sum, last),
                // The first lane began with the sum so far.
                _ => last.clone(),
            };
            if let Some(before) = sum.replace(so_far).filter(|_| number > 0) {
                late.push((lane.tile, before));
            }
        }
    }
}

/// Runs the lanes, each on a worker of its own if there are enough of them.
fn at_once<T, F>(worker: &Worker, lanes: &mut [Lane<T>], op: &F)
where
    T: Send,
    F: Fn(&T, &T) -> T + Sync,
{
    if let [lane] = lanes {
        return lane.run(worker, op);
    }
    let (left, right) = lanes.split_at_mut(lanes.len() / 2);
    worker.expect_thief();
    worker.join(
        |worker| at_once(worker, left, op),
        |worker| at_once(worker, right, op),
    );
}
