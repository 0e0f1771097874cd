//! Figures 5.1 to 5.5 of the thesis, with measured points.

use std::fmt::Write;

use locksley_policy::{
    Heuristic, gain_of_greedy, gain_of_tit_for_tat, leaving_greedy, leaving_tit_for_tat,
};

use super::gains::{PROCESSORS, gain, run_rounds, sharing};
use super::{Effort, Mean};

/// The probabilities theta_r and theta_s of Figures 5.2 to 5.5.
pub const THETAS: [(f64, f64); 4] = [(0.0, 0.0), (0.5, 0.0), (0.0, 0.5), (0.5, 0.5)];

/// A figure as a file.
#[derive(Clone, Debug)]
pub struct Figure {
    /// The file's name: `figure-5.1.svg`.
    pub name: String,
    /// Its contents.
    pub svg: String,
}

/// One of the two curves of a figure.
struct Curve {
    name: &'static str,
    colour: &'static str,
    bound: Box<dyn Fn(f64) -> f64>,
    points: Vec<(f64, Mean)>,
}

/// The axes of a figure: conversion of values to pixels.
struct Axes {
    most: f64,
}

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 60.0;
const BOTTOM: f64 = 360.0;
const RIGHT: f64 = 620.0;
const TOP: f64 = 50.0;

impl Axes {
    fn x(&self, alpha: f64) -> f64 {
        LEFT + alpha * (RIGHT - LEFT)
    }

    fn y(&self, value: f64) -> f64 {
        BOTTOM - value / self.most * (BOTTOM - TOP)
    }
}

/// Draws all five figures with measured points.
///
/// ```
/// use locksley_sim::theory::{Effort, figures::figures};
///
/// let figures = figures(Effort::Quick);
/// assert_eq!(figures.len(), 5);
/// assert!(figures[0].svg.starts_with("<svg"));
/// ```
pub fn figures(effort: Effort) -> Vec<Figure> {
    (1..=5).map(|number| figure(number, effort)).collect()
}

/// Draws Figure 5.1 (`number` 1) to 5.5 (`number` 5). See [`figures`] for all of them.
pub fn figure(number: usize, effort: Effort) -> Figure {
    let trials = effort.choose(5, 100);
    let thetas = number
        .checked_sub(2)
        .map(|at| THETAS[at.min(THETAS.len() - 1)]);
    let title = match thetas {
        None => String::from("Figure 5.1: gain of sharing over stealing, in a round"),
        Some((r, s)) => {
            format!("Figure 5.{number}: nodes leaving a busy processor (theta_r {r}, theta_s {s})")
        }
    };
    let curves = [
        ("Greedy", "#0b6e4f", Heuristic::GREEDY),
        ("Tit-for-tat", "#c84c09", Heuristic::TIT_FOR_TAT),
    ]
    .map(|(name, colour, heuristic)| {
        let (bound, points) = match thetas {
            None => gains(heuristic, trials),
            Some(thetas) => leaving(heuristic, thetas, trials),
        };
        Curve {
            name,
            colour,
            bound,
            points,
        }
    });
    let sample = format!(
        "points: {PROCESSORS} processors, {trials} rounds each; lines: the thesis's lower bounds"
    );
    Figure {
        name: format!("figure-5.{number}.svg"),
        svg: draw(&title, &sample, &curves, thetas.is_some()),
    }
}

/// A prediction for every ratio of idle processors, and measurements for some ratios.
type Line = (Box<dyn Fn(f64) -> f64>, Vec<(f64, Mean)>);

/// Returns the ratios that are measured.
fn ratios() -> impl Iterator<Item = f64> {
    (1..20).map(|step| f64::from(step) * 0.05)
}

fn gains(heuristic: Heuristic, trials: usize) -> Line {
    let bound = match heuristic {
        Heuristic::GREEDY => gain_of_greedy,
        _ => gain_of_tit_for_tat,
    };
    let points = ratios().map(|alpha| (alpha, gain(alpha, heuristic, trials)));
    (Box::new(bound), points.collect())
}

fn leaving(heuristic: Heuristic, (theta_r, theta_s): (f64, f64), trials: usize) -> Line {
    let bound = match heuristic {
        Heuristic::GREEDY => leaving_greedy,
        _ => leaving_tit_for_tat,
    };
    let sharing = sharing(heuristic, theta_r, theta_s);
    let points = ratios().map(|alpha| (alpha, run_rounds(alpha, sharing, trials).both));
    (
        Box::new(move |alpha| bound(alpha, theta_r, theta_s)),
        points.collect(),
    )
}

