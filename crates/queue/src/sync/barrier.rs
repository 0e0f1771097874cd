//! An asymmetric barrier: a store-load fence whose cost one side pays for both.
//!
//! Two threads that each store to one location and then load the other's need a full fence
//! between the two, on both sides, or both may miss the other's store. Where one side does this
//! millions of times a second and the other rarely, the frequent side passes a *light* barrier,
//! which only keeps the compiler from reordering, and the rare side a *heavy* one, which makes every
//! running thread of this process execute a full fence: Linux's `membarrier` system call with
//! the private expedited command.
//!
//! The kernel's promise: between the start and the end of the call every other thread of the
//! process passes a point at which its memory accesses before are ordered against those after.
//! So for each light barrier either the store before it was made before that point, and the rare
//! side sees it afterwards, or the load behind it comes after that point, and sees what the rare
//! side stored before the call. That is what a pair of SeqCst fences promises.
//!
//! Whether `membarrier` can be had (Linux 4.14, and no seccomp filter that refuses it) is found
//! out once, on first use; where not, both sides use SeqCst fences. The environment variable
//! `LOCKSLEY_NO_MEMBARRIER`, if set, asks for the fences. Under loom, which knows
//! no `membarrier`, both halves are fences: loom checks the algorithm with the pair's promise, and
//! recorded histories check the pair on hardware.

use super::{Ordering, fence};

/// Who pays for the pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payer {
    /// The rare side alone, with `membarrier`.
    Rare,
    /// Both sides, with a fence each.
    Both,
}

/// Who pays in this process. Found out on the first call; the same ever after.
pub fn payer() -> Payer {
    imp::payer()
}

/// The frequent side's half where the rare side pays. Where both pay, the caller issues a SeqCst
/// fence instead.
#[inline(always)]
pub fn light() {
    #[cfg(loom)]
    fence(Ordering::SeqCst);
    #[cfg(not(loom))]
    std::sync::atomic::compiler_fence(Ordering::SeqCst);
}

/// The frequent side's half where the rare side pays.
///
/// # Safety
///
/// [`payer`] has answered [`Payer::Rare`].
#[inline(always)]
pub unsafe fn light_unchecked() {
    light();
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

#[cfg(all(target_os = "linux", not(loom), not(miri)))]
mod imp {
    use std::sync::OnceLock;

    use super::Payer;

    /// Lets a test or an experiment have the fences on a machine that has `membarrier`.
    const OPT_OUT: &str = "LOCKSLEY_NO_MEMBARRIER";

    static PAYER: OnceLock<Payer> = OnceLock::new();

    #[inline]
    pub(super) fn payer() -> Payer {
        *PAYER.get_or_init(|| {
            let register = libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED;
            if std::env::var_os(OPT_OUT).is_none() && call(register) == 0 {
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
        call(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0
    }

    fn call(command: libc::c_int) -> libc::c_long {
        // SAFETY: `membarrier` takes a command, flags and a cpu number, and touches no memory of
        // this process.
        unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) }
    }
}

/// Under loom the code of [`Payer::Rare`] runs, with a fence on either side.
#[cfg(loom)]
mod imp {
    use super::{Ordering, Payer, fence};

    pub(super) fn payer() -> Payer {
        Payer::Rare
    }

    pub(super) fn membarrier() -> bool {
        fence(Ordering::SeqCst);
        true
    }
}

#[cfg(all(any(not(target_os = "linux"), miri), not(loom)))]
mod imp {
    use super::Payer;

    pub(super) fn payer() -> Payer {
        Payer::Both
    }

    pub(super) fn membarrier() -> bool {
        false
    }
}
