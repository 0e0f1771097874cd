//! Charts of loads over time.

use super::axis::Axis;
use super::lines::{Band, Drawing, Joined, Line};
use super::palette::series;
use super::{Chart, Key, Swatch, Trouble};
use crate::format::{plural, tick};
use crate::{LoadCurve, LoadPoint, TimeUnit};

/// Largest number of points: more than a picture has pixels.
const POINTS: usize = 1000;

/// Draws mean, maximum and the range between the outer percentiles. `most` is the largest load on
/// the vertical axis, the same for curves that are to be compared.
pub(crate) fn load(curve: &LoadCurve, most: f64) -> Result<Chart, Trouble> {
    let points = thinned(&curve.points);
    let mut drawing = Drawing::default();
    let mut line = |label, ink, value: fn(&LoadPoint) -> f64| {
        let points = points
            .iter()
            .map(|point| (point.time, value(point), None))
            .collect();
        drawing
            .lines
            .push(Line::new(ink, Joined::Line, None, points));
        drawing
            .legend
            .push(Key::new(label, Swatch::Line(ink, None)));
    };
    line("largest", series(1), |point| point.max);
    line("average", series(0), |point| point.mean);
    if let [lowest, .., highest] = curve.percentiles[..] {
        let band = points.iter().filter_map(middle).collect();
        drawing.bands.push(Band {
            ink: series(0),
            opacity: 0.18,
            points: band,
        });
        let label = format!("the middle {} % of the workers", tick(highest - lowest));
        drawing
            .legend
            .push(Key::new(label, Swatch::Area(series(0), 0.25)));
    }
    let heading = crate::results::heading(&curve.program, &curve.parameters);
    let workers = plural(curve.workers, "worker");
    let title = format!("{heading}, {}, {workers}: waiting tasks", curve.strategy);
    let end = curve
        .points
        .iter()
        .map(|point| point.time)
        .fold(0.0, f64::max);
    drawing.finish(title, 260.0, |width| {
        let wanted = if width < 500.0 { 4 } else { 8 };
        let x = match curve.unit {
            TimeUnit::Seconds => Axis::seconds("time", end, wanted),
            TimeUnit::Ticks => Axis::counts("time (ticks of the simulator)", end, wanted),
        };
        (
            x.ending_at(end),
            Axis::counts("waiting tasks per worker", most, 5),
        )
    })
}

/// Returns the time and the outer percentiles of a point.
fn middle(point: &LoadPoint) -> Option<(f64, f64, f64)> {
    Some((
        point.time,
        *point.percentiles.first()?,
        *point.percentiles.last()?,
    ))
}

/// Reduces points to at most [`POINTS`]. Of neighbours the one with the largest maximum is kept, so
/// that no peak is lost.
fn thinned(points: &[LoadPoint]) -> Vec<LoadPoint> {
    let chunk = points.len().div_ceil(POINTS).max(1);
    let highest =
        |chunk: &[LoadPoint]| chunk.iter().max_by(|a, b| a.max.total_cmp(&b.max)).cloned();
    points.chunks(chunk).filter_map(highest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_keeps_the_peak() {
        let point = |i: usize| LoadPoint {
            time: i as f64,
            max: if i == 12_345 { 9.0 } else { 1.0 },
            ..LoadPoint::default()
        };
        let points: Vec<LoadPoint> = (0..50_000).map(point).collect();
        let thin = thinned(&points);
        assert!(thin.len() <= POINTS);
        assert!(thin.iter().any(|point| point.max == 9.0));
    }
}
