//! An asymmetric barrier: a store-load fence whose cost one side pays for both.
//!
//! Two threads that each store to one location and then load the other's need a full fence between
//! the two, on both sides, or both may miss the other's store. Where one side does this millions of
//! times a second and the other rarely, the frequent side passes a *light* barrier, which only
//! keeps the compiler from reordering, and the rare side a *heavy* one, which makes every running
//! thread of this process execute a full fence:
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
//! Whether the heavy half can be had is found out once, on first use; where not, both sides use
//! SeqCst fences. On Linux it needs version 4.14, and no seccomp filter that refuses the call. Wine
//! is treated as a system without: its `FlushProcessWriteBuffers` does nothing in some versions
//! (8.0 for one). The environment variable `LOCKSLEY_NO_MEMBARRIER`, if set, asks for the fences.
//!
//! Linux wants a process to register before its first barrier. That takes microseconds while the
//! process has one thread, and 7 to 17 ms once there is a second. So [`prepare`] registers in the
//! first case only, and the first heavy barrier does in the other: it is passed by a thread that
//! has nothing else to do. While that thread registers, others are refused.
//!
//! # The model
//!
//! loom knows no `membarrier`. Its model of the pair is that promise and no more. Each half adds to
//! a counter of its own, Release, and reads the other's, Acquire, both by read-modify-writes, which
//! read the newest value: so of a light and a heavy half at least one sees the other and what came
//! before it. The light half is no fence. It does not make Relaxed loads before it acquire nor
//! Relaxed stores behind it release, and two light halves do not order each other. The heavy half
//! is a fence too, as the system call is. A model can also have
//! [`FenceMode::Symmetric`] (`model_fence_mode`).
//! That the kernel keeps the promise, recorded histories check on hardware.

use super::{Ordering, fence};

/// Which side orders memory for the pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FenceMode {
    /// The rare side alone, with the heavy half of the table.
    Asymmetric,
    /// Both sides, with a fence each.
    Symmetric,
}

/// The mode of this process. Found out on the first call; the same ever after.
pub fn fence_mode() -> FenceMode {
    imp::fence_mode()
}

/// The frequent side's half: free where the rare side pays, a SeqCst fence where both pay.
///
/// It looks which of the two it is. Code that knows calls [`light_unchecked`].
#[inline(always)]
pub fn light() {
    match fence_mode() {
        // SAFETY: the rare side pays.
        FenceMode::Asymmetric => unsafe { light_unchecked() },
        FenceMode::Symmetric => fence(Ordering::SeqCst),
    }
}

/// The frequent side's half where the rare side pays. No instruction: it only keeps the compiler
/// from moving memory accesses over it.
///
/// # Safety
///
/// [`fence_mode`] has answered [`FenceMode::Asymmetric`]. Otherwise this orders nothing, and
/// memory the caller believes to be its own may be another thread's too.
#[inline(always)]
pub unsafe fn light_unchecked() {
    #[cfg(loom)]
    imp::light();
    #[cfg(not(loom))]
    std::sync::atomic::compiler_fence(Ordering::SeqCst);
}

/// Sets the mode of the models of this thread.
#[cfg(loom)]
#[doc(hidden)]
pub fn model_fence_mode(mode: FenceMode) {
    imp::MODE.set(mode);
}

/// Says whether [`heavy`] is refused in the models of this thread from now on.
#[cfg(loom)]
#[doc(hidden)]
pub fn model_refusal(refused: bool) {
    imp::REFUSED.set(refused);
}

/// Makes the heavy half ready if that takes no time: see above.
pub fn prepare() {
    if fence_mode() == FenceMode::Asymmetric {
        imp::prepare();
    }
}

/// Makes the heavy half ready, and returns `true` if it can be had.
pub fn is_ready() -> bool {
    fence_mode() == FenceMode::Asymmetric && imp::is_ready()
}

/// The rare side's half. `false` if the kernel refused (it may be out of memory, or a filter
/// installed since the first use forbids the call), or another thread is just making it ready: then
/// nothing is ordered, and the caller must leave alone what it wanted to touch.
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

    /// Lets a test or an experiment have the fences on a machine that has the heavy half.
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

    /// How far this process is registered.
    static REGISTRATION: AtomicU8 = AtomicU8::new(NONE);

    const NONE: u8 = 0;
    /// A thread is at it.
    const UNDER_WAY: u8 = 1;
    const DONE: u8 = 2;

    /// Registers this process, unless that is done. `wait` says what to do while another thread is
    /// at it: wait, or return `false`.
    fn register(wait: bool) -> bool {
        loop {
            // Relaxed: the kernel orders what follows from a registration.
            let begun = REGISTRATION.compare_exchange(
                NONE,
                UNDER_WAY,
                Ordering::Relaxed,
                Ordering::Relaxed,
            );
            match begun {
                Ok(_) => {
                    let done = system::register();
                    // A filter may refuse this thread, and not another one.
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

    /// Returns `true` if this process has one thread: a folder has two links, and one for each
    /// folder in it.
    pub(super) fn registers_at_once() -> bool {
        std::fs::metadata("/proc/self/task").is_ok_and(|threads| threads.st_nlink() == 3)
    }

    /// Announces that this process will use the barrier. Returns `false` if it cannot.
    pub(super) fn register() -> bool {
        call(libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0
    }

    /// Makes every running thread of this process pass a fence. Returns `false` if it did not.
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
        // SAFETY: both names are terminated; the library is loaded in every process, so that the
        // handle stays valid, and of the function only the address is looked at.
        let wine = unsafe { GetProcAddress(GetModuleHandleA(NTDLL.as_ptr()), WINE_ONLY.as_ptr()) };
        wine.is_null()
    }

    /// Makes every running thread of this process pass a fence.
    pub(super) fn barrier() -> bool {
        // SAFETY: the call takes nothing, and touches no memory of this process.
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
            // Every constructor asks this first. The counters are made then, before there are
            // threads: making them synchronises with every later use.
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

    /// The call links and returns, even where it is not relied upon.
    #[cfg(all(windows, not(miri)))]
    #[test]
    fn windows_has_the_call() {
        assert!(system::barrier());
    }
}
