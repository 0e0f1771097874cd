//! What a pool runs, recorded: forks, joins, and the time between them.
//!
//! ```text
//!   program                          recorded                        as a graph
//!                                                                        w0
//!   w0; join(a, b); w1               w0  fork(a, b)  w1                .'  '.
//!                                                                     a      b
//!                                                                      '.  .'
//!                                                                        w1
//!
//!   w0; scope(|s| {                  w0  scope(x spawn(t) y)  w1         w0
//!       x; s.spawn(t); y                                                 |
//!   }); w1                                                               x
//!                                                                      .'  '.
//!                                                                     y      t
//!                                                                      '.  .'
//!                                                                        w1
//! ```
//!
//! A *strand* is what runs one after another: the caller of a join without what it forks, each of the two
//! closures, a scope's body, a task of it. The thread that runs a strand has its *tape* in a thread-local
//! variable, and stops the time on it when the strand forks, waits, or lets something else run. At the end
//! the strand goes to where it was forked: a join's into the join's frame, which is there until both closures are done,
//! a scope's task's into what it shares with the spawning strand. So the structure is that of the program, whoever ran which part of
//! it, and a panic only ends a strand.
//!
//! **Nothing is asked on the fast path.** The pool's workers have the pile of the default strategy behind a
//! pointer then, as that of any other strategy, so every fork goes the slow way, where there is a branch for
//! this.
//!
//! **What has no tape is not recorded**: tasks on their own (`spawn` and its kin), which need not be joined
//! by whoever spawned them; and scopes whose body runs outside of the pool.

mod recording;

use std::cell::Cell;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

pub use recording::Recording;
use recording::{Item, Strand};

use crate::job::{Family, StackJob};
use crate::registry::Registry;
use crate::sync::{Mutex, lock};
use crate::worker::Worker;

thread_local! {
    /// The strand that this thread runs, if that is recorded.
    static TAPE: Cell<Option<Tape>> = const { Cell::new(None) };
}

/// A strand under way.
struct Tape {
    strand: Strand,
    /// Up to when its time has been noted.
    since: Instant,
}

impl Tape {
    fn start() -> Tape {
        Tape {
            strand: Strand::default(),
            since: Instant::now(),
        }
    }

    /// Takes the calling thread's tape away.
    fn take() -> Option<Tape> {
        // A thread that is about to end may have none any more.
        TAPE.try_with(Cell::take).ok().flatten()
    }

    fn put(tape: Option<Tape>) {
        let _ = TAPE.try_with(|cell| cell.set(tape));
    }

    /// Notes the time that has gone by.
    fn stop(&mut self) {
        let time = self.since.elapsed().as_nanos();
        self.strand.add(u64::try_from(time).unwrap_or(u64::MAX));
    }

    /// Time counts again from here.
    fn resume(mut self) {
        self.since = Instant::now();
        Tape::put(Some(self));
    }
}

/// The runs that a pool has recorded.
pub(crate) struct Recorder {
    runs: Mutex<Vec<Strand>>,
}

impl Recorder {
    pub(crate) fn new() -> Recorder {
        Recorder {
            runs: Mutex::new(Vec::new()),
        }
    }

    /// What was recorded since the last call.
    pub(crate) fn take(&self) -> Option<Recording> {
        let runs = std::mem::take(&mut *lock(&self.runs));
        (!runs.is_empty()).then(|| Recording::of(runs))
    }
}

/// Runs what was called for from outside of the pool; or from within, which is a part of what calls.
#[inline]
pub(crate) fn run<R>(worker: &Worker, f: impl FnOnce(&Worker) -> R) -> R {
    match &worker.registry().config.recorder {
        None => f(worker),
        Some(recorder) => run_recorded(recorder, || f(worker)),
    }
}

#[cold]
fn run_recorded<R>(recorder: &Recorder, f: impl FnOnce() -> R) -> R {
    match Tape::take() {
        None => strand(|strand| lock(&recorder.runs).push(strand), f),
        outer => {
            Tape::put(outer);
            f()
        }
    }
}

/// Runs a strand, and leaves what was recorded to `keep`, though it panics.
fn strand<R>(keep: impl FnOnce(Strand), f: impl FnOnce() -> R) -> R {
    struct Running<K: FnOnce(Strand)> {
        outer: Option<Tape>,
        keep: Option<K>,
    }

    impl<K: FnOnce(Strand)> Drop for Running<K> {
        fn drop(&mut self) {
            let tape = Tape::take();
            Tape::put(self.outer.take());
            if let (Some(mut tape), Some(keep)) = (tape, self.keep.take()) {
                tape.stop();
                keep(tape.strand);
            }
        }
    }

    let _running = Running {
        outer: Tape::take(),
        keep: Some(keep),
    };
    Tape::put(Some(Tape::start()));
    f()
}

