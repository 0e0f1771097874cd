//! What the charts draw: the values that shapes, labels and colours of a page stand for.

mod comparisons;
mod experiments;
mod picture;
mod profiles;
mod workers;

/// The colours of the first series, in the order of the legend.
const SERIES: [&str; 4] = ["#0072B2", "#C8500A", "#00825F", "#9A4A8C"];
/// The colour of the serial code.
const SERIAL: &str = "#78828D";
/// The colour of what is there for comparison only.
const MUTED: &str = "#57606A";
