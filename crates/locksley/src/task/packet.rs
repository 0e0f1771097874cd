//! A task with a handle: its closure, its result and its waker, in one allocation.
//!
//! ```text
//!   queued entry ──> | head: how to run and to free it, claim | latch, waker | result | closure |
//!   JoinHandle   ──────^
//! ```
//!
//! | field | who may access it |
//! |---|---|
//! | closure | the winner of the claim, once |
//! | result | the winner of the claim, until it sets the latch; then the handle's owner; then the thread that releases the last reference |
//! | waker | the thread that holds its lock |
//!
//! **No waker is lost.** The handle's owner stores its waker, then marks the latch, unless the
//! latch is set. The runner sets the latch and, if it was marked, takes the waker. If it takes an
//! older waker, the newer one was stored after the latch was set, and the handle's owner sees that
//! it is set.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::sync::Arc;
use std::task::Waker;
use std::thread;

use crate::observe::record::Spawned;
use crate::scheduler::registry::Registry;
use crate::scheduler::worker::Worker;
use crate::sync::{AtomicBool, Mutex, Ordering, lock};
use crate::task::blocks::Kept;
use crate::task::claim::Claim;
use crate::task::job::{GroupId, Header, JobRef, Kind, Payload, SpawnHeader, catch, discard};
use crate::task::latch::Latch;
use crate::task::panics::reached_no_waiter;

/// The part of a packet that does not depend on the types of closure and result.
#[repr(C)]
pub(crate) struct PacketHead {
    spawn: SpawnHeader,
    pub(super) claim: Claim,
    /// Set if a panic of the task need not be reported, because another panic has dropped the
    /// handle.
    forgiven: AtomicBool,
    methods: &'static Methods,
}

/// The methods that depend on the types of closure and result.
struct Methods {
    /// Runs the closure. The caller has claimed it, and holds a reference.
    run: unsafe fn(NonNull<PacketHead>, &Worker),
    /// Frees the packet, and drops a result that is still there. The caller held the last
    /// reference.
    free: unsafe fn(NonNull<PacketHead>),
}

impl PacketHead {
    /// Releases a reference, and frees the packet if it was the last one.
    ///
    /// # Safety
    ///
    /// The caller holds the reference, and does not use it again.
    pub(crate) unsafe fn release(this: NonNull<PacketHead>) {
        // SAFETY: the reference keeps the packet alive.
        if unsafe { this.as_ref() }.claim.release() {
            // SAFETY: it was the last one.
            unsafe { (this.as_ref().methods.free)(this) };
        }
    }
}

/// Tells the handle's owner that there is a result.
pub(crate) struct Completion {
    pub(crate) latch: Latch,
    waker: Mutex<Option<Waker>>,
}

impl Completion {
    fn new() -> Completion {
        Completion {
            latch: Latch::new(),
            waker: Mutex::new(None),
        }
    }

    /// Stores a waker in place of the previous one. Returns `true` if there is a result: then the
    /// waker is not woken.
    pub(crate) fn subscribe(&self, waker: Waker) -> bool {
        let before = lock(&self.waker).replace(waker);
        // Dropping a waker runs user code, so the lock is not held.
        drop(before);
        self.latch.probe_or_await()
    }

    /// Sets the latch, since there is a result. Returns the waker of the handle's owner, if that
    /// waits.
    fn complete(&self) -> Option<Waker> {
        let mut waits = false;
        // SAFETY: the runner holds a reference to the packet.
        unsafe { Latch::set(&raw const self.latch, || waits = true) };
        if waits {
            lock(&self.waker).take()
        } else {
            None
        }
    }
}

enum Outcome<T> {
    Returned(T),
    Panicked(Box<Panic>),
}

/// The payload of a task's panic, and the pool whose panic handler gets it if the handle's owner
/// does not.
struct Panic(Payload, Arc<Registry>);

/// A packet without its closure, whose type the handle does not know.
#[repr(C)]
pub(crate) struct Packet<T> {
    pub(super) head: PacketHead,
    pub(crate) completion: Completion,
    result: UnsafeCell<Option<Outcome<T>>>,
    /// The task's pool, which lives at least until the task is done.
    registry: *const Registry,
    pub(crate) recorded: Option<Spawned>,
}

// General allocators are slow above 128 bytes, which include their own header word, and the closure
// comes on top.
#[cfg(all(target_os = "linux", target_pointer_width = "64", not(loom)))]
const _: () = assert!(size_of::<Packet<()>>() <= 96);

/// A packet and its closure.
#[repr(C)]
struct Cell<F, T> {
    packet: Packet<T>,
    func: UnsafeCell<MaybeUninit<F>>,
}

