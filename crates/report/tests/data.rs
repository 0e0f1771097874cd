//! Methods of results: emptiness, faults, merging, and reduction of timelines.

use locksley_report::*;

/// A function that fills in a list of results.
type Fill = Box<dyn Fn(&mut Results)>;

/// Functions that each fill in a different list.
fn one_of_each() -> Vec<(&'static str, Results)> {
    let with = |name, fill: fn(&mut Results)| {
        let mut results = Results::new("made up", Machine::default());
        fill(&mut results);
        (name, results)
    };
    vec![
        with("comparisons", |r| r.comparisons.push(Comparison::new("x"))),
        with("experiments", |r| {
            r.experiments.push(Experiment::new("x", 1))
        }),
        with("profiles", |r| {
            r.profiles.push(Profile::new("x", 1.0, 1.0, 1.0))
        }),
        with("steals", |r| r.steals.push(StealMap::new("x", "y", vec![]))),
        with("loads", |r| r.loads.push(LoadCurve::new("x", "y", 1))),
        with("timelines", |r| r.timelines.push(Timeline::new("x", "y"))),
        with("replays", |r| r.replays.push(Replay::new("x", 1))),
        with("scalings", |r| r.scalings.push(Scaling::new("x"))),
    ]
}

#[test]
fn results_with_anything_are_not_empty() {
    assert!(Results::new("", Machine::default()).is_empty());
    for (name, results) in one_of_each() {
        assert!(!results.is_empty(), "{name}");
        let mut merged = Results::new("", Machine::default());
        merged.merge(results.clone());
        assert!(!merged.is_empty(), "{name}");
        merged.merge(results);
        let json = serde_json::to_value(&merged).unwrap();
        assert_eq!(
            json[name].as_array().unwrap().len(),
            1,
            "{name}: a copy adds nothing"
        );
    }
}

#[test]
fn every_kind_of_number_must_be_finite_and_not_negative() {
    let slice = |start, end| Slice {
        kind: SliceKind::Task,
        start,
        end,
        name: String::new(),
    };
    let arrow = |left, arrived| Arrow {
        kind: ArrowKind::Steal,
        from: 0,
        to: 1,
        left,
        arrived,
    };
    for bad in [f64::NAN, f64::INFINITY, -1.0] {
        let faults: Vec<(&str, Fill)> = vec![
            (
                "comparisons[0]: rows[0].samples",
                Box::new(move |r| {
                    r.comparisons.push(Comparison::new("x"));
                    r.comparisons[0]
                        .rows
                        .push(Row::new(Contender::Serial, 1, vec![1.0, bad]));
                }),
            ),
            (
                "profiles[0]: work, span or burdened_span",
                Box::new(move |r| {
                    r.profiles.push(Profile::new("x", 1.0, bad, 1.0));
                }),
            ),
            (
                "profiles[0]: serial",
                Box::new(move |r| {
                    r.profiles.push(Profile {
                        serial: vec![bad],
                        ..Profile::new("x", 1.0, 1.0, 1.0)
                    });
                }),
            ),
            (
                "profiles[0]: measured",
                Box::new(move |r| {
                    let measured = vec![SpeedupPoint {
                        workers: 1,
                        samples: vec![bad],
                    }];
                    r.profiles.push(Profile {
                        measured,
                        ..Profile::new("x", 1.0, 1.0, 1.0)
                    });
                }),
            ),
            (
                "replays[0]: points",
                Box::new(move |r| {
                    r.replays.push(Replay::new("x", 1));
                    let strategy = "y".to_owned();
                    let measured = vec![bad];
                    r.replays[0].points.push(ReplayPoint {
                        strategy,
                        workers: 1,
                        predicted: 1.0,
                        measured,
                    });
                }),
            ),
            (
                "loads[0]: points",
                Box::new(move |r| {
                    r.loads.push(LoadCurve::new("x", "y", 1));
                    r.loads[0].points.push(LoadPoint {
                        mean: bad,
                        ..LoadPoint::default()
                    });
                }),
            ),
            (
                "timelines[0]: tracks",
                Box::new(move |r| {
                    r.timelines.push(Timeline::new("x", "y"));
                    r.timelines[0].tracks.push(Track {
                        worker: 0,
                        slices: vec![slice(0.0, bad)],
                    });
                }),
            ),
            (
                "timelines[0]: arrows",
                Box::new(move |r| {
                    r.timelines.push(Timeline::new("x", "y"));
                    r.timelines[0].arrows.push(arrow(0.0, bad));
                }),
            ),
            (
                "scalings[0]: points",
                Box::new(move |r| {
                    r.scalings.push(Scaling::new("x"));
                    let strategy = "y".to_owned();
                    r.scalings[0].points.push(ScalePoint {
                        strategy,
                        hosts: 1,
                        efficiency: bad,
                    });
                }),
            ),
            (
                "experiments[0]: batches[0].repetitions",
                Box::new(move |r| {
                    r.experiments.push(Experiment::new("x", 1));
                    r.experiments[0].batches.push(Batch {
                        load: Load::Even,
                        arrival: Arrival::Batch,
                        stealing: true,
                        deque: DequeKind::Bounded,
                        threads: 1,
                        repetitions: vec![Repetition {
                            waiting: bad,
                            ..Repetition::default()
                        }],
                    });
                }),
            ),
        ];
        for (where_, fill) in faults {
            let mut results = Results::new("made up", Machine::default());
            fill(&mut results);
            let fault = results.fault().unwrap_or_default();
            assert!(
                fault.starts_with(where_),
                "{bad}: {fault} should be in {where_}"
            );
        }
    }
}

