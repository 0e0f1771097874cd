//! Plots of lines, points, whiskers and areas, of which most charts consist.

use super::axis::Axis;
use super::palette::{GRID, Ink, MUTED, TEXT};
use super::{Area, Canvas, Chart, FINE, Key, Marker, SMALL, Trouble, px, stroke, text, twice};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

/// Coordinates of a point, and the ends of its whisker if it has one.
pub(crate) type Point = (f64, f64, Option<(f64, f64)>);

/// How the points of a line are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Joined {
    Line,
    Dashes,
    No,
}

/// One line, in values.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) ink: Ink,
    pub(crate) joined: Joined,
    pub(crate) marker: Option<Marker>,
    pub(crate) points: Vec<Point>,
    /// Contender to which the line belongs, if any.
    pub(crate) contender: Option<String>,
    /// Tooltip.
    pub(crate) hint: Option<String>,
}

impl Line {
    pub(crate) fn new(
        ink: Ink,
        joined: Joined,
        marker: Option<Marker>,
        points: Vec<Point>,
    ) -> Line {
        Line {
            ink,
            joined,
            marker,
            points,
            contender: None,
            hint: None,
        }
    }

    pub(crate) fn of(mut self, contender: &str) -> Line {
        self.contender = Some(contender.to_owned());
        self
    }
}

/// An area between two curves: x, lower, upper.
#[derive(Clone, Debug)]
pub(crate) struct Band {
    pub(crate) ink: Ink,
    pub(crate) opacity: f64,
    pub(crate) points: Vec<(f64, f64, f64)>,
}

/// Lines, areas and legend of a chart, before it has a size.
#[derive(Clone, Debug, Default)]
pub(crate) struct Drawing {
    pub(crate) bands: Vec<Band>,
    pub(crate) lines: Vec<Line>,
    pub(crate) legend: Vec<Key>,
}

impl Drawing {
    /// Returns the smallest and the largest value of the lines, whiskers included.
    pub(crate) fn extent(&self) -> (f64, f64) {
        let points = self.lines.iter().flat_map(|line| &line.points);
        let ends = points.map(|(_, y, whisker)| whisker.unwrap_or((*y, *y)));
        ends.fold((f64::INFINITY, 0.0), |(least, most), (low, high)| {
            (low.min(least), high.max(most))
        })
    }

    /// Draws the chart. `axes` returns the horizontal and the vertical axis for a width.
    pub(crate) fn finish(
        self,
        title: String,
        height: f64,
        axes: impl Fn(f64) -> (Axis, Axis),
    ) -> Result<Chart, Trouble> {
        let pictures = twice(&title, |width| {
            let (x, y) = axes(width);
            Plot {
                x,
                y,
                width,
                height,
                drawing: &self,
            }
            .draw()
        })?;
        Ok(Chart {
            title,
            pictures,
            legend: self.legend,
        })
    }
}

/// A drawing with its axes.
struct Plot<'d> {
    x: Axis,
    y: Axis,
    width: f64,
    height: f64,
    drawing: &'d Drawing,
}

type Context<'a, 'b> =
    ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

