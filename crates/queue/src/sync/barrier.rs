//! An asymmetric barrier: a store-load fence whose cost one side pays for both.
//!
//! Two threads that each store to their own location and then load the other's need a full fence
//! between store and load, on both sides, or both may miss the other's store. Where one side does
//! this millions of times a second and the other rarely, the frequent side passes a *light*
//! barrier, which only keeps the compiler from reordering, and the rare side a *heavy* one, which
//! makes every running thread of this process execute a full fence:
//!
//! | system | heavy half |
//! |---|---|
//! | Linux | the system call `membarrier` with the private expedited command |
//! | Windows | `FlushProcessWriteBuffers`, which interrupts every processor that runs a thread of this process |
//! | others | none: both sides use SeqCst fences |
//!
//! The kernel's promise: between the start and the end of the call every other thread of the
//! process passes a point at which its memory accesses before are ordered against those after.
//! So for each light barrier either the store before it was made before that point, and the rare
//! side sees it afterwards, or the load behind it comes after that point, and sees what the rare
//! side stored before the call. That is what a pair of SeqCst fences promises.
//!
//! Whether the heavy half is available is determined once, on first use; if it is not, both sides
//! use SeqCst fences. On Linux it needs version 4.14, and no seccomp filter that refuses the call.
//! Wine is treated as a system without it: in some versions (8.0 for one) its
//! `FlushProcessWriteBuffers` does nothing. The environment variable `LOCKSLEY_NO_MEMBARRIER`, if
//! set, selects the fences.
//!
//! Linux requires a process to register before its first barrier. That takes microseconds while the
//! process has one thread, and 7 to 17 ms once there is a second. So [`prepare`] registers in the
//! first case only; in the other the first heavy barrier does, which is issued by a thread that has
//! nothing else to do. While that thread registers, the barriers of other threads are refused.
//!
//! # Why every processor
//!
//! Linux can address the barrier to one processor (`MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ` with
//! `MEMBARRIER_CMD_FLAG_CPU`). The rare side would have to know on which processor the frequent
//! side runs. The kernel writes that number to the thread's `rseq` area when the thread returns to
//! user code after a migration, with a plain store. Nothing orders that store before the thread's
//! first accesses to memory on its new processor. So the rare side may read the old number,
//! interrupt a processor that the thread has left, and then miss a store of the frequent side,
//! which in its turn has missed the rare side's. To read the number again after the barrier does
//! not help, since the store may still be in the store buffer. A pinned thread has a known
//! processor, but a change of its affinity mask or of its cpuset from outside would make safe code
//! unsound. So the barrier goes to all processors that run a thread of the process, and callers
//! make it rare instead.
//!
//! # The model
//!
//! loom has no `membarrier`. The model of the pair provides the kernel's promise and no more. Each
//! half adds to a counter of its own, Release, and reads the other's, Acquire, both by
//! read-modify-writes, which read the newest value: so of a light and a heavy half at least one
//! sees the other and what came before it. The light half is not a fence. It does not make Relaxed
//! loads before it acquire nor Relaxed stores after it release, and two light halves do not order
//! each other. The heavy half is a fence too, as the system call is. A model can also use
//! [`FenceMode::Symmetric`] (`model_fence_mode`). Recorded histories check on hardware that the
//! kernel keeps its promise.

use super::{Ordering, fence};

/// The side, or sides, that issue fences for the pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FenceMode {
    /// The rare side alone, with the heavy half of the table.
    Asymmetric,
    /// Both sides, with a fence each.
    Symmetric,
}

/// Returns the mode of this process, which is determined on the first call and never changes.
pub fn fence_mode() -> FenceMode {
    imp::fence_mode()
}

/// The frequent side's half: free in [`FenceMode::Asymmetric`], a SeqCst fence in
/// [`FenceMode::Symmetric`].
///
/// This function looks up the mode. Code that knows it calls [`light_unchecked`].
#[inline(always)]
pub fn light() {
    match fence_mode() {
        // SAFETY: the mode is `Asymmetric`.
        FenceMode::Asymmetric => unsafe { light_unchecked() },
        FenceMode::Symmetric => fence(Ordering::SeqCst),
    }
}

/// The frequent side's half in [`FenceMode::Asymmetric`]. It compiles to no instruction, and only
/// keeps the compiler from moving memory accesses across it.
///
/// # Safety
///
/// It orders nothing unless [`fence_mode`] has returned [`FenceMode::Asymmetric`]. In the other
/// mode the caller must not rely on it, or memory that it believes to be its own may be another
/// thread's too.
#[inline(always)]
pub unsafe fn light_unchecked() {
    #[cfg(loom)]
    imp::light();
    #[cfg(not(loom))]
    std::sync::atomic::compiler_fence(Ordering::SeqCst);
}

