//! A frame's first offer: it is made as soon as the body has forked a task, and stands while the
//! body goes on.
//!
//! The offer is the second closure of a fork whose first one is the rest of the body: it lies in
//! the worker's deque, where a thief finds it as any forked job. The body is no closure of the
//! fork, so the job lies in the frame instead, and the frame takes it back when its tasks are done,
//! or waits for its thief.
//!
//! ```text
//!   not made ── fork ──> MADE ── stolen ──> TAKEN ── nothing is ready ──> BACK
//!                          ^                  └── the body adds a task ──┘ │
//!                          └──────────────── the next fork ────────────────┘
//! ```
//!
//! A helper gives the offer back under the list's lock, and looks once more for what the body has
//! added meanwhile [E8]; so a body that sees its offer taken after it has added a task knows that
//! the helper will find it. If the offer lies in the deque still, a thief that takes it from now on
//! finds the task, or, within the time that a store takes to be seen, may miss it until the next
//! fork.
//!
//! A frame of a recorded run, and one under a reference strategy, makes no offer before its body is
//! over: their forks are calls.

use std::cell::{Cell, UnsafeCell};
use std::mem::MaybeUninit;
use std::ptr::NonNull;

use locksley_queue::split::{PushToken, TakenBack};

use super::arena::Arena;
use super::engine::List;
use super::frame::Root;
use super::helpers::{Helpers, Offer, Tasks};
use crate::scheduler::worker::Worker;
use crate::sync::{AtomicBool, Ordering, fence};
use crate::task::job::StackJob;

/// How often to look whether a helper that has given the offer back has left. It sets its latch
/// next.
const LEAVES_SOON: usize = 100;

/// What a frame's owner shares with its helpers.
pub(crate) struct Shared {
    pub(crate) list: List,
    pub(crate) root: NonNull<Root>,
    /// Helpers of helpers have gone too deep: see `helpers`.
    pub(crate) deep: AtomicBool,
    pub(crate) offer: Offer<'static>,
}

impl Shared {
    pub(crate) fn new(root: &Root) -> Shared {
        Shared {
            list: List::new(),
            root: NonNull::from(root),
            deep: AtomicBool::new(false),
            offer: Offer::new(None),
        }
    }

    pub(crate) fn root(&self) -> &Root {
        // SAFETY: the flow's root is there until all of its frames are left.
        unsafe { self.root.as_ref() }
    }

    /// The frame's tasks, as helpers see them.
    pub(crate) fn tasks(&self) -> Tasks<'_> {
        Tasks {
            list: &self.list,
            root: self.root(),
        }
    }

    /// What a thief of the offer does.
    fn help(&self, worker: &Worker) {
        self.offer.take_again();
        let helpers = Helpers {
            source: &self.tasks(),
            deep: &self.deep,
        };
        helpers.help(worker, &self.offer, 1);
    }
}

/// Where the shared part lies, for the offer's thief.
struct SharedPtr(NonNull<Shared>);

// SAFETY: it stands for a shared reference. What is behind it is `Sync`: the list, and a root whose
// fields are. The frame stays until the job is taken back or its latch is set.
unsafe impl Send for SharedPtr {}
// SAFETY: as above.
unsafe impl Sync for SharedPtr {}

impl SharedPtr {
    /// # Safety
    ///
    /// The frame is there.
    unsafe fn get(&self) -> &Shared {
        // SAFETY: the caller says so.
        unsafe { self.0.as_ref() }
    }
}

type Help = &'static (dyn Fn(&Worker, bool) + Sync);
type Job = StackJob<Help, ()>;

#[derive(Clone, Copy)]
enum Standing {
    /// It was not made yet.
    NotMade,
    /// It will not be made.
    Never,
    /// The job was pushed there, and was not taken back.
    Pushed(PushToken),
}

/// The owner's side of the offer.
pub(crate) struct OpenOffer {
    standing: Cell<Standing>,
    job: UnsafeCell<MaybeUninit<Job>>,
    /// In an arena of the frame's.
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

    /// Returns `true` if a job was pushed, whatever has become of it.
    pub(crate) fn is_standing(&self) -> bool {
        matches!(self.standing.get(), Standing::Pushed(_))
    }

    /// A task was added: makes the offer, or makes it again, unless it stands.
    ///
    /// # Safety
    ///
    /// Neither this nor `shared` moves before the offer is [closed](OpenOffer::close), and `arena`
    /// is not cleared. `worker` is the same each time.
    #[inline]
    pub(crate) unsafe fn note_task(&self, shared: &Shared, worker: &Worker, arena: &Arena) {
        match self.standing.get() {
            Standing::Never => {}
            Standing::Pushed(_) if shared.offer.state() == Offer::MADE => worker.poll_requests(),
            // SAFETY: the caller says so.
            _ => unsafe { self.renew(shared, worker, arena) },
        }
    }

    /// # Safety
    ///
    /// As [`note_task`](OpenOffer::note_task).
    #[inline(never)]
    unsafe fn renew(&self, shared: &Shared, worker: &Worker, arena: &Arena) {
        if self.is_standing() {
            fence(Ordering::SeqCst); // [E8]
            if shared.offer.state() == Offer::TAKEN || !self.has_helper_left() {
                return worker.poll_requests();
            }
            self.close(worker);
            // All helpers have left.
            shared.deep.store(false, Ordering::Relaxed);
        }
        if worker.num_workers() == 1 || worker.is_recorded() || worker.has_reference_queue() {
            return self.standing.set(Standing::Never);
        }
        shared.offer.make_again();
        // SAFETY: the caller says so.
        let help = unsafe { self.help(shared, arena) };
        // SAFETY: no job is pushed, so no other thread knows of the place.
        let job = unsafe { &*(*self.job.get()).write(StackJob::new(help)) };
        // SAFETY: only the owner's thread has a `&Worker`.
        let (place, attention) = unsafe { worker.deque.push(job.as_ref()) };
        self.standing.set(Standing::Pushed(place));
        if attention {
            worker.attend();
        }
    }

    /// The job's closure, which is made once.
    ///
    /// # Safety
    ///
    /// As [`note_task`](OpenOffer::note_task).
    unsafe fn help(&self, shared: &Shared, arena: &Arena) -> Help {
        if let Some(help) = self.help.get() {
            return help;
        }
        let shared = SharedPtr(NonNull::from(shared));
        let help = arena.put(move |worker: &Worker, _: bool| {
            // SAFETY: the frame waits for the job.
            unsafe { shared.get() }.help(worker);
        });
        // SAFETY: the arena is not cleared before the offer is closed, says the caller.
        let help: Help = unsafe { &*help.as_ptr() };
        self.help.set(Some(help));
        help
    }

    /// Returns `true` if the helper that has given the offer back is gone.
    fn has_helper_left(&self) -> bool {
        // SAFETY: a job was pushed, so it is there.
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
        // SAFETY: a job was pushed, so it is there.
        let job = unsafe { (*self.job.get()).assume_init_ref() };
        if !job.latch().seems_set() {
            // SAFETY: only the owner's thread has a `&Worker`. A job that was popped was executed,
            // so that its latch is set; and what was pushed on top of it was marked.
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
