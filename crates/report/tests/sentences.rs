//! The sentences and tables of the page.

use locksley_report::*;

fn html(fill: impl FnOnce(&mut Results)) -> String {
    let mut results = Results::new("made up", Machine::new("no machine", 2));
    fill(&mut results);
    page(&results)
}

/// Returns a comparison in which contenders took these times with two workers.
fn comparison(workload: &str, times: &[(Contender, f64)]) -> Comparison {
    let mut comparison = Comparison::new(workload);
    for (contender, time) in times {
        let spread = [0.99, 1.0, 1.01].map(|share| share * time);
        comparison
            .rows
            .push(Row::new(contender.clone(), 2, spread.into()));
    }
    comparison
}

fn strategy(name: &str) -> Contender {
    Contender::strategy(name)
}

#[test]
fn the_verdict_counts_wins_and_ties() {
    let one = |winner: &str, loser: &str, second: f64| {
        comparison(
            winner,
            &[(strategy(winner), 1.0), (strategy(loser), second)],
        )
    };
    let clear =
        html(|r| r.comparisons = vec![one("a", "b", 2.0), one("b", "a", 2.0), one("a", "b", 2.0)]);
    assert!(clear.contains("<p class=\"lead\">a was the fastest in 2 of 3 workloads, b in 1.</p>"));
    let tied = html(|r| r.comparisons = vec![one("a", "b", 1.0)]);
    assert!(
        tied.contains("a was the fastest in 1 of 1 workload; in 1 of them"),
        "{}",
        &tied[..200]
    );
}

#[test]
fn the_table_of_winners_names_rival_and_ties() {
    let times = [
        (strategy("a"), 1.0),
        (strategy("b"), 1.001),
        (strategy("c"), 1.002),
        (strategy("d"), 1.003),
        (strategy("e"), 1.004),
        (Contender::rival("rayon"), 1.5),
        (Contender::rival("chili"), 2.0),
        (Contender::Serial, 3.0),
    ];
    let page = html(|r| r.comparisons.push(comparison("x", &times)));
    let row = page
        .split("<tr>")
        .find(|row| row.contains("a, 2 workers"))
        .unwrap();
    assert!(
        row.contains("data-value=\"3\"") && row.contains(">3.00×<"),
        "against serial: {row}"
    );
    assert!(
        row.contains("data-value=\"1.5\"") && row.contains(">1.50×<"),
        "against rayon: {row}"
    );
    assert!(row.contains("b; c; d; 1 more"), "{row}");
    let three = html(|r| r.comparisons.push(comparison("x", &times[..4])));
    let row = three
        .split("<tr>")
        .find(|row| row.contains("a, 2 workers"))
        .unwrap();
    assert!(row.contains(">b; c; d<"), "{row}");
}

#[test]
fn a_table_says_of_each_row_what_was_measured() {
    let mut comparison = comparison(
        "x",
        &[
            (Contender::Serial, 4.0),
            (strategy("a"), 2.0),
            (strategy("b"), 1.0),
        ],
    );
    comparison.rows[2].verified = false;
    comparison.rows.push(Row::new(strategy("c"), 2, vec![]));
    let page = html(|r| r.comparisons.push(comparison));
    let row = |name: &str| {
        let start = format!("data-contender=\"{name}\"><td>");
        let rows = page.split("<tr").filter(|row| row.contains(&start));
        rows.map(str::to_owned).next().unwrap()
    };
    assert!(row("serial").contains(">4.00 s<") && row("serial").contains("<td>right</td>"));
    assert!(row("a").contains("class=\"winner\"") && row("a").contains("<td>right, fastest</td>"));
    assert!(
        row("a").contains(">2.00×<") && row("a").contains(">1.99–2.01 s<"),
        "{}",
        row("a")
    );
    assert!(row("b").contains("class=\"wrong\"") && row("b").contains("<td>wrong</td>"));
    assert!(row("c").contains("<td>not measured</td>") && row("c").contains(">–<"));
}

