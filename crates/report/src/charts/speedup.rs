//! Speed-up curves.

use super::axis::Axis;
use super::lines::{Band, Drawing, Joined, Line, Point};
use super::palette::{MUTED, series};
use super::{Chart, Key, Marker, SeriesIndex, Swatch, Trouble};
use crate::format::ratio;
use crate::{Comparison, Profile, Row, Summary};

/// Draws the chart over the numbers of workers.
fn finish(drawing: Drawing, title: String, workers: &[usize]) -> Result<Chart, Trouble> {
    let (least, most) = drawing.extent();
    drawing.finish(title, 330.0, |width| {
        let x = Axis::workers("workers", workers, if width < 500.0 { 6 } else { 16 });
        let y = Axis::like(&x, "speed-up (times as fast)", least, most, 6);
        (x, y)
    })
}

/// Adds the line of the ideal speed-up: P workers, P times as fast.
fn ideal(drawing: &mut Drawing, workers: &[usize], label: &str) {
    let most = workers.iter().copied().max().unwrap_or(1) as f64;
    let points = vec![(1.0, 1.0, None), (most, most, None)];
    drawing
        .lines
        .insert(0, Line::new(MUTED, Joined::Dashes, None, points));
    drawing.legend.push(Key::new(label, Swatch::Dashes(MUTED)));
}

/// Returns a measured speed-up with its whisker, or `None` without a time above 0.
fn point(base: f64, workers: usize, time: Option<Summary>) -> Option<Point> {
    let time = time.filter(|time| time.lower > 0.0)?;
    let whisker = (base / time.upper, base / time.lower);
    Some((workers as f64, base / time.median, Some(whisker)))
}

/// Draws the speed-ups of all contenders against the serial code, by the number of workers. Returns
/// `None` if only one number or no serial code was measured.
pub(crate) fn speedups(
    comparison: &Comparison,
    series_index: &SeriesIndex,
) -> Result<Option<Chart>, Trouble> {
    let Some(serial) = comparison.serial().and_then(Row::median) else {
        return Ok(None);
    };
    let mut drawing = Drawing::default();
    let mut workers = Vec::new();
    for contender in comparison.contenders() {
        let name = contender.name();
        let rows = comparison.rows.iter();
        let rows = rows.filter(|row| row.contender == *contender && name != "serial");
        let mut points: Vec<Point> = rows
            .filter_map(|row| point(serial, row.workers, row.summary()))
            .collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        if points.is_empty() {
            continue;
        }
        workers.extend(points.iter().map(|point| point.0 as usize));
        let (ink, marker) = (series_index.ink(name), series_index.marker(name));
        let said = points
            .iter()
            .map(|(p, speedup, _)| format!("{} with {p}", ratio(*speedup)));
        let hint = format!("{name}: {}", said.collect::<Vec<_>>().join(", "));
        let mut line = Line::new(ink, Joined::Line, Some(marker), points).of(name);
        line.hint = Some(hint);
        drawing.lines.push(line);
        drawing
            .legend
            .push(Key::new(name, Swatch::Line(ink, Some(marker))).of(name));
    }
    if workers.iter().max() == workers.iter().min() {
        return Ok(None);
    }
    ideal(
        &mut drawing,
        &workers,
        "ideal: twice the workers, half the time",
    );
    let title = format!("{}: speed-up against serial code", comparison.heading());
    finish(drawing, title, &workers).map(Some)
}

/// Draws measured speed-ups between the bounds that work and span set.
pub(crate) fn profile(profile: &Profile) -> Result<Chart, Trouble> {
    let mut points: Vec<Point> = profile
        .measured
        .iter()
        .filter_map(|found| point(profile.base(), found.workers, found.summary()))
        .collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let workers = numbers(profile);
    let mut drawing = Drawing::default();
    bounds(&mut drawing, profile, workers[workers.len() - 1]);
    let marker = Some(Marker::Circle);
    drawing
        .lines
        .push(Line::new(series(1), Joined::Line, marker, points));
    drawing
        .legend
        .push(Key::new("measured", Swatch::Line(series(1), marker)));
    ideal(&mut drawing, &workers, "ideal");
    let title = format!("{}: speed-up, measured and possible", profile.heading());
    finish(drawing, title, &workers)
}

/// Returns powers of two that extend beyond the measured numbers to where the bounds flatten, which
/// shows what a larger machine would gain.
fn numbers(profile: &Profile) -> Vec<usize> {
    let far = (2.0 * profile.parallelism())
        .clamp(8.0, 64.0)
        .log2()
        .ceil()
        .exp2() as usize;
    let measured = profile
        .measured
        .iter()
        .map(|point| point.workers)
        .max()
        .unwrap_or(1);
    let most = far.max(measured);
    (0..)
        .map(|i| 1 << i)
        .take_while(|p| *p < most)
        .chain([most])
        .collect()
}

/// Adds the two bounds and the area between them.
fn bounds(drawing: &mut Drawing, profile: &Profile, most: usize) {
    // The bounds bend between the powers of two.
    let fine = |i: u32| (most as f64).powf(f64::from(i) / 128.0).round() as usize;
    let fine: Vec<usize> = (0..=128).map(fine).collect();
    let (at_most, at_least) = (
        |p: &usize| profile.at_most(*p),
        |p: &usize| profile.at_least(*p),
    );
    let upper = fine.iter().map(|p| (*p as f64, at_most(p), None)).collect();
    let lower = fine
        .iter()
        .map(|p| (*p as f64, at_least(p), None))
        .collect();
    let between = fine
        .iter()
        .map(|p| (*p as f64, at_least(p), at_most(p)))
        .collect();
    drawing.bands.push(Band {
        ink: series(0),
        opacity: 0.14,
        points: between,
    });
    for (points, ink, label, hint) in [
        (
            upper,
            series(0),
            "at most (no scheduler can exceed it)",
            "min(P, work / span)",
        ),
        (
            lower,
            series(2),
            "at least (a good scheduler reaches it)",
            "work / (work / P + burdened span)",
        ),
    ] {
        let mut line = Line::new(ink, Joined::Line, None, points);
        line.hint = Some(format!("{label}: {hint}"));
        drawing.lines.push(line);
        drawing
            .legend
            .push(Key::new(label, Swatch::Line(ink, None)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_of_zero_has_no_speed_up() {
        assert!(point(1.0, 2, None).is_none());
        assert!(point(1.0, 2, Summary::of(&[0.0, 0.0, 1.0])).is_none());
        let shown = point(12.0, 2, Summary::of(&[3.0, 4.0, 6.0]));
        assert_eq!(shown, Some((2.0, 3.0, Some((2.4, 12.0 / 3.5)))));
    }
}
