//! What the pool runs on: the processors, and which of them a worker is pinned to.

pub(crate) mod clock;
pub(crate) mod insertion;
pub(crate) mod jobserver;
pub(crate) mod pinning;
pub(crate) mod share;
pub(crate) mod topology;
#[cfg(all(windows, not(miri)))]
mod windows;

/// Whether the target has threads. WebAssembly has them with the feature `atomics` only.
pub(crate) const HAS_THREADS: bool =
    cfg!(any(not(target_family = "wasm"), target_feature = "atomics"));
