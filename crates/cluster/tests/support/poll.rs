//! Waiting for something that another process does.

use std::thread;
use std::time::Duration;

/// Time between two polls.
const INTERVAL: Duration = Duration::from_millis(10);

/// Polls until `poll` returns something, for `seconds` seconds. The time is counted in polls, so
/// that a test that is stopped for a while does not fail.
pub(crate) fn within<T>(seconds: u32, mut poll: impl FnMut() -> Option<T>) -> Option<T> {
    for _ in 0..seconds * 1000 / INTERVAL.as_millis() as u32 {
        if let Some(found) = poll() {
            return Some(found);
        }
        thread::sleep(INTERVAL);
    }
    None
}
