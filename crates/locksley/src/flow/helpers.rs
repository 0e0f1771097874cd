//! How workers come to a frame: a fork whose second closure is an offer to help.
//!
//! A worker works at a frame inside of a join. The join's second closure is *help*: it lies
//! in the worker's queue like any forked job, and the thief works at the frame too, inside
//! of a join of its own, whose second closure others may steal.
//!
//! ```text
//!   owner    join( run in order,  help )
//!                                  └── stolen: join( run what is ready,  help )
//!                                                                         └── stolen: join(...)
//! ```
//!
//! A frame's first offer is made while its body still forks (`open_offer`), and stands until its
//! tasks are done. So an offer that no worker takes costs what a join costs; sleepers are woken,
//! and waiters leapfrog, as with any join; and the frame stays as long as any worker is at it, for
//! the joins are all inside of its owner's.
//!
//! A helper that finds nothing ready leaves, and the offer is used up: under the frame's lock, so
//! the worker that makes more ready afterwards knows. Before it runs a task, and more is ready, a
//! worker whose offer came back makes another one, and one whose helper is still there makes a
//! further one, inside of the first; but only if all that it is inside of have their helpers still.
//! Else it goes on without, until it can leave that of its last helper. So it is never inside of
//! more of them than there are helpers, and one more; and meanwhile its helpers make offers of
//! their own.
//!
//! One that waits for its helper may take the helper's offer, and so on in turns, each time deeper
//! in its stack. When it is too deep all leave, put back what they have taken, and the first one
//! begins anew.

use std::ptr::NonNull;

use super::engine::{Left, List, Turn, answer};
use super::frame::Root;
use super::open_offer::{OpenOffer, Shared};
use super::task::Task;
use crate::scheduler::worker::Worker;
use crate::sync::{AtomicBool, AtomicUsize, Ordering};

/// An offer to help.
#[derive(Debug)]
pub(crate) struct Offer<'a> {
    state: AtomicUsize,
    /// The one inside of which its maker has made it.
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

    /// Returns `true` if its maker should make another one.
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

    /// Makes the offer anew. For its maker, when its helper has left.
    pub(crate) fn make_again(&self) {
        self.state.store(Offer::MADE, Ordering::Relaxed);
    }

    /// The helper that has given it back has found more. Under the lock, as `give_back`.
    pub(crate) fn take_again(&self) {
        self.state.store(Offer::TAKEN, Ordering::Relaxed);
    }

    /// The worker that took it leaves. Called under the lock of what there was to help with, unless
    /// all leave.
    pub(crate) fn give_back(&self) {
        self.state.store(Offer::BACK, Ordering::Relaxed);
    }
}

/// Something that several workers can work at.
pub(crate) trait Work: Sync {
    /// A piece that a worker has taken.
    type Piece: Copy;
    /// What became of a piece.
    type End;

    /// Takes a piece that is ready; if there is none, gives the offer back.
    fn take(&self, worker: &Worker, offer: &Offer<'_>) -> Option<Self::Piece>;
    /// Runs a piece that was taken.
    fn run(&self, worker: &Worker, piece: Self::Piece) -> Self::End;
    /// A piece is done; takes another one.
    fn exchange(&self, worker: &Worker, end: Self::End) -> Option<Self::Piece>;
    /// Puts back a piece that was taken, and did not run.
    fn put_back(&self, piece: Self::Piece);
    /// Returns `true` if there may be more than was taken.
    fn has_spare(&self) -> bool;
}

/// What a worker should do with the piece that it has taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Advice {
    Run,
    /// Make an offer first.
    Announce,
    /// Put it back, and leave.
    Leave,
}

/// How to work at something, from a piece on, until nothing is ready, or the closure says so.
type Way<'a, P> = &'a dyn Fn(&Worker, Option<P>, &dyn Fn() -> Advice) -> Left<P>;

/// How deep helpers of helpers go, beyond the number of workers. Deep enough to begin anew seldom;
/// and not deeper than a stack allows.
const DEEP: usize = 16;

/// All who work at something.
pub(crate) struct Helpers<'a, W> {
    pub(crate) source: &'a W,
    /// Set if they have gone too deep.
    pub(crate) deep: &'a AtomicBool,
}

impl<'a, W: Work> Helpers<'a, W> {
    /// Works until nothing is left; again and again, if they have left because it was too deep.
    fn muster(source: &'a W, deep: &'a AtomicBool, work: impl Fn(&Self)) {
        let helpers = Helpers { source, deep };
        loop {
            work(&helpers);
            if !helpers.is_deep() {
                return;
            }
            // No other worker is left.
            helpers.deep.store(false, Ordering::Relaxed);
        }
    }

    fn is_deep(&self) -> bool {
        self.deep.load(Ordering::Relaxed)
    }

    fn advise(&self, offer: &Offer<'_>) -> Advice {
        if self.is_deep() {
            Advice::Leave
        } else if self.source.has_spare() && offer.wants_another() {
            Advice::Announce
        } else {
            Advice::Run
        }
    }

