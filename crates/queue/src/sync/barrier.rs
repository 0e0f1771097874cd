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
//! # The model
//!
//! loom knows no `membarrier`. Its model of the pair is that promise and no more. Each half adds to
//! a counter of its own, Release, and reads the other's, Acquire, both by read-modify-writes, which
//! read the newest value: so of a light and a heavy half at least one sees the other and what came
//! before it. The light half is no fence. It does not make Relaxed loads before it acquire nor
//! Relaxed stores behind it release, and two light halves do not order each other. The heavy half
//! is a fence too, as the system call is. A model can also have [`Payer::Both`] (`model_payer`).
//! That the kernel keeps the promise, recorded histories check on hardware.

use super::{Ordering, fence};

/// Who pays for the pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payer {
    /// The rare side alone, with the heavy half of the table.
    Rare,
    /// Both sides, with a fence each.
    Both,
}

/// Who pays in this process. Found out on the first call; the same ever after.
pub fn payer() -> Payer {
    imp::payer()
}

/// The frequent side's half: free where the rare side pays, a SeqCst fence where both pay.
///
/// It looks which of the two it is. Code that knows calls [`light_unchecked`].
#[inline(always)]
pub fn light() {
    match payer() {
        // SAFETY: the rare side pays.
        Payer::Rare => unsafe { light_unchecked() },
        Payer::Both => fence(Ordering::SeqCst),
    }
}

/// The frequent side's half where the rare side pays. No instruction: it only keeps the compiler
/// from moving memory accesses over it.
///
/// # Safety
///
/// [`payer`] has answered [`Payer::Rare`]. Where both sides pay, this orders nothing, and
/// memory the caller believes to be its own may be another thread's too.
#[inline(always)]
pub unsafe fn light_unchecked() {
    #[cfg(loom)]
    imp::light();
    #[cfg(not(loom))]
    std::sync::atomic::compiler_fence(Ordering::SeqCst);
}

/// Says who pays in the models of this thread from now on.
#[cfg(loom)]
#[doc(hidden)]
pub fn model_payer(payer: Payer) {
    imp::PAYER.set(payer);
}

/// Says whether [`heavy`] is refused in the models of this thread from now on.
#[cfg(loom)]
#[doc(hidden)]
pub fn model_refusal(refused: bool) {
    imp::REFUSED.set(refused);
}

/// Returns `true` if [`heavy`] can be had now.
pub fn is_ready() -> bool {
    payer() == Payer::Rare
}

/// The rare side's half. `false` if the kernel refused (it may be out of memory, or a filter
/// installed since the first use forbids the call): then nothing is ordered, and the caller must
/// leave alone what it wanted to touch.
#[must_use]
pub fn heavy() -> bool {
    match payer() {
        Payer::Rare => imp::membarrier(),
        Payer::Both => {
            fence(Ordering::SeqCst);
            true
        }
    }
}

#[cfg(all(any(target_os = "linux", windows), not(loom), not(miri)))]
mod imp {
    use std::sync::OnceLock;

    use super::{Payer, system};

    /// Lets a test or an experiment have the fences on a machine that has the heavy half.
    const OPT_OUT: &str = "LOCKSLEY_NO_MEMBARRIER";

    static PAYER: OnceLock<Payer> = OnceLock::new();

    #[inline]
    pub(super) fn payer() -> Payer {
        *PAYER.get_or_init(|| {
            if std::env::var_os(OPT_OUT).is_none() && system::register() {
                Payer::Rare
            } else {
                Payer::Both
            }
        })
    }

    #[cold]
    pub(super) fn membarrier() -> bool {
        #[cfg(feature = "count")]
        super::super::counts::add(|c| c.membarriers += 1);
        system::barrier()
    }
}

/// The heavy half on Linux.
#[cfg(all(target_os = "linux", not(loom), not(miri)))]
mod system {
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

    /// Returns `false` under Wine, whose call may do nothing.
    pub(super) fn register() -> bool {
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

    use super::{Ordering, Payer, fence};

    thread_local! {
        /// loom runs the threads of a model in the thread of its test.
        pub(super) static PAYER: Cell<Payer> = const { Cell::new(Payer::Rare) };
        pub(super) static REFUSED: Cell<bool> = const { Cell::new(false) };
    }

    loom::lazy_static! {
        static ref LIGHT: AtomicUsize = AtomicUsize::new(0);
        static ref HEAVY: AtomicUsize = AtomicUsize::new(0);
    }

    pub(super) fn payer() -> Payer {
        if PAYER.get() == Payer::Rare {
            // Every constructor asks this first. The counters are made then, before there are
            // threads: making them synchronises with every later use.
            let _ = (&*LIGHT, &*HEAVY);
        }
        PAYER.get()
    }

    pub(super) fn light() {
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
    use super::Payer;

    pub(super) fn payer() -> Payer {
        Payer::Both
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
        let first = payer();
        assert!(heavy(), "no filter refuses the call here");
        light();
        assert_eq!(payer(), first);
        assert_eq!(is_ready(), first == Payer::Rare);
    }

    /// The call links and returns, even where it is not relied upon.
    #[cfg(all(windows, not(miri)))]
    #[test]
    fn windows_has_the_call() {
        assert!(system::barrier());
    }
}
