//! Helpers: how several workers share the tasks of a frame, by forks whose second closure is an
//! offer to help.
//!
//! A worker runs the tasks of a frame inside of a join. The join's second closure is *help*: it
//! lies in the worker's queue like any forked job. Its thief, the *helper*, runs tasks of the frame
//! too, inside of a join of its own, whose second closure others may steal.
//!
//! ```text
//!   owner    join( run in order,  help )
//!                                  └── stolen: join( run what is ready,  help )
//!                                                                         └── stolen: join(...)
//! ```
//!
//! A frame's first offer is made while its body still forks (`open_offer`), and stands until its
//! tasks are done. So an offer that no worker takes costs what a join costs; sleepers are woken,
//! and waiters leapfrog, as with any join; and the frame outlives the work of all its helpers,
//! since their joins are all inside of its owner's.
//!
//! A helper that finds no ready task leaves and gives the offer back, under the frame's lock, so
//! that a worker that makes a task ready afterwards knows of it. Before a worker runs a task while
//! more are ready, it may make another offer. If its offer came back, it makes a new one. If its
//! helper is still there, it makes a further one, nested in the first, but only if every offer
//! around it still has its helper. Otherwise it goes on without one, until it can leave the join
//! of its last offer. So a worker has at most one nested offer more than it has helpers; meanwhile
//! its helpers make offers of their own.
//!
//! A worker that waits for its helper may take the helper's offer, and so on in turns, each time
//! deeper in its stack. When a helper is too deep, all workers put back the tasks that they have
//! taken and leave, and the first one starts again.

use std::ptr::NonNull;

use super::engine::{Stopped, poll_requests};
use super::open_offer::{OpenOffer, SharedState};
use super::task::Task;
use crate::scheduler::worker::Worker;
use crate::sync::{AtomicBool, AtomicUsize, Ordering};

/// An offer to help.
#[derive(Debug)]
pub(crate) struct Offer<'a> {
    state: AtomicUsize,
    /// The offer in whose join this one was made.
    outer: Option<&'a Offer<'a>>,
}

impl<'a> Offer<'a> {
    pub(crate) const MADE: usize = 0;
    pub(crate) const TAKEN: usize = 1;
    const BACK: usize = 2;

    pub(crate) fn new(outer: Option<&'a Offer<'a>>) -> Self {
        Offer {
            state: AtomicUsize::new(Offer::MADE),
            outer,
        }
    }

    /// Returns `true` if the worker that made the offer should make another one.
    fn wants_another(&self) -> bool {
        match self.state() {
            Offer::MADE => false,
            Offer::TAKEN => {
                let mut around = std::iter::successors(self.outer, |offer| offer.outer);
                !around.any(Offer::is_back)
            }
            _ => true,
        }
    }

    fn is_back(&self) -> bool {
        self.state() == Offer::BACK
    }

    #[inline]
    pub(crate) fn state(&self) -> usize {
        self.state.load(Ordering::Relaxed)
    }

    /// Marks the offer as made again. The worker that made it calls this, when its helper has left.
    pub(crate) fn mark_made(&self) {
        self.state.store(Offer::MADE, Ordering::Relaxed);
    }

    /// Marks the offer as taken: its thief starts, or, under the lock as in `give_back`, the helper
    /// that had given it back has found another task.
    pub(crate) fn mark_taken(&self) {
        self.state.store(Offer::TAKEN, Ordering::Relaxed);
    }

    /// Marks the offer as given back: its helper leaves. Called under the lock of the shared work,
    /// unless all workers leave.
    pub(crate) fn give_back(&self) {
        self.state.store(Offer::BACK, Ordering::Relaxed);
    }
}

/// Work that several workers can share.
pub(crate) trait Work: Sync {
    /// A piece that a worker has taken.
    type Piece: Copy;
    /// The outcome of a piece.
    type Outcome;

