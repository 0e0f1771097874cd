//! Batches of tasks with and without stealing.

use locksley_report::{Arrival, Batch, DequeKind, Experiment, Load, Repetition};

use crate::SERIES;
use crate::picture::{Key, Scale, figures, lie_at, page_of};

/// Five repetitions around a median, waiting half as long, with a hundred steals a second.
fn batch(stealing: bool, deque: DequeKind, threads: usize, seconds: f64) -> Batch {
    let once = |seconds: f64| Repetition {
        seconds,
        waiting: seconds / 2.0,
        steals: (100.0 * seconds) as u64,
    };
    Batch {
        load: Load::Skewed,
        arrival: Arrival::Batch,
        stealing,
        deque,
        threads,
        repetitions: [1.0, 0.1, 2.0, 3.0, 0.5]
            .map(|share| once(share * seconds))
            .into(),
    }
}

#[test]
fn each_variant_has_its_line_in_each_quantity() {
    let mut experiment = Experiment::new("batch", 100);
    experiment.batches = vec![
        batch(false, DequeKind::Bounded, 8, 4.0),
        batch(false, DequeKind::Bounded, 4, 3.0),
        batch(true, DequeKind::Unbounded, 4, 1.0),
        batch(true, DequeKind::Unbounded, 8, 2.0),
        batch(true, DequeKind::Bounded, 4, 1.5),
    ];
    let charts = figures(
        &page_of(|results| results.experiments.push(experiment)),
        "experiment",
    );
    let captions: Vec<&str> = charts.iter().map(|chart| chart.caption.as_str()).collect();
    let title = "skewed load, all tasks there at the start: ";
    assert_eq!(
        captions,
        ["total time", "average waiting time", "steals"].map(|name| format!("{title}{name}"))
    );
    let variants = [
        (
            "stealing, unbounded",
            SERIES[0],
            vec![(4.0, 1.0), (8.0, 2.0)],
        ),
        ("stealing, bounded", SERIES[1], vec![(4.0, 1.5)]),
        (
            "no stealing, bounded",
            SERIES[3],
            vec![(4.0, 3.0), (8.0, 4.0)],
        ),
    ];
    let axes = ["total time (s)", "average waiting time (s)", "stolen tasks"];
    for ((chart, factor), axis) in charts.iter().zip([1.0, 0.5, 100.0]).zip(axes) {
        // Variants without stealing have no line in the chart of steals.
        let shown = if factor == 100.0 { 2 } else { 3 };
        let legend: Vec<Key> = variants[..shown]
            .iter()
            .map(|(label, colour, _)| Key::new(label, colour))
            .collect();
        assert_eq!(chart.legend, legend, "{}", chart.caption);
        for picture in &chart.pictures {
            let (x, y) = (picture.x(Scale::Linear), picture.y(Scale::Linear));
            let texts = picture.layers[0].texts();
            assert!(
                texts.contains(&"threads N") && texts.contains(&axis),
                "{axis}"
            );
            assert_eq!(picture.layers.len(), 1 + shown);
            for (layer, (_, colour, points)) in picture.layers[1..].iter().zip(&variants) {
                assert_eq!(layer.colours(), [*colour]);
                let scaled: Vec<_> = points.iter().map(|(n, s)| (*n, s * factor)).collect();
                let whiskers = layer.whiskers();
                assert_eq!(whiskers.len(), scaled.len());
                for (whisker, (threads, median)) in whiskers.iter().zip(&scaled) {
                    let ends = [(*threads, 0.5 * median), (*threads, 2.0 * median)];
                    lie_at(whisker, &ends, &x, &y);
                }
                if scaled.len() > 1 {
                    lie_at(&layer.curve(), &scaled, &x, &y);
                }
            }
        }
    }
}

#[test]
fn loads_and_arrivals_have_charts_of_their_own() {
    let mut experiment = Experiment::new("batch", 100);
    for (load, arrival, seconds) in [
        (Load::Even, Arrival::Running, 1.0),
        (Load::Skewed, Arrival::Batch, 3.0),
    ] {
        for threads in [1, 2] {
            experiment.batches.push(Batch {
                load,
                arrival,
                ..batch(false, DequeKind::Unbounded, threads, seconds)
            });
        }
    }
    let html = page_of(|results| results.experiments.push(experiment));
    let charts = figures(&html, "experiment");
    let times: Vec<_> = charts
        .iter()
        .filter(|chart| chart.caption.ends_with("total time"))
        .collect();
    let captions: Vec<&str> = times.iter().map(|chart| chart.caption.as_str()).collect();
    assert_eq!(
        captions,
        [
            "even load, tasks arriving while others run: total time",
            "skewed load, all tasks there at the start: total time"
        ]
    );
    for (chart, seconds) in times.iter().zip([1.0, 3.0]) {
        let picture = &chart.pictures[0];
        let (x, y) = (picture.x(Scale::Linear), picture.y(Scale::Linear));
        let layer = &picture.layers[1];
        lie_at(&layer.curve(), &[(1.0, seconds), (2.0, seconds)], &x, &y);
        assert_eq!(layer.colours(), [SERIES[2]]);
    }
}
