//! Bar charts: a bar per contender, with the median as its length and the quartiles as a whisker.

use super::axis::Axis;
use super::palette::{GRID, MUTED, TEXT};
use super::{Area, Canvas, Chart, SMALL, SeriesIndex, Trouble, px, stroke, text, twice};
use crate::format::{plural, ratio, seconds, shorten};
use crate::{Comparison, Contender, Row, Summary};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

/// Sizes: height of a bar with the text above it, of a bar, and of the space below the last one;
/// space at the left and right.
const ROW: f64 = 40.0;
const BAR: f64 = 14.0;
const FOOT: f64 = 44.0;
const EDGE: f64 = 10.0;

/// Draws the times of all contenders, each with the number of workers with which it was fastest.
pub(crate) fn bars(comparison: &Comparison, series_index: &SeriesIndex) -> Result<Chart, Trouble> {
    let rows = shown(comparison);
    let most = rows
        .iter()
        .map(|(_, summary)| summary.upper)
        .fold(0.0, f64::max);
    let shared = shared_workers(&rows);
    let with = match shared {
        Some(workers) => format!(" with {}", plural(workers, "worker")),
        None if rows.len() < 2 => String::new(),
        None => ", each with the workers that suit it best".to_owned(),
    };
    let title = format!("{}{with}: time, less is better", comparison.heading());
    let winner = comparison.winner();
    let pictures = twice(&title, |width| {
        let height = rows.len() as f64 * ROW + FOOT;
        let axis = Axis::seconds("time", most, if width < 500.0 { 5 } else { 10 }).ending_at(most);
        let mut canvas = Canvas::new(width, height);
        canvas.layer(None, None, |root| ground(root, &axis, width, height))?;
        for (i, (row, summary)) in rows.iter().enumerate() {
            let bar = Bar {
                top: i as f64 * ROW,
                width,
                axis: &axis,
                row,
                summary,
                speedup: comparison.speedup(row),
                shared,
                won: winner.is_some_and(|winner| std::ptr::eq(winner, *row)),
            };
            let hint = bar.hint();
            canvas.layer(Some(row.contender.name()), Some(&hint), |root| {
                bar.draw(root, series_index)
            })?;
        }
        Ok(canvas)
    })?;
    Ok(Chart {
        title,
        pictures,
        legend: Vec::new(),
    })
}

/// Returns the fastest row of each contender, with right results preferred, sorted by time.
fn shown(comparison: &Comparison) -> Vec<(&Row, Summary)> {
    let best = |name: &Contender| {
        let rows = comparison.rows.iter().filter(|row| row.contender == *name);
        let timed = rows.filter_map(|row| Some((row, row.summary()?)));
        timed.min_by(|a, b| {
            let wrong = |row: &Row| !row.verified;
            wrong(a.0)
                .cmp(&wrong(b.0))
                .then(a.1.median.total_cmp(&b.1.median))
        })
    };
    let mut shown: Vec<_> = comparison
        .contenders()
        .into_iter()
        .filter_map(best)
        .collect();
    shown.sort_by(|a, b| a.1.median.total_cmp(&b.1.median));
    shown
}

/// Returns the number of workers if all contenders but the serial code have the same.
fn shared_workers(rows: &[(&Row, Summary)]) -> Option<usize> {
    let mut workers = rows
        .iter()
        .filter(|(row, _)| row.contender != Contender::Serial)
        .map(|(row, _)| row.workers);
    let first = workers.next()?;
    workers.all(|other| other == first).then_some(first)
}

fn place(axis: &Axis, width: f64, value: f64) -> f64 {
    let range = axis.range();
    EDGE + (axis.at(value) - range.start) / (range.end - range.start) * (width - 2.0 * EDGE - 8.0)
}

/// Draws the grid lines and the axis below.
fn ground(root: &Area<'_>, axis: &Axis, width: f64, height: f64) -> Result<(), Trouble> {
    let bottom = height - FOOT + 4.0;
    for value in axis.places() {
        let x = px(place(axis, width, value));
        root.draw(&PathElement::new(
            [(x, 0), (x, px(bottom))],
            stroke(GRID, 0.75),
        ))?;
        let style = text(MUTED, SMALL, HPos::Center, VPos::Top);
        root.draw(&Text::new(axis.say(value), (x, px(bottom + 5.0)), style))?;
    }
    let style = text(TEXT, SMALL, HPos::Right, VPos::Top);
    root.draw(&Text::new(
        axis.label.clone(),
        (px(width - EDGE), px(height - 17.0)),
        style,
    ))?;
    Ok(())
}