#[test]
fn controls_are_there_where_there_is_a_choice() {
    let workload = "<select id=\"workload\">";
    let contenders = "<fieldset id=\"contenders\">";
    let one = html(|r| r.comparisons.push(comparison("x", &[(strategy("a"), 1.0)])));
    assert!(!one.contains(workload) && !one.contains(contenders));
    let two = html(|r| {
        let times = [(strategy("a"), 1.0), (strategy("b"), 2.0)];
        r.comparisons = vec![comparison("x", &times), comparison("y", &times)];
    });
    assert!(two.contains(workload) && two.contains("<option value=\"y\">y</option></select>"));
    assert!(two.contains(contenders) && two.matches("type=\"checkbox\"").count() == 2);
}

#[test]
fn every_program_can_be_chosen() {
    let page = html(|r| {
        r.comparisons.push(Comparison::new("a"));
        r.profiles.push(Profile::new("b", 1.0, 1.0, 1.0));
        r.replays.push(Replay::new("c", 1));
        r.scalings.push(Scaling::new("d"));
        r.steals.push(StealMap::new("e", "s", vec![]));
        r.loads.push(LoadCurve::new("f", "s", 1));
        r.timelines.push(Timeline::new("g", "s"));
        r.experiments.push(Experiment::new("h", 1));
        r.experiments.push(Experiment::new("a", 1));
    });
    let options: Vec<&str> = page
        .split("<option value=\"")
        .skip(2)
        .map(|rest| &rest[..1])
        .collect();
    assert_eq!(options, ["a", "b", "c", "d", "e", "f", "g", "h"]);
}

#[test]
fn profiles_and_replays_say_what_they_rest_on() {
    let page = html(|r| {
        r.profiles.push(Profile::new("x", 8.0, 2.0, 4.0));
        r.profiles[0].measured.push(SpeedupPoint {
            workers: 2,
            samples: vec![4.0],
        });
        r.replays.push(Replay::new("x", 3));
        let measured = vec![2.0];
        r.replays[0].points.push(ReplayPoint {
            strategy: "s".into(),
            workers: 1,
            predicted: 3.0,
            measured,
        });
    });
    assert!(
        page.contains("All of its work takes 8.00 s;")
            && page.contains("one after another, 2.00 s.")
    );
    assert!(
        page.contains("<strong>4.00 processors</strong> busy, or 2.00 with the cost of moving")
    );
    // Workers, time, speed-up, at least, at most.
    let cells: String = ["2", "4.00 s", "2.00×", "0.820×", "2.00×"]
        .map(|cell| format!(">{cell}</td>"))
        .concat();
    let plain: String = page
        .split("<td")
        .map(|cell| cell.split_once('>').map_or("", |(_, text)| text))
        .map(|text| format!(">{text}"))
        .collect();
    assert!(plain.contains(&cells), "{plain}");
    assert!(page.contains("Recorded with 3 workers.") && page.contains(">+50.0 %<"));
    let bare = html(|r| {
        r.profiles.push(Profile::new("x", 8.0, 2.0, 2.0));
        r.replays.push(Replay::new("x", 0));
    });
    assert!(!bare.contains("Recorded with") && !bare.contains("with the cost of moving"));
}

#[test]
fn maps_of_steals_say_how_many_there_are() {
    let steals = |workers: usize| {
        let mut counts = vec![vec![0; workers]; workers];
        counts[0][1] = 1234;
        html(|r| r.steals.push(StealMap::new("x", "s", counts)))
    };
    assert!(steals(32).contains("<p>1\u{202F}234 steals among 32 workers.</p>"));
    assert!(steals(33).contains("among 33 workers. A row or column stands for 2 neighbours.</p>"));
}

