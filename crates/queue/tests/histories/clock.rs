//! When an invocation begins and completes.
//!
//! An invocation has completed when its stores are visible, so the stamp at the end is taken
//! behind a fence; the reordering inside the invocation is not disturbed by that.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering, fence};

/// What stamps are taken from.
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
    /// The clock for this machine.
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

    /// The time before what follows.
    #[inline]
    pub(crate) fn before(self) -> u64 {
        match self {
            #[cfg(target_arch = "x86_64")]
            Clock::Counter => x86::stamp(),
            Clock::Shared => SHARED.fetch_add(1, Ordering::SeqCst),
        }
    }

    /// The time after what precedes has become visible to all.
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

    /// Later than all loads before it, earlier than all loads after it.
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

    /// Whether the counters of all processors go at one rate and agree.
    pub(super) fn usable() -> bool {
        let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let has = |flag| info.split_whitespace().any(|word| word == flag);
        has("rdtscp") && has("constant_tsc") && has("nonstop_tsc") && agree()
    }

    /// Two threads send stamps to and fro: none may come from the future.
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
