//! Every command does what its help says, as text and as JSON.

use crate::{COMPARE, Lab};

#[test]
fn run_checks_the_result_and_counts() {
    let lab = Lab::new();
    let ran = lab.good("run queens:n=6 --workers 2 --stats");
    for part in [
        "queens:n=6 under stealing with 2 workers",
        "4 solutions, as in the serial program",
        "tasks run",
        "worker 0",
        "total",
    ] {
        assert!(ran.out.contains(part), "{part}: {}", ran.out);
    }
    let document = lab.json("run fib:n=10 --strategy steal-half --workers 2");
    assert_eq!(document["command"], "run");
    assert_eq!(document["workload"], "fib:n=10");
    assert_eq!(document["strategy"], "steal-half:empty");
    assert_eq!(
        (&document["workers"], &document["verified"]),
        (&2.into(), &true.into())
    );
    assert_eq!(document["result"], 55);
    assert!(document["seconds"].as_f64().unwrap() > 0.0);
    assert!(document["stats"]["total"]["tasks"].as_u64().unwrap() >= 1);
    assert_eq!(document["stats"]["workers"].as_array().unwrap().len(), 2);
    assert!(lab.files().is_empty(), "it writes nothing");
}

#[test]
fn every_strategy_runs() {
    let lab = Lab::new();
    let list = lab.json("list");
    let strategies = list["strategies"].as_array().unwrap();
    assert!(strategies.len() >= 8);
    for strategy in strategies {
        let name = strategy["name"].as_str().unwrap();
        let document = lab.json(&format!("run fib:n=12 --workers 3 --strategy {name}"));
        assert_eq!(document["strategy"], name);
    }
}

#[test]
fn run_writes_the_trace_that_it_is_asked_for() {
    let lab = Lab::new();
    let document = lab.json("run queens:n=7 --workers 2 --trace queens.json");
    assert_eq!(document["trace"], "queens.json");
    assert_eq!(lab.files(), ["queens.json"]);
    let trace: serde_json::Value = serde_json::from_str(&lab.read("queens.json")).unwrap();
    assert!(!trace["traceEvents"].as_array().unwrap().is_empty());
}

#[test]
fn compare_measures_all_and_marks_the_winner() {
    let lab = Lab::new();
    let ran = lab.good(COMPARE);
    assert_eq!(ran.out.matches("<- winner").count(), 1, "{}", ran.out);
    for name in [
        "serial",
        "rayon",
        "chili",
        "stealing",
        "sharing:tit-for-tat",
    ] {
        assert!(ran.out.contains(name), "{name}: {}", ran.out);
    }
    let document = lab.json(&format!("{COMPARE} --rivals serial,rayon"));
    assert_eq!(document["results"]["format"], "locksley-results/1");
    let comparison = &document["results"]["comparisons"][0];
    assert_eq!(
        (&comparison["workload"], &comparison["parameters"]["n"]),
        (&"fib".into(), &"12".into())
    );
    let rows = comparison["rows"].as_array().unwrap();
    assert_eq!(
        rows.len(),
        1 + 2 * 3,
        "serial, and three with one and two workers"
    );
    for row in rows {
        assert_eq!(row["samples"].as_array().unwrap().len(), 2);
        assert_eq!(row["verified"], true);
    }
}

#[test]
fn topology_says_how_many_workers_a_pool_has() {
    let lab = Lab::new();
    let document = lab.json("topology");
    let workers = document["default_workers"].as_u64().unwrap();
    assert!(workers >= 1 && !document["cpus"].as_array().unwrap().is_empty());
    let ran = lab.good("topology");
    assert!(ran.out.contains("machine: ") && ran.out.contains(&format!("{workers} worker")));
}

#[test]
fn list_names_what_can_be_run() {
    let lab = Lab::new();
    let document = lab.json("list");
    for entry in document["workloads"].as_array().unwrap() {
        let name = entry["name"].as_str().unwrap();
        assert!(lab.good("list").out.contains(name), "{name}");
        assert!(
            !entry["parameters"].as_array().unwrap().is_empty(),
            "{name}"
        );
    }
    assert_eq!(document["rivals"].as_array().unwrap().len(), 3);
}

#[test]
fn simulations_come_out_the_same_again() {
    let lab = Lab::new();
    let line = "simulate fib:n=15 --processors 1,8 --strategies greedy,lock-free --seeds 2";
    let [one, other] = [lab.json(line), lab.json(line)];
    assert_eq!(one["reports"], other["reports"]);
    let reports = one["reports"].as_array().unwrap();
    assert_eq!(reports.len(), 2 * 2 * 2);
    for report in reports {
        assert_eq!(report["tally"]["executed"], report["size"]["work"]);
    }
    let ran = lab.good(
        "simulate fib:n=12 --processors 4 --strategies lock-free --trace --sample 5 --costs \
         steal=3",
    );
    assert!(ran.out.contains("lock-free"), "{}", ran.out);
    for part in ["chase-lev", "time, ticks", "the unit of time"] {
        assert!(ran.out.contains(part), "{part}: {}", ran.out);
    }
    assert!(
        lab.files()
            .contains(&"locksley-out/simulate-lock-free-4.trace.json".to_owned())
    );
    let page = lab.good("report locksley-out");
    assert!(page.out.contains("report.html"), "the loads are results");
}

