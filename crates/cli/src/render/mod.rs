//! Results as text, JSON and files.

pub(crate) mod answer;
pub(crate) mod counters;
pub(crate) mod output;
pub(crate) mod style;
pub(crate) mod tables;
pub(crate) mod timeline;
pub(crate) mod units;
