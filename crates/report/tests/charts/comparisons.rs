//! Bars and speed-ups.

use locksley_report::{Comparison, Contender, Row};

use crate::picture::{Figure, Key, Scale, lie_at, near, only, page_of};
use crate::{MUTED, SERIAL, SERIES};

/// Samples with the median in the middle, and the quartiles a half below and a half above it.
fn spread(median: f64) -> Vec<f64> {
    [1.5, 0.1, 1.0, 3.0, 0.5].map(|share| share * median).into()
}

/// A program that takes 8 s; `sharing` speeds up to 4, `rayon` to 2.
fn comparison(workers: [usize; 3]) -> Comparison {
    let mut comparison = Comparison::new("fib").with("n", 30);
    let rows = &mut comparison.rows;
    rows.push(Row::new(Contender::Serial, 1, spread(8.0)));
    for (workers, seconds) in workers.into_iter().zip([8.0, 4.0, 2.0]) {
        rows.push(Row::new(
            Contender::strategy("sharing"),
            workers,
            spread(seconds),
        ));
    }
    for (workers, seconds) in workers.into_iter().zip([16.0, 8.0, 4.0]) {
        rows.push(Row::new(
            Contender::rival("rayon"),
            workers,
            spread(seconds),
        ));
    }
    comparison
}

fn chart(kind: &str, comparison: Comparison) -> Figure {
    only(
        &page_of(|results| results.comparisons.push(comparison)),
        kind,
    )
}

#[test]
fn a_bar_is_as_long_as_the_median() {
    let figure = chart("bars", comparison([1, 2, 4]));
    assert_eq!(
        figure.caption,
        "fib (n = 30) with 4 workers: time, less is better"
    );
    for picture in &figure.pictures {
        let x = picture.x(Scale::Linear);
        x.assert_even();
        assert!(x.ticks().last().unwrap() >= &10.0, "the axis ends at 12");
        assert!(picture.layers[0].texts().contains(&"time (s)"));
        let order: Vec<_> = picture.layers[1..]
            .iter()
            .map(|layer| layer.contender.as_deref().unwrap())
            .collect();
        assert_eq!(order, ["sharing", "rayon", "serial"], "the fastest first");
        for (name, median, colour) in [
            ("sharing", 2.0, SERIES[0]),
            ("rayon", 4.0, SERIES[1]),
            ("serial", 8.0, SERIAL),
        ] {
            let layer = picture.of(name)[0];
            let bar = layer.all("rect")[0];
            assert_eq!(bar.colour(), colour, "{name}");
            near(bar.number("x"), x.at(0.0), name);
            near(bar.number("x") + bar.number("width"), x.at(median), name);
            let whisker = layer.all("polyline")[0].points();
            near(whisker[0].0, x.at(0.5 * median), name);
            near(whisker[1].0, x.at(1.5 * median), name);
            let middle = bar.number("y") + bar.number("height") / 2.0;
            near(whisker[0].1, middle, "the whisker lies on its bar");
        }
    }
}

#[test]
fn a_bar_says_time_and_speed_up() {
    let figure = chart("bars", comparison([1, 2, 4]));
    for picture in &figure.pictures {
        let texts = |name: &str| picture.of(name)[0].texts();
        assert_eq!(texts("sharing"), ["sharing", "2.00 s (4.00×)"]);
        assert_eq!(texts("rayon"), ["rayon", "4.00 s (2.00×)"]);
        assert_eq!(texts("serial"), ["serial", "8.00 s"]);
        let bold = |name: &str| picture.of(name)[0].all("text")[0].is_bold();
        assert!(bold("sharing") && !bold("rayon") && !bold("serial"));
        assert_eq!(
            picture.of("rayon")[0].hint.as_deref(),
            Some("rayon: median 4.00 s, quartiles 2.00 s to 6.00 s, 5 samples")
        );
    }
}

#[test]
fn bars_are_one_below_the_other() {
    let mut comparison = comparison([1, 2, 4]);
    comparison.rows.retain(|row| match row.contender.name() {
        "serial" => false,
        "rayon" => row.workers == 2,
        _ => true,
    });
    let figure = chart("bars", comparison);
    assert_eq!(
        figure.caption,
        "fib (n = 30), each with the workers that suit it best: time, less is better"
    );
    for picture in &figure.pictures {
        let bar = |name| picture.of(name)[0].all("rect")[0];
        let (first, second) = (bar("sharing"), bar("rayon"));
        let end = first.number("y") + first.number("height");
        assert!(second.number("y") > end, "bars do not overlap");
    }
}

