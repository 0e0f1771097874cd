//! How workers come to a frame: a join whose second closure is an offer to help.
//!
//! Whoever works at a frame does so inside of a join. The join's second closure is *help*: it lies in the worker's pile
//! like any forked job, and whoever steals it works at the frame too, inside of a join of its own, whose second closure
//! others may steal.
//!
//! ```text
//!   owner    join( run in order,  help )
//!                                  └── stolen: join( run what is ready,  help )
//!                                                                         └── stolen: join(...)
//! ```
//!
//! So an offer that nobody takes costs what a join costs; sleepers are woken, and waiters leapfrog, as with any join; and the
//! frame stays as long as anybody is at it, for the joins are all inside of its owner's.
//!
//! A helper that finds nothing ready leaves, and the offer is used up: under the frame's lock, so whoever makes more
//! ready afterwards knows. Before it runs a task, and more is ready, a worker whose offer came back makes another one, and
//! one whose helper is still there makes a further one, inside of the first. So it is never inside of more of them
//! than there are helpers.

use std::ptr::NonNull;

use super::engine::{Left, List, Turn, answer};
use super::frame::Root;
use super::task::Task;
use crate::sync::{AtomicUsize, Ordering};
use crate::worker::Worker;

/// An offer to help.
#[derive(Debug)]
pub(crate) struct Offer(AtomicUsize);

impl Offer {
    const MADE: usize = 0;
    const TAKEN: usize = 1;
    const BACK: usize = 2;

    fn new() -> Offer {
        Offer(AtomicUsize::new(Offer::MADE))
    }

    fn is_used(&self) -> bool {
        self.0.load(Ordering::Relaxed) != Offer::MADE
    }

    fn is_back(&self) -> bool {
        self.0.load(Ordering::Relaxed) == Offer::BACK
    }

    /// Whoever has taken it leaves. Called under the lock of what there was to help with.
    pub(crate) fn give_back(&self) {
        self.0.store(Offer::BACK, Ordering::Relaxed);
    }
}

/// Something that several workers can work at.
pub(crate) trait Work: Sync {
    /// A piece that somebody has taken.
    type Piece: Copy;
    /// What became of a piece.
    type End;

    /// Takes a piece that is ready; if there is none, gives the offer back.
    fn take(&self, offer: &Offer) -> Option<Self::Piece>;
    /// Runs a piece that was taken.
    fn run(&self, worker: &Worker, piece: Self::Piece) -> Self::End;
    /// A piece is done; takes another one.
    fn exchange(&self, end: Self::End) -> Option<Self::Piece>;
    /// Is there perhaps more than was taken?
    fn has_spare(&self) -> bool;
}

/// How to work at something, from a piece on, until nothing is ready, or an offer is wanted: the closure says whether the
/// last one was used.
type Way<'a, P> = &'a dyn Fn(&Worker, Option<P>, &dyn Fn() -> bool) -> Left<P>;

/// Works at something, with an offer to help.
pub(crate) fn work_announced<W: Work>(
    worker: &Worker,
    source: &W,
    mut piece: Option<W::Piece>,
    work: Way<'_, W::Piece>,
) {
    loop {
        let offer = Offer::new();
        let help = |worker: &Worker, migrated: bool| {
            // If nobody came, whoever made the offer has left, or will make another one.
            if migrated {
                offer.0.store(Offer::TAKEN, Ordering::Relaxed);
                help(worker, source, &offer);
            }
        };
        let work = |worker: &Worker, _| match work(worker, piece, &|| offer.is_used()) {
            Left::Unannounced(piece) if !offer.is_back() => {
                work_announced(worker, source, Some(piece), work);
                Left::Empty
            }
            left => left,
        };
        match worker.fork(work, help).0 {
            Left::Unannounced(next) => piece = Some(next),
            Left::Empty => return,
        }
    }
}

/// Works at something until nothing is left, with whoever comes to help.
pub(crate) fn work_at<W: Work>(worker: &Worker, source: &W) {
    help(worker, source, &Offer::new());
}

/// Works at something until nothing is ready.
fn help<W: Work>(worker: &Worker, source: &W, offer: &Offer) {
    while let Some(piece) = source.take(offer) {
        work_announced(worker, source, Some(piece), &|worker, piece, used| {
            work_on(worker, source, piece, used)
        });
    }
}

/// The way of those who help.
fn work_on<W: Work>(
    worker: &Worker,
    source: &W,
    mut next: Option<W::Piece>,
    used: &dyn Fn() -> bool,
) -> Left<W::Piece> {
    while let Some(piece) = next {
        if source.has_spare() && used() {
            return Left::Unannounced(piece);
        }
        let end = source.run(worker, piece);
        next = source.exchange(end);
    }
    Left::Empty
}

/// A frame's tasks, as thieves see them.
struct Frame<'a> {
    list: &'a List,
    root: &'a Root,
}

impl Work for Frame<'_> {
    type Piece = NonNull<Task>;
    type End = NonNull<Task>;

    fn take(&self, offer: &Offer) -> Option<NonNull<Task>> {
        task_of(self.list.take(Some(offer)))
    }

    fn run(&self, worker: &Worker, task: NonNull<Task>) -> NonNull<Task> {
        // SAFETY: it was handed out to the caller, who runs it once.
        unsafe { self.list.execute(task, Some(worker), self.root, false) };
        answer(Some(worker));
        task
    }

    fn exchange(&self, task: NonNull<Task>) -> Option<NonNull<Task>> {
        task_of(self.list.exchange(task, false))
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

/// Runs all tasks of a list. For its owner.
pub(crate) fn run_all(worker: &Worker, list: &List, root: &Root) {
    match list.count() {
        0 => return,
        // There is nothing to help with.
        1 => {
            list.run_in_order(None, Some(worker), root, || false);
            return;
        }
        _ => {}
    }
    work_announced(
        worker,
        &Frame { list, root },
        None,
        &|worker, taken, used| list.run_in_order(taken, Some(worker), root, used),
    );
}