    /// Takes a piece that is ready; if there is none, gives the offer back.
    fn take(&self, worker: &Worker, offer: &Offer<'_>) -> Option<Self::Piece>;
    /// Runs a piece that was taken.
    fn run(&self, worker: &Worker, piece: Self::Piece) -> Self::Outcome;
    /// Finishes a piece that was run, and takes another one.
    fn exchange(&self, worker: &Worker, outcome: Self::Outcome) -> Option<Self::Piece>;
    /// Puts back a piece that was taken and did not run.
    fn put_back(&self, piece: Self::Piece);
    /// Returns `true` if more pieces may be ready than were taken. A hint.
    fn has_more(&self) -> bool;
}

/// Advice to a worker that has taken a piece.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Advice {
    Run,
    /// Make an offer first.
    Announce,
    /// Put it back, and leave.
    Leave,
}

/// A loop that runs pieces, from the given one on, until none is ready or the closure, which it
/// asks before each piece, advises to stop.
type RunLoop<'a, P> = &'a dyn Fn(&Worker, Option<P>, &dyn Fn() -> Advice) -> Stopped<P>;

/// Depth to which helpers of helpers may nest, beyond the number of workers. Deep enough that
/// starting again is rare, and small enough for a thread's stack.
const MAX_NESTING: usize = 16;

/// The workers that share some work.
pub(crate) struct Helpers<'a, W> {
    pub(crate) source: &'a W,
    /// Set if a helper is nested too deep: all workers leave.
    pub(crate) deep: &'a AtomicBool,
}

impl<'a, W: Work> Helpers<'a, W> {
    /// Calls `work` until nothing is left: again whenever the workers have left because one of them
    /// was nested too deep.
    fn run_until_done(source: &'a W, deep: &'a AtomicBool, work: impl Fn(&Self)) {
        let helpers = Helpers { source, deep };
        loop {
            work(&helpers);
            if !helpers.is_deep() {
                return;
            }
            // All other workers have left.
            helpers.deep.store(false, Ordering::Relaxed);
        }
    }

    fn is_deep(&self) -> bool {
        self.deep.load(Ordering::Relaxed)
    }

    fn advise(&self, offer: &Offer<'_>) -> Advice {
        if self.is_deep() {
            Advice::Leave
        } else if self.source.has_more() && offer.wants_another() {
            Advice::Announce
        } else {
            Advice::Run
        }
    }

    /// Runs pieces under a new offer to help, which may be nested in `outer`. Returns when nothing
    /// is ready, or when both offers have come back, so that the outer one can be made again.
    fn work(
        &self,
        worker: &Worker,
        mut piece: Option<W::Piece>,
        run_loop: RunLoop<'_, W::Piece>,
        depth: usize,
        outer: Option<&Offer<'_>>,
    ) -> Stopped<W::Piece> {
        loop {
            let offer = Offer::new(outer);
            let help = |worker: &Worker, migrated: bool| {
                // If it was not stolen, the worker that made it has left, or makes another one.
                if migrated {
                    offer.mark_taken();
                    self.help(worker, &offer, depth + 1);
                }
            };
            let work = |worker: &Worker, _| self.work_under(&offer, worker, piece, run_loop, depth);
            match worker.fork(work, help).0 {
                Stopped::WantsOffer(next) if outer.is_some_and(Offer::is_back) => {
                    return Stopped::WantsOffer(next);
                }
                Stopped::WantsOffer(next) => piece = Some(next),
                Stopped::Empty => return Stopped::Empty,
            }
        }
    }

    /// Runs pieces under an offer that the caller has made. Returns when nothing is ready, or when
    /// the offer has come back and more is ready.
    fn work_under(
        &self,
        offer: &Offer<'_>,
        worker: &Worker,
        piece: Option<W::Piece>,
        run_loop: RunLoop<'_, W::Piece>,
        depth: usize,
    ) -> Stopped<W::Piece> {
        let mut left = run_loop(worker, piece, &|| self.advise(offer));
        while let Stopped::WantsOffer(next) = left
            && !offer.is_back()
        {
            left = match self.work(worker, Some(next), run_loop, depth, Some(offer)) {
                Stopped::WantsOffer(next) => run_loop(worker, Some(next), &|| self.advise(offer)),
                Stopped::Empty => Stopped::Empty,
            };
        }
        left
    }

