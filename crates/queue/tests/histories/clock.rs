//! Time stamps of the beginning and the completion of an invocation.
//!
//! An invocation has completed when its stores are visible, so the final stamp is taken after a
//! fence. That does not affect reordering inside the invocation.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering, fence};

/// Source of the time stamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clock {
    /// The processor's time stamp counter, which disturbs a run least.
    #[cfg(target_arch = "x86_64")]
    Counter,
    /// A number that every thread increments.
    Shared,
}

static SHARED: AtomicU64 = AtomicU64::new(0);

impl Clock {
    /// Returns the clock for this machine.
    pub(crate) fn of_this_machine() -> Clock {
        static CLOCK: OnceLock<Clock> = OnceLock::new();
        *CLOCK.get_or_init(|| {
            #[cfg(target_arch = "x86_64")]
            if x86::usable() {
                return Clock::Counter;
            }
            Clock::Shared
        })
    }

    /// Returns a time stamp that comes before the operations that follow.
    #[inline]
    pub(crate) fn before(self) -> u64 {
        match self {
            #[cfg(target_arch = "x86_64")]
            Clock::Counter => x86::stamp(),
            Clock::Shared => SHARED.fetch_add(1, Ordering::SeqCst),
        }
    }

    /// Returns a time stamp that comes after all preceding stores have become visible.
    #[inline]
    pub(crate) fn after(self) -> u64 {
        fence(Ordering::SeqCst);
        self.before()
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{__rdtscp, _mm_lfence};
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::thread;

    /// Returns a stamp that is later than all loads before it and earlier than all loads after it.
    #[inline]
    pub(super) fn stamp() -> u64 {
        let mut processor = 0;
        // SAFETY: `usable` found that the processor has `rdtscp`; `lfence` is part of x86-64.
        unsafe {
            let stamp = __rdtscp(&mut processor);
            _mm_lfence();
            stamp
        }
    }

    /// Returns `true` if the counters of all processors run at one rate and agree.
    pub(super) fn usable() -> bool {
        let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let has = |flag| info.split_whitespace().any(|word| word == flag);
        has("rdtscp") && has("constant_tsc") && has("nonstop_tsc") && agree()
    }

    /// Returns `true` if no stamp lies in the future when two threads exchange stamps.
    fn agree() -> bool {
        const TIMES: u64 = 500;
        let ball = &AtomicU64::new(stamp() << 1);
        // Each side waits for the low bit to be its own.
        let play = |side: u64| {
            let mut fair = true;
            for _ in 0..TIMES {
                let mut seen = ball.load(Ordering::Acquire);
                while seen & 1 != side {
                    thread::yield_now();
                    seen = ball.load(Ordering::Acquire);
                }
                let now = stamp();
                fair &= seen >> 1 <= now;
                ball.store(now << 1 | (side ^ 1), Ordering::Release);
            }
            fair
        };
        thread::scope(|scope| {
            let other = scope.spawn(move || play(1));
            play(0) & other.join().expect("nothing here panics")
        })
    }
}
