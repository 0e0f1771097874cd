//! Jobs: one-word references to work, and to the code that runs it.
//!
//! ```text
//!   JobRef ──> | latch | closure, later result |  a `join`'s second closure, in the caller's frame
//!   JobRef ──> | latch | group | closure |        a spawned closure, on the heap (low bit set)
//!   JobRef ──> | latch | group | claim | ...      one with a handle: see `packet`
//!                  └──> how to execute it
//! ```
//!
//! The latch of a job carries the address of its [`Kind`] until it is set.
//!
//! A job runs exactly once. A job in a frame is either taken back by its owner or executed by a
//! thief, which sets the job's latch as its last access; the frame stays until then. A job on the
//! heap is freed when it is executed. A task with a handle may be claimed and run by the handle's
//! owner while a reference to it is still in a queue: that reference is a *ghost*, and executing it
//! only releases it.

use std::any::Any;
use std::cell::UnsafeCell;
use std::mem::ManuallyDrop;
use std::panic::{self, AssertUnwindSafe};
use std::ptr::NonNull;

use locksley_queue::Word;
pub(crate) use locksley_strategy::{GroupId, Job};

use crate::scheduler::worker::Worker;
use crate::task::blocks::Blocks;
use crate::task::latch::Latch;
use crate::task::packet::PacketHead;

/// The payload of a panic.
pub(crate) type Payload = Box<dyn Any + Send>;

/// Calls `f`, and returns a panic as an error.
pub(crate) fn catch<R>(f: impl FnOnce() -> R) -> Result<R, Payload> {
    panic::catch_unwind(AssertUnwindSafe(f))
}

/// Drops the payload of a panic. Its destructor is user code, and may panic in turn.
pub(crate) fn discard(payload: Payload) {
    if let Err(again) = catch(|| drop(payload)) {
        // Not dropped: a chain of panicking destructors must not keep the thread from going on.
        std::mem::forget(again);
    }
}

/// Drops a user's value and discards a panic of its destructor: unwinding must not leave a frame
/// that holds a job.
pub(crate) fn drop_caught<T>(thing: T) {
    if let Err(payload) = catch(|| drop(thing)) {
        discard(payload);
    }
}

/// How to run the jobs of one type. Aligned so that a latch can carry its address.
#[repr(align(8))]
pub(super) struct Kind {
    /// The arguments are the job, the worker that runs it, and the index of the worker whose queue
    /// it was in.
    pub(super) execute: unsafe fn(NonNull<Header>, &Worker, usize),
    /// The job starts with a [`PacketHead`].
    pub(super) has_packet: bool,
}

/// The part of a job that a thief reads. The first field of every job.
#[repr(transparent)]
pub(crate) struct Header {
    /// Carries the job's [`Kind`].
    pub(crate) latch: Latch,
}

impl Header {
    #[inline(always)]
    pub(super) fn new(kind: &'static Kind) -> Header {
        Header {
            latch: Latch::carrying(kind),
        }
    }
}

/// A reference to a job, in one word. The low bits are tags:
///
/// | bit | meaning |
/// |---|---|
/// | 0 | the job was spawned, not forked |
/// | 1 | the job was dealt (strategy `dealing`): its execution is counted |
/// | 2 | the job was dealt to its preferred worker; spawned jobs only |
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct JobRef(NonNull<Header>);

const SPAWNED: usize = 1;
const DEALT: usize = 2;
const NEAR: usize = 4;

const _: () = assert!(align_of::<StackJob<(), ()>>() > NEAR && align_of::<SpawnHeader>() > NEAR);

// SAFETY: a job may be executed by any worker; its creator ensures that its content is `Send`.
unsafe impl Send for JobRef {}

// SAFETY: only the pointer's type changes on the way.
unsafe impl Word for JobRef {
    #[inline]
    fn into_word(self) -> *mut () {
        self.0.as_ptr().cast()
    }

    #[inline]
    unsafe fn from_word(word: *mut ()) -> Self {
        // SAFETY: the caller guarantees that the word comes from a `JobRef`.
        JobRef(unsafe { NonNull::new_unchecked(word.cast()) })
    }
}

impl Job for JobRef {
    #[inline]
    fn is_spawned_word(word: *mut ()) -> bool {
        word.addr() & SPAWNED != 0
    }

    #[inline]
    fn is_dealt(self) -> bool {
        self.into_word().addr() & DEALT != 0
    }

    #[inline]
    fn is_near(self) -> bool {
        self.into_word().addr() & NEAR != 0
    }

