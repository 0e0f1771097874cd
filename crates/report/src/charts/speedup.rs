//! Speed-up curves.

use super::axis::Axis;
use super::lines::{Band, Joined, Line, Plot, Point};
use super::palette::{MUTED, series};
use super::{Cast, Chart, Key, Marker, Swatch, Trouble, twice};
use crate::format::times;
use crate::{Comparison, Profile, Row};

const HEIGHT: f64 = 330.0;

/// How many ticks fit.
fn ticks(width: f64) -> usize {
    if width < 500.0 { 6 } else { 16 }
}

/// The ideal: P workers, P times as fast.
fn ideal(workers: &[usize]) -> Line {
    let most = workers.iter().copied().max().unwrap_or(1);
    let least = workers.iter().copied().min().unwrap_or(1).min(1);
    // Enough points that the line is straight on any scale.
    let points = [least.max(1), most].map(|p| (p as f64, p as f64, None));
    Line::new(MUTED, Joined::Dashes, None, points.to_vec())
}

/// The speed-ups of all contenders against the serial code, by the number of workers; `None` if only one number was measured, or
/// there is no serial code to compare with.
pub(crate) fn speedups(comparison: &Comparison, cast: &Cast) -> Result<Option<Chart>, Trouble> {
    let Some(serial) = comparison.serial().and_then(Row::median) else {
        return Ok(None);
    };
    let (mut lines, mut legend) = (Vec::new(), Vec::new());
    for contender in comparison.contenders() {
        let name = contender.name();
        let rows = comparison
            .rows
            .iter()
            .filter(|row| row.contender == *contender && name != "serial");
        let mut points: Vec<_> = rows.filter_map(|row| point(serial, row)).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        if !points.is_empty() {
            let (ink, marker) = (cast.ink(name), cast.marker(name));
            let said: Vec<String> = points
                .iter()
                .map(|(p, s, _)| format!("{} with {p}", times(*s)))
                .collect();
            let mut line = Line::new(ink, Joined::Line, Some(marker), points).of(name);
            line.hint = Some(format!("{name}: {}", said.join(", ")));
            lines.push(line);
            legend.push(Key::new(name, Swatch::Line(ink, Some(marker))).of(name));
        }
    }
    let mut workers: Vec<usize> = lines
        .iter()
        .flat_map(|line| &line.points)
        .map(|point| point.0 as usize)
        .collect();
    workers.sort_unstable();
    workers.dedup();
    if workers.len() < 2 {
        return Ok(None);
    }
    lines.insert(0, ideal(&workers));
    legend.push(Key::new(
        "ideal: twice the workers, half the time",
        Swatch::Dashes(MUTED),
    ));
    let title = format!("{}: speed-up against serial code", comparison.heading());
    chart(title, &workers, lines, Vec::new(), legend).map(Some)
}

fn point(serial: f64, row: &Row) -> Option<Point> {
    let summary = row.summary().filter(|summary| summary.lower > 0.0)?;
    let whisker = (serial / summary.upper, serial / summary.lower);
    Some((row.workers as f64, serial / summary.median, Some(whisker)))
}

fn chart(
    title: String,
    workers: &[usize],
    lines: Vec<Line>,
    bands: Vec<Band>,
    legend: Vec<Key>,
) -> Result<Chart, Trouble> {
    let values = || {
        lines
            .iter()
            .flat_map(|line| &line.points)
            .map(|(_, y, w)| w.map_or((*y, *y), |w| w))
    };
    let most = values().map(|(_, high)| high).fold(1.0, f64::max);
    let least = values().map(|(low, _)| low).fold(1.0, f64::min);
    let pictures = twice(&title, |width| {
        let x = Axis::workers("workers", workers, ticks(width));
        let y = Axis::like(&x, "speed-up (times as fast)", least, most, 6);
        let mut plot = Plot::new(x, y, HEIGHT);
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

/// Measured speed-ups between the bounds that work and span set.
pub(crate) fn profile(profile: &Profile) -> Result<Chart, Trouble> {
    let measured = profile
        .measured
        .iter()
        .map(|point| point.workers)
        .max()
        .unwrap_or(1);
    // Beyond the measured numbers, to where the bounds begin to differ: that is what a reader wants to know of a larger machine.
    let far = (2.0 * profile.parallelism())
        .clamp(8.0, 64.0)
        .log2()
        .ceil()
        .exp2() as usize;
    let most = far.max(measured);
    let workers: Vec<usize> = (0..)
        .map(|i| 1 << i)
        .take_while(|p| *p < most)
        .chain([most])
        .collect();
    // Bounds bend between the powers of two.
    let fine: Vec<usize> = (0..=128)
        .map(|i| (most as f64).powf(f64::from(i) / 128.0).round() as usize)
        .collect();
    let bound = |at: &dyn Fn(usize) -> f64| {
        fine.iter()
            .map(|p| (*p as f64, at(*p), None))
            .collect::<Vec<_>>()
    };

    let mut points: Vec<_> = profile
        .measured
        .iter()
        .filter_map(|point| {
            let summary = point.summary().filter(|summary| summary.lower > 0.0)?;
            let base = profile.base();
            Some((
                point.workers as f64,
                base / summary.median,
                Some((base / summary.upper, base / summary.lower)),
            ))
        })
        .collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));

    let ink = series(0);
    let band = Band {
        ink,
        opacity: 0.14,
        points: fine
            .iter()
            .map(|p| (*p as f64, profile.at_least(*p), profile.at_most(*p)))
            .collect(),
    };
    let mut upper = Line::new(ink, Joined::Line, None, bound(&|p| profile.at_most(p)));
    upper.hint = Some("at most: min(P, work / span)".into());
    let mut lower = Line::new(
        series(2),
        Joined::Line,
        None,
        bound(&|p| profile.at_least(p)),
    );
    lower.hint =
        Some("at least, with a greedy scheduler: work / (work / P + burdened span)".into());
    let found = Line::new(series(1), Joined::Line, Some(Marker::Circle), points);
    let legend = vec![
        Key::new(
            "at most (no scheduler can exceed it)",
            Swatch::Line(ink, None),
        ),
        Key::new(
            "at least (a good scheduler reaches it)",
            Swatch::Line(series(2), None),
        ),
        Key::new("measured", Swatch::Line(series(1), Some(Marker::Circle))),
        Key::new("ideal", Swatch::Dashes(MUTED)),
    ];
    let title = format!("{}: speed-up, measured and possible", profile.heading());
    chart(
        title,
        &workers,
        vec![ideal(&workers), upper, lower, found],
        vec![band],
        legend,
    )
}
