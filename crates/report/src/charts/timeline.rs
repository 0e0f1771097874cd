//! Timelines: a track per worker, an arrow per task that moved from one worker to another.

use super::axis::Axis;
use super::palette::{DEALING, DONATION, GRID, IDLE, Ink, MUTED, PARKED, STEAL, TASK, TEXT};
use super::{Area, Canvas, Chart, Key, SMALL, Swatch, Trouble, px, stroke, text, twice};
use crate::{Arrow, ArrowKind, SliceKind, Timeline, Track};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

/// Largest numbers of slices and arrows in the wide picture. The narrow one has a third of them.
const CAP: (usize, usize) = (3000, ARROWS);
/// Largest number of arrows: more would hide the tracks.
pub(crate) const ARROWS: usize = 300;
/// Largest number of tracks. The page says how many more there are.
pub(crate) const TRACKS: usize = 64;

/// Left edge of the part that the page's zoom stretches.
const LEFT: f64 = 72.0;
const TOP: f64 = 8.0;
const FOOT: f64 = 44.0;

fn slice_ink(kind: SliceKind) -> Ink {
    match kind {
        SliceKind::Task => TASK,
        SliceKind::Idle => IDLE,
        SliceKind::Parked => PARKED,
    }
}

fn arrow_ink(kind: ArrowKind) -> Ink {
    match kind {
        ArrowKind::Steal => STEAL,
        ArrowKind::Donation => DONATION,
        ArrowKind::Dealing => DEALING,
    }
}

/// Draws the timeline, reduced if it has too much for a page.
pub(crate) fn timeline(timeline: &Timeline) -> Result<Chart, Trouble> {
    let heading = crate::results::heading(&timeline.program, &timeline.parameters);
    let title = format!("{heading}, {}: what each worker did", timeline.strategy);
    let pictures = twice(&title, |width| {
        let share = if width < 500.0 { 3 } else { 1 };
        let mut small = timeline.clone();
        small.tracks.truncate(TRACKS);
        small.cap(CAP.0 / share, CAP.1 / share);
        Tracks::new(&small, width).draw()
    })?;
    let slices = timeline.tracks.iter().flat_map(|track| &track.slices);
    let mut legend = Vec::new();
    for (kind, label) in [
        (SliceKind::Task, "runs tasks"),
        (SliceKind::Idle, "looks for work"),
        (SliceKind::Parked, "sleeps"),
    ] {
        if slices.clone().any(|slice| slice.kind == kind) {
            legend.push(Key::new(label, Swatch::Area(slice_ink(kind), 1.0)));
        }
    }
    let kinds = [
        (ArrowKind::Steal, "a task is stolen"),
        (ArrowKind::Donation, "a task is given"),
        (ArrowKind::Dealing, "a task is dealt"),
    ];
    for (kind, label) in kinds {
        if timeline.arrows.iter().any(|arrow| arrow.kind == kind) {
            legend.push(Key::new(label, Swatch::Line(arrow_ink(kind), None)));
        }
    }
    Ok(Chart {
        title,
        pictures,
        legend,
    })
}

struct Tracks<'a> {
    timeline: &'a Timeline,
    axis: Axis,
    width: f64,
    /// Height of a track, and of the part of it that is filled.
    row: f64,
    bar: f64,
}