    /// Works, with an offer to help, perhaps inside of another one; until nothing is ready, or both
    /// have come back, and the outer one can be made again.
    fn work(
        &self,
        worker: &Worker,
        mut piece: Option<W::Piece>,
        way: Way<'_, W::Piece>,
        depth: usize,
        outer: Option<&Offer<'_>>,
    ) -> Left<W::Piece> {
        loop {
            let offer = Offer::new(outer);
            let help = |worker: &Worker, migrated: bool| {
                // If it was not stolen, its maker has left, or will make another one.
                if migrated {
                    offer.state.store(Offer::TAKEN, Ordering::Relaxed);
                    self.help(worker, &offer, depth + 1);
                }
            };
            let work = |worker: &Worker, _| self.work_under(&offer, worker, piece, way, depth);
            match worker.fork(work, help).0 {
                Left::Unannounced(next) if outer.is_some_and(Offer::is_back) => {
                    return Left::Unannounced(next);
                }
                Left::Unannounced(next) => piece = Some(next),
                Left::Empty => return Left::Empty,
            }
        }
    }

    /// Works while an offer of the caller's stands; until nothing is ready, or the offer is back
    /// and more is ready.
    fn work_under(
        &self,
        offer: &Offer<'_>,
        worker: &Worker,
        piece: Option<W::Piece>,
        way: Way<'_, W::Piece>,
        depth: usize,
    ) -> Left<W::Piece> {
        let mut left = way(worker, piece, &|| self.advise(offer));
        while let Left::Unannounced(next) = left
            && !offer.is_back()
        {
            left = match self.work(worker, Some(next), way, depth, Some(offer)) {
                Left::Unannounced(next) => way(worker, Some(next), &|| self.advise(offer)),
                Left::Empty => Left::Empty,
            };
        }
        left
    }

    /// Works until nothing is ready, at the offer of a worker that is so deep.
    pub(crate) fn help(&self, worker: &Worker, offer: &Offer<'_>, depth: usize) {
        if depth > DEEP + worker.num_workers() {
            self.deep.store(true, Ordering::Relaxed);
        }
        while !self.is_deep() {
            let Some(piece) = self.source.take(worker, offer) else {
                return;
            };
            let way = |worker: &Worker, piece, advise: &dyn Fn() -> Advice| {
                work_on(worker, self.source, piece, advise)
            };
            self.work(worker, Some(piece), &way, depth, None);
        }
        offer.give_back();
    }
}

/// Works at something until nothing is left, with all workers that come to help.
pub(crate) fn work_at<W: Work>(worker: &Worker, source: &W) {
    let deep = AtomicBool::new(false);
    Helpers::muster(source, &deep, |helpers| {
        helpers.help(worker, &Offer::new(None), 0);
    });
}

/// How a helper works.
fn work_on<W: Work>(
    worker: &Worker,
    source: &W,
    mut next: Option<W::Piece>,
    advise: &dyn Fn() -> Advice,
) -> Left<W::Piece> {
    while let Some(piece) = next {
        match advise() {
            Advice::Run => {}
            Advice::Announce => return Left::Unannounced(piece),
            Advice::Leave => {
                source.put_back(piece);
                return Left::Empty;
            }
        }
        let end = source.run(worker, piece);
        next = source.exchange(worker, end);
    }
    Left::Empty
}

/// A frame's tasks, as thieves see them.
pub(crate) struct Tasks<'a> {
    pub(crate) list: &'a List,
    pub(crate) root: &'a Root,
}

impl Work for Tasks<'_> {
    type Piece = NonNull<Task>;
    type End = NonNull<Task>;

    fn take(&self, worker: &Worker, offer: &Offer<'_>) -> Option<NonNull<Task>> {
        task_of(self.list.take(worker.index(), Some(offer)))
    }

    fn run(&self, worker: &Worker, task: NonNull<Task>) -> NonNull<Task> {
        // SAFETY: it was handed out to the caller, who runs it once.
        unsafe { self.list.execute(task, Some(worker), self.root, false) };
        answer(Some(worker));
        task
    }

    fn exchange(&self, worker: &Worker, task: NonNull<Task>) -> Option<NonNull<Task>> {
        task_of(self.list.exchange(task, worker.index(), false))
    }

    fn put_back(&self, task: NonNull<Task>) {
        self.list.put_back(task);
    }

    fn has_spare(&self) -> bool {
        self.list.has_spare()
    }
}

fn task_of(turn: Turn) -> Option<NonNull<Task>> {
    match turn {
        Turn::Task(task) => Some(task),
        // The owner's alone.
        Turn::InOrder(_) | Turn::None => None,
    }
}

/// Runs all tasks of a frame, and takes its offer back. For its owner.
pub(crate) fn run_all(worker: &Worker, shared: &Shared, open: &OpenOffer) {
    let tasks = shared.tasks();
    let _recording = worker.is_recorded().then(|| tasks.list.record(worker));
    let way = |worker: &Worker, taken, advise: &dyn Fn() -> Advice| {
        let list = tasks.list;
        list.run_in_order(taken, Some(worker), tasks.root, advise)
    };
    Helpers::muster(&tasks, &shared.deep, |helpers| {
        let mut piece = None;
        if open.is_standing() {
            let left = helpers.work_under(&shared.offer, worker, None, &way, 0);
            open.close(worker);
            match left {
                Left::Empty => return,
                Left::Unannounced(next) => piece = Some(next),
            }
        }
        helpers.work(worker, piece, &way, 0, None);
    });
}

#[cfg(all(test, not(loom)))]
#[path = "../../tests/unit/flow/helpers.rs"]
mod tests;
