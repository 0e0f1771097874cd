//! What a program can see of its pool: its state, statistics, traces, recordings, profiles.

pub(crate) mod profile;
pub(crate) mod record;
pub(crate) mod state;
pub(crate) mod stats;
pub(crate) mod trace;
