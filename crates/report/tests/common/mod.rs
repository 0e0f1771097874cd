//! Made-up results with every kind of chart, and names that try to break out of the page.

use locksley_report::*;

/// A name with characters that must be escaped in HTML, in scripts and in file names.
pub(crate) const NASTY: &str = "<script>document.title = 'broken'</script> \"quoted\" & 'more'";

/// Number of charts of each kind on the page of [`sample`].
pub(crate) const CHARTS: [(&str, usize); 8] = [
    ("bars", 3),
    ("speedup", 2),
    ("profile", 1),
    ("replay", 1),
    ("heat", 2),
    ("load", 2),
    ("timeline", 1),
    ("experiment", 6),
];

/// Returns numbers near `value`, the same on each call.
fn around(value: f64, spread: f64) -> Vec<f64> {
    [0.3, -0.8, 0.1, 1.0, -0.4, 0.0, -0.2]
        .iter()
        .map(|x| value * (1.0 + spread * x))
        .collect()
}

fn comparison(workload: &str, serial: f64, workers: &[usize]) -> Comparison {
    let mut comparison = Comparison::new(workload).with("n", 13);
    comparison.about = format!("Numbers made up for a test, about {workload}.");
    comparison
        .rows
        .push(Row::new(Contender::Serial, 1, around(serial, 0.01)));
    let contenders = [
        (Contender::strategy("stealing"), 1.02),
        (Contender::strategy("steal-half"), 1.1),
        (Contender::strategy("sharing:continuous-tit-for-tat"), 1.25),
        (Contender::strategy("dealing"), 1.6),
        (Contender::rival("rayon"), 1.08),
        (Contender::rival("chili"), 1.03),
    ];
    for (contender, cost) in contenders {
        for &p in workers {
            let time = serial * cost * (1.0 / p as f64 + 0.03);
            comparison
                .rows
                .push(Row::new(contender.clone(), p, around(time, 0.03)));
        }
    }
    comparison
}

fn experiment() -> Experiment {
    let mut experiment = Experiment::new("batch", 100);
    experiment
        .conclusions
        .push("Made up: stealing shortens skewed batches.".into());
    for load in [Load::Even, Load::Skewed] {
        for (stealing, deque) in [
            (true, DequeKind::Bounded),
            (true, DequeKind::Unbounded),
            (false, DequeKind::Bounded),
            (false, DequeKind::Unbounded),
        ] {
            for threads in [4, 8, 16, 32, 64, 128] {
                let slow = if stealing || load == Load::Even {
                    1.0
                } else {
                    1.9
                };
                let seconds = 0.02
                    * threads as f64
                    * slow
                    * if deque == DequeKind::Bounded {
                        1.0
                    } else {
                        1.04
                    };
                let once = |seconds: f64| Repetition {
                    seconds,
                    waiting: seconds * 0.45,
                    steals: if stealing {
                        (seconds * 400.0) as u64
                    } else {
                        0
                    },
                };
                let repetitions = around(seconds, 0.05).into_iter().map(once).collect();
                experiment.batches.push(Batch {
                    load,
                    arrival: Arrival::Batch,
                    stealing,
                    deque,
                    threads,
                    repetitions,
                });
            }
        }
    }
    experiment
}

fn timeline() -> Timeline {
    let mut timeline = Timeline::new("queens", "stealing");
    for worker in 0..4 {
        let mut track = Track {
            worker,
            slices: Vec::new(),
        };
        let mut time = 0.0002 * worker as f64;
        for step in 0..60 {
            for (kind, length) in [
                (SliceKind::Task, 4.0),
                (SliceKind::Idle, 0.5),
                (SliceKind::Parked, 0.3),
            ] {
                let length = length * 1e-4 * (1.0 + ((step * 7 + worker * 3) % 5) as f64 / 5.0);
                track.slices.push(Slice {
                    kind,
                    start: time,
                    end: time + length,
                    name: String::new(),
                });
                time += length;
            }
        }
        timeline.tracks.push(track);
    }
    for i in 0..12 {
        let left = 0.002 + 0.002 * i as f64;
        let kind = if i % 4 == 0 {
            ArrowKind::Donation
        } else {
            ArrowKind::Steal
        };
        timeline.arrows.push(Arrow {
            kind,
            from: i % 4,
            to: (i * i + 1) % 4,
            left,
            arrived: left + 2e-4,
        });
    }
    timeline.dropped = 1234;
    timeline
}

fn load(strategy: &str, peak: f64) -> LoadCurve {
    let mut curve = LoadCurve::new("fib", strategy, 1000);
    curve.unit = TimeUnit::Ticks;
    curve.percentiles = vec![10.0, 50.0, 90.0];
    for i in 0..200 {
        let x = f64::from(i) / 200.0;
        let mean = 12.0 * x * (1.0 - x) * 4.0;
        let max = mean * 1.6 + peak * (1.0 - x).powi(2);
        curve.points.push(LoadPoint {
            time: 50.0 * f64::from(i),
            mean,
            max,
            percentiles: vec![mean * 0.4, mean, mean * 1.5],
        });
    }
    curve
}

/// Returns results with everything that a page can show.
pub(crate) fn sample() -> Results {
    let machine = Machine {
        system: Some("an operating system".into()),
        ..Machine::new("no machine: numbers made up for a test", 4)
    };
    let mut results = Results::new("Numbers made up for a test", machine);
    results.command = format!("locksley compare queens sort {NASTY}");
    results.made = Some("2026-01-02T03:04:05Z".into());
    results.interrupted = true;
    results.comparisons = vec![
        comparison("queens", 0.8, &[1, 2, 3, 4]),
        comparison("sort", 0.0121, &[1, 2, 4, 8, 16, 32, 64]),
        comparison(NASTY, 3.1e-5, &[2]),
    ];
    if let Some(row) = results.comparisons[2].rows.last_mut() {
        row.verified = false;
    }
    let mut profile = Profile::new("queens", 0.82, 0.02, 0.03);
    profile.serial = around(0.8, 0.01);
    profile.measured = [1, 2, 4]
        .map(|p| SpeedupPoint {
            workers: p,
            samples: around(0.82 / p as f64 + 0.02, 0.02),
        })
        .into();
    results.profiles.push(profile);
    let mut replay = Replay::new("queens", 1);
    for (strategy, cost) in [("stealing", 1.0), ("sharing:continuous-tit-for-tat", 1.15)] {
        for workers in [1, 2, 4, 8, 16, 32, 64] {
            let predicted = 0.8 * cost / workers as f64 + 0.02;
            let measured = if workers <= 2 {
                around(predicted * 1.06, 0.02)
            } else {
                Vec::new()
            };
            replay.points.push(ReplayPoint {
                strategy: strategy.into(),
                workers,
                predicted,
                measured,
            });
        }
    }
    results.replays.push(replay);
    let counts = |n: u64| {
        (0..n)
            .map(|i| {
                (0..n)
                    .map(|j| if i == j { 0 } else { (i * 7 + j * 13) % 40 })
                    .collect()
            })
            .collect()
    };
    results.steals = vec![
        StealMap::new("queens", "stealing", counts(4)),
        StealMap::new("uts", "steal-half", counts(48)),
    ];
    results.loads = vec![load("stealing", 40.0), load("steal-half", 15.0)];
    results.timelines.push(timeline());
    results.experiments.push(experiment());
    results
}
