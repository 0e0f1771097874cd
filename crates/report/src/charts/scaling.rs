//! Charts of efficiency by the number of hosts.

use std::fmt::Write;

use super::axis::Axis;
use super::lines::{Drawing, Joined, Line};
use super::{Chart, Key, SMALL, SeriesIndex, Swatch, Trouble, WIDE};
use crate::format::escape;
use crate::{ScalePoint, Scaling};

const HEIGHT: f64 = 300.0;

/// Draws a line for each protocol of balancing.
pub(crate) fn scaling(scaling: &Scaling, series_index: &SeriesIndex) -> Result<Chart, Trouble> {
    let mut drawing = Drawing::default();
    for name in names(scaling).names() {
        let mut own: Vec<&ScalePoint> = scaling
            .points
            .iter()
            .filter(|point| point.strategy == *name)
            .collect();
        own.sort_by_key(|point| point.hosts);
        let (ink, marker) = (series_index.ink(name), Some(series_index.marker(name)));
        let points = own
            .iter()
            .map(|point| (point.hosts as f64, point.efficiency, None));
        let line = Line::new(ink, Joined::Line, marker, points.collect());
        drawing.lines.push(line.of(name));
        let key = Key::new(name.as_str(), Swatch::Line(ink, marker));
        drawing.legend.push(key.of(name));
    }
    let hosts: Vec<usize> = scaling.points.iter().map(|point| point.hosts).collect();
    let title = format!("{}: efficiency", scaling.heading());
    drawing.finish(title, HEIGHT, |_| {
        (
            Axis::workers("hosts", &hosts, 8),
            Axis::from_zero("efficiency", 1.0, 5),
        )
    })
}

fn names(scaling: &Scaling) -> SeriesIndex {
    SeriesIndex::new(scaling.points.iter().map(|point| point.strategy.as_str()))
}

/// Draws the same chart as a stand-alone picture with a white background, a title and a legend.
pub(crate) fn scaling_alone(data: &Scaling) -> Option<String> {
    if data.points.is_empty() {
        return None;
    }
    let chart = scaling(data, &names(data)).ok()?;
    let (row, head) = (20.0, 24.0);
    let height = head + HEIGHT + row * chart.legend.len() as f64 + 8.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDE} {height}\" \
         font-family=\"sans-serif\" font-size=\"{SMALL}\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n\
         <text x=\"4\" y=\"16\">{}</text>\n",
        escape(&chart.title)
    );
    let place = format!("<svg y=\"{head}\" width=\"{WIDE}\" height=\"{HEIGHT}\" ");
    svg.push_str(&chart.pictures[0].replacen("<svg ", &place, 1));
    for (number, key) in chart.legend.iter().enumerate() {
        let y = head + HEIGHT + row * number as f64;
        let place = format!("<svg x=\"8\" y=\"{y}\" width=\"28\" height=\"14\" ");
        let _ = write!(
            svg,
            "\n{}<text x=\"44\" y=\"{}\">{}</text>",
            key.swatch.replacen("<svg ", &place, 1),
            y + 11.0,
            escape(&key.label)
        );
    }
    svg.push_str("\n</svg>\n");
    Some(svg)
}
