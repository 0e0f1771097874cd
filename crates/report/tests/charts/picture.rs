//! Parses the charts of a page: figures, layers, shapes, and the values of positions on an axis.

use std::collections::HashMap;

use locksley_report::{Machine, Results, page};

/// Returns the page of results that `fill` fills in.
pub(crate) fn page_of(fill: impl FnOnce(&mut Results)) -> String {
    let mut results = Results::new("made up", Machine::new("no machine", 2));
    fill(&mut results);
    page(&results)
}

/// A chart of the page.
pub(crate) struct Figure {
    pub(crate) caption: String,
    /// The wide and the narrow drawing.
    pub(crate) pictures: [Picture; 2],
    pub(crate) legend: Vec<Key>,
}

/// An entry of a legend.
#[derive(Debug, PartialEq)]
pub(crate) struct Key {
    pub(crate) label: String,
    pub(crate) colour: String,
    pub(crate) contender: Option<String>,
}

impl Key {
    pub(crate) fn new(label: &str, colour: &str) -> Key {
        Key {
            label: label.into(),
            colour: colour.into(),
            contender: None,
        }
    }

    pub(crate) fn of(mut self, contender: &str) -> Key {
        self.contender = Some(contender.into());
        self
    }
}

/// One of the two drawings of a chart.
pub(crate) struct Picture {
    pub(crate) layers: Vec<Layer>,
}

/// A group of shapes.
pub(crate) struct Layer {
    pub(crate) contender: Option<String>,
    pub(crate) hint: Option<String>,
    pub(crate) shapes: Vec<Shape>,
}

/// An element of a drawing.
#[derive(Debug)]
pub(crate) struct Shape {
    tag: String,
    attributes: HashMap<String, String>,
    pub(crate) text: String,
}

/// Returns all figures of a kind.
pub(crate) fn figures(html: &str, kind: &str) -> Vec<Figure> {
    let start = format!("<figure class=\"chart {kind}\">");
    html.split(&start).skip(1).map(figure).collect()
}

/// Returns the only figure of a kind.
pub(crate) fn only(html: &str, kind: &str) -> Figure {
    let mut all = figures(html, kind);
    assert_eq!(all.len(), 1, "{kind}");
    all.remove(0)
}

fn figure(html: &str) -> Figure {
    let html = before(html, "</figure>");
    let picture = |class: &str| {
        let svg = after(html, &format!("<svg class=\"{class}\""));
        Picture::new(before(svg, "</svg>"))
    };
    let list = html.split_once("<ul class=\"legend\">");
    let list = list.map_or("", |(_, rest)| before(rest, "</ul>"));
    Figure {
        caption: before(after(html, "<figcaption>"), "</figcaption>").into(),
        pictures: [picture("wide"), picture("narrow")],
        legend: list.split_terminator("</li>").map(key).collect(),
    }
}

fn key(item: &str) -> Key {
    let swatch = &elements(before(after(item, "<svg"), "</svg>"))[0];
    Key {
        label: after(item, "</svg>").into(),
        colour: swatch.colour().into(),
        contender: attributes(after(before(item, ">"), "<li")).remove("data-contender"),
    }
}

fn after<'a>(text: &'a str, mark: &str) -> &'a str {
    let (_, rest) = text
        .split_once(mark)
        .unwrap_or_else(|| panic!("no {mark} in {text}"));
    rest
}

fn before<'a>(text: &'a str, mark: &str) -> &'a str {
    text.split_once(mark)
        .unwrap_or_else(|| panic!("no {mark} in {text}"))
        .0
}

fn attributes(text: &str) -> HashMap<String, String> {
    let parts: Vec<&str> = text.split('"').collect();
    let pairs = parts.chunks_exact(2);
    pairs
        .map(|pair| {
            let name = pair[0].trim().trim_end_matches('=');
            (name.to_owned(), pair[1].to_owned())
        })
        .collect()
}

/// Returns the elements of some SVG in sequence: shapes have no children but text.
fn elements(svg: &str) -> Vec<Shape> {
    let tags = svg.split('<').skip(1).filter(|tag| !tag.starts_with('/'));
    tags.map(|tag| {
        let (head, text) = tag.split_once('>').expect("an element ends");
        let (name, rest) = head.split_once(' ').unwrap_or((head, ""));
        Shape {
            tag: name.into(),
            attributes: attributes(rest),
            text: text.trim().into(),
        }
    })
    .collect()
}

impl Shape {
    pub(crate) fn attribute(&self, name: &str) -> &str {
        self.attributes
            .get(name)
            .unwrap_or_else(|| panic!("{self:?} has no {name}"))
    }

    pub(crate) fn number(&self, name: &str) -> f64 {
        self.attribute(name).parse().expect("a number")
    }

    /// Returns the colour of the fill, or of the line if the shape is not filled.
    pub(crate) fn colour(&self) -> &str {
        match self.attributes.get("fill") {
            Some(fill) if fill != "none" => fill,
            _ => self.attribute("stroke"),
        }
    }

    pub(crate) fn is_bold(&self) -> bool {
        self.attributes.contains_key("font-weight")
    }

    pub(crate) fn points(&self) -> Vec<(f64, f64)> {
        let pairs = self.attribute("points").split_whitespace();
        pairs
            .map(|pair| {
                let (x, y) = pair.split_once(',').expect("x,y");
                (x.parse().expect("x"), y.parse().expect("y"))
            })
            .collect()
    }
}

impl Layer {
    /// Returns the shapes with this tag.
    pub(crate) fn all(&self, tag: &str) -> Vec<&Shape> {
        self.shapes
            .iter()
            .filter(|shape| shape.tag == tag)
            .collect()
    }