/// A strand that is left for another one, and is gone on with when this is dropped.
pub(crate) struct Pause(Option<Tape>);

impl Drop for Pause {
    fn drop(&mut self) {
        if let Some(tape) = self.0.take() {
            tape.resume();
        }
    }
}

/// The worker waits, or runs something that is no part of its strand, until this is dropped.
#[inline]
pub(crate) fn pause(worker: &Worker) -> Pause {
    match worker.registry().config.recorder {
        None => Pause(None),
        Some(_) => Pause::now(),
    }
}

impl Pause {
    #[cold]
    fn now() -> Pause {
        let mut tape = Tape::take();
        if let Some(tape) = &mut tape {
            tape.stop();
        }
        Pause(tape)
    }
}

/// A join under way: the strand that forked, and what it forked.
struct Fork {
    outer: Pause,
    first: OnceLock<Strand>,
    second: OnceLock<Strand>,
}

impl Drop for Fork {
    fn drop(&mut self) {
        if let Some(outer) = &mut self.outer.0 {
            let [a, b] =
                [&mut self.first, &mut self.second].map(|slot| slot.take().unwrap_or_default());
            outer.strand.push(Item::Fork(Box::new([a, b])));
        }
    }
}

/// Leaves a strand in a place, of which it is the only one.
fn into_slot(slot: &OnceLock<Strand>) -> impl FnOnce(Strand) + '_ {
    move |strand| drop(slot.set(strand))
}

impl Worker {
    /// Does the calling thread run a strand that is recorded?
    pub(crate) fn is_recorded(&self) -> bool {
        self.registry().config.recorder.is_some() && {
            let tape = Tape::take();
            let any = tape.is_some();
            Tape::put(tape);
            any
        }
    }

    /// A join that is recorded.
    pub(crate) fn fork_recorded<A, B, RA, RB>(&self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce(&Worker, bool) -> RA,
        B: FnOnce(&Worker, bool) -> RB,
    {
        let fork = Fork {
            outer: Pause::now(),
            first: OnceLock::new(),
            second: OnceLock::new(),
        };
        let first =
            |worker: &Worker, migrated| strand(into_slot(&fork.first), || a(worker, migrated));
        // The frame, and with it the slot, stays until the job is done.
        let second =
            |worker: &Worker, migrated| strand(into_slot(&fork.second), || b(worker, migrated));
        self.fork_pushed(first, &StackJob::new(second))
    }
}

/// A scope under way: the strand that it is a part of, and its body.
pub(crate) struct Enclosing {
    outer: Pause,
    scope: Family,
    body: OnceLock<Strand>,
}

impl Enclosing {
    /// A scope begins, if the calling thread runs a strand that is recorded.
    pub(crate) fn enter(registry: &Registry, scope: Family) -> Option<Enclosing> {
        registry.config.recorder.as_ref()?;
        let outer = Pause::now();
        outer.0.is_some().then(|| Enclosing {
            outer,
            scope,
            body: OnceLock::new(),
        })
    }
}

impl Drop for Enclosing {
    fn drop(&mut self) {
        if let Some(outer) = &mut self.outer.0 {
            let body = self.body.take().unwrap_or_default();
            outer.strand.push(Item::Scope(self.scope, Box::new(body)));
        }
    }
}

/// Runs a scope's body.
pub(crate) fn body<R>(scope: Option<&Enclosing>, f: impl FnOnce() -> R) -> R {
    match scope {
        None => f(),
        Some(scope) => strand(into_slot(&scope.body), f),
    }
}

/// A spawned task of a scope, and where what it does will be found.
pub(crate) struct Spawned(Arc<OnceLock<Strand>>);

impl Spawned {
    /// Notes that the calling thread spawns a task into a scope, if it runs a strand that is recorded.
    pub(crate) fn note(scope: Family) -> Option<Spawned> {
        let mut pause = Pause::now();
        let tape = pause.0.as_mut()?;
        let slot = Arc::new(OnceLock::new());
        tape.strand.push(Item::Spawn(scope, slot.clone()));
        Some(Spawned(slot))
    }

    /// Runs the task.
    pub(crate) fn run<R>(self, f: impl FnOnce() -> R) -> R {
        strand(into_slot(&self.0), f)
    }
}