#[test]
fn contradictions_are_found() {
    let fault = |fill: &dyn Fn(&mut Results)| {
        let mut results = Results::new("made up", Machine::default());
        fill(&mut results);
        results.fault().unwrap_or_default()
    };
    let backwards = fault(&|r| {
        r.timelines.push(Timeline::new("x", "y"));
        let slice = Slice {
            kind: SliceKind::Idle,
            start: 2.0,
            end: 1.0,
            name: String::new(),
        };
        r.timelines[0].tracks.push(Track {
            worker: 0,
            slices: vec![slice],
        });
    });
    assert_eq!(backwards, "timelines[0]: a slice ends before it starts");
    let percentiles = fault(&|r| {
        r.loads.push(LoadCurve::new("x", "y", 1));
        r.loads[0].percentiles = vec![50.0];
        r.loads[0].points.push(LoadPoint {
            percentiles: vec![1.0],
            ..LoadPoint::default()
        });
        r.loads[0].points.push(LoadPoint::default());
    });
    assert_eq!(
        percentiles,
        "loads[0]: points[1] has 0 percentiles, where the curve names 1"
    );
    assert_eq!(fault(&|_| ()), "");
}

#[test]
fn speed_ups_and_errors_are_ratios() {
    let profile = Profile {
        serial: vec![6.0],
        ..Profile::new("x", 8.0, 2.0, 4.0)
    };
    let point = |samples: Vec<f64>| SpeedupPoint {
        workers: 2,
        samples,
    };
    assert_eq!(profile.speedup(&point(vec![3.0])), Some(2.0));
    assert_eq!(profile.speedup(&point(vec![0.0])), None);
    assert_eq!(profile.speedup(&point(vec![])), None);
    assert_eq!((profile.at_most(2), profile.at_most(9)), (2.0, 4.0));
    assert_eq!(profile.at_least(2), 8.0 / (4.0 + 1.44 * 4.0));
    let replay = |predicted, measured: Vec<f64>| ReplayPoint {
        strategy: "x".into(),
        workers: 1,
        predicted,
        measured,
    };
    assert_eq!(replay(3.0, vec![2.0]).error(), Some(0.5));
    assert_eq!(replay(1.0, vec![2.0]).error(), Some(-0.5));
    assert_eq!(replay(1.0, vec![]).error(), None);
}

