//! Prefix sums, in place.
//!
//! A worker scans block by block from the left, as a sequential loop does, until another worker is
//! out of work and the rest is worth sharing ([`Pace`]). The rest is then cut into tiles, which
//! *lanes*, one for each worker, claim from left to right:
//!
//! ```text
//!   | done | done | tile | tile | tile | tile |  not claimed ...
//!             sum ^   |      '------'--- added up: their totals wait for the sum
//!                     scanned from the sum
//! ```
//!
//! - If the sum of all items before a tile is known, the tile is scanned from it: one pass.
//! - Otherwise its items are added up, without being changed, and scanned as soon as the sum before
//!   them is known. They are still in the cache then.
//! - The lane that extends the sum also adds the totals that were waiting for it.
//!
//! A lane waits for the sum before its tile, but not for long: the lane that has the sum may have
//! lost its processor. Then it adds up other tiles meanwhile. With P workers there are at most
//! 2n applications of the operation, and, if the tiles are many, at best 2n/(P+1) of them on the
//! longest path, which is optimal (Roch, Traoré: parallel prefix). If adding up takes a fraction c
//! of the time of a scan, a scan on two workers takes (1 + c)/(2 + c) of the sequential time: two
//! thirds for c = 1, and half as c approaches 0. Sums of numbers are bound by the memory, which the
//! two passes over a tile read only once.

use std::collections::VecDeque;
use std::mem::{self, needs_drop};
use std::slice::ChunksMut;

use crate::par::convert::IntoPar;
use crate::par::drive::or_break;
use crate::par::pace::Pace;
use crate::scheduler::worker::Worker;
use crate::sync::{AtomicBool, Mutex, Ordering, lock, yield_now};

/// Largest size of a tile, in bytes: several tiles fit into a second-level cache.
const TILE: usize = 128 << 10;

/// Longest duration of a tile, in ticks: many times what it takes to claim one.
const TILE_TIME: u64 = 60_000;

/// How often a lane looks for the sum before its tile, about a microsecond apart, before it goes on
/// with another one: longer than a tile takes.
const WAITS: u32 = 128;

/// Smallest number of tiles for each worker.
const TILES: usize = 8;

/// The kind of a scan: what replaces an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ScanKind {
    /// The combination of all items up to and including it.
    Inclusive,
    /// The combination of all items before it. The scan has an initial value.
    Exclusive,
}

/// Scans from `before` on. Returns the combination of `before` and all items.
pub(super) fn scan<T, F>(kind: ScanKind, before: Option<T>, items: &mut [T], op: &F) -> Option<T>
where
    T: Clone + Send,
    F: Fn(&T, &T) -> T + Sync,
{
    let worker = Worker::current();
    let mut pace = Pace::new(worker, items.len());
    let (mut rest, mut sum) = (items, before);
    loop {
        let (block, later) = rest.split_at_mut(pace.next_block(rest.len()));
        sum = pass(kind, sum, block, op);
        rest = later;
        let shared = !rest.is_empty() && pace.shares(worker, block.len(), rest.len());
        match sum {
            Some(sum) if shared => {
                let share = |worker: &Worker| share(worker, kind, sum, rest, &pace, op);
                return match worker {
                    Some(worker) => share(worker),
                    None => crate::pool::global().run(share),
                };
            }
            _ if rest.is_empty() => return sum,
            _ => {}
        }
    }
}

/// Scans on this worker.
#[inline]
fn pass<T, F>(kind: ScanKind, before: Option<T>, items: &mut [T], op: &F) -> Option<T>
where
    T: Clone,
    F: Fn(&T, &T) -> T,
{
    match (kind, before) {
        (ScanKind::Exclusive, Some(mut before)) => {
            for item in items {
                let next = op(&before, item);
                *item = mem::replace(&mut before, next);
            }
            Some(before)
        }
        (_, before) => {
            let Some((first, rest)) = items.split_first_mut() else {
                return before;
            };
            if let Some(before) = before {
                *first = op(&before, first);
            }
            if !needs_drop::<T>() {
                // Cheap to clone: the sum stays in a register.
                let mut sum = first.clone();
                for item in rest {
                    sum = op(&sum, item);
                    *item = sum.clone();
                }
                return Some(sum);
            }
            let mut before = first;
            for item in rest {
                *item = op(before, item);
                before = item;
            }
            Some(before.clone())
        }
    }
}

/// Cuts the rest into tiles, and scans them with all workers.
#[cold]
#[inline(never)]
fn share<T, F>(
    worker: &Worker,
    kind: ScanKind,
    sum: T,
    items: &mut [T],
    pace: &Pace,
    op: &F,
) -> Option<T>
where
    T: Clone + Send,
    F: Fn(&T, &T) -> T + Sync,
{
    let workers = worker.num_workers();
    let tile = (TILE / size_of::<T>().max(1))
        .min(pace.items_in(TILE_TIME))
        .min(items.len() / (TILES * workers))
        .max(1);
    let count = items.len().div_ceil(tile);
    let shared = ScanState {
        kind,
        op,
        chain: Mutex::new(Chain {
            tiles: items.chunks_mut(tile),
            claimed: 0,
            sum: Some(sum),
            next_tile: 0,
            parts: (0..count).map(|_| TileValue::Open).collect(),
        }),
        broken: AtomicBool::new(false),
    };
    // Tiles of lanes that ended before the sum before them was known.
    let late = shared.lanes(worker, workers.min(count));
    late.into_par().for_each(|(number, tile)| {
        let front = lock(&shared.chain).take_front(number);
        pass(kind, front, tile, op);
    });
    lock(&shared.chain).sum.take()
}

