//! Measurements: comparisons, recordings, the papers' experiments.

pub(crate) mod comparison;
pub(crate) mod experiment;
pub(crate) mod progress;
pub(crate) mod recorder;
