//! The driver: runs a loop sequentially, block by block, and splits what is left when another
//! worker is out of work.
//!
//! ```text
//!   piece:  | block | block |  block  |      what is left      |
//!                                     ^ wanted: fork
//!                                     |  left half ── goes on here, same accumulator
//!                                     |  right half ─ queued, exposed, a sleeper woken
//! ```
//!
//! # The rule
//!
//! - A block is the plain sequential iterator. The first one has a hundredth of the items; the next
//!   ones grow eightfold until one takes [`BLOCK`] by the measured pace, and follow the pace from then
//!   on. Behind each the driver looks whether a worker is out of work ([`demand`]).
//! - It splits what is left in two if a worker is, the loop has run for [`WARM_UP`], and what is left
//!   will take [`WORTH_STEALING`] at the pace of the last blocks, or [`WORTH_WAKING`] if the worker
//!   must be woken first. While a part of it lies in the queue, it does not split again.
//! - The blocks of both halves start at a quarter of the size.
//!
//! So without other workers, or while they all are busy, there is no fork at all; a loop that is too
//! small to share is not shared; and a split halves what is left, so forks nest at most as deep as
//! the logarithm of the length.
//!
//! **Time lost.** A worker out of work is noticed at the end of a block: after [`BLOCK`] if the
//! items of the block cost what those before them did, or after as many times [`BLOCK`] as they cost
//! more. Looking around and restarting the iterator cost some ten nanoseconds a block.
//!
//! **Depth.** Split on request is work stealing on the tree of halvings (Traoré, Roch, Maillard,
//! Gautier, Bernard: deque-free work-optimal parallel STL algorithms): O(log n) splits on a path, and
//! O(P log n) splits in all in expectation, each of constant work beside the loop's own.
//!
//! [`demand`]: crate::par::demand

use crate::par::clock::ticks;
use crate::par::demand::Demand;
use crate::par::pipe::Pipe;
use crate::par::split::Split;
use crate::scheduler::worker::Worker;
use crate::sync::{AtomicBool, Ordering};

/// How long a block takes, in ticks of the [clock](ticks): half a microsecond to two.
const BLOCK: f32 = 3_000.0;

/// How many blocks pass between two looks at the clock once they are long enough.
const BLOCKS_PER_LOOK: u32 = 8;

/// How long a loop runs before it is first shared, in ticks: before that its pace is a guess.
const WARM_UP: u64 = 3_000;

/// How long what is left must take for it to be worth stealing: several times a steal and a wait.
const WORTH_STEALING: f32 = 12_000.0;

/// How long it must take to be worth waking a worker, which takes tens of microseconds.
const WORTH_WAKING: f32 = 150_000.0;

/// What happens to the items in the end: how a piece of the loop accumulates, and how two pieces are
/// put together.
pub(super) trait End<T>: Sync {
    /// What a piece accumulates.
    type Acc: Send;

    /// Creates the accumulator of a piece.
    fn start(&self) -> Self::Acc;

    /// Takes up a block of items, whose positions in the source are `from` to `to`.
    fn feed(&self, acc: &mut Self::Acc, from: usize, to: usize, items: impl Iterator<Item = T>);

    /// Puts two neighbours together.
    fn join(&self, left: Self::Acc, right: Self::Acc) -> Self::Acc;

    /// Returns `true` if what comes at `next` and behind it does not matter any more.
    #[inline]
    fn is_over(&self, next: usize) -> bool {
        let _ = next;
        false
    }
}

/// Runs a loop. Within a pool it is that pool's; elsewhere the calling thread begins on its own, and
/// hands what is left to the global pool if that is much.
#[inline]
pub(super) fn drive<S, P, E>(source: S, pipe: &P, end: &E) -> E::Acc
where
    S: Split + Send,
    P: Pipe<S::Item>,
    E: End<P::Out>,
{
    let run = Loop {
        pipe,
        end,
        broken: AtomicBool::new(false),
    };
    let worker = Worker::current();
    let span = Span {
        at: 0,
        to: source.len(),
    };
    let pace = Pace::new(worker, span.to);
    run.piece(worker, source, span, end.start(), pipe.state(), pace)
}

/// Which positions of the source a piece has yet to run. The driver counts them itself: two pieces
/// never have one in common, whatever a [`Split`] says of its length.
#[derive(Clone, Copy, Debug)]
struct Span {
    at: usize,
    to: usize,
}

/// What all pieces of a loop share.
struct Loop<'l, P, E> {
    pipe: &'l P,
    end: &'l E,
    /// A piece has panicked: the others need not go on.
    broken: AtomicBool,
}

