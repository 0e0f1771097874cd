//! The driver: runs a loop sequentially, block by block, and splits the rest when another worker is
//! out of work.
//!
//! ```text
//!   piece:  | block | block |  block  |          rest          |
//!                                     ^ wanted: fork
//!                                     |  left half ── goes on here, same accumulator
//!                                     |  right half ─ queued, exposed, a sleeper woken
//! ```
//!
//! [`Pace`] decides when the loop splits, and how long its blocks are. Without other workers, or
//! while they are all busy, there is no fork at all; a loop that is too small to share is not
//! shared; and a split halves the rest, so forks nest at most as deep as the logarithm of the
//! length. If a source has its own [`middle`](Split::middle), the first splits of a path follow it,
//! and deeper ones halve.
//!
//! # The deterministic mode
//!
//! The loop is a tree that depends only on its length: it is halved until there are between
//! [`LEAVES`] and twice as many leaves, or fewer: a node of up to [`MIN_GRAIN`] items is a leaf.
//! Every leaf is fed into an accumulator of its own, and neighbours are joined along the tree; a
//! node is forked only if a worker is out of work when it begins. So the result has the same bits
//! on any number of workers.
//!
//! # Depth
//!
//! Splitting on request is work stealing on the tree of halvings (Traoré, Roch, Maillard, Gautier,
//! Bernard: deque-free work-optimal parallel STL algorithms): O(log n) splits on a path, and
//! O(P log n) splits in total in expectation, each with constant work in addition to the loop's.

use std::ops::Range;

use crate::par::pace::Pace;
use crate::par::pipe::Pipe;
use crate::par::split::Split;
use crate::pool::{GLOBAL, environment};
use crate::scheduler::worker::Worker;
use crate::sync::{AtomicBool, Ordering};

/// Smallest number of leaves in the deterministic mode, if the loop is long enough.
const LEAVES: usize = 256;

/// Number of items up to which a node is a leaf, however short the loop is.
const MIN_GRAIN: usize = 8;

/// How the splits of a loop are chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum SplitMode {
    /// When another worker is out of work.
    #[default]
    OnRequest,
    /// By the length of the loop alone.
    Deterministic,
}

impl SplitMode {
    /// Returns the mode of a loop made of two: deterministic if one of them is.
    pub(super) fn or(self, other: SplitMode) -> SplitMode {
        if self == SplitMode::Deterministic {
            self
        } else {
            other
        }
    }
}

/// The end of a loop: how a piece accumulates its items, and how the accumulators of two pieces are
/// joined.
pub(super) trait End<T>: Sync {
    /// The accumulator of a piece.
    type Acc: Send;

    /// Creates the accumulator of a piece.
    fn start(&self) -> Self::Acc;

    /// Accumulates a block of items, whose positions in the source are `from..to`.
    fn feed(&self, acc: &mut Self::Acc, from: usize, to: usize, items: impl Iterator<Item = T>);

    /// Joins the accumulators of two neighbouring pieces.
    fn join(&self, left: Self::Acc, right: Self::Acc) -> Self::Acc;

    /// Returns `true` if the items from position `next` on need not be run.
    #[inline]
    fn is_over(&self, next: usize) -> bool {
        let _ = next;
        false
    }
}

/// Runs a loop. On a worker it runs in that worker's pool; elsewhere the calling thread begins on
/// its own, and hands the rest to the global pool if that is much.
#[inline]
pub(super) fn drive<S, P, E>(source: S, pipe: &P, end: &E, mode: SplitMode) -> E::Acc
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
    if mode == SplitMode::Deterministic || is_deterministic(worker) {
        let grain = (span.to / LEAVES).max(MIN_GRAIN);
        return match worker {
            None if span.to > grain => {
                crate::pool::global().run(|worker| run.node(Some(worker), source, span, grain))
            }
            worker => run.node(worker, source, span, grain),
        };
    }
    let pace = Pace::new(worker, span.to);
    run.piece(worker, source, span, end.start(), pipe.state(), pace)
}

/// Returns `true` if the pool that the loop runs in makes all loops deterministic.
#[inline]
fn is_deterministic(worker: Option<&Worker>) -> bool {
    match worker {
        Some(worker) => worker.registry().config.deterministic,
        None => match GLOBAL.get() {
            Some(pool) => pool.registry.config.deterministic,
            None => environment::is_deterministic(),
        },
    }
}

/// The positions of the source that a piece has yet to run. The driver counts them itself, so the
/// spans of two pieces are disjoint even if a [`Split`] returns a wrong length.
#[derive(Clone, Copy, Debug)]
struct Span {
    at: usize,
    to: usize,
}

