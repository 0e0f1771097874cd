//! Steals, loads and timelines.

use locksley_report::{
    Arrow, ArrowKind, LoadCurve, LoadPoint, Slice, SliceKind, StealMap, TimeUnit, Timeline, Track,
};

use crate::SERIES;
use crate::picture::{Figure, Key, Scale, figures, lie_at, near, only, page_of};

const HEAT: [&str; 7] = [
    "#F1F5F9", "#D6E6F4", "#ABCFE6", "#6AAED6", "#2F7DB8", "#105BA4", "#08306B",
];

fn heat(counts: Vec<Vec<u64>>) -> Figure {
    let map = StealMap::new("queens", "sharing", counts);
    only(&page_of(|results| results.steals.push(map)), "heat")
}

#[test]
fn a_cell_is_in_the_row_of_the_thief_and_the_column_of_the_victim() {
    let figure = heat(vec![vec![0, 60, 10], vec![30, 0, 1], vec![5, 0, 0]]);
    assert_eq!(figure.caption, "queens, sharing: who stole from whom");
    for picture in &figure.pictures {
        let names = picture.layers[0].all("text");
        // The names of the victims are above the map, those of the thieves at the left.
        let side = |anchor: &str, coordinate: &str| -> Vec<f64> {
            let side = names.iter().filter(|name| {
                name.attribute("text-anchor") == anchor && name.text.parse::<u32>().is_ok()
            });
            side.map(|name| name.number(coordinate)).collect()
        };
        let (columns, rows) = (side("middle", "x"), side("end", "y"));
        assert_eq!((columns.len(), rows.len()), (3, 3));
        for (thief, victim, steals, step) in [
            (0, 1, 60, 6),
            (0, 2, 10, 1),
            (1, 0, 30, 3),
            (1, 2, 1, 1),
            (2, 0, 5, 1),
            (2, 2, 0, 0),
        ] {
            let cell = &picture.layers[1 + 3 * thief + victim];
            let tasks = if steals == 1 { "task" } else { "tasks" };
            let hint = format!("worker {thief} took {steals} {tasks} from worker {victim}");
            assert_eq!(cell.hint.as_deref(), Some(hint.as_str()));
            assert_eq!(cell.texts(), [steals.to_string()]);
            let square = cell.all("rect")[0];
            assert_eq!(square.colour(), HEAT[step], "{hint}");
            let middle = |from: &str, size: &str| square.number(from) + square.number(size) / 2.0;
            near(middle("x", "width"), columns[victim], &hint);
            near(middle("y", "height"), rows[thief], &hint);
            let pale = cell.all("text")[0].colour() == "#FFFFFE";
            assert_eq!(pale, step > 3, "{hint}: text that can be read");
        }
    }
}

#[test]
fn the_legend_of_a_map_says_what_the_colours_stand_for() {
    let figure = heat(vec![vec![0, 60], vec![30, 0]]);
    let labels = [
        "no steals",
        "1–10",
        "11–20",
        "21–30",
        "31–40",
        "41–50",
        "51–60",
    ];
    let keys: Vec<Key> = labels
        .into_iter()
        .zip(HEAT)
        .map(|(label, colour)| Key::new(label, colour))
        .collect();
    assert_eq!(figure.legend, keys);
    let few = heat(vec![vec![0, 2], vec![1, 0]]);
    let labels: Vec<&str> = few.legend.iter().map(|key| key.label.as_str()).collect();
    assert_eq!(labels, ["no steals", "1", "2"]);
}

#[test]
fn neighbours_share_a_row_where_there_are_many() {
    let mut counts = vec![vec![0; 64]; 64];
    counts[2][63] = 7;
    counts[3][62] = 5;
    let figure = heat(counts);
    let picture = &figure.pictures[0];
    assert_eq!(picture.layers.len(), 1 + 32 * 32);
    let cell = &picture.layers[1 + 32 + 31];
    assert_eq!(
        cell.hint.as_deref(),
        Some("workers 2–3 took 12 tasks from workers 62–63")
    );
    assert_eq!(cell.all("rect")[0].colour(), HEAT[6]);
}

