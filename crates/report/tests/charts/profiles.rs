//! Work and span, predictions, many hosts.

use locksley_report::{Profile, Replay, ReplayPoint, ScalePoint, Scaling, SpeedupPoint};

use crate::picture::{Key, Scale, lie_at, only, page_of};
use crate::{MUTED, SERIES};

/// 8 s of work, parallelism 4, burdened 2; the serial code takes 6 s.
fn profile() -> Profile {
    let mut profile = Profile::new("queens", 8.0, 2.0, 4.0);
    profile.serial = vec![6.0];
    profile.measured = [(1, 8.0), (2, 3.0)]
        .map(|(workers, seconds)| SpeedupPoint {
            workers,
            samples: vec![seconds],
        })
        .into();
    profile
}

#[test]
fn a_profile_has_the_bounds_of_work_and_span() {
    let figure = only(
        &page_of(|results| results.profiles.push(profile())),
        "profile",
    );
    assert_eq!(figure.caption, "queens: speed-up, measured and possible");
    let legend = [
        Key::new("at most (no scheduler can exceed it)", SERIES[0]),
        Key::new("at least (a good scheduler reaches it)", SERIES[2]),
        Key::new("measured", SERIES[1]),
        Key::new("ideal", MUTED),
    ];
    assert_eq!(figure.legend, legend);
    for picture in &figure.pictures {
        // Twice the parallelism is 8.
        let (x, y) = (picture.x(Scale::Linear), picture.y(Scale::Linear));
        let [_, band, ideal, upper, lower, measured] = &picture.layers[..] else {
            panic!("{} layers", picture.layers.len());
        };
        let ends = |points: &[(f64, f64)]| [points[0], points[points.len() - 1]];
        lie_at(&ends(&upper.curve()), &[(1.0, 1.0), (8.0, 4.0)], &x, &y);
        // 8 / (8 / P + 1.44 * 4), and 1 for one worker.
        let least = |workers: f64| {
            if workers <= 1.0 {
                1.0
            } else {
                8.0 / (8.0 / workers + 1.44 * 4.0)
            }
        };
        lie_at(
            &ends(&lower.curve()),
            &[(1.0, least(1.0)), (8.0, least(8.0))],
            &x,
            &y,
        );
        let bend = |value: f64| move |point: &&(f64, f64)| (point.0 - value).abs() <= 3.0;
        let (curve, at) = (lower.curve(), x.at(4.0));
        lie_at(
            &[*curve.iter().find(bend(at)).unwrap()],
            &[(4.0, least(4.0))],
            &x,
            &y,
        );
        let outline = band.all("polygon")[0].points();
        assert_eq!(outline.len(), 2 * curve.len());
        lie_at(
            &[outline[0], outline[curve.len() - 1], outline[curve.len()]],
            &[(1.0, 1.0), (8.0, 4.0), (8.0, least(8.0))],
            &x,
            &y,
        );
        assert_eq!(band.colours(), [SERIES[0]]);
        assert_eq!(band.all("polygon")[0].attribute("opacity"), "0.14");
        assert_eq!(ideal.colours(), [MUTED]);
        assert_eq!(upper.colours(), [SERIES[0]]);
        assert_eq!(lower.colours(), [SERIES[2]]);
        // Against the serial code, not against the work.
        lie_at(&measured.circles(), &[(1.0, 0.75), (2.0, 2.0)], &x, &y);
        assert_eq!(measured.colours(), [SERIES[1]]);
    }
}

#[test]
fn a_parallel_program_is_shown_with_64_workers() {
    let mut wide = profile();
    wide.span = 0.01;
    let figure = only(&page_of(|results| results.profiles.push(wide)), "profile");
    let picture = &figure.pictures[0];
    let (x, y) = (picture.x(Scale::Log), picture.y(Scale::Log));
    assert_eq!(*x.ticks().last().unwrap(), 64.0);
    let upper = picture.layers[3].curve();
    lie_at(&upper[upper.len() - 1..], &[(64.0, 64.0)], &x, &y);
}

