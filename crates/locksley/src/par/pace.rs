//! The length of a loop's blocks, and when the rest of the loop is shared.
//!
//! # The rule
//!
//! - The first block has a 32nd of a worker's share of the items, and at most [`FIRST`]. The next
//!   ones grow by up to a factor of [`GROWTH`], until one takes [`BLOCK`] at the measured pace, and
//!   follow the pace from then on. After each block the loop looks for a worker that is out of work
//!   (`demand`). A rest that is not worth stealing is one block.
//! - The loop splits the rest in two if there is such a worker, the loop has run for [`WARM_UP`],
//!   and the rest will take [`WORTH_STEALING`] at the measured pace, or [`WORTH_WAKING`] if the
//!   worker must be woken first. While a part of the loop lies in the queue, it does not split
//!   again.
//! - If several workers are out of work, both halves are split again before they begin, until there
//!   is a piece for each. So the pieces reach P workers after log P steals, without running a block
//!   in between.
//! - The blocks of the pieces start at a quarter of the size.
//!
//! # What it costs
//!
//! Reading the clock takes some 12 ns, and a loop of less than a microsecond does so three times,
//! which is half of its overhead. A loop of 100 items of less than 1 ns each cannot stay within a
//! twentieth of the sequential time with a single reading; without one, it does not know that its
//! items are cheap. Longer loops read the clock every second block.
//!
//! A worker out of work is noticed at the end of a block: after [`BLOCK`] if the items of the block
//! cost as much as those before them, and later by the factor by which they cost more. So a loop is
//! late only if its first items are very cheap and the others expensive.

use crate::par::clock::ticks;
use crate::par::demand::Demand;
use crate::scheduler::worker::Worker;

/// Duration of a block, in ticks of the [clock](ticks): one to three microseconds.
const BLOCK: u64 = 3_000;

/// Largest number of items in the first block, which runs before any item is shared.
const FIRST: usize = 8;

/// The first block has at most this fraction (one in `FIRST_PART`) of a worker's share of the
/// items. Only so much time is lost if the other workers wait for it.
const FIRST_PART: usize = 32;

/// Assumed number of workers of a loop that begins outside of a pool.
const ASSUMED_WORKERS: usize = 8;

/// Largest factor by which a block is longer than the one before it.
const GROWTH: u8 = 32;

/// Number of blocks between two readings of the clock, once blocks are long enough.
const BLOCKS_PER_LOOK: u32 = 1;

/// How long a loop runs before it is first shared, in ticks: before that its pace is a guess.
pub(super) const WARM_UP: u64 = 3_000;

/// Duration from which a rest is worth stealing, in ticks: several times a steal and a wait.
const WORTH_STEALING: f64 = 12_000.0;

/// Duration from which a rest is worth waking a worker, in ticks: a wake-up takes tens of
/// microseconds.
const WORTH_WAKING: f64 = 150_000.0;

/// Number of nested splits that follow the source's own `middle`. Such a middle may take off one
/// item each time; deeper splits halve the rest, so that the nesting stays logarithmic.
const NESTED: u32 = 32;

/// The measured pace of a piece of the loop, and what follows from it: the size of blocks, and when
/// the rest is shared.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    /// Size of the next block.
    block: usize,
    /// Number of items that were run since the last reading of the clock.
    items: usize,
    /// Number of blocks until the next reading of the clock.
    countdown: u32,
    /// Number of times that the piece is split before it begins.
    splits: u32,
    /// Number of splits above the piece.
    depth: u32,
    /// Time between the last two readings, in ticks, and number of items run in it.
    measured: (u64, usize),
    /// Time of the last reading of the clock.
    looked: u64,
    /// Time from which the loop may be shared.
    warm: u64,
}

impl Pace {
    /// Creates the pace of a new loop. A loop that cannot have helpers is one block.
    #[inline]
    pub(super) fn new(worker: Option<&Worker>, len: usize) -> Pace {
        let workers = worker.map_or(ASSUMED_WORKERS, Worker::num_workers);
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

    /// Creates the pace of a half, when it begins.
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

    /// Returns where to split the `left` items of the rest, which are at least two, given the
    /// `middle` of its source.
    pub(super) fn place(&self, left: usize, middle: impl FnOnce() -> usize) -> usize {
        if self.depth < NESTED {
            middle().clamp(1, left - 1)
        } else {
            left / 2
        }
    }

    /// Plans enough splits that each worker that is out of work gets a piece. Does nothing if
    /// splits of this piece are already planned.
    pub(super) fn plan_splits(&mut self, worker: &Worker) {
        if self.splits == 0 {
            let idle = worker.estimate_idle();
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
            Some(worker) => worker.visible_demand(),
            // The rest would go to the global pool, whose workers may be asleep.
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
            // The block was far too short, or the rest is too short to be shared. No division: most
            // loops end with the next block.
            self.block = self.block.saturating_mul(GROWTH.into());
        } else {
            self.follow(time);
        }
        self.items = 0;
    }

    /// Sets the size of the next blocks so that they take [`BLOCK`] at the measured pace.
    fn follow(&mut self, time: u64) {
        let wanted = (BLOCK as f64 * self.items as f64 / time.max(1) as f64) as usize;
        let most = self.block.saturating_mul(GROWTH.into());
        self.block = wanted.clamp(1, most);
        let settled = wanted <= most && self.looked >= self.warm;
        self.countdown = if settled { BLOCKS_PER_LOOK } else { 0 };
    }
}
