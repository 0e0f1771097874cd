//! How long the blocks of a loop are, and when the rest of it is shared.
//!
//! # The rule
//!
//! - The first block has a 32nd of a worker's share of the items, and at most [`FIRST`]. The next
//!   ones grow by up to [`GROWTH`], until one takes [`BLOCK`] at the measured pace, and follow the
//!   pace from then on. After each block the loop looks for a worker that is out of work
//!   (`demand`). A rest that is not worth stealing is one block.
//! - It splits what is left in two if there is one, the loop has run for [`WARM_UP`], and what is
//!   left will take [`WORTH_STEALING`] at the measured pace, or [`WORTH_WAKING`] if the worker must
//!   be woken first. While a part of the loop lies in the queue, it does not split again.
//! - If several workers are out of work, both halves are split again before they begin, until there
//!   is a piece for each. So the pieces reach P workers after log P steals, and no block is waited
//!   for in between.
//! - The blocks of the pieces start at a quarter of the size.
//!
//! # What it costs
//!
//! A look at the clock takes some 12 ns, and there are three of them in a loop of less than a
//! microsecond, which is half of what such a loop pays. A loop of 100 items of less than 1 ns each
//! cannot keep within a twentieth of the sequential time with a single look; without one, it does
//! not know that its items are cheap. Longer loops look every second block.
//!
//! A worker out of work is noticed at the end of a block: after [`BLOCK`] if the items of the block
//! cost what those before them did, and later by the factor by which they cost more. So a loop is
//! late only if its first items cost next to nothing and the others a lot.

use crate::par::clock::ticks;
use crate::par::demand::Demand;
use crate::scheduler::worker::Worker;

/// How long a block takes, in ticks of the [clock](ticks): one microsecond to three.
const BLOCK: u64 = 3_000;

/// How many items the first block has at most: they are run before any is shared.
const FIRST: usize = 8;

/// What part of a worker's share of the items the first block has: so small a part is lost if the
/// others wait for it.
const FIRST_PART: usize = 32;

/// How many workers a loop is taken to have that begins outside of the pool.
const SOME_WORKERS: usize = 8;

/// How many times as long as the one before a block is at most.
const GROWTH: u8 = 32;

/// How many blocks pass between two looks at the clock once they are long enough.
const BLOCKS_PER_LOOK: u32 = 1;

/// How long a loop runs before it is first shared, in ticks: before that its pace is a guess.
pub(super) const WARM_UP: u64 = 3_000;

/// How long what is left must take for it to be worth stealing: several times a steal and a wait.
const WORTH_STEALING: f64 = 12_000.0;

/// How long it must take to be worth waking a worker, which takes tens of microseconds.
const WORTH_WAKING: f64 = 150_000.0;

/// How many splits above a piece go by what its source calls the middle. Such a middle may take one
/// item off each time; the splits below halve what is left, so that they do not nest deeply.
const NESTED: u32 = 32;

/// How fast a piece of the loop is, and when it is shared.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    /// The size of the next block.
    block: usize,
    /// How many items were run since the last look at the clock.
    items: usize,
    /// How many blocks the next look at the clock is away.
    countdown: u32,
    /// How many times the piece is split before it begins.
    splits: u32,
    /// How many splits there are above the piece.
    depth: u32,
    /// How long the items between the last two looks took, in ticks, and how many they were.
    measured: (u64, usize),
    /// When the clock was last looked at.
    looked: u64,
    /// When the loop may first be shared.
    warm: u64,
}

impl Pace {
    /// The pace of a new loop. A loop that can have no helpers is one block.
    #[inline]
    pub(super) fn new(worker: Option<&Worker>, len: usize) -> Pace {
        let workers = worker.map_or(SOME_WORKERS, Worker::num_workers);
        let alone = workers == 1 && worker.is_some_and(|worker| !worker.is_recorded());
        let now = if alone { 0 } else { ticks() };
        let first = if alone {
            usize::MAX
        } else {
            (len / (FIRST_PART * workers) + 1).min(FIRST)
        };
        Pace {
            block: first,
            items: 0,
            countdown: 0,
            splits: 0,
            depth: 0,
            measured: (0, 1),
            looked: now,
            warm: now + WARM_UP,
        }
    }