    pub(crate) fn texts(&self) -> Vec<&str> {
        let texts = self.all("text");
        texts.iter().map(|text| text.text.as_str()).collect()
    }

    /// Returns the first line, which is the curve; the others are whiskers.
    pub(crate) fn curve(&self) -> Vec<(f64, f64)> {
        self.all("polyline")[0].points()
    }

    /// Returns the vertical lines, which are the whiskers.
    pub(crate) fn whiskers(&self) -> Vec<[(f64, f64); 2]> {
        let lines = self.all("polyline");
        let pairs = lines
            .iter()
            .filter_map(|line| line.points().try_into().ok());
        pairs
            .filter(|[a, b]: &[(f64, f64); 2]| a.0 == b.0)
            .collect()
    }

    /// Returns the centres of the circles.
    pub(crate) fn circles(&self) -> Vec<(f64, f64)> {
        let circles = self.all("circle");
        let centre = |circle: &&Shape| (circle.number("cx"), circle.number("cy"));
        circles.iter().map(centre).collect()
    }

    /// Returns the colours of its shapes, except text, without duplicates.
    pub(crate) fn colours(&self) -> Vec<&str> {
        let shapes = self.shapes.iter().filter(|shape| shape.tag != "text");
        let mut colours: Vec<&str> = shapes.map(Shape::colour).collect();
        colours.sort_unstable();
        colours.dedup();
        colours
    }
}

impl Picture {
    fn new(svg: &str) -> Picture {
        let layer = |group: &str| {
            let (head, body) = group.split_once('>').expect("a group begins");
            let mut shapes = elements(before(body, "</g>"));
            let hint = shapes.iter().position(|shape| shape.tag == "title");
            Layer {
                contender: attributes(head).remove("data-contender"),
                hint: hint.map(|at| shapes.remove(at).text),
                shapes,
            }
        };
        Picture {
            layers: svg.split("<g").skip(1).map(layer).collect(),
        }
    }

    /// Returns the layers of a contender.
    pub(crate) fn of(&self, contender: &str) -> Vec<&Layer> {
        let layers = self.layers.iter();
        layers
            .filter(|layer| layer.contender.as_deref() == Some(contender))
            .collect()
    }

    /// Returns the axis below the plot.
    pub(crate) fn x(&self, scale: Scale) -> Ruler {
        self.ruler("middle", "x", scale)
    }

    /// Returns the axis at the left.
    pub(crate) fn y(&self, scale: Scale) -> Ruler {
        self.ruler("end", "y", scale)
    }

    /// Returns an axis. Its ticks are the texts of the first layer that are numbers.
    fn ruler(&self, anchor: &str, coordinate: &str, scale: Scale) -> Ruler {
        let texts = self.layers[0].all("text").into_iter();
        let ticks = texts.filter(|text| text.attribute("text-anchor") == anchor);
        let ticks: Vec<(f64, f64)> = ticks
            .filter_map(|text| Some((value(&text.text)?, text.number(coordinate))))
            .collect();
        assert!(ticks.len() >= 2, "an axis has two ticks at least");
        let (first, last) = (ticks[0].1, ticks[ticks.len() - 1].1);
        assert!(
            (last - first).abs() > 50.0,
            "an axis has a length: {ticks:?}"
        );
        Ruler { ticks, scale }
    }
}

/// Parses the label of a tick.
fn value(text: &str) -> Option<f64> {
    let (digits, factor) = match text.split_once(' ') {
        Some((digits, "k")) => (digits, 1e3),
        Some((digits, "M")) => (digits, 1e6),
        _ => (text, 1.0),
    };
    Some(digits.parse::<f64>().ok()? * factor)
}

/// Scale of an axis.
#[derive(Clone, Copy)]
pub(crate) enum Scale {
    Linear,
    Log,
}

/// Positions of values on an axis, computed from its first and last tick.
pub(crate) struct Ruler {
    ticks: Vec<(f64, f64)>,
    scale: Scale,
}

impl Ruler {
    /// Returns the position of a value, which is in the unit of the ticks.
    pub(crate) fn at(&self, value: f64) -> f64 {
        let bend = |value: f64| match self.scale {
            Scale::Linear => value,
            Scale::Log => value.log2(),
        };
        let (low, high) = (self.ticks[0], self.ticks[self.ticks.len() - 1]);
        let share = (bend(value) - bend(low.0)) / (bend(high.0) - bend(low.0));
        low.1 + share * (high.1 - low.1)
    }

    /// Returns the values of the ticks.
    pub(crate) fn ticks(&self) -> Vec<f64> {
        self.ticks.iter().map(|tick| tick.0).collect()
    }

    /// Asserts that the ticks are at the positions of their values.
    pub(crate) fn assert_even(&self) {
        for (value, place) in &self.ticks {
            near(*place, self.at(*value), "a tick");
        }
    }
}

/// Asserts that two positions are equal up to rounding: pictures have four units per pixel.
pub(crate) fn near(a: f64, b: f64, what: &str) {
    assert!((a - b).abs() <= 3.0, "{what}: {a} should be {b}");
}

/// Asserts that points are at these values.
pub(crate) fn lie_at(places: &[(f64, f64)], values: &[(f64, f64)], x: &Ruler, y: &Ruler) {
    assert_eq!(places.len(), values.len(), "{places:?} for {values:?}");
    for (place, value) in places.iter().zip(values) {
        near(place.0, x.at(value.0), &format!("x of {value:?}"));
        near(place.1, y.at(value.1), &format!("y of {value:?}"));
    }
}
