//! A frame's first offer: it is made as soon as the body has forked a task, and stands while the
//! body goes on.
//!
//! The offer corresponds to the second closure of a fork whose first one is the rest of the body:
//! it lies in the worker's deque, where a thief finds it as any forked job. Since the rest of the
//! body is not a closure, the job lies in the frame, which takes it back when its tasks are done,
//! or waits for its thief.
//!
//! ```text
//!   not made ── fork ──> MADE ── stolen ──> TAKEN ── nothing is ready ──> BACK
//!                          ^                  └── the body adds a task ──┘ │
//!                          └──────────────── the next fork ────────────────┘
//! ```
//!
//! A helper gives the offer back under the list's lock, and then looks once more for tasks that the
//! body has added meanwhile [E8]; so a body that sees its offer taken after it has added a task
//! knows that the helper will find the task. If the offer is still in the deque, a later thief of
//! it finds the task, unless the store that added it is not visible yet: then the thief may miss
//! the task until the next fork.
//!
//! A frame of a recorded run, or under a reference strategy, makes no offer before its body is
//! over: there, forks are calls.

use std::cell::{Cell, UnsafeCell};
use std::mem::MaybeUninit;
use std::ptr::NonNull;

use locksley_queue::split::{PushToken, TakenBack};

use super::arena::Arena;
use super::engine::List;
use super::frame::Root;
use super::helpers::{Helpers, Offer};
use crate::scheduler::worker::Worker;
use crate::sync::{AtomicBool, Ordering, fence};
use crate::task::job::StackJob;

/// How often the owner probes the latch of a helper that has given the offer back. Setting the
/// latch is what the helper does next.
const LEAVES_SOON: usize = 100;

/// State that a frame's owner shares with its helpers.
pub(crate) struct SharedState {
    pub(crate) list: List,
    pub(crate) root: NonNull<Root>,
    /// Set if helpers of helpers are nested too deep: see `helpers`.
    pub(crate) deep: AtomicBool,
    pub(crate) offer: Offer<'static>,
}

// SAFETY: the root stands for a shared reference to fields that are `Sync`.
unsafe impl Sync for SharedState {}

impl SharedState {
    pub(crate) fn new(root: &Root) -> SharedState {
        SharedState {
            list: List::default(),
            root: NonNull::from(root),
            deep: AtomicBool::new(false),
            offer: Offer::new(None),
        }
    }

    pub(crate) fn root(&self) -> &Root {
        // SAFETY: the flow's root stays valid until all of its frames end.
        unsafe { self.root.as_ref() }
    }

    /// Runs tasks as the thief of the offer.
    fn help(&self, worker: &Worker) {
        self.offer.mark_taken();
        let helpers = Helpers {
            source: self,
            deep: &self.deep,
        };
        helpers.help(worker, &self.offer, 1);
    }
}

type Help = &'static (dyn Fn(&Worker, bool) + Sync);
type Job = StackJob<Help, ()>;

#[derive(Clone, Copy)]
enum Standing {
    /// The offer was not made yet, or is closed.
    NotMade,
    /// The offer will not be made.
    Never,
    /// The job was pushed with this token, and was not taken back.
    Pushed(PushToken),
}

/// The owner's side of the offer.
pub(crate) struct OpenOffer {
    standing: Cell<Standing>,
    job: UnsafeCell<MaybeUninit<Job>>,
    /// The job's closure, in an arena of the frame.
    help: Cell<Option<Help>>,
}

impl OpenOffer {
    pub(crate) fn new() -> OpenOffer {
        OpenOffer {
            standing: Cell::new(Standing::NotMade),
            job: UnsafeCell::new(MaybeUninit::uninit()),
            help: Cell::new(None),
        }
    }

    /// Returns `true` if a job was pushed and the offer is not closed, even if the job was stolen.
    pub(crate) fn is_standing(&self) -> bool {
        matches!(self.standing.get(), Standing::Pushed(_))
    }

    /// Makes the offer after a task was added, or makes it again, unless it stands.
    ///
    /// # Safety
    ///
    /// Neither `self` nor `shared` moves before the offer is [closed](OpenOffer::close), and
    /// `arena` is not cleared before. `worker` is the same each time.
    #[inline]
    pub(crate) unsafe fn make(&self, shared: &SharedState, worker: &Worker, arena: &Arena) {
        match self.standing.get() {
            Standing::Never => {}
            Standing::Pushed(_) if shared.offer.state() == Offer::MADE => worker.poll_requests(),
            // SAFETY: guaranteed by the caller.
            _ => unsafe { self.push(shared, worker, arena) },
        }
    }

    /// # Safety
    ///
    /// As [`make`](OpenOffer::make).
    #[inline(never)]
    unsafe fn push(&self, shared: &SharedState, worker: &Worker, arena: &Arena) {
        if self.is_standing() {
            fence(Ordering::SeqCst); // [E8]
            if shared.offer.state() == Offer::TAKEN || !self.helper_is_gone() {
                return worker.poll_requests();
            }
            self.close(worker);
            // All helpers have left.
            shared.deep.store(false, Ordering::Relaxed);
        }
        if worker.num_workers() == 1 || worker.is_recorded() || worker.has_reference_queue() {
            return self.standing.set(Standing::Never);
        }
        shared.offer.mark_made();
        let help = self.help.get().unwrap_or_else(|| {
            // SAFETY: the caller guarantees that the frame and the arena stay until the offer is
            // closed, and no thief calls the closure after that.
            unsafe {
                let shared: &'static SharedState = NonNull::from(shared).as_ref();
                let help = arena.put(move |worker: &Worker, _: bool| shared.help(worker));
                &*help.as_ptr()
            }
        });
        self.help.set(Some(help));
        // SAFETY: no job is pushed, so no other thread knows of its memory.
        let job = unsafe { &*(*self.job.get()).write(StackJob::new(help)) };
        // SAFETY: only the owner's thread has a `&Worker`. After each push that returned `true`,
        // the worker has attended, as below, or taken the job back at once, which freed the slot.
        let (place, attention) = unsafe { worker.deque.push(job.as_ref()) };
        self.standing.set(Standing::Pushed(place));
        if attention {
            worker.attend();
        }
    }

    /// Returns `true` if the helper that has given the offer back has set its latch.
    fn helper_is_gone(&self) -> bool {
        // SAFETY: a job was pushed, so it is initialized.
        let job = unsafe { (*self.job.get()).assume_init_ref() };
        (0..LEAVES_SOON).any(|_| {
            std::hint::spin_loop();
            job.latch().probe()
        })
    }

    /// Takes the offer back, or waits for its helpers.
    pub(crate) fn close(&self, worker: &Worker) {
        let Standing::Pushed(place) = self.standing.replace(Standing::NotMade) else {
            return;
        };
        // SAFETY: a job was pushed, so it is initialized.
        let job = unsafe { (*self.job.get()).assume_init_ref() };
        if !job.latch().seems_set() {
            // SAFETY: only the owner's thread has a `&Worker`. If the job was popped, it was
            // executed, so its latch is set; the jobs that were pushed on top of it were marked.
            let back = unsafe { worker.deque.take_back(place) };
            if back != TakenBack::Yes {
                worker.poll_requests();
            }
            if back != TakenBack::No {
                return;
            }
        }
        if !job.latch().probe() {
            worker.wait_for_job(job.latch(), job.group());
        }
        // SAFETY: the latch is set, and the offer is closed once.
        if let Err(payload) = unsafe { job.take_result() } {
            std::panic::resume_unwind(payload);
        }
    }
}
