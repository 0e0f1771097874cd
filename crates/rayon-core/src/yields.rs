//! Cooperative yields.

use crate::global::inside;

/// Result of [`yield_now`] or [`yield_local`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Yield {
    /// A task was run.
    Executed,
    /// There was no task to run.
    Idle,
}

impl From<locksley::Yield> for Yield {
    fn from(what: locksley::Yield) -> Yield {
        match what {
            locksley::Yield::Executed => Yield::Executed,
            locksley::Yield::Idle => Yield::Idle,
        }
    }
}

/// Runs one task of the calling thread's pool, its own or another thread's, if there is one.
/// Returns `None` outside of a pool.
///
/// ```
/// assert_eq!(rayon_core::yield_now(), None);
/// ```
pub fn yield_now() -> Option<Yield> {
    if inside() {
        locksley::yield_now().map(Yield::from)
    } else {
        None
    }
}

/// Runs one of the calling thread's own tasks, if there is one. Returns `None` outside of a pool.
///
/// ```
/// assert_eq!(rayon_core::yield_local(), None);
/// ```
pub fn yield_local() -> Option<Yield> {
    if inside() {
        locksley::yield_local().map(Yield::from)
    } else {
        None
    }
}
