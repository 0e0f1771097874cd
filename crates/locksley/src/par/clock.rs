//! A clock for blocks of a microsecond or so: cheap, and roughly in nanoseconds.

/// Returns a count that grows by one to four every nanosecond.
///
/// On x86-64 this is the time stamp counter, which takes a third of the time of a system clock.
/// Block lengths are rules of thumb, and need no exact unit. Elsewhere it is the system's clock.
#[inline(always)]
pub(super) fn ticks() -> u64 {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        // SAFETY: every x86-64 processor has the instruction.
        unsafe { std::arch::x86_64::_rdtsc() }
    }
    #[cfg(any(not(target_arch = "x86_64"), miri))]
    {
        use crate::machine::clock::Instant;
        use std::sync::OnceLock;

        static START: OnceLock<Instant> = OnceLock::new();
        let start = START.get_or_init(Instant::now);
        u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}
