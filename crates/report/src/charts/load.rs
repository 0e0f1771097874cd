//! Loads over time.

use super::axis::Axis;
use super::lines::{Band, Joined, Line, Plot};
use super::palette::series;
use super::{Chart, Key, Swatch, Trouble, twice};
use crate::format::{plural, tick};
use crate::{LoadCurve, LoadPoint, TimeUnit};

/// More points than this are more than a picture has pixels.
const POINTS: usize = 1000;

/// Mean, maximum and the range between the outer percentiles. `most` is the largest load on the vertical axis, so that curves
/// beside each other compare.
pub(crate) fn load(curve: &LoadCurve, most: f64) -> Result<Chart, Trouble> {
    let points = thinned(&curve.points);
    let end = curve
        .points
        .iter()
        .map(|point| point.time)
        .fold(0.0, f64::max);
    let line = |value: fn(&LoadPoint) -> f64| {
        points
            .iter()
            .map(|point| (point.time, value(point), None))
            .collect::<Vec<_>>()
    };
    let lines = vec![
        Line::new(series(1), Joined::Line, None, line(|point| point.max)),
        Line::new(series(0), Joined::Line, None, line(|point| point.mean)),
    ];
    let mut legend = vec![
        Key::new("largest", Swatch::Line(series(1), None)),
        Key::new("average", Swatch::Line(series(0), None)),
    ];
    let mut bands = Vec::new();
    if let [lowest, .., highest] = curve.percentiles[..] {
        let range = |point: &LoadPoint| {
            Some((
                point.time,
                *point.percentiles.first()?,
                *point.percentiles.last()?,
            ))
        };
        bands.push(Band {
            ink: series(0),
            opacity: 0.18,
            points: points.iter().filter_map(range).collect(),
        });
        let share = tick(highest - lowest);
        legend.push(Key::new(
            format!("the middle {share} % of the workers"),
            Swatch::Area(series(0), 0.25),
        ));
    }
    let heading = crate::results::heading(&curve.program, &curve.parameters);
    let title = format!(
        "{heading}, {}, {}: waiting tasks",
        curve.strategy,
        plural(curve.workers, "worker")
    );
    let pictures = twice(&title, |width| {
        let wanted = if width < 500.0 { 4 } else { 8 };
        let x = match curve.unit {
            TimeUnit::Seconds => Axis::seconds("time", end, wanted),
            TimeUnit::Ticks => Axis::counts("time (ticks of the simulator)", end, wanted),
        };
        let mut plot = Plot::new(x, Axis::counts("waiting tasks per worker", most, 5), 260.0);
        plot.lines = lines.clone();
        plot.bands = bands.clone();
        plot.draw(width)
    })?;
    Ok(Chart {
        title,
        pictures,
        legend,
    })
}

/// At most [`POINTS`] points; of neighbours the one with the largest maximum, so that no peak gets lost.
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