/// Returns `count` slices of 1 s that are 1 s apart.
fn timeline(count: usize) -> Timeline {
    let slice = |i: usize| Slice {
        kind: SliceKind::Task,
        start: 2.0 * i as f64,
        end: 2.0 * i as f64 + 1.0,
        name: String::new(),
    };
    let mut timeline = Timeline::new("x", "y");
    timeline.tracks.push(Track {
        worker: 0,
        slices: (0..count).map(slice).collect(),
    });
    timeline
}

#[test]
fn a_timeline_that_fits_stays_as_it_is() {
    let mut small = timeline(100);
    small.arrows = (0..10)
        .map(|i| Arrow {
            kind: ArrowKind::Steal,
            from: i,
            to: 0,
            left: 0.0,
            arrived: 1.0,
        })
        .collect();
    let before = small.clone();
    small.cap(100, 10);
    assert!(small == before);
    small.cap(100, 5);
    let senders: Vec<usize> = small.arrows.iter().map(|arrow| arrow.from).collect();
    assert_eq!(senders, [0, 2, 4, 6, 8], "thinned out evenly");
    assert_eq!(small.dropped, 5);
}

#[test]
fn what_is_joined_has_the_kind_of_its_longer_part() {
    let mut long = timeline(100);
    // A sleep behind each task that is too short for the picture.
    let slices = std::mem::take(&mut long.tracks[0].slices);
    for slice in slices {
        let end = slice.end;
        long.tracks[0].slices.push(slice);
        long.tracks[0].slices.push(Slice {
            kind: SliceKind::Parked,
            start: end,
            end: end + 1e-6,
            name: String::new(),
        });
    }
    long.cap(100, 0);
    let slices = &long.tracks[0].slices;
    assert_eq!(slices.len(), 100, "each sliver joins its task");
    assert!(slices.iter().all(|slice| slice.kind == SliceKind::Task));
    assert_eq!(long.dropped, 100);
    assert!((slices[3].end - slices[3].start - 1.0).abs() < 1e-5);
}

/// Returns a slice of a kind.
fn slice(kind: SliceKind, start: f64, end: f64) -> Slice {
    Slice {
        kind,
        start,
        end,
        name: format!("{kind:?}"),
    }
}

#[test]
fn slices_are_joined_by_gaps_that_double() {
    let mut pairs = timeline(0);
    for i in 0..50 {
        let start = 3.0 * f64::from(i);
        for start in [start, start + 1.2] {
            let one = slice(SliceKind::Task, start, start + 1.0);
            pairs.tracks[0].slices.push(one);
        }
    }
    pairs.cap(50, 0);
    let ends: Vec<(f64, f64)> = pairs.tracks[0]
        .slices
        .iter()
        .map(|slice| (slice.start, slice.end))
        .collect();
    assert_eq!(
        ends.len(),
        50,
        "the gaps of 0.2 s are closed, those of 0.8 s are not"
    );
    assert_eq!(ends[1], (3.0, 5.2));
    assert_eq!(pairs.dropped, 50);
}

#[test]
fn of_two_joined_slices_the_later_one_must_be_longer_to_give_its_kind() {
    let joined = |first: f64, second: f64| {
        let mut timeline = timeline(0);
        timeline.tracks[0].slices = vec![
            slice(SliceKind::Parked, 0.0, first),
            slice(SliceKind::Idle, first, first + second),
            slice(SliceKind::Task, 100.0, 200.0),
        ];
        timeline.cap(2, 0);
        let kept = &timeline.tracks[0].slices;
        assert_eq!(kept.len(), 2);
        assert_eq!((kept[0].start, kept[0].end), (0.0, first + second));
        (kept[0].kind, kept[0].name.clone())
    };
    assert_eq!(joined(0.25, 0.5), (SliceKind::Idle, "Idle".to_owned()));
    assert_eq!(joined(0.5, 0.25), (SliceKind::Parked, "Parked".to_owned()));
    assert_eq!(joined(0.25, 0.25), (SliceKind::Parked, "Parked".to_owned()));
}

