//! Charts of predicted and measured times.

use super::axis::{Axis, Scale};
use super::lines::{Drawing, Joined, Line, Point};
use super::palette::MUTED;
use super::{Chart, Key, Marker, SeriesIndex, Swatch, Trouble};
use crate::{Replay, ReplayPoint, Summary};

/// Draws predicted times as lines and measured ones as rings.
pub(crate) fn replay(replay: &Replay, series_index: &SeriesIndex) -> Result<Chart, Trouble> {
    let mut drawing = Drawing::default();
    let mut rings = Vec::new();
    for name in SeriesIndex::new(replay.points.iter().map(|point| point.strategy.as_str())).names()
    {
        let points = replay.points.iter();
        let mut own: Vec<&ReplayPoint> = points.filter(|point| point.strategy == *name).collect();
        own.sort_by_key(|point| point.workers);
        let (ink, marker) = (series_index.ink(name), Some(series_index.marker(name)));
        let predicted = own
            .iter()
            .map(|point| (point.workers as f64, point.predicted, None));
        let line = Line::new(ink, Joined::Line, marker, predicted.collect());
        drawing.lines.push(line.of(name));
        let measured: Vec<Point> = own.iter().filter_map(|point| measured(point)).collect();
        rings.push(Line::new(ink, Joined::No, Some(Marker::Ring), measured).of(name));
        let key = Key::new(format!("{name}, predicted"), Swatch::Line(ink, marker));
        drawing.legend.push(key.of(name));
    }
    if rings.iter().any(|line| !line.points.is_empty()) {
        let swatch = Swatch::Dots(MUTED, Marker::Ring);
        drawing
            .legend
            .push(Key::new("measured, in the strategy's colour", swatch));
    }
    drawing.lines.extend(rings);
    let workers: Vec<usize> = replay.points.iter().map(|point| point.workers).collect();
    let (least, most) = drawing.extent();
    let title = format!("{}: predicted and measured time", replay.heading());
    drawing.finish(title, 330.0, |_| {
        let x = Axis::workers("processors", &workers, 8);
        let y = match x.scale {
            Scale::Log => Axis::log_seconds("time", least, most),
            Scale::Linear => Axis::seconds("time", most, 5),
        };
        (x, y)
    })
}

/// Returns the median. A whisker would be hidden by the ring.
fn measured(point: &ReplayPoint) -> Option<Point> {
    Some((
        point.workers as f64,
        Summary::of(&point.measured)?.median,
        None,
    ))
}
