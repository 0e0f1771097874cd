//! The system's monotone clock, or what stands for it where there is none.

#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
pub use std::time::Instant;
use std::time::SystemTime;

#[cfg(all(target_family = "wasm", target_os = "unknown"))]
pub use looks::Instant;

/// Microseconds since 1970, if the system knows.
pub fn wall_clock() -> Option<u64> {
    if cfg!(all(target_family = "wasm", target_os = "unknown")) {
        return None;
    }
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.ok()?.as_micros().try_into().ok()
}

/// A WebAssembly module without a system interface has no time: [`std::time::Instant`] panics.
#[cfg(all(target_family = "wasm", target_os = "unknown"))]
mod looks {
    use std::ops::Sub;
    use std::time::Duration;

    use std::sync::atomic::{AtomicUsize, Ordering};

    /// A count of looks at the clock, each a microsecond later than the one before. So a wait for a
    /// time ends, and nothing that is measured means anything.
    #[derive(Clone, Copy, Debug)]
    pub struct Instant(usize);

    impl Instant {
        pub fn now() -> Instant {
            static LOOKS: AtomicUsize = AtomicUsize::new(0);
            Instant(LOOKS.fetch_add(1, Ordering::Relaxed))
        }

        pub fn elapsed(self) -> Duration {
            Instant::now() - self
        }
    }

    impl Sub for Instant {
        type Output = Duration;

        fn sub(self, earlier: Instant) -> Duration {
            Duration::from_micros(self.0.wrapping_sub(earlier.0) as u64)
        }
    }
}
