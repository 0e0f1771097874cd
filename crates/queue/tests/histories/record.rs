//! Records a run of one owner and two thieves.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use locksley_queue::{Owner, Steal, Thief};

use crate::clock::Clock;
use crate::noise::Noise;
use crate::rng::Rng;
use crate::subject::DequeSubject;
use crate::wgl::{History, Invocation, Op};

const THIEVES: usize = 2;
const OPS: usize = 200;

/// The operations of the threads besides pushing, popping and stealing one item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Plain,
    /// Thieves take half.
    Batches,
    /// Thieves take half, and the owner takes items back from anywhere.
    TakeBacks,
}

/// The data that the three threads share besides the deque.
struct Shared {
    clock: Clock,
    noise: Noise,
    ready: AtomicUsize,
    /// The owner's last completed operation.
    progress: AtomicUsize,
    done: AtomicBool,
}

impl Shared {
    fn start_together(&self) {
        self.ready.fetch_add(1, Ordering::AcqRel);
        while self.ready.load(Ordering::Acquire) <= THIEVES {
            thread::yield_now();
        }
    }

    /// Runs `operation`, and returns its result and its time span.
    #[inline]
    fn time<R>(&self, operation: impl FnOnce() -> R) -> (R, Span) {
        let begun = self.clock.before();
        let result = operation();
        (result, (begun, self.clock.after()))
    }
}

type Span = (u64, u64);

fn at((begun, completed): Span, op: Op) -> Invocation {
    Invocation {
        begun,
        completed,
        op,
    }
}

/// Records one run. The owner's invocations come first in the history.
pub(crate) fn run<S: DequeSubject>(seed: u64, mode: Mode) -> History {
    let mut deque = S::small::<u32>();
    let shared = &Shared {
        clock: Clock::of_this_machine(),
        noise: Noise::default(),
        ready: AtomicUsize::new(0),
        progress: AtomicUsize::new(0),
        done: AtomicBool::new(false),
    };
    thread::scope(|scope| {
        let thieves: Vec<_> = (0..THIEVES)
            .map(|_| {
                let thief = deque.thief();
                scope.spawn(move || run_thief::<S>(&thief, shared, mode))
            })
            .collect();
        let mut history = vec![own::<S>(&mut deque, shared, seed, mode)];
        history.extend(
            thieves
                .into_iter()
                .map(|t| t.join().expect("thieves don't panic")),
        );
        // The remaining items show whether any was lost.
        loop {
            let (item, span) = shared.time(|| deque.pop());
            history[0].push(at(span, Op::Pop(item)));
            if item.is_none() {
                return history;
            }
        }
    })
}

/// Runs the owner: as many pushes as pops on average, so that threads often compete for the last
/// item.
fn own<S: DequeSubject>(
    deque: &mut S::Owner<u32>,
    shared: &Shared,
    seed: u64,
    mode: Mode,
) -> Vec<Invocation> {
    let mut log = Vec::with_capacity(OPS + 8);
    let mut rng = Rng::new(seed);
    // The items that were pushed and not taken back, newest last.
    let mut tokens: Vec<(u32, S::Token)> = Vec::new();
    shared.start_together();
    for item in 0..OPS as u32 {
        if mode == Mode::TakeBacks && rng.below(2) == 0 {
            let (token, span) = shared.time(|| S::push_for_take_back(deque, item));
            log.push(at(span, Op::Push(item)));
            tokens.push((item, token));
        } else if mode == Mode::TakeBacks && !tokens.is_empty() && rng.below(2) == 0 {
            let newest = tokens.len() - 1;
            let (item, token) = tokens.remove(newest - (rng.below(4) as usize).min(newest));
            shared.noise.make();
            let (taken, span) = shared.time(|| S::take_back(deque, token));
            // Another item may have been pushed where this one was popped.
            let (item, taken) = taken.map_or((item, false), |taken| (taken, true));
            log.push(at(span, Op::TakeBack { item, taken }));
            tokens.retain(|&(other, _)| other != item);
        } else if mode != Mode::TakeBacks && rng.below(2) == 0 {
            let (result, span) = shared.time(|| deque.push(item));
            log.push(match result {
                Ok(()) => at(span, Op::Push(item)),
                Err(full) => at(
                    span,
                    Op::Refused {
                        same: full.0 == item,
                    },
                ),
            });
        } else {
            shared.noise.make();
            let (item, span) = shared.time(|| deque.pop());
            log.push(at(span, Op::Pop(item)));
        }
        S::attend(deque);
        shared.progress.store(item as usize, Ordering::Relaxed);
    }
    shared.done.store(true, Ordering::Release);
    log
}

fn run_thief<S: DequeSubject>(
    thief: &S::Thief<u32>,
    shared: &Shared,
    mode: Mode,
) -> Vec<Invocation> {
    let mut log = Vec::with_capacity(OPS);
    let mut own = S::new::<u32>();
    shared.start_together();
    while log.len() < OPS && !shared.done.load(Ordering::Acquire) {
        let progress = shared.progress.load(Ordering::Relaxed);
        let (answer, span) = shared.time(|| {
            if mode == Mode::Plain {
                thief.steal()
            } else {
                S::steal_half(thief, &mut own)
            }
        });
        let op = op_of(answer, &mut own);
        let told = op.clone();
        log.push(at(span, as_promised(op, mode)));
        match told {
            Op::Private => S::ask(thief),
            Op::Steal(_) => shared.noise.make(),
            // Waits for the owner's next operation, to spend its invocations when there may be
            // items.
            Op::Empty => {
                while shared.progress.load(Ordering::Relaxed) == progress
                    && !shared.done.load(Ordering::Acquire)
                {
                    thread::yield_now();
                }
            }
            _ => {}
        }
    }
    log
}

/// Returns the operation whose guarantees the result carries. An owner that takes an item back from
/// under others hides these for a moment, and leaves a hole that looks like an item: then "empty"
/// and "private" guarantee nothing.
fn as_promised(op: Op, mode: Mode) -> Op {
    match op {
        Op::Empty | Op::Private if mode == Mode::TakeBacks => Op::Abort,
        op => op,
    }
}

/// Returns a thief's result, with the rest of the batch, if there is any, popped from `own`.
fn op_of(answer: Steal<u32>, own: &mut impl Owner<Item = u32>) -> Op {
    match answer {
        Steal::Success(newest) => {
            let rest = std::iter::from_fn(|| own.pop());
            let mut batch: Vec<_> = std::iter::once(newest).chain(rest).collect();
            batch.reverse();
            Op::Steal(batch)
        }
        Steal::Empty => Op::Empty,
        Steal::Retry => Op::Abort,
        Steal::Private => Op::Private,
    }
}