impl<P, E> Loop<'_, P, E> {
    /// Runs a piece of the loop.
    fn piece<S>(
        &self,
        worker: Option<&Worker>,
        mut rest: S,
        mut span: Span,
        mut acc: E::Acc,
        mut state: P::State,
        mut pace: Pace,
    ) -> E::Acc
    where
        S: Split + Send,
        P: Pipe<S::Item>,
        E: End<P::Out>,
    {
        loop {
            let len = pace.block.min(span.to - span.at);
            let items = self.pipe.run(&mut state, rest.block(len));
            self.end.feed(&mut acc, span.at, span.at + len, items);
            span.at += len;
            let left = span.to - span.at;
            if left == 0 || self.is_over(span.at) {
                return acc;
            }
            if pace.shares(worker, len, left) {
                return self.share(worker, rest, span, acc, state, pace);
            }
        }
    }

    fn is_over<T>(&self, next: usize) -> bool
    where
        E: End<T>,
    {
        self.end.is_over(next) || self.broken.load(Ordering::Relaxed)
    }

    /// Splits what is left, and runs both halves.
    #[cold]
    #[inline(never)]
    fn share<S>(
        &self,
        worker: Option<&Worker>,
        rest: S,
        Span { at, to }: Span,
        acc: E::Acc,
        state: P::State,
        pace: Pace,
    ) -> E::Acc
    where
        S: Split + Send,
        P: Pipe<S::Item>,
        E: End<P::Out>,
    {
        let apart = |worker: &Worker, rest, at| {
            let _broken = SetIfPanicking(&self.broken);
            let (acc, state) = (self.end.start(), self.pipe.state());
            let span = Span { at, to };
            self.piece(Some(worker), rest, span, acc, state, pace.in_half())
        };
        let Some(worker) = worker else {
            let rest = crate::pool::global().run(|worker| apart(worker, rest, at));
            return self.end.join(acc, rest);
        };
        let mid = at + (to - at) / 2;
        let (left, right) = rest.split_at(mid - at);
        worker.expect_thief();
        let (left, right) = worker.join(
            |worker| {
                let _broken = SetIfPanicking(&self.broken);
                let span = Span { at, to: mid };
                self.piece(Some(worker), left, span, acc, state, pace.in_half())
            },
            |worker| apart(worker, right, mid),
        );
        self.end.join(left, right)
    }
}

/// Sets a flag if it is dropped by a panic.
struct SetIfPanicking<'f>(&'f AtomicBool);

impl Drop for SetIfPanicking<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

/// How fast a piece of the loop is, and when it is shared.
#[derive(Clone, Copy, Debug)]
struct Pace {
    /// The size of the next block.
    block: usize,
    /// How many items were run since the last look at the clock.
    items: usize,
    /// How many blocks the next look at the clock is away.
    countdown: u32,
    /// How long an item takes, in ticks.
    per_item: f32,
    /// When the clock was last looked at.
    looked: u64,
    /// When the loop may first be shared.
    warm: u64,
}

impl Pace {
    /// The pace of a new loop. A loop that can have no helpers is one block.
    #[inline]
    fn new(worker: Option<&Worker>, len: usize) -> Pace {
        let alone = worker.is_some_and(|worker| worker.num_workers() == 1);
        let now = if alone { 0 } else { ticks() };
        Pace {
            block: if alone { usize::MAX } else { len / 128 + 1 },
            items: 0,
            countdown: 0,
            per_item: 0.0,
            looked: now,
            warm: now + WARM_UP,
        }
    }

    /// The pace of a half, when it begins.
    fn in_half(&self) -> Pace {
        Pace {
            block: self.block / 4 + 1,
            items: 0,
            countdown: 0,
            looked: ticks(),
            ..*self
        }
    }

    /// Notes that a block of `len` items is done. Returns `true` if the `left` items that are left
    /// are to be shared.
    #[inline]
    fn shares(&mut self, worker: Option<&Worker>, len: usize, left: usize) -> bool {
        self.items += len;
        if self.countdown == 0 {
            self.look_at_clock();
        } else {
            self.countdown -= 1;
        }
        if left < 2 || self.looked < self.warm {
            return false;
        }
        let demand = match worker {
            Some(worker) => worker.demand_in_sight(),
            // The pool is another one's, and may be asleep.
            None => Demand::Asleep,
        };
        let time = left as f32 * self.per_item;
        match demand {
            Demand::None => false,
            Demand::Asleep => time >= WORTH_WAKING,
            Demand::Awake => time >= WORTH_STEALING,
        }
    }

    fn look_at_clock(&mut self) {
        let now = ticks();
        let time = now.saturating_sub(self.looked) as f32;
        self.per_item = time / self.items as f32;
        let wanted = (BLOCK / self.per_item.max(0.001)) as usize;
        let most = self.block.saturating_mul(8);
        self.block = wanted.clamp(1, most);
        self.countdown = if wanted > most { 0 } else { BLOCKS_PER_LOOK };
        self.items = 0;
        self.looked = now;
    }
}
