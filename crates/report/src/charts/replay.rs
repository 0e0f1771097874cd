//! Predictions of the simulator beside what was measured.

use super::axis::{Axis, Scale};
use super::lines::{Joined, Line, Plot, Point};
use super::palette::MUTED;
use super::{Cast, Chart, Key, Marker, Swatch, Trouble, twice};
use crate::{Replay, ReplayPoint, Summary};

/// Predicted times as lines, measured ones as rings.
pub(crate) fn replay(replay: &Replay, cast: &Cast) -> Result<Chart, Trouble> {
    let names = Cast::new(replay.points.iter().map(|point| point.strategy.as_str()));
    let (mut lines, mut rings, mut legend) = (Vec::new(), Vec::new(), Vec::new());
    for name in names.names() {
        let mut own: Vec<&ReplayPoint> = replay
            .points
            .iter()
            .filter(|point| point.strategy == *name)
            .collect();
        own.sort_by_key(|point| point.workers);
        let (ink, marker) = (cast.ink(name), cast.marker(name));
        let predicted = own
            .iter()
            .map(|point| (point.workers as f64, point.predicted, None))
            .collect();
        lines.push(Line::new(ink, Joined::Line, Some(marker), predicted).of(name));
        let measured: Vec<_> = own.iter().filter_map(|point| measured(point)).collect();
        if !measured.is_empty() {
            rings.push(Line::new(ink, Joined::No, Some(Marker::Ring), measured).of(name));
        }
        legend.push(
            Key::new(
                format!("{name}, predicted"),
                Swatch::Line(ink, Some(marker)),
            )
            .of(name),
        );
    }
    if !rings.is_empty() {
        legend.push(Key::new(
            "measured, in the strategy's colour",
            Swatch::Dots(MUTED, Marker::Ring),
        ));
    }
    lines.extend(rings);
    let workers: Vec<usize> = replay.points.iter().map(|point| point.workers).collect();
    let all = || {
        lines
            .iter()
            .flat_map(|line| &line.points)
            .flat_map(|(_, y, w)| [*y, w.map_or(*y, |w| w.0), w.map_or(*y, |w| w.1)])
    };
    let most = all().fold(0.0, f64::max);
    let least = all().filter(|time| *time > 0.0).fold(most, f64::min);
    let title = format!("{}: predicted and measured time", replay.heading());
    let pictures = twice(&title, |width| {
        let x = Axis::workers("processors", &workers, 8);
        let y = match x.scale {
            Scale::Log => Axis::log_seconds("time", least, most),
            Scale::Linear => Axis::seconds("time", most, 5),
        };
        let mut plot = Plot::new(x, y, 330.0);
        plot.lines = lines.clone();
        plot.draw(width)
    })?;
    Ok(Chart {
        title,
        pictures,
        legend,
    })
}

fn measured(point: &ReplayPoint) -> Option<Point> {
    let summary = Summary::of(&point.measured)?;
    Some((
        point.workers as f64,
        summary.median,
        Some((summary.lower, summary.upper)),
    ))
}