struct Bar<'a> {
    top: f64,
    width: f64,
    axis: &'a Axis,
    row: &'a Row,
    summary: &'a Summary,
    speedup: Option<f64>,
    /// Number of workers if it is the same for all; the title has it then.
    shared: Option<usize>,
    won: bool,
}

impl Bar<'_> {
    fn name(&self) -> String {
        if self.row.contender == Contender::Serial || self.shared.is_some() {
            return self.row.contender.to_string();
        }
        format!(
            "{}, {}",
            self.row.contender,
            plural(self.row.workers, "worker")
        )
    }

    fn hint(&self) -> String {
        let Summary {
            lower,
            median,
            upper,
            count,
            ..
        } = *self.summary;
        let (lower, median, upper) = (seconds(lower), seconds(median), seconds(upper));
        format!(
            "{}: median {median}, quartiles {lower} to {upper}, {}",
            self.name(),
            plural(count, "sample")
        )
    }

    fn draw(&self, root: &Area<'_>, series_index: &SeriesIndex) -> Result<(), Trouble> {
        let mut value = seconds(self.summary.median);
        if !self.row.verified {
            value.push_str(" (wrong result)");
        } else if let Some(speedup) = self
            .speedup
            .filter(|_| self.row.contender != Contender::Serial)
        {
            value.push_str(&format!(" ({})", ratio(speedup)));
        }
        // Bold letters are wider.
        let (style, letter) = if self.won {
            (FontStyle::Bold, 0.62)
        } else {
            (FontStyle::Normal, 0.56)
        };
        let room =
            (self.width - 2.0 * EDGE) / (SMALL * letter) - value.chars().count() as f64 - 2.0;
        let name = shorten(&self.name(), room.max(4.0) as usize);
        let line = px(self.top + 6.0);
        for (words, at, side) in [
            (name, EDGE, HPos::Left),
            (value, self.width - EDGE, HPos::Right),
        ] {
            let mut look = text(TEXT, SMALL, side, VPos::Top);
            look.font = look.font.style(style);
            root.draw(&Text::new(words, (px(at), line), look))?;
        }

        let at = |value| px(place(self.axis, self.width, value));
        let (top, bottom) = (self.top + 22.0, self.top + 22.0 + BAR);
        let ink = series_index.ink(self.row.contender.name());
        let corners = [(px(EDGE), px(top)), (at(self.summary.median), px(bottom))];
        root.draw(&Rectangle::new(corners, ink.color().mix(0.75).filled()))?;
        let middle = px(f64::midpoint(top, bottom));
        let (from, to) = (at(self.summary.lower), at(self.summary.upper));
        root.draw(&PathElement::new(
            [(from, middle), (to, middle)],
            stroke(TEXT, 1.25),
        ))?;
        for end in [from, to] {
            let cap = [(end, px(top + 2.5)), (end, px(bottom - 2.5))];
            root.draw(&PathElement::new(cap, stroke(TEXT, 1.25)))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_contender_is_shown_at_its_best() {
        let mut comparison = Comparison::new("x");
        let rayon = |workers, time| Row::new(Contender::rival("rayon"), workers, vec![time]);
        let wrong = Row {
            verified: false,
            ..rayon(4, 0.1)
        };
        let serial = Row::new(Contender::Serial, 1, vec![2.5]);
        comparison.rows = vec![serial, rayon(1, 3.0), rayon(2, 2.0), rayon(3, 2.2), wrong];
        let shown = shown(&comparison);
        let rows: Vec<_> = shown
            .iter()
            .map(|(row, _)| (row.contender.name(), row.workers))
            .collect();
        assert_eq!(
            rows,
            [("rayon", 2), ("serial", 1)],
            "the fastest first, and no wrong result"
        );
        assert!(
            shown
                .iter()
                .any(|(row, _)| std::ptr::eq(*row, comparison.winner().unwrap()))
        );
    }
}