/// Loads of two strategies; the second never has more than half as many waiting tasks.
fn loads(unit: TimeUnit, time: f64) -> Vec<Figure> {
    let curve = |strategy: &str, share: f64| {
        let mut curve = LoadCurve::new("fib", strategy, 100);
        curve.unit = unit;
        curve.percentiles = vec![10.0, 50.0, 95.0];
        curve.points = [(0.0, 2.0, 8.0), (1.0, 3.0, 20.0), (2.0, 1.0, 4.0)]
            .map(|(at, mean, max)| LoadPoint {
                time: at * time,
                mean: mean * share,
                max: max * share,
                percentiles: vec![mean * share / 2.0, mean * share, mean * share * 2.0],
            })
            .into();
        curve
    };
    let html = page_of(|results| {
        results.loads = vec![curve("sharing", 1.0), curve("dealing", 0.5)];
    });
    figures(&html, "load")
}

#[test]
fn loads_are_drawn_over_time() {
    for (unit, time, shown, label) in [
        (TimeUnit::Ticks, 50.0, 50.0, "time (ticks of the simulator)"),
        (TimeUnit::Seconds, 0.001, 1.0, "time (ms)"),
    ] {
        let figures = loads(unit, time);
        assert_eq!(figures.len(), 2);
        for ((figure, strategy), share) in
            figures.iter().zip(["sharing", "dealing"]).zip([1.0, 0.5])
        {
            assert_eq!(
                figure.caption,
                format!("fib, {strategy}, 100 workers: waiting tasks")
            );
            let legend = [
                Key::new("largest", SERIES[1]),
                Key::new("average", SERIES[0]),
                Key::new("the middle 85 % of the workers", SERIES[0]),
            ];
            assert_eq!(figure.legend, legend);
            for picture in &figure.pictures {
                let (x, y) = (picture.x(Scale::Linear), picture.y(Scale::Linear));
                let texts = picture.layers[0].texts();
                assert!(texts.contains(&label) && texts.contains(&"waiting tasks per worker"));
                assert_eq!(*y.ticks().last().unwrap(), 20.0, "both have one scale");
                let [_, band, largest, average] = &picture.layers[..] else {
                    panic!("{} layers", picture.layers.len());
                };
                let values = |of: [f64; 3]| -> Vec<(f64, f64)> {
                    let times = [0.0, 1.0, 2.0].into_iter();
                    times.zip(of).map(|(t, y)| (t * shown, y * share)).collect()
                };
                lie_at(&largest.curve(), &values([8.0, 20.0, 4.0]), &x, &y);
                lie_at(&average.curve(), &values([2.0, 3.0, 1.0]), &x, &y);
                assert_eq!(largest.colours(), [SERIES[1]]);
                assert_eq!(average.colours(), [SERIES[0]]);
                let outline = band.all("polygon")[0].points();
                let (upper, lower) = (values([4.0, 6.0, 2.0]), values([1.0, 1.5, 0.5]));
                let around: Vec<_> = upper.into_iter().chain(lower.into_iter().rev()).collect();
                lie_at(&outline, &around, &x, &y);
                assert_eq!(band.colours(), [SERIES[0]]);
            }
        }
    }
}

const TASK: &str = "#2F7FB5";
const IDLE: &str = "#E3A72F";
const PARKED: &str = "#C9D1D9";
const STEAL: &str = "#B3261E";
const DONATION: &str = "#6A3D9A";
const DEALING: &str = "#1B7F4B";

/// Three workers for 10 ms; worker 5 sleeps at the end.
fn timeline() -> Timeline {
    let slice = |kind, start: f64, end: f64| Slice {
        kind,
        start: start * 1e-3,
        end: end * 1e-3,
        name: String::new(),
    };
    let mut timeline = Timeline::new("queens", "sharing");
    timeline.tracks = vec![
        Track {
            worker: 0,
            slices: vec![slice(SliceKind::Task, 0.0, 10.0)],
        },
        Track {
            worker: 3,
            slices: vec![
                slice(SliceKind::Idle, 1.0, 2.5),
                slice(SliceKind::Task, 2.5, 8.0),
            ],
        },
        Track {
            worker: 5,
            slices: vec![slice(SliceKind::Parked, 4.0, 9.0)],
        },
    ];
    let arrow = |kind, from, to, left: f64| Arrow {
        kind,
        from,
        to,
        left: left * 1e-3,
        arrived: (left + 0.5) * 1e-3,
    };
    timeline.arrows = vec![
        arrow(ArrowKind::Steal, 0, 3, 2.0),
        arrow(ArrowKind::Donation, 5, 0, 6.0),
        arrow(ArrowKind::Dealing, 3, 5, 3.0),
        arrow(ArrowKind::Steal, 0, 7, 2.0),
    ];
    timeline
}