impl Plot<'_> {
    /// Draws the plot with a layer for each line.
    fn draw(&self) -> Result<Canvas, Trouble> {
        let mut canvas = Canvas::new(self.width, self.height);
        canvas.layer(None, None, |root| self.frame(root))?;
        for band in &self.drawing.bands {
            canvas.layer(None, None, |root| self.band(&mut self.context(root)?, band))?;
        }
        for line in &self.drawing.lines {
            let (contender, hint) = (line.contender.as_deref(), line.hint.as_deref());
            canvas.layer(contender, hint, |root| {
                self.line(&mut self.context(root)?, line)
            })?;
        }
        Ok(canvas)
    }

    /// Returns the coordinate system, which is the same for each layer.
    fn context<'a, 'b>(&self, root: &'a Area<'b>) -> Result<Context<'a, 'b>, Trouble> {
        let labels = self.y.widest() as f64 * SMALL * 0.6 + 12.0;
        let context = ChartBuilder::on(root)
            .margin_top(px(26.0))
            .margin_right(px(16.0))
            .x_label_area_size(px(44.0))
            .y_label_area_size(px(labels))
            .build_cartesian_2d(self.x.range(), self.y.range())?;
        Ok(context)
    }

    /// Draws grid, ticks and the names of the axes. The name of the vertical one is written
    /// horizontally above the plot, where it is easier to read, and fits on a phone.
    fn frame(&self, root: &Area<'_>) -> Result<(), Trouble> {
        let context = self.context(root)?;
        let (x, y) = (self.x.range(), self.y.range());
        let at = |x: f64, y: f64| context.backend_coord(&(x, y));
        let line = |from, to, style| root.draw(&PathElement::new([from, to], style));
        for place in self.x.places() {
            let (foot, head) = (at(place, y.start), at(place, y.end));
            line(foot, head, stroke(GRID, 0.75))?;
            let style = text(MUTED, SMALL, HPos::Center, VPos::Top);
            root.draw(&Text::new(
                self.x.say(place),
                (foot.0, foot.1 + px(6.0)),
                style,
            ))?;
        }
        for place in self.y.places() {
            let (left, right) = (at(x.start, place), at(x.end, place));
            line(left, right, stroke(GRID, 0.75))?;
            let style = text(MUTED, SMALL, HPos::Right, VPos::Center);
            root.draw(&Text::new(
                self.y.say(place),
                (left.0 - px(6.0), left.1),
                style,
            ))?;
        }
        line(at(x.start, y.start), at(x.end, y.start), stroke(MUTED, 1.0))?;
        line(at(x.start, y.start), at(x.start, y.end), stroke(MUTED, 1.0))?;
        let label = |name: &str, at: (f64, f64), horizontal| {
            let style = text(TEXT, SMALL, horizontal, VPos::Top);
            root.draw(&Text::new(name.to_owned(), (px(at.0), px(at.1)), style))
        };
        label(&self.y.label, (4.0, 4.0), HPos::Left)?;
        label(
            &self.x.label,
            (self.width - 16.0, self.height - 18.0),
            HPos::Right,
        )?;
        Ok(())
    }

    fn band(&self, context: &mut Context<'_, '_>, band: &Band) -> Result<(), Trouble> {
        let place = |x: f64, y: f64| (self.x.at(x), self.y.at(y));
        let there = band.points.iter().map(|(x, _, upper)| place(*x, *upper));
        let back = band
            .points
            .iter()
            .rev()
            .map(|(x, lower, _)| place(*x, *lower));
        let outline: Vec<(f64, f64)> = there.chain(back).collect();
        context.draw_series([Polygon::new(outline, band.ink.color().mix(band.opacity))])?;
        Ok(())
    }

    fn line(&self, context: &mut Context<'_, '_>, line: &Line) -> Result<(), Trouble> {
        let places: Vec<(f64, f64)> = line
            .points
            .iter()
            .map(|(x, y, _)| (self.x.at(*x), self.y.at(*y)))
            .collect();
        match line.joined {
            Joined::Line => {
                context.draw_series([PathElement::new(places.clone(), stroke(line.ink, 2.0))])?;
            }
            Joined::Dashes => {
                let dashes =
                    DashedLineSeries::new(places.clone(), px(6.0), px(5.0), stroke(line.ink, 1.5));
                context.draw_series(dashes)?;
            }
            Joined::No => {}
        }
        for (x, _, whisker) in &line.points {
            if let Some((low, high)) = whisker {
                let x = self.x.at(*x);
                let ends = [(x, self.y.at(*low)), (x, self.y.at(*high))];
                context.draw_series([PathElement::new(ends.to_vec(), stroke(line.ink, 1.5))])?;
                let cap = |at| {
                    EmptyElement::at(at)
                        + PathElement::new([(-px(4.0), 0), (px(4.0), 0)], stroke(line.ink, 1.5))
                };
                context.draw_series(ends.map(cap))?;
            }
        }
        if let Some(marker) = line.marker {
            for place in places {
                self.marker(context, place, marker, line.ink)?;
            }
        }
        Ok(())
    }

    fn marker(
        &self,
        context: &mut Context<'_, '_>,
        at: (f64, f64),
        marker: Marker,
        ink: Ink,
    ) -> Result<(), Trouble> {
        match marker {
            Marker::Circle => {
                context.draw_series([Circle::new(at, px(3.8), ink.color().filled())])?;
            }
            Marker::Ring => {
                context.draw_series([Circle::new(at, px(6.5), stroke(ink, 2.0))])?;
            }
            _ => {
                let corners = marker
                    .corners(3.5 * FINE)
                    .into_iter()
                    .map(|(x, y)| (x.round() as i32, y.round() as i32));
                context.draw_series([EmptyElement::at(at)
                    + Polygon::new(corners.collect::<Vec<_>>(), ink.color().filled())])?;
            }
        }
        Ok(())
    }
}