impl<'a> Tracks<'a> {
    fn new(timeline: &'a Timeline, width: f64) -> Tracks<'a> {
        let row = if timeline.tracks.len() <= 16 {
            30.0
        } else {
            16.0
        };
        let wanted = if width < 500.0 { 5 } else { 10 };
        let axis = Axis::seconds("time", timeline.end(), wanted).ending_at(timeline.end());
        Tracks {
            timeline,
            axis,
            width,
            row,
            bar: row * 0.6,
        }
    }

    fn draw(&self) -> Result<Canvas, Trouble> {
        let bottom = TOP + self.row * self.timeline.tracks.len() as f64;
        let mut canvas = Canvas::new(self.width, bottom + FOOT);
        canvas.left = Some(LEFT);
        canvas.layer(None, None, |root| self.ground(root, bottom))?;
        for (index, track) in self.timeline.tracks.iter().enumerate() {
            canvas.layer(None, None, |root| self.track(root, index, track))?;
        }
        for kind in [ArrowKind::Steal, ArrowKind::Donation, ArrowKind::Dealing] {
            canvas.layer(None, None, |root| self.arrows(root, kind))?;
        }
        Ok(canvas)
    }

    fn x(&self, time: f64) -> i32 {
        let range = self.axis.range();
        let share = (self.axis.at(time) - range.start) / (range.end - range.start);
        px(LEFT + share * (self.width - LEFT - 16.0))
    }

    fn ground(&self, root: &Area<'_>, bottom: f64) -> Result<(), Trouble> {
        for value in self.axis.places() {
            let x = self.x(value);
            root.draw(&PathElement::new(
                [(x, px(TOP)), (x, px(bottom))],
                stroke(GRID, 0.75),
            ))?;
            let style = text(MUTED, SMALL, HPos::Center, VPos::Top);
            root.draw(&Text::new(
                self.axis.say(value),
                (x, px(bottom + 5.0)),
                style,
            ))?;
        }
        let style = text(TEXT, SMALL, HPos::Right, VPos::Top);
        root.draw(&Text::new(
            self.axis.label.clone(),
            (px(self.width - 16.0), px(bottom + FOOT - 17.0)),
            style,
        ))?;
        for (index, track) in self.timeline.tracks.iter().enumerate() {
            let style = text(TEXT, SMALL, HPos::Right, VPos::Center);
            let middle = px(TOP + self.row * (index as f64 + 0.5));
            root.draw(&Text::new(
                format!("worker {}", track.worker),
                (px(LEFT - 8.0), middle),
                style,
            ))?;
        }
        Ok(())
    }

    fn track(&self, root: &Area<'_>, index: usize, track: &Track) -> Result<(), Trouble> {
        let middle = TOP + self.row * (index as f64 + 0.5);
        let (top, bottom) = (px(middle - self.bar / 2.0), px(middle + self.bar / 2.0));
        for slice in &track.slices {
            // Even the shortest slice is visible.
            let (from, to) = (
                self.x(slice.start),
                self.x(slice.end).max(self.x(slice.start) + 1),
            );
            root.draw(&Rectangle::new(
                [(from, top), (to, bottom)],
                slice_ink(slice.kind).color().filled(),
            ))?;
        }
        Ok(())
    }

    fn arrows(&self, root: &Area<'_>, kind: ArrowKind) -> Result<(), Trouble> {
        let ink = arrow_ink(kind);
        for arrow in self
            .timeline
            .arrows
            .iter()
            .filter(|arrow| arrow.kind == kind)
        {
            let Some(((x1, y1), (x2, y2))) = self.ends(arrow) else {
                continue;
            };
            root.draw(&PathElement::new([(x1, y1), (x2, y2)], stroke(ink, 1.0)))?;
            let back = if y2 > y1 { -px(6.0) } else { px(6.0) };
            let head = vec![
                (x2, y2),
                (x2 - px(3.0), y2 + back),
                (x2 + px(3.0), y2 + back),
            ];
            root.draw(&Polygon::new(head, ink.color().filled()))?;
        }
        Ok(())
    }

    /// Returns the ends of an arrow: the middle of one track and the near edge of the other.
    /// Returns `None` if one of them is not shown, or both are the same.
    fn ends(&self, arrow: &Arrow) -> Option<((i32, i32), (i32, i32))> {
        let row = |worker| {
            self.timeline
                .tracks
                .iter()
                .position(|track| track.worker == worker)
        };
        let middle = |row: usize| TOP + self.row * (row as f64 + 0.5);
        let (from, to) = (row(arrow.from)?, row(arrow.to)?);
        if from == to {
            return None;
        }
        let edge = if to > from {
            -self.bar / 2.0
        } else {
            self.bar / 2.0
        };
        Some((
            (self.x(arrow.left), px(middle(from))),
            (self.x(arrow.arrived), px(middle(to) + edge)),
        ))
    }
}
