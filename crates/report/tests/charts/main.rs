//! The charts of a page: the values that their shapes, labels and colours represent.

mod comparisons;
mod experiments;
mod picture;
mod profiles;
mod workers;

/// Colours of the first series, in the order of the legend.
const SERIES: [&str; 4] = ["#0072B2", "#C8500A", "#00825F", "#9A4A8C"];
/// Colour of the serial code.
const SERIAL: &str = "#78828D";
/// Colour of lines that are only there for comparison.
const MUTED: &str = "#57606A";
