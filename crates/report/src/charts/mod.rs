//! Charts as SVG, drawn by plotters.
//!
//! Each chart is drawn twice, for wide and for narrow pages, because text that shrinks with its
//! picture cannot be read on a phone; the page shows the picture that fits. A chart consists of
//! layers. Each is drawn separately into a group of its own, so that the page can hide a contender,
//! and each can have a tooltip.

mod axis;
mod bars;
mod experiment;
mod heat;
mod lines;
mod load;
mod palette;
mod replay;
mod scaling;
mod speedup;
mod timeline;

pub(crate) use bars::bars;
pub(crate) use experiment::{Quantity, experiment};
pub(crate) use heat::{group, heat};
pub(crate) use load::load;
pub(crate) use palette::style_sheet;
pub(crate) use replay::replay;
pub(crate) use scaling::{scaling, scaling_alone};
pub(crate) use speedup::{profile, speedups};
pub(crate) use timeline::{ARROWS, TRACKS, timeline};

use crate::format::escape;
use palette::Ink;
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// Error of a chart that could not be drawn.
pub(crate) type Trouble = Box<dyn std::error::Error>;
type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Units of plotters per pixel. Lengths are in pixels of a page at its normal size, but plotters
/// has whole numbers only.
const FINE: f64 = 4.0;
const WIDE: f64 = 760.0;
const NARROW: f64 = 340.0;
/// Size of labels.
const SMALL: f64 = 12.0;

fn px(length: f64) -> i32 {
    (length * FINE).round() as i32
}

/// A finished chart.
#[derive(Clone, Debug)]
pub(crate) struct Chart {
    pub(crate) title: String,
    /// The two pictures, wide and narrow.
    pub(crate) pictures: [String; 2],
    pub(crate) legend: Vec<Key>,
}

/// An entry of a legend.
#[derive(Clone, Debug)]
pub(crate) struct Key {
    pub(crate) label: String,
    /// SVG of a small line or area.
    pub(crate) swatch: String,
    /// Contender to which the entry belongs, if any.
    pub(crate) contender: Option<String>,
}

/// The symbol beside a name in a legend.
#[derive(Clone, Copy, Debug)]
enum Swatch {
    Line(Ink, Option<Marker>),
    Dashes(Ink),
    Dots(Ink, Marker),
    Area(Ink, f64),
}

impl Key {
    fn new(label: impl Into<String>, swatch: Swatch) -> Key {
        let line = |ink: Ink, dashes: &str| {
            format!(
                "<line x1=\"1\" y1=\"7\" x2=\"27\" y2=\"7\" stroke=\"{}\" \
                 stroke-width=\"2\"{dashes}/>",
                ink.hex()
            )
        };
        let inner = match swatch {
            Swatch::Line(ink, marker) => {
                line(ink, "") + &marker.map(|m| m.swatch(ink)).unwrap_or_default()
            }
            Swatch::Dashes(ink) => line(ink, " stroke-dasharray=\"5 4\""),
            Swatch::Dots(ink, marker) => marker.swatch(ink),
            Swatch::Area(ink, opacity) => {
                format!(
                    "<rect x=\"5\" y=\"1\" width=\"18\" height=\"12\" fill=\"{}\" \
                     opacity=\"{opacity}\"/>\
                     <rect x=\"5\" y=\"1\" width=\"18\" height=\"12\" fill=\"none\" \
                     stroke=\"{}\"/>",
                    ink.hex(),
                    palette::GRID.hex()
                )
            }
        };
        let swatch = format!(
            "<svg class=\"swatch\" viewBox=\"0 0 28 14\" aria-hidden=\"true\">{inner}</svg>"
        );
        Key {
            label: label.into(),
            swatch,
            contender: None,
        }
    }

    fn of(mut self, contender: &str) -> Key {
        self.contender = Some(contender.to_owned());
        self
    }
}

/// The shape of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Marker {
    Circle,
    Square,
    Triangle,
    Diamond,
    /// Only the outline of a circle.
    Ring,
}

impl Marker {
    /// Returns the marker of a series. Combinations of colour and marker repeat after 32 series.
    fn series(number: usize) -> Marker {
        [
            Marker::Circle,
            Marker::Square,
            Marker::Triangle,
            Marker::Diamond,
        ][(number + number / 8) % 4]
    }

    /// Returns the corners around the origin, for shapes that have corners.
    fn corners(self, size: f64) -> Vec<(f64, f64)> {
        match self {
            Marker::Circle | Marker::Ring => Vec::new(),
            Marker::Square => vec![(-size, -size), (size, -size), (size, size), (-size, size)],
            Marker::Triangle => vec![
                (0.0, -1.2 * size),
                (1.15 * size, size),
                (-1.15 * size, size),
            ],
            Marker::Diamond => vec![
                (0.0, -1.35 * size),
                (1.35 * size, 0.0),
                (0.0, 1.35 * size),
                (-1.35 * size, 0.0),
            ],
        }
    }

    fn swatch(self, ink: Ink) -> String {
        let hex = ink.hex();
        match self {
            Marker::Circle => format!("<circle cx=\"14\" cy=\"7\" r=\"4\" fill=\"{hex}\"/>"),
            Marker::Ring => {
                format!(
                    "<circle cx=\"14\" cy=\"7\" r=\"5\" fill=\"none\" stroke=\"{hex}\" \
                     stroke-width=\"2\"/>"
                )
            }
            _ => {
                let corners = self
                    .corners(3.6)
                    .into_iter()
                    .map(|(x, y)| format!("{},{} ", 14.0 + x, 7.0 + y));
                format!(
                    "<polygon points=\"{}\" fill=\"{hex}\"/>",
                    corners.collect::<String>()
                )
            }
        }
    }
}