#[test]
fn slices_lie_in_their_worker_s_track_at_their_times() {
    let figure = only(
        &page_of(|results| results.timelines.push(timeline())),
        "timeline",
    );
    assert_eq!(figure.caption, "queens, sharing: what each worker did");
    let legend = [
        Key::new("runs tasks", TASK),
        Key::new("looks for work", IDLE),
        Key::new("sleeps", PARKED),
        Key::new("a task is stolen", STEAL),
        Key::new("a task is given", DONATION),
        Key::new("a task is dealt", DEALING),
    ];
    assert_eq!(figure.legend, legend);
    for picture in &figure.pictures {
        let x = picture.x(Scale::Linear);
        x.assert_even();
        let ground = &picture.layers[0];
        assert!(ground.texts().contains(&"time (ms)"));
        let expected = [
            ("worker 0", vec![(TASK, 0.0, 10.0)]),
            ("worker 3", vec![(IDLE, 1.0, 2.5), (TASK, 2.5, 8.0)]),
            ("worker 5", vec![(PARKED, 4.0, 9.0)]),
        ];
        for (track, (name, slices)) in picture.layers[1..4].iter().zip(expected) {
            let label = ground
                .all("text")
                .into_iter()
                .find(|text| text.text == name);
            let middle = label.unwrap().number("y");
            let bars = track.all("rect");
            assert_eq!(bars.len(), slices.len());
            for (bar, (colour, start, end)) in bars.iter().zip(slices) {
                assert_eq!(bar.colour(), colour, "{name}");
                near(bar.number("x"), x.at(start), name);
                near(bar.number("x") + bar.number("width"), x.at(end), name);
                near(bar.number("y") + bar.number("height") / 2.0, middle, name);
            }
        }
    }
}

#[test]
fn arrows_go_from_the_sender_to_the_receiver() {
    let figure = only(
        &page_of(|results| results.timelines.push(timeline())),
        "timeline",
    );
    for picture in &figure.pictures {
        let x = picture.x(Scale::Linear);
        let ground = picture.layers[0].all("text");
        let row = |worker: usize| {
            let name = format!("worker {worker}");
            ground
                .iter()
                .find(|text| text.text == name)
                .unwrap()
                .number("y")
        };
        // A bar is 18 high: an arrow ends at its edge.
        let edge = 4.0 * 9.0;
        for (layer, (colour, from, to, left)) in picture.layers[4..].iter().zip([
            (STEAL, 0, 3, 2.0),
            (DONATION, 5, 0, 6.0),
            (DEALING, 3, 5, 3.0),
        ]) {
            assert_eq!(
                layer.colours(),
                [colour],
                "only what arrives at a worker shown"
            );
            let lines = layer.all("polyline");
            assert_eq!(lines.len(), 1, "{colour}");
            let [start, end] = lines[0].points()[..] else {
                panic!("an arrow has two ends");
            };
            near(start.0, x.at(left), colour);
            near(start.1, row(from), colour);
            near(end.0, x.at(left + 0.5), colour);
            let down = if to > from { 1.0 } else { -1.0 };
            near(end.1, row(to) - down * edge, colour);
            let head = layer.all("polygon")[0].points();
            assert_eq!(head[0], end, "the head is at the end");
            near(head[1].1, end.1 - down * 24.0, "the head points along");
        }
    }
}

#[test]
fn long_timelines_say_what_is_not_shown() {
    let mut long = timeline();
    long.arrows = (0..301).map(|_| long.arrows[0].clone()).collect();
    long.tracks = (0..66)
        .map(|worker| Track {
            worker,
            slices: long.tracks[0].slices.clone(),
        })
        .collect();
    let html = page_of(|results| results.timelines.push(long));
    assert!(html.contains("Of 301 arrows, at most 300 are drawn."));
    assert!(html.contains("2 workers more are not shown."));
    let figure = only(&html, "timeline");
    for (picture, arrows) in figure.pictures.iter().zip([300, 100]) {
        assert_eq!(
            picture.layers.len(),
            1 + 64 + 3,
            "ground, tracks, kinds of arrows"
        );
        assert_eq!(picture.layers[65].all("polyline").len(), arrows);
    }
}