#[test]
fn claims_are_checked() {
    let lab = Lab::new();
    let document = lab.json("theory --quick --only merge");
    assert_eq!(document["failed"], 0);
    assert!(document["checked"].as_u64().unwrap() > 0);
    assert_eq!(document["claims"][0]["name"], "merge sort");
    assert!(
        document["claims"][0]["paper"]
            .as_str()
            .unwrap()
            .contains("Danjean")
    );
    let ran = lab.good("theory --quick --only merge");
    assert!(
        ran.out.contains("predicted") && ran.out.contains("all hold"),
        "{}",
        ran.out
    );
    assert!(lab.good("simulate --help").out.contains("simulate theory"));
}

#[test]
fn a_recorded_run_is_replayed() {
    let lab = Lab::new();
    let recorded = lab.json("record queens:n=6");
    assert!(recorded["recording"]["forks"].as_u64().unwrap() > 10);
    let line = "replay locksley-out/queens.recording.json --processors 1,2,64 --strategies \
                stealing,sharing";
    let document = lab.json(&format!("{line} --rounds 2"));
    let points = document["results"]["replays"][0]["points"]
        .as_array()
        .unwrap();
    assert_eq!(points.len(), 2 * 3);
    let machine = lab.json("topology")["default_workers"].as_u64().unwrap();
    for point in points {
        assert!(point["predicted"].as_f64().unwrap() > 0.0);
        let measured = point
            .get("measured")
            .map_or(0, |samples| samples.as_array().unwrap().len());
        let possible = point["workers"].as_u64().unwrap() <= machine;
        assert_eq!(measured, if possible { 2 } else { 0 }, "{point}");
    }
    let graph = lab.json("replay locksley-out/queens.dag.json --processors 4 --unit 1us");
    let points = graph["results"]["replays"][0]["points"].as_array().unwrap();
    assert!(
        points.iter().all(|point| point.get("measured").is_none()),
        "it does not say of what it is"
    );
    let simulated =
        lab.json("simulate file:locksley-out/queens.dag.json --processors 4 --strategies greedy");
    assert!(simulated["reports"][0]["makespan"].as_u64().unwrap() > 0);
}

#[test]
fn a_workload_is_replayed_at_once() {
    let lab = Lab::new();
    let ran = lab.good("replay fib:n=10 --processors 1,64 --strategies stealing --rounds 1");
    assert!(
        ran.out.contains("parallelism") && ran.out.contains("64"),
        "{}",
        ran.out
    );
}

#[test]
fn a_trace_has_tracks_and_results() {
    let lab = Lab::new();
    let document = lab.json("trace queens:n=8 --workers 2");
    let timeline = &document["results"]["timelines"][0];
    assert_eq!(timeline["program"], "queens");
    assert!(timeline["tracks"].as_array().unwrap().len() >= 2);
    let map = &document["results"]["steals"][0]["counts"];
    assert_eq!(
        map.as_array().unwrap().len(),
        map[0].as_array().unwrap().len()
    );
    let perfetto = lab.read("locksley-out/trace.perfetto.json");
    assert!(perfetto.contains("worker 1"));
}

#[test]
fn a_profile_has_bounds_and_measurements() {
    let lab = Lab::new();
    let document = lab.json("profile sort:n=5000 --workers 1,2 --rounds 2");
    let profile = &document["results"]["profiles"][0];
    assert_eq!(profile["program"], "sort");
    let [work, span] = ["work", "span"].map(|name| profile[name].as_f64().unwrap());
    assert!(work >= span && span > 0.0, "{profile}");
    let measured = profile["measured"].as_array().unwrap();
    assert_eq!(measured.len(), 2);
    assert!(
        measured
            .iter()
            .all(|point| point["samples"].as_array().unwrap().len() == 2)
    );
    let ran = lab.good("profile fib:n=10 --workers 1 --rounds 1");
    assert!(
        ran.out.contains("parallelism") && ran.out.contains("at most"),
        "{}",
        ran.out
    );
}

#[test]
fn an_experiment_is_made_again() {
    let lab = Lab::new();
    let document = lab.json("experiment batch --quick --threads 2 --tasks 4 --rounds 1");
    assert!(
        !document["results"]["experiments"]
            .as_array()
            .unwrap()
            .is_empty()
    );
    assert!(
        lab.files()
            .iter()
            .all(|file| file.starts_with("locksley-out/experiment."))
    );
}

#[test]
fn report_makes_a_page_of_a_folder() {
    let lab = Lab::new();
    lab.good(&format!("{COMPARE} --out results"));
    let document = lab.json("report results");
    assert_eq!(document["results"]["comparisons"][0]["workload"], "fib");
    let page = lab.read("results/report.html");
    assert!(page.starts_with("<!doctype html>") && page.contains("<svg"));
    lab.good("report results/compare.json --out elsewhere");
    assert!(lab.files().contains(&"elsewhere/report.html".to_owned()));
}

#[test]
fn completions_know_the_commands() {
    let lab = Lab::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ran = lab.good(&format!("completions {shell}"));
        assert!(
            ran.out.contains("compare") && ran.out.contains("replay"),
            "{shell}"
        );
    }
    assert_eq!(lab.json("completions bash")["shell"], "bash");
}

#[test]
fn help_has_examples_and_exit_codes() {
    let lab = Lab::new();
    for line in [
        "--help",
        "run --help",
        "compare --help",
        "experiment batch --help",
    ] {
        let out = lab.good(line).out;
        assert!(out.contains("Examples:") && out.contains("130"), "{line}");
    }
    let out = lab.good("--help").out;
    for heading in ["Measure:", "Understand:", "Simulate:", "Cluster:"] {
        assert!(out.contains(heading), "{out}");
    }
    assert!(lab.good("--version").out.starts_with("locksley "));
}