/// Returns a style for text of a size in pixels, anchored at one of its edges.
fn text(ink: Ink, size: f64, horizontal: HPos, vertical: VPos) -> TextStyle<'static> {
    // plotters divides sizes by 1.24 when it writes SVG.
    let font = ("sans-serif", size * FINE * 1.24).into_font();
    font.color(&ink.color()).pos(Pos::new(horizontal, vertical))
}

/// Returns a style for a line of a width in pixels.
fn stroke(ink: Ink, width: f64) -> ShapeStyle {
    ink.color()
        .stroke_width((width * FINE).round().max(1.0) as u32)
}

/// A picture that is being drawn.
struct Canvas {
    width: f64,
    height: f64,
    /// For a picture that the page may stretch: the left edge of the part that is stretched.
    left: Option<f64>,
    body: String,
}

impl Canvas {
    fn new(width: f64, height: f64) -> Canvas {
        Canvas {
            width,
            height,
            left: None,
            body: String::new(),
        }
    }

    /// Draws a group, which may belong to a contender and have a tooltip.
    fn layer(
        &mut self,
        contender: Option<&str>,
        hint: Option<&str>,
        draw: impl FnOnce(&Area<'_>) -> Result<(), Trouble>,
    ) -> Result<(), Trouble> {
        let mut svg = String::new();
        {
            let size = (px(self.width) as u32, px(self.height) as u32);
            let root = SVGBackend::with_string(&mut svg, size).into_drawing_area();
            draw(&root)?;
            root.present()?;
        }
        let inner = svg
            .split_once('\n')
            .map_or("", |(_, rest)| rest)
            .trim_end()
            .trim_end_matches("</svg>");
        let attribute = contender
            .map(|name| format!(" data-contender=\"{}\"", escape(name)))
            .unwrap_or_default();
        let hint = hint
            .map(|hint| format!("<title>{}</title>", escape(hint)))
            .unwrap_or_default();
        self.body
            .push_str(&format!("<g{attribute}>{hint}\n{}</g>\n", lean(inner)));
        Ok(())
    }

    /// Returns the whole picture. `name` is its title for screen readers.
    fn finish(self, class: &str, name: &str) -> String {
        let left = self
            .left
            .map(|left| format!(" data-left=\"{}\"", px(left)))
            .unwrap_or_default();
        format!(
            "<svg class=\"{class}\"{left} viewBox=\"0 0 {} {}\" \
             xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" aria-label=\"{name}\">\n\
             <title>{name}</title>\n{}</svg>",
            px(self.width),
            px(self.height),
            self.body,
            name = escape(name),
        )
    }
}

/// Removes attributes with default values. Text is escaped, so none of it looks like an attribute.
fn lean(svg: &str) -> String {
    let svg = svg
        .replace(" opacity=\"1\"", "")
        .replace(" font-family=\"sans-serif\"", "")
        .replace(" stroke=\"none\"", "");
    let mut tight = String::with_capacity(svg.len());
    for line in svg.lines() {
        // plotters puts text on separate lines, which would be rendered as spaces.
        if line.starts_with('<') && !line.starts_with("</text") {
            tight.push('\n');
        }
        tight.push_str(line);
    }
    tight
}

/// Draws the wide and the narrow picture.
fn twice(
    name: &str,
    draw: impl Fn(f64) -> Result<Canvas, Trouble>,
) -> Result<[String; 2], Trouble> {
    Ok([
        draw(WIDE)?.finish("wide", name),
        draw(NARROW)?.finish("narrow", name),
    ])
}

/// Numbers of the contenders on the page. Each has the same colour and marker in all charts.
#[derive(Clone, Debug, Default)]
pub(crate) struct SeriesIndex(Vec<String>);

impl SeriesIndex {
    /// Numbers the names in order of appearance; `serial` has no number.
    pub(crate) fn new<'a>(names: impl IntoIterator<Item = &'a str>) -> SeriesIndex {
        let mut series_index = SeriesIndex::default();
        for name in names {
            if name != "serial" && !series_index.0.iter().any(|known| known == name) {
                series_index.0.push(name.to_owned());
            }
        }
        series_index
    }

    /// Returns all names.
    pub(crate) fn names(&self) -> &[String] {
        &self.0
    }

    fn ink(&self, name: &str) -> Ink {
        self.0
            .iter()
            .position(|known| known == name)
            .map_or(palette::SERIAL, palette::series)
    }

    fn marker(&self, name: &str) -> Marker {
        self.0
            .iter()
            .position(|known| known == name)
            .map_or(Marker::Circle, Marker::series)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_has_no_line_breaks_around_it() {
        let svg = "<svg>\n<rect opacity=\"1\" width=\"2\" stroke=\"none\"/>\n<text \
                   font-family=\"sans-serif\">\nsome words\n</text>\n</svg>\n";
        let tight = "\n<svg>\n<rect width=\"2\"/>\n<text>some words</text>\n</svg>";
        assert_eq!(lean(svg), tight);
    }

    #[test]
    fn pairs_of_colour_and_marker_repeat_after_32_series() {
        let [circle, square] = [Marker::Circle, Marker::Square];
        let [triangle, diamond] = [Marker::Triangle, Marker::Diamond];
        let markers = [0, 1, 2, 3, 4, 7, 8, 9, 15, 16, 24, 31, 32].map(Marker::series);
        let expected = [
            circle, square, triangle, diamond, circle, diamond, square, triangle, circle, triangle,
            diamond, triangle, circle,
        ];
        assert_eq!(markers, expected);
    }
}
