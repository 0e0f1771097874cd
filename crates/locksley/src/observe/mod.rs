//! What a program can see of its pool: its state, statistics, traces, recordings, profiles.

#[cfg(all(feature = "stats", not(loom)))]
pub(crate) mod at_exit;
pub(crate) mod record;
pub(crate) mod state;
pub(crate) mod stats;
pub(crate) mod trace;