#[test]
fn bars_of_different_numbers_of_workers_say_which() {
    let mut comparison = comparison([1, 2, 4]);
    comparison
        .rows
        .retain(|row| row.contender.name() != "rayon" || row.workers == 2);
    comparison.rows.last_mut().unwrap().verified = false;
    let figure = chart("bars", comparison);
    assert_eq!(
        figure.caption,
        "fib (n = 30), each with the workers that suit it best: time, less is better"
    );
    let picture = &figure.pictures[0];
    assert_eq!(picture.of("sharing")[0].texts()[0], "sharing, 4 workers");
    assert_eq!(
        picture.of("rayon")[0].texts(),
        ["rayon, 2 workers", "8.00 s (wrong result)"]
    );
}

#[test]
fn speed_ups_are_the_serial_time_over_the_time() {
    let figure = chart("speedup", comparison([1, 2, 4]));
    assert_eq!(figure.caption, "fib (n = 30): speed-up against serial code");
    let legend = [
        Key::new("sharing", SERIES[0]).of("sharing"),
        Key::new("rayon", SERIES[1]).of("rayon"),
        Key::new("ideal: twice the workers, half the time", MUTED),
    ];
    assert_eq!(figure.legend, legend);
    for picture in &figure.pictures {
        let (x, y) = (picture.x(Scale::Linear), picture.y(Scale::Linear));
        x.assert_even();
        y.assert_even();
        let texts = picture.layers[0].texts();
        assert!(texts.contains(&"workers") && texts.contains(&"speed-up (times as fast)"));
        let sharing = picture.of("sharing")[0];
        lie_at(
            &sharing.curve(),
            &[(1.0, 1.0), (2.0, 2.0), (4.0, 4.0)],
            &x,
            &y,
        );
        lie_at(
            &sharing.circles(),
            &[(1.0, 1.0), (2.0, 2.0), (4.0, 4.0)],
            &x,
            &y,
        );
        assert_eq!(sharing.colours(), [SERIES[0]]);
        assert_eq!(
            sharing.hint.as_deref(),
            Some("sharing: 1.00× with 1, 2.00× with 2, 4.00× with 4")
        );
        let rayon = picture.of("rayon")[0];
        lie_at(
            &rayon.curve(),
            &[(1.0, 0.5), (2.0, 1.0), (4.0, 2.0)],
            &x,
            &y,
        );
        assert_eq!(rayon.colours(), [SERIES[1]]);
        assert_eq!(rayon.all("polygon").len(), 3, "squares");
    }
}

#[test]
fn whiskers_of_speed_ups_are_those_of_the_quartiles() {
    let figure = chart("speedup", comparison([1, 2, 4]));
    for picture in &figure.pictures {
        let (x, y) = (picture.x(Scale::Linear), picture.y(Scale::Linear));
        let whiskers = picture.of("rayon")[0].whiskers();
        assert_eq!(whiskers.len(), 3);
        // 8 s over 1.5 and 0.5 times the median.
        for (whisker, (workers, median)) in
            whiskers.iter().zip([(1.0, 16.0), (2.0, 8.0), (4.0, 4.0)])
        {
            let ends = [
                (workers, 8.0 / (1.5 * median)),
                (workers, 8.0 / (0.5 * median)),
            ];
            lie_at(whisker, &ends, &x, &y);
        }
    }
}

#[test]
fn the_ideal_is_as_many_times_as_fast_as_there_are_workers() {
    let figure = chart("speedup", comparison([1, 2, 4]));
    for picture in &figure.pictures {
        let (x, y) = (picture.x(Scale::Linear), picture.y(Scale::Linear));
        let ideal = &picture.layers[1];
        assert_eq!(ideal.colours(), [MUTED]);
        let dashes = ideal.all("polyline");
        assert!(dashes.len() > 10, "it is dashed");
        lie_at(&dashes[0].points()[..1], &[(1.0, 1.0)], &x, &y);
        let end = dashes[dashes.len() - 1].points();
        let end = end[end.len() - 1];
        assert!(
            (end.0 - x.at(4.0)).abs() < 50.0,
            "it ends within a dash of the last number"
        );
        for dash in &dashes {
            for (px, py) in dash.points() {
                let workers = 1.0 + 3.0 * (px - x.at(1.0)) / (x.at(4.0) - x.at(1.0));
                near(py, y.at(workers), "the ideal");
            }
        }
    }
}

#[test]
fn many_workers_are_drawn_on_a_logarithmic_scale() {
    let figure = chart("speedup", comparison([1, 8, 64]));
    for picture in &figure.pictures {
        let (x, y) = (picture.x(Scale::Log), picture.y(Scale::Log));
        x.assert_even();
        y.assert_even();
        let sharing = picture.of("sharing")[0];
        lie_at(
            &sharing.curve(),
            &[(1.0, 1.0), (8.0, 2.0), (64.0, 4.0)],
            &x,
            &y,
        );
    }
}