    fn dealt(self, near: bool) -> JobRef {
        let near = if near { NEAR } else { 0 };
        JobRef(self.0.map_addr(|addr| (addr | DEALT) | near))
    }

    #[inline]
    fn anywhere(self) -> JobRef {
        self.without(NEAR)
    }

    #[inline]
    unsafe fn group(self) -> GroupId {
        if self.is_spawned() {
            // SAFETY: a spawned job is alive until it is executed, and starts with this header.
            unsafe { self.header().cast::<SpawnHeader>().as_ref().group }
        } else {
            GroupId(self.header().addr().get())
        }
    }

    #[inline]
    unsafe fn is_ghost(self) -> bool {
        // SAFETY: guaranteed by the caller.
        let packet = unsafe { self.packet() };
        // SAFETY: a reference that was not executed keeps the packet alive.
        packet.is_some_and(|packet| unsafe { packet.as_ref() }.claim.is_claimed())
    }
}

impl JobRef {
    #[inline]
    fn without(self, tags: usize) -> JobRef {
        JobRef(self.0.map_addr(|addr| {
            (addr.get() & !tags)
                .try_into()
                .expect("aligned, so not null")
        }))
    }

    #[inline]
    fn header(self) -> NonNull<Header> {
        self.without(SPAWNED | DEALT | NEAR).0
    }

    /// A reference to a spawned job, which starts with a `SpawnHeader`.
    pub(super) fn spawned(header: NonNull<SpawnHeader>) -> JobRef {
        JobRef(header.cast().map_addr(|addr| addr | SPAWNED))
    }

    /// Returns how the job is run.
    ///
    /// # Safety
    ///
    /// The job is alive, and its latch is not set.
    #[inline]
    unsafe fn kind(self) -> &'static Kind {
        // SAFETY: until a job's latch is set, it carries the kind that the job was made with.
        unsafe { &*self.header().as_ref().latch.cargo::<Kind>() }
    }

    /// Returns `true` if it is a task with a handle.
    ///
    /// # Safety
    ///
    /// This reference has not been executed.
    #[inline]
    pub(crate) unsafe fn has_handle(self) -> bool {
        // SAFETY: guaranteed by the caller.
        unsafe { self.packet() }.is_some()
    }

    /// Returns the packet of a job with a handle.
    ///
    /// # Safety
    ///
    /// This reference has not been executed.
    #[inline]
    unsafe fn packet(self) -> Option<NonNull<PacketHead>> {
        // SAFETY: a spawned job is alive until the reference is executed; its latch is not set.
        let handled = self.is_spawned() && unsafe { self.kind() }.has_packet;
        handled.then(|| self.header().cast())
    }

    /// Frees a ghost.
    ///
    /// # Safety
    ///
    /// The reference was taken out of a queue, and [is a ghost](Job::is_ghost). It is not used
    /// again.
    pub(crate) unsafe fn free_ghost(self) {
        // SAFETY: guaranteed by the caller.
        if let Some(packet) = unsafe { self.packet() } {
            // SAFETY: the reference keeps the packet alive, and ends here.
            unsafe { PacketHead::release(packet) };
        }
    }

    /// Returns `true` if both refer to the same job, whatever their tags.
    pub(crate) fn is_same(self, other: JobRef) -> bool {
        self.header() == other.header()
    }

    /// Runs the job.
    ///
    /// # Safety
    ///
    /// The job has not been executed, and no other worker executes it. `owner` is the index of the
    /// worker in whose queue it was.
    pub(crate) unsafe fn execute(self, worker: &Worker, owner: usize) {
        let header = self.header();
        // SAFETY: the job is alive until it is executed, and its latch is set only then.
        let kind = unsafe { self.kind() };
        // SAFETY: the job is of this kind, and the caller guarantees that it is executed once.
        unsafe { (kind.execute)(header, worker, owner) }
    }
}

/// The second closure of a join, in the frame of the join. Dropping it does not drop its content:
/// the thread that creates it must take the closure or the result.
#[repr(C, align(8))]
pub(crate) struct StackJob<F, R> {
    header: Header,
    content: UnsafeCell<Content<F, R>>,
}

/// The closure until it is taken, then the result.
union Content<F, R> {
    func: ManuallyDrop<F>,
    result: ManuallyDrop<Result<R, Payload>>,
}