#[test]
fn every_measured_value_has_its_line_of_csv() {
    let mut results = Results::new("made up", Machine::default());
    let mut comparison = Comparison::new("fib").with("n", 30);
    comparison.rows.push(Row::new(
        Contender::strategy("stealing"),
        2,
        vec![0.5, 0.25],
    ));
    results.comparisons.push(comparison);
    let mut experiment = Experiment::new("batch", 1);
    experiment.batches.push(Batch {
        load: Load::Even,
        arrival: Arrival::Batch,
        stealing: true,
        deque: DequeKind::Bounded,
        threads: 4,
        repetitions: vec![Repetition {
            seconds: 3.0,
            waiting: 2.0,
            steals: 7,
        }],
    });
    let of_batch = experiment.batches[0].series();
    results.experiments.push(experiment);
    results.profiles.push(Profile {
        serial: vec![9.0],
        measured: vec![SpeedupPoint {
            workers: 2,
            samples: vec![5.0],
        }],
        ..Profile::new("queens", 8.0, 0.5, 0.75)
    });
    results.steals = vec![StealMap::new("uts", "y", vec![vec![0, 3], vec![4, 0]])];
    let text = results.to_csv();
    assert!(text.ends_with("\r\n"));
    let lines: Vec<&str> = text.lines().collect();
    let profile = results.profiles[0].strategy.clone();
    let parameters = lines[3].split(',').nth(2).unwrap_or_default();
    let batch =
        |rest: &str| format!("experiment,batch,{parameters},\"even, batch, {of_batch}\",4,{rest}");
    let expected = [
        "section,program,parameters,variant,workers,quantity,repetition,value,unit".to_owned(),
        "comparison,fib,n = 30,stealing,2,time,0,0.5,s".to_owned(),
        "comparison,fib,n = 30,stealing,2,time,1,0.25,s".to_owned(),
        batch("time,0,3,s"),
        batch("waiting,0,2,s"),
        batch("steals,0,7,tasks"),
        format!("profile,queens,,{profile},1,work,0,8,s"),
        format!("profile,queens,,{profile},1,span,0,0.5,s"),
        format!("profile,queens,,{profile},1,burdened span,0,0.75,s"),
        "profile,queens,,serial,1,time,0,9,s".to_owned(),
        format!("profile,queens,,{profile},2,time,0,5,s"),
        "steals,uts,,y: 0 from 0,2,steals,0,0,tasks".to_owned(),
        "steals,uts,,y: 0 from 1,2,steals,0,3,tasks".to_owned(),
        "steals,uts,,y: 1 from 0,2,steals,0,4,tasks".to_owned(),
        "steals,uts,,y: 1 from 1,2,steals,0,0,tasks".to_owned(),
    ];
    assert_eq!(lines, expected);
}

#[test]
fn results_of_another_machine_are_noted_and_commands_listed_once() {
    let results = |machine: &str, command: &str| Results {
        command: command.into(),
        ..Results::new("", Machine::new(machine, 8))
    };
    let mut merged = results("a laptop", "");
    merged.merge(results("a laptop", "compare"));
    assert_eq!(
        (merged.command.as_str(), merged.notes.len()),
        ("compare", 0)
    );
    merged.merge(results("a laptop", "compare\n\nrun fib"));
    assert_eq!(
        (merged.command.as_str(), merged.notes.len()),
        ("compare\nrun fib", 0)
    );
    merged.merge(results("a server", "run fib"));
    assert_eq!(merged.command, "compare\nrun fib");
    assert_eq!(merged.notes.len(), 1);
    assert!(merged.notes[0].contains("another machine (a server, 8 processors)"));
}

#[test]
fn parameters_are_in_the_heading() {
    assert_eq!(Scaling::new("uts").heading(), "uts");
    let scaling = Scaling::new("uts").with("workers", 4);
    assert_eq!(scaling.heading(), "uts (workers = 4)");
}
