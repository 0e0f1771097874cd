//! The markup of the page.

mod common;

use common::{CHARTS, NASTY, sample};
use locksley_report::{Comparison, Contender, Machine, Results, Row, page, read, write};

#[test]
fn every_chart_is_there_once_wide_and_once_narrow() {
    let html = page(&sample());
    for (kind, count) in CHARTS {
        assert_eq!(
            html.matches(&format!("<figure class=\"chart {kind}\">"))
                .count(),
            count,
            "{kind}"
        );
    }
    let total: usize = CHARTS.iter().map(|(_, count)| count).sum();
    for class in ["wide", "narrow"] {
        assert_eq!(
            html.matches(&format!("<svg class=\"{class}\"")).count(),
            total,
            "{class}"
        );
    }
    assert!(!html.contains("chart-error"));
}

#[test]
fn names_cannot_break_out() {
    let mut results = sample();
    results.title = NASTY.into();
    results.machine.description = NASTY.into();
    results.made = Some(NASTY.into());
    results.notes.push(NASTY.into());
    results.comparisons[0].rows[1].contender = Contender::strategy(NASTY);
    results.steals[0].strategy = NASTY.into();
    results.timelines[0].program = NASTY.into();
    results.experiments[0].name = NASTY.into();
    results.experiments[0].conclusions.push(NASTY.into());
    results.replays[0].points[0].strategy = NASTY.into();
    let html = page(&results);
    assert_eq!(html.matches("<script").count(), 1, "only our own");
    assert!(html.contains("&lt;script&gt;"));
    assert!(
        !html.contains(NASTY) && !html.contains("\"quoted\""),
        "quotes would end an attribute"
    );
}

#[test]
fn nothing_is_fetched() {
    let html = page(&sample());
    for word in ["http://", "https://", "src=", "@import", "url("] {
        let own = html.matches("xmlns=\"http://www.w3.org/2000/svg\"").count();
        let expected = if word == "http://" { own } else { 0 };
        assert_eq!(html.matches(word).count(), expected, "{word}");
    }
    assert!(html.contains("default-src 'none'"));
    assert!(!html.contains("unsafe-inline"));
    assert!(
        !html.contains(" style=\""),
        "the policy forbids style attributes"
    );
    assert!(!html.contains(" onclick="));
}

#[test]
fn results_without_anything_make_a_page_that_says_so() {
    let html = page(&Results::new("", Machine::default()));
    assert!(html.contains("Nothing has been measured"));
    assert!(html.contains("<h1>Locksley: results</h1>"));
}

#[test]
fn the_heading_says_what_is_known_of_the_machine() {
    let heading = |machine| {
        let html = page(&Results::new("", machine));
        let start = html.find("<h1>").unwrap();
        html[start..start + html[start..].find("</header>").unwrap()].to_owned()
    };
    let known = Machine {
        system: Some("an operating system".into()),
        ..Machine::new("a laptop", 8)
    };
    assert!(
        heading(known).contains("<p>Measured on a laptop, 8 processors, an operating system.</p>")
    );
    assert!(heading(Machine::new("a laptop", 0)).contains("<p>Measured on a laptop.</p>"));
    assert!(heading(Machine::new("", 1)).contains("<p>Measured on 1 processor.</p>"));
    assert!(!heading(Machine::default()).contains("Measured on"));
}

#[test]
fn the_heading_has_time_and_command() {
    let heading = |made: Option<&str>, command: &str| {
        let mut results = Results::new("", Machine::default());
        results.made = made.map(str::to_owned);
        results.command = command.to_owned();
        let html = page(&results);
        let start = html.find("<h1>").unwrap();
        html[start..start + html[start..].find("</header>").unwrap()].to_owned()
    };
    let time = "2026-01-02T03:04:05Z";
    let marked = format!("Made <time datetime=\"{time}\">2026-01-02 03:04 UTC</time>");
    let both = heading(Some(time), "locksley compare");
    assert!(both.contains(&format!("{marked} by</p>")), "{both}");
    assert!(both.contains("<pre>locksley compare</pre>"), "{both}");
    let alone = heading(Some(time), "");
    assert!(alone.contains(&format!("{marked}.</p>")), "{alone}");
    assert!(!alone.contains("<pre>"));
    let odd = heading(Some("2026-01-02T03:04:05+01:00"), "");
    assert!(odd.contains(">2026-01-02T03:04:05+01:00</time>"), "{odd}");
}

#[test]
fn odd_data_makes_a_page_and_no_panic() {
    let mut results = sample();
    results.comparisons[0]
        .rows
        .iter_mut()
        .for_each(|row| row.samples.clear());
    results.comparisons[1]
        .rows
        .iter_mut()
        .for_each(|row| row.samples = vec![0.0]);
    results.comparisons.push(Comparison::new(""));
    results.profiles[0].work = 0.0;
    results.profiles[0].span = 0.0;
    results.profiles[0].measured.clear();
    results.replays[0].points.clear();
    results.loads[0].points.clear();
    results.timelines[0].tracks.clear();
    results.steals[0].counts.clear();
    results.experiments[0].batches.clear();
    let html = page(&results);
    assert!(!html.contains("chart-error"), "an empty chart is a chart");
    assert!(!html.contains("NaN") && !html.contains(">inf"));
}

#[test]
fn numbers_of_any_size_are_drawn() {
    for serial in [1e-12, 1e-3, 1e3, 1e12] {
        let mut huge = Comparison::new("x");
        huge.rows.push(Row::new(Contender::Serial, 1, vec![serial]));
        huge.rows
            .push(Row::new(Contender::strategy("sharing"), 1, vec![serial]));
        huge.rows.push(Row::new(
            Contender::strategy("sharing"),
            1_000_000,
            vec![serial / 1e6],
        ));
        let mut results = Results::new("x", Machine::default());
        results.comparisons.push(huge);
        let html = page(&results);
        assert_eq!(html.matches("<figure").count(), 2, "{serial}");
        assert!(!html.contains("chart-error"), "{serial}");
    }
}

#[test]
fn what_is_written_is_read_back() {
    let folder = std::env::temp_dir().join(format!("locksley-report-{}", std::process::id()));
    let results = sample();
    write(&folder, "sample", &results).unwrap();
    std::fs::write(folder.join("trace.json"), "[{\"ph\": \"X\"}]").unwrap();
    assert!(read(&folder).unwrap() == results, "something was lost");
    write(&folder, "copy", &results).unwrap();
    assert_eq!(
        read(&folder).unwrap().comparisons.len(),
        results.comparisons.len(),
        "a copy adds nothing"
    );

    let message = |text: &str| {
        std::fs::write(folder.join("sample.json"), text).unwrap();
        read(&folder).unwrap_err().to_string()
    };
    assert!(message("{\"format\": \"locksley-results/1\", ").contains("is damaged"));
    assert!(
        message("{\"format\": \"locksley-results/9\"}")
            .contains("this version reads \"locksley-results/1\"")
    );
    let other = "{\"format\": \"other/1\", \"from\": \"locksley-results/1\"}";
    std::fs::write(folder.join("other.json"), other).unwrap();
    let error = read(folder.join("other.json")).unwrap_err();
    assert!(error.to_string().contains("holds no results"), "{error}");
    let negative = r#"{"format": "locksley-results/1", "machine": {}, "comparisons":
        [{"workload": "x", "rows": [{"contender": "serial", "workers": 1, "samples": [-1]}]}]}"#;
    assert!(message(negative).contains("comparisons[0]: rows[0].samples has -1"));
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(
        write(&folder, "../escape", &results)
            .unwrap_err()
            .to_string()
            .contains("no name for a file")
    );
}