/// State that the lanes share.
struct ScanState<'s, T, F> {
    kind: ScanKind,
    op: &'s F,
    /// The user's operation never runs while this is locked.
    chain: Mutex<Chain<'s, T>>,
    /// Set if a lane has panicked: the others need not go on.
    broken: AtomicBool,
}

struct Chain<'t, T> {
    /// The tiles that no lane has claimed.
    tiles: ChunksMut<'t, T>,
    claimed: usize,
    /// The combination of all items before the tile `next_tile`; `None` while a lane has it to
    /// extend it.
    sum: Option<T>,
    next_tile: usize,
    /// The known value of each tile.
    parts: Vec<TileValue<T>>,
}

/// The known value of a tile.
enum TileValue<T> {
    /// None, or none that is still needed.
    Open,
    /// The combination of its items.
    Total(T),
    /// The combination of all items before it.
    Front(T),
}

/// A tile that was added up, and its number.
type TotalledTile<'t, T> = (usize, &'t mut [T]);

/// What a lane does next.
enum Step<'t, T> {
    /// Scans a tile from the sum, and extends the sum.
    Scan(&'t mut [T], T),
    /// Adds up a tile.
    AddUp(TotalledTile<'t, T>),
    /// Scans a tile that it has added up before.
    Finish(&'t mut [T], T),
}

impl<'t, T> Chain<'t, T> {
    fn take_front(&mut self, number: usize) -> Option<T> {
        match mem::replace(&mut self.parts[number], TileValue::Open) {
            TileValue::Front(front) => Some(front),
            part => {
                self.parts[number] = part;
                None
            }
        }
    }

    fn next(&mut self, late: &mut VecDeque<TotalledTile<'t, T>>) -> Option<Step<'t, T>> {
        let number = late.front().map(|(number, _)| *number);
        if let Some(front) = number.and_then(|number| self.take_front(number)) {
            return late.pop_front().map(|(_, tile)| Step::Finish(tile, front));
        }
        let (number, tile) = (self.claimed, self.tiles.next()?);
        self.claimed += 1;
        let sum = self.sum.take_if(|_| self.next_tile == number);
        Some(match sum {
            Some(sum) => Step::Scan(tile, sum),
            None => Step::AddUp((number, tile)),
        })
    }

    /// Takes the sum and the total that extends it, if both are known.
    fn next_total(&mut self) -> Option<(T, T)> {
        let part = self.parts.get_mut(self.next_tile)?;
        let sum = self.sum.take_if(|_| matches!(part, TileValue::Total(_)))?;
        match mem::replace(part, TileValue::Open) {
            TileValue::Total(total) => Some((sum, total)),
            _ => None,
        }
    }
}

impl<'t, T, F> ScanState<'t, T, F>
where
    T: Clone + Send,
    F: Fn(&T, &T) -> T + Sync,
{
    /// Runs `count` lanes. Returns the tiles that they have added up and not scanned.
    fn lanes(&self, worker: &Worker, count: usize) -> Vec<TotalledTile<'t, T>> {
        if count == 1 {
            return or_break(&self.broken, || self.lane());
        }
        worker.expose_next_fork();
        let (mut late, others) = worker.join(
            |worker| self.lanes(worker, count / 2),
            |worker| self.lanes(worker, count - count / 2),
        );
        late.extend(others);
        late
    }

    fn lane(&self) -> Vec<TotalledTile<'t, T>> {
        let mut late = VecDeque::new();
        while !self.broken.load(Ordering::Relaxed) {
            let Some(step) = lock(&self.chain).next(&mut late) else {
                break;
            };
            match step {
                Step::Finish(tile, front) => {
                    pass(self.kind, Some(front), tile, self.op);
                }
                Step::Scan(tile, sum) => {
                    let sum = pass(self.kind, Some(sum), tile, self.op);
                    let mut chain = lock(&self.chain);
                    chain.sum = sum;
                    chain.next_tile += 1;
                    drop(chain);
                    self.advance();
                }
                Step::AddUp((number, tile)) => {
                    let total = self.total(tile);
                    lock(&self.chain).parts[number] = TileValue::Total(total);
                    late.push_back((number, tile));
                    self.advance();
                    self.await_front(number);
                }
            }
        }
        late.into()
    }

    /// Waits until the sum before a tile is known, or for about [`WAITS`] microseconds.
    fn await_front(&self, number: usize) {
        for turn in 1..=WAITS {
            if lock(&self.chain).next_tile > number || self.broken.load(Ordering::Relaxed) {
                return;
            }
            if turn % 16 == 0 {
                // The lane that has the sum may be waiting for this processor.
                yield_now();
            }
            for _ in 0..16 {
                std::hint::spin_loop();
            }
        }
    }

    /// Returns the combination of a tile's items.
    fn total(&self, tile: &[T]) -> T {
        let (first, rest) = tile.split_first().expect("a tile has items");
        rest.iter()
            .fold(first.clone(), |total, item| (self.op)(&total, item))
    }

    /// Extends the sum by the totals that follow it, unless another lane has the sum.
    fn advance(&self) {
        let mut chain = lock(&self.chain);
        while let Some((sum, total)) = chain.next_total() {
            drop(chain);
            let longer = (self.op)(&sum, &total);
            chain = lock(&self.chain);
            let known = chain.next_tile;
            chain.parts[known] = TileValue::Front(sum);
            chain.sum = Some(longer);
            chain.next_tile += 1;
        }
    }
}
