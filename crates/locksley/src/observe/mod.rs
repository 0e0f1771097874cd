//! What a program can see of its pool: statistics, traces, recordings, profiles.

pub(crate) mod profile;
pub(crate) mod record;
pub(crate) mod stats;
pub(crate) mod trace;