#[test]
fn predictions_are_lines_and_measurements_rings() {
    let mut replay = Replay::new("queens", 1);
    for (strategy, workers, predicted, measured) in [
        ("sharing", 2, 2.0, vec![3.0, 1.0, 2.5]),
        ("sharing", 1, 4.0, vec![]),
        ("dealing", 1, 5.0, vec![4.5]),
        ("dealing", 2, 3.0, vec![]),
    ] {
        replay.points.push(ReplayPoint {
            strategy: strategy.into(),
            workers,
            predicted,
            measured,
        });
    }
    let figure = only(&page_of(|results| results.replays.push(replay)), "replay");
    assert_eq!(figure.caption, "queens: predicted and measured time");
    let legend = [
        Key::new("sharing, predicted", SERIES[0]).of("sharing"),
        Key::new("dealing, predicted", SERIES[1]).of("dealing"),
        Key::new("measured, in the strategy&#39;s colour", MUTED),
    ];
    assert_eq!(figure.legend, legend);
    for picture in &figure.pictures {
        let (x, y) = (picture.x(Scale::Linear), picture.y(Scale::Linear));
        assert!(picture.layers[0].texts().contains(&"time (s)"));
        let [line, ring] = picture.of("sharing")[..] else {
            panic!("a line and a ring");
        };
        lie_at(&line.curve(), &[(1.0, 4.0), (2.0, 2.0)], &x, &y);
        lie_at(&ring.circles(), &[(2.0, 2.5)], &x, &y);
        assert_eq!(ring.colours(), [SERIES[0]]);
        assert_eq!(ring.all("circle")[0].attribute("fill"), "none");
        let [line, ring] = picture.of("dealing")[..] else {
            panic!("a line and a ring");
        };
        lie_at(&line.curve(), &[(1.0, 5.0), (2.0, 3.0)], &x, &y);
        lie_at(&ring.circles(), &[(1.0, 4.5)], &x, &y);
        assert_eq!(line.colours(), [SERIES[1]]);
    }
}

fn hosts() -> Scaling {
    let mut scaling = Scaling::new("uts");
    for (strategy, hosts, efficiency) in [
        ("lifelines", 1, 1.0),
        ("random", 1, 0.9),
        ("lifelines", 1024, 0.5),
        ("lifelines", 32, 0.75),
        ("random", 1024, 0.25),
    ] {
        scaling.points.push(ScalePoint {
            strategy: strategy.into(),
            hosts,
            efficiency,
        });
    }
    scaling
}

#[test]
fn efficiencies_lie_by_their_hosts() {
    let figure = only(
        &page_of(|results| results.scalings.push(hosts())),
        "scaling",
    );
    assert_eq!(figure.caption, "uts: efficiency");
    let legend = [
        Key::new("lifelines", SERIES[0]).of("lifelines"),
        Key::new("random", SERIES[1]).of("random"),
    ];
    assert_eq!(figure.legend, legend);
    for picture in &figure.pictures {
        let (x, y) = (picture.x(Scale::Log), picture.y(Scale::Linear));
        assert_eq!(y.ticks(), [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]);
        let lifelines = picture.of("lifelines")[0];
        lie_at(
            &lifelines.curve(),
            &[(1.0, 1.0), (32.0, 0.75), (1024.0, 0.5)],
            &x,
            &y,
        );
        let random = picture.of("random")[0];
        lie_at(&random.curve(), &[(1.0, 0.9), (1024.0, 0.25)], &x, &y);
        assert_eq!(random.colours(), [SERIES[1]]);
    }
}

#[test]
fn a_picture_of_its_own_has_title_and_legend() {
    let svg = hosts().svg().unwrap();
    assert!(svg.contains("<text x=\"4\" y=\"16\">uts: efficiency</text>"));
    // The plot is 300 high, below a head of 24; a row of the legend is 20 high.
    assert!(svg.contains("viewBox=\"0 0 760 372\""), "{}", &svg[..200]);
    assert!(svg.contains("<svg y=\"24\" width=\"760\" height=\"300\" class=\"wide\""));
    for (key, y) in [("lifelines", 335), ("random", 355)] {
        assert!(svg.contains(&format!("<text x=\"44\" y=\"{y}\">{key}</text>")));
        let swatch = format!("<svg x=\"8\" y=\"{}\" width=\"28\" height=\"14\"", y - 11);
        assert!(svg.contains(&swatch), "{key}");
    }
}