    /// Runs pieces as the thief of `offer`, until nothing is ready; `depth` is the number of
    /// helpers above it.
    pub(crate) fn help(&self, worker: &Worker, offer: &Offer<'_>, depth: usize) {
        if depth > MAX_NESTING + worker.num_workers() {
            self.deep.store(true, Ordering::Relaxed);
        }
        while !self.is_deep() {
            let Some(piece) = self.source.take(worker, offer) else {
                return;
            };
            let run_loop = |worker: &Worker, piece, advise: &dyn Fn() -> Advice| {
                work_on(worker, self.source, piece, advise)
            };
            self.work(worker, Some(piece), &run_loop, depth, None);
        }
        offer.give_back();
    }
}

/// Runs all pieces of `source`, together with the workers that come to help.
pub(crate) fn work_at<W: Work>(worker: &Worker, source: &W) {
    let deep = AtomicBool::new(false);
    Helpers::run_until_done(source, &deep, |helpers| {
        helpers.help(worker, &Offer::new(None), 0);
    });
}

/// The loop of a helper: see [`RunLoop`].
fn work_on<W: Work>(
    worker: &Worker,
    source: &W,
    mut next: Option<W::Piece>,
    advise: &dyn Fn() -> Advice,
) -> Stopped<W::Piece> {
    while let Some(piece) = next {
        match advise() {
            Advice::Run => {}
            Advice::Announce => return Stopped::WantsOffer(piece),
            Advice::Leave => {
                source.put_back(piece);
                return Stopped::Empty;
            }
        }
        let outcome = source.run(worker, piece);
        next = source.exchange(worker, outcome);
    }
    Stopped::Empty
}

impl Work for SharedState {
    type Piece = NonNull<Task>;
    type Outcome = NonNull<Task>;

    fn take(&self, worker: &Worker, offer: &Offer<'_>) -> Option<NonNull<Task>> {
        self.list.take(worker.index(), Some(offer)).task()
    }

    fn run(&self, worker: &Worker, task: NonNull<Task>) -> NonNull<Task> {
        // SAFETY: the task was handed out to the caller, which runs it once.
        unsafe { self.list.execute(task, Some(worker), self.root(), false) };
        poll_requests(Some(worker));
        task
    }

    fn exchange(&self, worker: &Worker, task: NonNull<Task>) -> Option<NonNull<Task>> {
        self.list.exchange(task, worker.index(), false).task()
    }

    fn put_back(&self, task: NonNull<Task>) {
        self.list.put_back(task);
    }

    fn has_more(&self) -> bool {
        self.list.has_more()
    }
}

/// Runs all tasks of a frame, and closes its offer. Only the frame's owner calls this.
pub(crate) fn run_all(worker: &Worker, shared: &SharedState, open: &OpenOffer) {
    let (list, root) = (&shared.list, shared.root());
    let _recording = worker.is_recorded().then(|| list.record(worker));
    let run_loop = |worker: &Worker, taken, advise: &dyn Fn() -> Advice| {
        list.run_in_order(taken, Some(worker), root, advise)
    };
    Helpers::run_until_done(shared, &shared.deep, |helpers| {
        let mut piece = None;
        if open.is_standing() {
            let left = helpers.work_under(&shared.offer, worker, None, &run_loop, 0);
            open.close(worker);
            match left {
                Stopped::Empty => return,
                Stopped::WantsOffer(next) => piece = Some(next),
            }
        }
        helpers.work(worker, piece, &run_loop, 0, None);
    });
}

#[cfg(all(test, not(loom)))]
#[path = "../../tests/unit/flow/helpers.rs"]
mod tests;