impl<F, R> StackJob<F, R>
where
    F: FnOnce(&Worker, bool) -> R,
{
    const KIND: &'static Kind = &Kind {
        execute: Self::execute,
        has_packet: false,
    };

    #[inline(always)]
    pub(crate) fn new(func: F) -> Self {
        StackJob {
            header: Header::new(Self::KIND),
            content: UnsafeCell::new(Content {
                func: ManuallyDrop::new(func),
            }),
        }
    }

    #[inline(always)]
    pub(crate) fn as_ref(&self) -> JobRef {
        // Derived from the whole job, so that the pointer may access all of it.
        JobRef(NonNull::from(self).cast())
    }

    pub(crate) fn group(&self) -> GroupId {
        GroupId::of(self)
    }

    pub(crate) fn latch(&self) -> &Latch {
        &self.header.latch
    }

    /// Takes the closure out.
    ///
    /// # Safety
    ///
    /// The job is in no queue, and was not executed. The closure is taken once.
    #[inline(always)]
    pub(crate) unsafe fn take(&self) -> F {
        // SAFETY: no other thread can reach the job, and the closure is taken once.
        unsafe { ManuallyDrop::take(&mut (*self.content.get()).func) }
    }

    /// Stores the result in place of the closure.
    ///
    /// # Safety
    ///
    /// The caller has taken the closure, and the result is read only after the latch is set.
    pub(crate) unsafe fn leave_result(&self, result: Result<R, Payload>) {
        let result = ManuallyDrop::new(result);
        // SAFETY: the closure is gone, and no other thread can reach the content.
        unsafe { (*self.content.get()).result = result };
    }

    /// Takes the result that was stored.
    ///
    /// # Safety
    ///
    /// The latch is set, or the caller stored the result itself; and it is taken once.
    #[inline(always)]
    pub(crate) unsafe fn take_result(&self) -> Result<R, Payload> {
        // SAFETY: the result was written before the latch was set.
        unsafe { ManuallyDrop::take(&mut (*self.content.get()).result) }
    }

    unsafe fn execute(header: NonNull<Header>, worker: &Worker, owner: usize) {
        let this = header.cast::<Self>();
        // SAFETY: the frame keeps the job alive until its latch is set, which happens below.
        let job = unsafe { this.as_ref() };
        job.header.latch.note_runner(worker.index());
        // SAFETY: the job was taken from a queue, so it is executed here and nowhere else.
        let func = unsafe { job.take() };
        let result = catch(|| func(worker, true));
        // SAFETY: the frame reads the result only after the latch is set.
        unsafe { job.leave_result(result) };
        // SAFETY: this is the last access to the job.
        unsafe {
            Latch::set(&raw const job.header.latch, || {
                worker
                    .registry()
                    .unpark_waiter(owner, GroupId(header.addr().get()));
            })
        };
    }
}

/// The first fields of a spawned job. Aligned so that there is room for the tags on any machine.
#[repr(C, align(8))]
pub(super) struct SpawnHeader {
    pub(super) header: Header,
    pub(super) group: GroupId,
}

/// A spawned closure, on the heap. It must not panic: the spawner catches panics.
#[repr(C)]
pub(crate) struct HeapJob<F> {
    head: SpawnHeader,
    func: F,
}

impl<F: FnOnce(&Worker)> HeapJob<F> {
    const KIND: &'static Kind = &Kind {
        execute: Self::execute,
        has_packet: false,
    };

    /// Moves a closure to the heap. The job leaks unless it is executed. `here` is the calling
    /// thread's worker, if it belongs to the pool.
    ///
    /// # Safety
    ///
    /// What the closure borrows outlives its execution, and the closure may be sent to another
    /// thread.
    #[inline]
    pub(crate) unsafe fn new_ref(here: Option<&Worker>, group: GroupId, func: F) -> JobRef {
        let kept = here.map(|worker| (&worker.blocks, &worker.registry().depot));
        let job = Blocks::allocate::<Self>(kept);
        let head = SpawnHeader {
            header: Header::new(Self::KIND),
            group,
        };
        // SAFETY: the memory is for one of these.
        unsafe { job.write(HeapJob { head, func }) };
        JobRef::spawned(job.cast())
    }

    unsafe fn execute(header: NonNull<Header>, worker: &Worker, _owner: usize) {
        let job = header.cast::<Self>();
        // SAFETY: the job was made by `new_ref`, and is executed once: the closure is moved out,
        // and the memory not used any more.
        let func = unsafe {
            let func = (&raw const (*job.as_ptr()).func).read();
            worker.blocks.free(job, &worker.registry().depot);
            func
        };
        func(worker);
    }
}

#[cfg(all(test, loom))]
#[path = "../../tests/loom/task/job.rs"]
mod models;
