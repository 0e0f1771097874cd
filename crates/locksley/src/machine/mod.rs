//! What the pool runs on: the processors, and which of them a worker is pinned to.

pub(crate) mod pinning;
pub(crate) mod share;
pub(crate) mod topology;
#[cfg(all(windows, not(miri)))]
mod windows;