#[test]
fn long_tables_are_folded_up() {
    let rows = |count: usize| {
        let mut comparison = Comparison::new("x");
        for workers in 1..=count {
            comparison
                .rows
                .push(Row::new(strategy("a"), workers, vec![1.0]));
        }
        html(|r| r.comparisons.push(comparison))
    };
    assert!(!rows(12).contains("<details>"));
    assert!(rows(13).contains("<summary>The numbers: 13 rows</summary>"));
}

#[test]
fn the_glossary_explains_the_contenders_of_the_page() {
    let times = [
        (strategy("sharing:greedy"), 1.0),
        (Contender::rival("rayon"), 2.0),
    ];
    let page = html(|r| r.comparisons.push(comparison("x", &times)));
    assert!(page.contains("<dt>sharing:greedy</dt><dd>"));
    assert!(page.contains("<dt>rayon</dt><dd>the library for parallelism"));
    assert!(!page.contains("<dt>chili</dt>"));
}

#[test]
fn the_table_of_an_experiment_has_medians_of_each_batch() {
    let batch = |load, stealing, threads| Batch {
        load,
        arrival: Arrival::Batch,
        stealing,
        deque: DequeKind::Bounded,
        threads,
        repetitions: [(1.0, 100), (2.0, 1200), (4.0, 1300)]
            .map(|(seconds, steals)| Repetition {
                seconds,
                waiting: seconds / 4.0,
                steals,
            })
            .into(),
    };
    let mut experiment = Experiment::new("batch", 100);
    experiment.batches = vec![
        batch(Load::Skewed, true, 8),
        batch(Load::Even, false, 8),
        batch(Load::Even, true, 8),
        batch(Load::Even, true, 4),
    ];
    let html = html(|r| r.experiments.push(experiment));
    let table = &html[html.find("aria-label=\"batch\"").unwrap()..];
    let body = &table[table.find("<tbody>").unwrap()..table.find("</tbody>").unwrap()];
    let rows: Vec<Vec<String>> = body
        .split("<tr>")
        .skip(1)
        .map(|row| {
            row.split("</td>")
                .filter_map(|cell| Some(cell.rsplit_once('>')?.1.to_owned()))
                .filter(|cell| !cell.trim().is_empty())
                .collect()
        })
        .collect();
    let many = "1\u{202F}200";
    let expected = [
        [
            "even",
            "batch",
            "no stealing, bounded",
            "8",
            "2.00 s",
            "500 ms",
            "–",
        ],
        [
            "even",
            "batch",
            "stealing, bounded",
            "4",
            "2.00 s",
            "500 ms",
            many,
        ],
        [
            "even",
            "batch",
            "stealing, bounded",
            "8",
            "2.00 s",
            "500 ms",
            many,
        ],
        [
            "skewed",
            "batch",
            "stealing, bounded",
            "8",
            "2.00 s",
            "500 ms",
            many,
        ],
    ];
    assert_eq!(rows, expected);
}

#[test]
fn arrows_that_are_left_out_are_mentioned() {
    let with = |arrows: usize| {
        let mut timeline = Timeline::new("x", "y");
        let arrow = |i: usize| Arrow {
            kind: ArrowKind::Steal,
            from: 0,
            to: 1,
            left: i as f64,
            arrived: i as f64,
        };
        timeline.arrows = (0..arrows).map(arrow).collect();
        html(|r| r.timelines.push(timeline))
    };
    assert!(!with(300).contains("arrows, at most 300 are drawn"));
    assert!(
        !with(300).contains("events did not fit"),
        "none was dropped"
    );
    assert!(with(301).contains("<p class=\"muted\">Of 301 arrows, at most 300 are drawn.</p>"));
}

#[test]
fn serial_programs_have_no_number_of_workers() {
    let times = [(Contender::Serial, 1.0), (strategy("a"), 2.0)];
    let page = html(|r| r.comparisons.push(comparison("x", &times)));
    assert!(page.contains("<td>serial</td>"));
    assert!(!page.contains("serial, "));
}