    /// The pace of a half, when it begins.
    pub(super) fn in_half(&self) -> Pace {
        Pace {
            block: self.block / 4 + 1,
            items: 0,
            countdown: 0,
            splits: self.splits.saturating_sub(1),
            depth: self.depth + 1,
            looked: ticks(),
            ..*self
        }
    }

    /// Where to split what is left, of which there are at least two items, given what its source
    /// calls the middle.
    pub(super) fn place(&self, left: usize, middle: impl FnOnce() -> usize) -> usize {
        if self.depth < NESTED {
            middle().clamp(1, left - 1)
        } else {
            left / 2
        }
    }

    /// Plans as many splits as give each worker that is out of work a piece. A piece of planned
    /// ones has its number already.
    pub(super) fn plan_splits(&mut self, worker: &Worker) {
        if self.splits == 0 {
            let idle = worker.idle_in_sight();
            self.splits = idle.checked_ilog2().map_or(1, |log| log + 1);
        }
    }

    /// Returns `true` if a piece of `len` items is to be split before it begins.
    #[inline]
    pub(super) fn splits_first(&self, len: usize) -> bool {
        self.splits > 0 && len >= 2 && self.takes(len, WORTH_STEALING)
    }

    /// Returns how many of the `left` items the next block has.
    #[inline]
    pub(super) fn next_block(&self, left: usize) -> usize {
        self.block.min(left)
    }

    /// Notes that a block of `len` items is done. Returns `true` if the `left` items that are left
    /// are to be shared.
    #[inline]
    pub(super) fn shares(&mut self, worker: Option<&Worker>, len: usize, left: usize) -> bool {
        self.items += len;
        if self.countdown == 0 {
            self.look_at_clock(left);
        } else {
            self.countdown -= 1;
        }
        if left < 2 || self.looked < self.warm {
            return false;
        }
        let demand = match worker {
            Some(worker) => worker.demand_in_sight(),
            // The pool is another one, and may be asleep.
            None => Demand::Asleep,
        };
        match demand {
            Demand::None => false,
            Demand::Asleep => self.takes(left, WORTH_WAKING),
            Demand::Awake => self.takes(left, WORTH_STEALING),
        }
    }

    /// Returns how many items take `time`, in ticks, at the measured pace.
    pub(super) fn items_in(&self, time: u64) -> usize {
        let (ticks, measured) = self.measured;
        (time as f64 * measured as f64 / ticks.max(1) as f64) as usize
    }

    /// Returns `true` if `items` take at least `time` at the measured pace.
    #[inline]
    fn takes(&self, items: usize, time: f64) -> bool {
        let (ticks, measured) = self.measured;
        items as f64 * ticks as f64 >= time * measured as f64
    }

    #[inline]
    fn look_at_clock(&mut self, left: usize) {
        let now = ticks();
        let time = now.saturating_sub(self.looked);
        self.measured = (time, self.items);
        self.looked = now;
        if time * u64::from(GROWTH) < BLOCK || !self.takes(left, WORTH_STEALING) {
            // Far too short, or too short for what is left to be shared. No division: most loops
            // end with the next block.
            self.block = self.block.saturating_mul(GROWTH.into());
        } else {
            self.follow(time);
        }
        self.items = 0;
    }

    /// Has the next blocks take [`BLOCK`] at the measured pace.
    fn follow(&mut self, time: u64) {
        let wanted = (BLOCK as f64 * self.items as f64 / time.max(1) as f64) as usize;
        let most = self.block.saturating_mul(GROWTH.into());
        self.block = wanted.clamp(1, most);
        let settled = wanted <= most && self.looked >= self.warm;
        self.countdown = if settled { BLOCKS_PER_LOOK } else { 0 };
    }
}
