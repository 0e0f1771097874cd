//! The system's monotone clock, or a substitute where there is none.

#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
pub use std::time::Instant;
use std::time::SystemTime;

#[cfg(all(target_family = "wasm", target_os = "unknown"))]
pub use substitute::Instant;

/// Returns the microseconds since 1970, if the system has a clock.
pub fn wall_clock() -> Option<u64> {
    if cfg!(all(target_family = "wasm", target_os = "unknown")) {
        return None;
    }
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.ok()?.as_micros().try_into().ok()
}

/// A substitute for a WebAssembly module without a system interface, where [`std::time::Instant`]
/// panics.
#[cfg(all(target_family = "wasm", target_os = "unknown"))]
mod substitute {
    use std::ops::Sub;
    use std::time::Duration;

    use std::sync::atomic::{AtomicUsize, Ordering};

    /// The number of calls of [`now`](Instant::now), each of which counts as a microsecond. So a
    /// wait until a time ends, but measured times are meaningless.
    #[derive(Clone, Copy, Debug)]
    pub struct Instant(usize);

    impl Instant {
        /// Counts the call, and returns the number of calls so far as a time.
        pub fn now() -> Instant {
            static LOOKS: AtomicUsize = AtomicUsize::new(0);
            Instant(LOOKS.fetch_add(1, Ordering::Relaxed))
        }

        /// Returns a microsecond for each call since this time.
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