/// Sets the mode of the models that this thread runs.
#[cfg(loom)]
#[doc(hidden)]
pub fn model_fence_mode(mode: FenceMode) {
    imp::MODE.set(mode);
}

/// Sets whether [`heavy`] is refused in the models that this thread runs.
#[cfg(loom)]
#[doc(hidden)]
pub fn model_refusal(refused: bool) {
    imp::REFUSED.set(refused);
}

/// Prepares the heavy half if that is fast: see the module's documentation.
pub fn prepare() {
    if fence_mode() == FenceMode::Asymmetric {
        imp::prepare();
    }
}

/// Prepares the heavy half. Returns `true` if it is available.
pub fn is_ready() -> bool {
    fence_mode() == FenceMode::Asymmetric && imp::is_ready()
}

/// The rare side's half. Returns `false` if the kernel refused (it may be out of memory, or a
/// filter installed since the first use forbids the call), or if another thread is just registering
/// the process. Then nothing is ordered, and the caller must not do what needs the barrier.
#[must_use]
pub fn heavy() -> bool {
    match fence_mode() {
        FenceMode::Asymmetric => imp::membarrier(),
        FenceMode::Symmetric => {
            fence(Ordering::SeqCst);
            true
        }
    }
}

#[cfg(all(any(target_os = "linux", windows), not(loom), not(miri)))]
mod imp {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU8, Ordering};

    use super::{FenceMode, system};

    /// Environment variable by which a test or an experiment selects the fences.
    const OPT_OUT: &str = "LOCKSLEY_NO_MEMBARRIER";

    static MODE: OnceLock<FenceMode> = OnceLock::new();

    #[inline]
    pub(super) fn fence_mode() -> FenceMode {
        *MODE.get_or_init(|| {
            if std::env::var_os(OPT_OUT).is_none() && system::has_barrier() {
                FenceMode::Asymmetric
            } else {
                FenceMode::Symmetric
            }
        })
    }

    /// State of this process's registration.
    static REGISTRATION: AtomicU8 = AtomicU8::new(NONE);

    const NONE: u8 = 0;
    /// A thread is registering the process.
    const UNDER_WAY: u8 = 1;
    const DONE: u8 = 2;

    /// Registers this process, unless it is registered. Returns `true` if it is. While another
    /// thread is registering it, waits if `wait` is set, and else returns `false`.
    fn register(wait: bool) -> bool {
        loop {
            // Relaxed: nothing else is passed on by this word. Should a thread see `DONE` before
            // the kernel's registration is visible to it, the kernel refuses that one barrier.
            let begun = REGISTRATION.compare_exchange(
                NONE,
                UNDER_WAY,
                Ordering::Relaxed,
                Ordering::Relaxed,
            );
            match begun {
                Ok(_) => {
                    let done = system::register();
                    // A filter may refuse this thread and admit another.
                    let state = if done { DONE } else { NONE };
                    REGISTRATION.store(state, Ordering::Relaxed);
                    return done;
                }
                Err(UNDER_WAY) if wait => std::thread::yield_now(),
                Err(state) => return state == DONE,
            }
        }
    }

    pub(super) fn prepare() {
        if system::registers_at_once() {
            register(false);
        }
    }

    pub(super) fn is_ready() -> bool {
        register(true)
    }

    #[cold]
    pub(super) fn membarrier() -> bool {
        if REGISTRATION.load(Ordering::Relaxed) != DONE && !register(false) {
            return false;
        }
        #[cfg(feature = "count")]
        super::super::counts::add(|c| c.membarriers += 1);
        system::barrier()
    }
}

/// The heavy half on Linux.
#[cfg(all(target_os = "linux", not(loom), not(miri)))]
mod system {
    use std::os::linux::fs::MetadataExt;

    /// Returns `true` if the kernel has the barrier.
    pub(super) fn has_barrier() -> bool {
        let commands = call(libc::MEMBARRIER_CMD_QUERY);
        let wanted = libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED
            | libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED;
        let wanted = libc::c_long::from(wanted);
        commands >= 0 && commands & wanted == wanted
    }

    /// Returns `true` if this process has one thread. A directory has two links, and one more for
    /// each directory in it.
    pub(super) fn registers_at_once() -> bool {
        std::fs::metadata("/proc/self/task").is_ok_and(|threads| threads.st_nlink() == 3)
    }