/// State that all pieces of a loop share.
struct Loop<'l, P, E> {
    pipe: &'l P,
    end: &'l E,
    /// Set if a piece has panicked: the others need not go on.
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
        if pace.splits_first(span.to - span.at) {
            return self.share(worker, rest, span, acc, state, pace);
        }
        loop {
            let block = span.at..span.at + pace.next_block(span.to - span.at);
            let len = block.end - block.start;
            if size_of::<(P, E)>() == 0 {
                feed(self.pipe, self.end, &mut rest, &mut acc, &mut state, block);
            } else {
                feed_apart(self.pipe, self.end, &mut rest, &mut acc, &mut state, block);
            }
            span.at += len;
            let left = span.to - span.at;
            if left == 0 || self.is_over(span.at) {
                // Explicit drop: if a destructor panics, the accumulator is dropped too.
                drop((rest, state));
                return acc;
            }
            if pace.shares(worker, len, left) {
                return self.share(worker, rest, span, acc, state, pace);
            }
        }
    }

    /// Runs a node of the tree in the deterministic mode; one of up to `grain` items is a leaf.
    fn node<S>(
        &self,
        worker: Option<&Worker>,
        mut source: S,
        Span { at, to }: Span,
        grain: usize,
    ) -> E::Acc
    where
        S: Split + Send,
        P: Pipe<S::Item>,
        E: End<P::Out>,
    {
        let (end, len) = (self.end, to - at);
        if self.is_over(at) {
            return end.start();
        }
        if len <= grain {
            let (mut acc, mut state) = (end.start(), self.pipe.state());
            let items = self.pipe.run(&mut state, source.block(len));
            end.feed(&mut acc, at, to, items);
            drop((source, state));
            return acc;
        }
        let mid = at + len / 2;
        let (left, right) = source.split_at(len / 2);
        let left = |worker: Option<&Worker>| {
            let span = Span { at, to: mid };
            or_break(&self.broken, || self.node(worker, left, span, grain))
        };
        let right = |worker: Option<&Worker>| {
            let span = Span { at: mid, to };
            or_break(&self.broken, || self.node(worker, right, span, grain))
        };
        let (left, right) = match worker {
            Some(worker) if worker.wanted() => {
                worker.expose_next_fork();
                worker.join(|worker| left(Some(worker)), |worker| right(Some(worker)))
            }
            worker => (left(worker), right(worker)),
        };
        end.join(left, right)
    }

    fn is_over<T>(&self, next: usize) -> bool
    where
        E: End<T>,
    {
        self.end.is_over(next) || self.broken.load(Ordering::Relaxed)
    }

    /// Splits the rest of a piece, and runs both halves.
    #[cold]
    #[inline(never)]
    fn share<S>(
        &self,
        worker: Option<&Worker>,
        rest: S,
        Span { at, to }: Span,
        acc: E::Acc,
        state: P::State,
        mut pace: Pace,
    ) -> E::Acc
    where
        S: Split + Send,
        P: Pipe<S::Item>,
        E: End<P::Out>,
    {
        if let Some(worker) = worker {
            pace.plan_splits(worker);
        }
        let apart = |worker: &Worker, rest, at| {
            or_break(&self.broken, || {
                let (acc, state) = (self.end.start(), self.pipe.state());
                let span = Span { at, to };
                self.piece(Some(worker), rest, span, acc, state, pace.in_half())
            })
        };
        let Some(worker) = worker else {
            let rest = crate::pool::global().run(|worker| apart(worker, rest, at));
            return self.end.join(acc, rest);
        };
        let mid = at + pace.place(to - at, || rest.middle());
        let (left, right) = rest.split_at(mid - at);
        worker.expose_next_fork();
        let (left, right) = worker.join(
            |worker| {
                or_break(&self.broken, || {
                    let span = Span { at, to: mid };
                    self.piece(Some(worker), left, span, acc, state, pace.in_half())
                })
            },
            |worker| apart(worker, right, mid),
        );
        self.end.join(left, right)
    }
}

/// Feeds a block to the end.
#[inline(always)]
fn feed<S, P, E>(
    pipe: &P,
    end: &E,
    rest: &mut S,
    acc: &mut E::Acc,
    state: &mut P::State,
    block: Range<usize>,
) where
    S: Split,
    P: Pipe<S::Item>,
    E: End<P::Out>,
{
    let items = pipe.run(state, rest.block(block.end - block.start));
    end.feed(acc, block.start, block.end, items);
}

/// [`feed`] for closures that capture something.
///
/// It is not inlined, so that the compiler can assume of the pipe and the end, as of any `&`
/// argument, that nothing changes them meanwhile: captured values stay in registers, and loops are
/// vectorised.
#[inline(never)]
fn feed_apart<S, P, E>(
    pipe: &P,
    end: &E,
    rest: &mut S,
    acc: &mut E::Acc,
    state: &mut P::State,
    block: Range<usize>,
) where
    S: Split,
    P: Pipe<S::Item>,
    E: End<P::Out>,
{
    feed(pipe, end, rest, acc, state, block);
}

/// Runs a part of a loop, and sets the flag if it panics.
pub(super) fn or_break<R>(broken: &AtomicBool, run: impl FnOnce() -> R) -> R {
    struct Set<'f>(&'f AtomicBool);

    impl Drop for Set<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    let set = Set(broken);
    let result = run();
    std::mem::forget(set);
    result
}
