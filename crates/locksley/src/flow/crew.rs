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
//! A helper that finds nothing ready leaves, and its offer is used up. Whoever has made the offer sees that it came back,
//! and makes another one when more is ready than it can run itself.

use std::ptr::NonNull;

use super::engine::{Left, List, Task, Turn};
use super::frame::Root;
use crate::sync::{AtomicBool, Ordering};
use crate::worker::Worker;

/// Something that several workers can work at.
pub(crate) trait Work: Sync {
    /// A piece that somebody has taken.
    type Piece: Copy;

    /// Takes a piece that is ready.
    fn take(&self) -> Option<Self::Piece>;
    /// Runs a piece that was taken.
    fn run(&self, worker: &Worker, piece: Self::Piece);
    /// A piece is done.
    fn finish(&self, piece: Self::Piece);
    /// A piece is done; takes another one.
    fn exchange(&self, piece: Self::Piece) -> Option<Self::Piece>;
    /// Is there perhaps more than was taken?
    fn has_spare(&self) -> bool;
}

/// Runs `work`, with an offer to help. `work` is told how to ask whether the offer came back.
fn announce<W: Work, R>(
    worker: &Worker,
    source: &W,
    work: impl FnOnce(&Worker, &dyn Fn() -> bool) -> R,
) -> R {
    let back = AtomicBool::new(false);
    let offer = |worker: &Worker, migrated: bool| {
        // Nobody came; and whoever made the offer has left, or will make another one.
        if migrated {
            help(worker, source);
            back.store(true, Ordering::Relaxed);
        }
    };
    let came_back = || back.load(Ordering::Relaxed);
    worker.fork(|worker, _| work(worker, &came_back), offer).0
}

/// Works at something until nothing is ready.
pub(crate) fn help<W: Work>(worker: &Worker, source: &W) {
    let mut next = source.take();
    while let Some(piece) = next {
        if source.has_spare() {
            let work =
                |worker: &Worker, back: &dyn Fn() -> bool| work_on(worker, source, piece, back);
            match announce(worker, source, work) {
                Left::Unannounced => next = source.take(),
                Left::Empty => return,
            }
        } else {
            source.run(worker, piece);
            next = source.exchange(piece);
        }
    }
}

fn work_on<W: Work>(
    worker: &Worker,
    source: &W,
    mut piece: W::Piece,
    came_back: &dyn Fn() -> bool,
) -> Left {
    loop {
        source.run(worker, piece);
        if source.has_spare() && came_back() {
            source.finish(piece);
            return Left::Unannounced;
        }
        match source.exchange(piece) {
            Some(next) => piece = next,
            None => return Left::Empty,
        }
    }
}

/// A frame's tasks, as thieves see them.
struct Frame<'a> {
    list: &'a List,
    root: &'a Root,
}

impl Work for Frame<'_> {
    type Piece = NonNull<Task>;

    fn take(&self) -> Option<NonNull<Task>> {
        task_of(self.list.take(false))
    }

    fn run(&self, worker: &Worker, task: NonNull<Task>) {
        // SAFETY: it was handed out to the caller, who runs it once.
        unsafe { self.list.execute(task, Some(worker), self.root, false) };
    }

    fn finish(&self, task: NonNull<Task>) {
        self.list.finish(task);
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
            list.run_in_order(Some(worker), root, || false);
            return;
        }
        _ => {}
    }
    let source = Frame { list, root };
    let work =
        |worker: &Worker, back: &dyn Fn() -> bool| list.run_in_order(Some(worker), root, back);
    while announce(worker, &source, work) == Left::Unannounced {}
}