    /// Registers this process for the barrier. Returns `false` if the kernel refuses.
    pub(super) fn register() -> bool {
        call(libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0
    }

    /// Makes every running thread of this process pass a fence. Returns `false` if the kernel
    /// refuses.
    pub(super) fn barrier() -> bool {
        call(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0
    }

    fn call(command: libc::c_int) -> libc::c_long {
        // SAFETY: `membarrier` takes a command, flags and a cpu number, and touches no memory of
        // this process.
        unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) }
    }
}

/// The heavy half on Windows.
#[cfg(all(windows, not(loom), not(miri)))]
mod system {
    use std::ffi::{CStr, c_char, c_void};

    #[link(name = "kernel32")]
    unsafe extern "system" {
        fn FlushProcessWriteBuffers();
        fn GetModuleHandleA(name: *const c_char) -> *mut c_void;
        fn GetProcAddress(module: *mut c_void, name: *const c_char) -> *mut c_void;
    }

    pub(super) fn registers_at_once() -> bool {
        true
    }

    pub(super) fn register() -> bool {
        true
    }

    /// Returns `false` under Wine, whose call may do nothing.
    pub(super) fn has_barrier() -> bool {
        const NTDLL: &CStr = c"ntdll.dll";
        const WINE_ONLY: &CStr = c"wine_get_version";
        // SAFETY: both names are terminated. The library is loaded in every process, so that the
        // handle stays valid. The function is not called, only compared with null.
        let wine = unsafe { GetProcAddress(GetModuleHandleA(NTDLL.as_ptr()), WINE_ONLY.as_ptr()) };
        wine.is_null()
    }

    /// Makes every running thread of this process pass a fence.
    pub(super) fn barrier() -> bool {
        // SAFETY: the call takes no arguments, and touches no memory of this process.
        unsafe { FlushProcessWriteBuffers() };
        true
    }
}

/// The model of the pair.
#[cfg(loom)]
mod imp {
    use std::cell::Cell;

    use loom::sync::atomic::AtomicUsize;

    use super::{FenceMode, Ordering, fence};

    thread_local! {
        /// loom runs the threads of a model in the thread of its test.
        pub(super) static MODE: Cell<FenceMode> = const { Cell::new(FenceMode::Asymmetric) };
        pub(super) static REFUSED: Cell<bool> = const { Cell::new(false) };
    }

    loom::lazy_static! {
        static ref LIGHT: AtomicUsize = AtomicUsize::new(0);
        static ref HEAVY: AtomicUsize = AtomicUsize::new(0);
    }

    pub(super) fn fence_mode() -> FenceMode {
        if MODE.get() == FenceMode::Asymmetric {
            // Every constructor calls this first, before there are threads. So the counters are
            // created here: their creation synchronises with every later use.
            let _ = (&*LIGHT, &*HEAVY);
        }
        MODE.get()
    }

    pub(super) fn prepare() {}

    pub(super) fn is_ready() -> bool {
        true
    }

    pub(super) fn light() {
        if MODE.get() == FenceMode::Symmetric {
            return;
        }
        LIGHT.fetch_add(1, Ordering::Release);
        HEAVY.fetch_add(0, Ordering::Acquire);
    }

    pub(super) fn membarrier() -> bool {
        if REFUSED.get() {
            return false;
        }
        fence(Ordering::SeqCst);
        HEAVY.fetch_add(1, Ordering::Release);
        LIGHT.fetch_add(0, Ordering::Acquire);
        fence(Ordering::SeqCst);
        true
    }
}

#[cfg(all(any(not(any(target_os = "linux", windows)), miri), not(loom)))]
mod imp {
    use super::FenceMode;

    pub(super) fn fence_mode() -> FenceMode {
        FenceMode::Symmetric
    }

    pub(super) fn prepare() {}

    pub(super) fn is_ready() -> bool {
        false
    }

    pub(super) fn membarrier() -> bool {
        false
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_answer_stays_and_the_heavy_half_follows_it() {
        let first = fence_mode();
        assert!(heavy(), "no filter refuses the call here");
        light();
        assert_eq!(fence_mode(), first);
        assert_eq!(is_ready(), first == FenceMode::Asymmetric);
    }

    /// The call links and returns, even where it is not used.
    #[cfg(all(windows, not(miri)))]
    #[test]
    fn windows_has_the_call() {
        assert!(system::barrier());
    }
}