fn draw(title: &str, sample: &str, curves: &[Curve], line_at_one: bool) -> String {
    let values = curves.iter().flat_map(|curve| {
        let bounds = (0..100).map(|step| (curve.bound)(f64::from(step) / 100.0));
        bounds
            .chain(curve.points.iter().map(|(_, mean)| mean.mean()))
            .collect::<Vec<_>>()
    });
    let most = values.fold(1.0, f64::max);
    let axes = Axes {
        most: (most * 1.05 / 0.25).ceil() * 0.25,
    };
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         width=\"{WIDTH}\" height=\"{HEIGHT}\" font-family=\"sans-serif\" font-size=\"13\">\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>\n\
         <text x=\"{LEFT}\" y=\"28\" font-size=\"14\" font-weight=\"bold\">{title}</text>\n"
    );
    frame(&mut svg, &axes, line_at_one);
    for (number, curve) in curves.iter().enumerate() {
        plot(&mut svg, &axes, curve, number);
    }
    let _ = writeln!(
        svg,
        "<text x=\"{LEFT}\" y=\"{}\" font-size=\"11\" fill=\"#555\">{sample}</text>\n</svg>",
        HEIGHT - 8.0
    );
    svg
}

/// Draws grid, numbers and the name of the horizontal axis. Writing to a string does not fail.
fn frame(svg: &mut String, axes: &Axes, line_at_one: bool) {
    for step in 0..=10 {
        let alpha = f64::from(step) / 10.0;
        let x = axes.x(alpha);
        let _ = writeln!(
            svg,
            "<line x1=\"{x:.1}\" y1=\"{TOP}\" x2=\"{x:.1}\" y2=\"{BOTTOM}\" stroke=\"#eee\"/>\
             <text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{alpha:.1}</text>",
            BOTTOM + 18.0
        );
    }
    let mut value = 0.0;
    while value <= axes.most + 1e-9 {
        let y = axes.y(value);
        let _ = writeln!(
            svg,
            "<line x1=\"{LEFT}\" y1=\"{y:.1}\" x2=\"{RIGHT}\" y2=\"{y:.1}\" stroke=\"#eee\"/>\
             <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{value:.2}</text>",
            LEFT - 6.0,
            y + 4.0
        );
        value += 0.25;
    }
    if line_at_one {
        let y = axes.y(1.0);
        let _ = writeln!(
            svg,
            "<line x1=\"{LEFT}\" y1=\"{y:.1}\" x2=\"{RIGHT}\" y2=\"{y:.1}\" stroke=\"black\"/>\
             <text x=\"{}\" y=\"{:.1}\" font-size=\"11\" fill=\"#555\">above this line queues \
             shrink</text>",
            LEFT + 14.0,
            y - 5.0
        );
    }
    let _ = writeln!(
        svg,
        "<path d=\"M{LEFT} {TOP}V{BOTTOM}H{RIGHT}\" fill=\"none\" stroke=\"#555\"/>\
         <text x=\"{RIGHT}\" y=\"{}\" text-anchor=\"end\">ratio of idle processors</text>",
        BOTTOM + 34.0
    );
}

fn plot(svg: &mut String, axes: &Axes, curve: &Curve, number: usize) {
    let Curve {
        name,
        colour,
        bound,
        points,
    } = curve;
    let mut path = String::new();
    for step in 1..200 {
        let alpha = f64::from(step) / 200.0;
        let mark = if step == 1 { 'M' } else { 'L' };
        let _ = write!(
            path,
            "{mark}{:.1} {:.1}",
            axes.x(alpha),
            axes.y(bound(alpha))
        );
    }
    let _ = writeln!(
        svg,
        "<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>"
    );
    for (alpha, mean) in points {
        let (x, y) = (axes.x(*alpha), axes.y(mean.mean()));
        let bar = (axes.y(0.0) - axes.y(2.0 * mean.error())).max(0.5);
        let _ = writeln!(
            svg,
            "<line x1=\"{x:.1}\" y1=\"{:.1}\" x2=\"{x:.1}\" y2=\"{:.1}\" stroke=\"{colour}\"/>\
             <circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.2\" fill=\"{colour}\"/>",
            y - bar,
            y + bar
        );
    }
    let y = TOP + 16.0 + 20.0 * number as f64;
    let _ = writeln!(
        svg,
        "<line x1=\"{}\" y1=\"{y}\" x2=\"{}\" y2=\"{y}\" stroke=\"{colour}\" stroke-width=\"2\"/>\
         <circle cx=\"{}\" cy=\"{y}\" r=\"3.2\" fill=\"{colour}\"/><text x=\"{}\" \
         y=\"{}\">{name}</text>",
        LEFT + 14.0,
        LEFT + 44.0,
        LEFT + 29.0,
        LEFT + 52.0,
        y + 4.0
    );
}
