//! Values of the command line: names, ranges of numbers, simulated machines.

pub(crate) mod machines;
pub(crate) mod names;
pub(crate) mod ranges;