impl<F, T> Cell<F, T>
where
    F: FnOnce() -> T,
{
    const KIND: &'static Kind = &Kind {
        execute: Self::execute,
        has_packet: true,
    };

    const METHODS: &'static Methods = &Methods {
        run: Self::run,
        free: Self::free,
    };

    unsafe fn execute(header: NonNull<Header>, worker: &Worker, _owner: usize) {
        let head = header.cast::<PacketHead>();
        // SAFETY: the entry's reference keeps the packet alive.
        let claim = unsafe { &head.as_ref().claim };
        if !claim.claim() {
            // SAFETY: the reference is the entry's, which ends here.
            return unsafe { PacketHead::release(head) };
        }
        // SAFETY: the entry's reference keeps the packet alive.
        let packet = unsafe { head.cast::<Packet<T>>().as_ref() };
        packet.completion.latch.note_runner(worker.index());
        // SAFETY: it was claimed above, and the entry's reference is held.
        unsafe { Self::run(head, worker) };
        if claim.release() {
            // The task must be counted as done even if user code panics here.
            // SAFETY: it was the last reference.
            worker
                .registry()
                .config
                .guard(|| unsafe { Self::free(head) });
        }
        worker.task_done();
    }

    unsafe fn run(head: NonNull<PacketHead>, worker: &Worker) {
        // SAFETY: the caller holds a reference.
        let cell = unsafe { head.cast::<Self>().as_ref() };
        // SAFETY: the caller has claimed the task, so it takes the closure, once.
        let func = unsafe { (*cell.func.get()).assume_init_read() };
        let result = match &cell.packet.recorded {
            None => catch(func),
            Some(task) => task.run(worker, || catch(func)),
        };
        let outcome = match result {
            Ok(value) => Outcome::Returned(value),
            Err(payload) => Outcome::Panicked(Box::new(Panic(payload, worker.registry().shared()))),
        };
        // SAFETY: the handle reads the result only after the latch is set.
        unsafe { *cell.packet.result.get() = Some(outcome) };
        if let Some(waker) = cell.packet.completion.complete() {
            worker.registry().config.guard(|| waker.wake());
        }
    }

    unsafe fn free(head: NonNull<PacketHead>) {
        // SAFETY: the packet was made by `Packet::create` with these types, and no reference is
        // left.
        let cell = unsafe { head.cast::<Self>().read() };
        let kept = Worker::current().map(|worker| &worker.kept);
        // SAFETY: as above, and the content was moved to `cell`.
        unsafe { Kept::free(kept, head.cast::<Self>()) };
        let (result, forgiven) = (cell.packet.result, cell.packet.head.forgiven);
        if let Some(Outcome::Panicked(panic)) = result.into_inner() {
            let Panic(payload, registry) = *panic;
            if forgiven.load(Ordering::Relaxed) {
                discard(payload);
            } else {
                reached_no_waiter(&registry, payload);
            }
        }
    }
}

impl<T> Packet<T> {
    /// Creates a task from a closure. Returns its entry, which must be executed, and the packet for
    /// its handle. `here` is the calling thread's worker, if it belongs to the pool.
    pub(crate) fn create<F>(
        registry: &Registry,
        here: Option<&Worker>,
        recorded: Option<Spawned>,
        func: F,
    ) -> (JobRef, NonNull<Packet<T>>)
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let memory = Kept::allocate::<Cell<F, T>>(here.map(|worker| &worker.kept));
        let cell = Cell {
            packet: Packet {
                head: PacketHead {
                    spawn: SpawnHeader {
                        header: Header::new(Cell::<F, T>::KIND),
                        group: GroupId(memory.addr().get()),
                    },
                    claim: Claim::default(),
                    forgiven: AtomicBool::new(false),
                    methods: Cell::<F, T>::METHODS,
                },
                completion: Completion::new(),
                result: UnsafeCell::new(None),
                registry,
                recorded,
            },
            func: UnsafeCell::new(MaybeUninit::new(func)),
        };
        // SAFETY: the memory is for a cell of this type.
        unsafe { memory.write(cell) };
        let packet = memory.cast::<Packet<T>>();
        (JobRef::spawned(packet.cast()), packet)
    }

    /// Returns the task's entry, for comparisons.
    pub(crate) fn entry(&self) -> JobRef {
        JobRef::spawned(NonNull::from(self).cast())
    }

    pub(crate) fn group(&self) -> GroupId {
        self.head.spawn.group
    }

    pub(crate) fn is_in_pool_of(&self, worker: &Worker) -> bool {
        std::ptr::eq(worker.registry(), self.registry)
    }

    /// Returns the task's pool, unless the latch is set. The caller is the handle's owner, which
    /// has subscribed, and was told that there was no result.
    ///
    /// So the runner takes the waker, with the lock held, before it counts the task as done. While
    /// the waker is there, and the lock held, the task is outstanding, which keeps the pool alive
    /// ([`Registry::user_leaves`]).
    pub(crate) fn pool_of_pending(&self) -> Option<Arc<Registry>> {
        let waker = lock(&self.completion.waker);
        waker.as_ref()?;
        // SAFETY: the pool is alive, see above.
        Some(unsafe { &*self.registry }.shared())
    }

    /// Runs the task in place.
    ///
    /// # Safety
    ///
    /// `this` is a handle's, and has been claimed.
    pub(crate) unsafe fn run(this: NonNull<Packet<T>>, worker: &Worker) {
        let head = this.cast::<PacketHead>();
        // SAFETY: the handle's reference keeps the packet alive, and the caller has claimed it.
        unsafe { (head.as_ref().methods.run)(head, worker) };
        worker.task_done();
    }

    /// Takes the result, if the task is done and the result was not taken before.
    ///
    /// # Safety
    ///
    /// The caller is the handle's owner, and no other call runs at the same time.
    pub(crate) unsafe fn take(&self) -> Option<thread::Result<T>> {
        if !self.completion.latch.probe() {
            return None;
        }
        // SAFETY: the latch is set, so the result is the handle's.
        let outcome = unsafe { (*self.result.get()).take() };
        outcome.map(|outcome| match outcome {
            Outcome::Returned(value) => Ok(value),
            Outcome::Panicked(panic) => Err(panic.0),
        })
    }

    /// Releases the handle's reference.
    ///
    /// # Safety
    ///
    /// The caller is the handle, and does not use the packet again.
    pub(crate) unsafe fn release(this: NonNull<Packet<T>>) {
        if thread::panicking() {
            // SAFETY: the handle's reference keeps the packet alive.
            let head = unsafe { &this.as_ref().head };
            head.forgiven.store(true, Ordering::Relaxed);
        }
        // SAFETY: the reference is the handle's.
        unsafe { PacketHead::release(this.cast()) };
    }
}

#[cfg(all(test, loom))]
#[path = "../../tests/loom/task/packet.rs"]
mod models;
