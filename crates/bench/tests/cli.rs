//! Tests of the command line.

use std::process::{Command, Output};

fn bench(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_locksley-bench"))
        .args(arguments)
        // Valgrind is hidden, since counting instructions in a debug build takes long.
        .env("PATH", "")
        .output()
        .expect("the binary runs")
}

#[test]
fn a_quick_run_verifies_everything_and_enforces_nothing() {
    let json = std::env::temp_dir().join(format!("locksley-bench-{}.json", std::process::id()));
    let file = json
        .to_str()
        .expect("a temporary directory with a plain name");
    let output = bench(&["queues", "--quick", "--rounds", "1", "--json", file]);
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{stderr}");
    assert!(
        stdout.contains(
            "\nbar instructions of owner_pair semi_private: unknown (limit 16) skipped\n"
        )
    );
    assert!(stderr.contains("apt install valgrind"), "{stderr}");

    let report = std::fs::read_to_string(&json).expect("the report was written");
    std::fs::remove_file(&json).expect("the report can be removed");
    let report: serde_json::Value = serde_json::from_str(&report).expect("the report is JSON");
    let workloads = report["workloads"].as_array().expect("a list of workloads");
    assert!(
        workloads
            .iter()
            .all(|workload| workload["contenders"][0]["samples"][0].is_f64())
    );
}

#[test]
fn every_runtime_runs_every_program() {
    let output = bench(&["joins", "--quick", "--rounds", "1"]);
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{stderr}");
    assert!(
        stdout.contains("\nbar instructions of fib join locksley: unknown (limit 47) skipped\n")
    );
    // If memory and processor time can be measured, only the bars for instructions are skipped.
    let skipped = stdout.lines().filter(|line| line.ends_with(" skipped"));
    assert!(
        skipped.count() == 6 || !cfg!(target_os = "linux"),
        "{stdout}"
    );
}

#[test]
fn flows_are_verified_and_have_their_bars() {
    let output = bench(&["flow", "--quick", "--rounds", "1"]);
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{stderr}");
    let bars = stdout.lines().filter(|line| line.starts_with("bar flow "));
    assert_eq!(bars.clone().count(), 5, "{stdout}");
    assert!(
        bars.clone().all(|bar| !bar.ends_with("skipped")),
        "{stdout}"
    );
}

#[test]
fn every_strategy_is_measured() {
    let output = bench(&["strategies", "--quick", "--rounds", "1"]);
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{stderr}");
    assert!(stdout.contains("\ngenerator all busy P=8: "), "{stdout}");
    assert!(
        stdout.contains("\nbar strategies sort P=2 sharing / chase-lev: "),
        "{stdout}"
    );
    // Only strategies that this build cannot parse are skipped.
    let skipped = stdout.lines().filter(|line| line.ends_with(" skipped"));
    let left_out = stderr.lines().any(|line| line.contains("`dealing`"));
    assert_eq!(skipped.count() > 0, left_out, "{stdout}");
}

#[test]
fn steals_are_counted_and_timed_without_a_second_build() {
    for (only, line) in [
        ("membarriers", "  membarriers scope 1000x0.5us "),
        ("latency", "  semi-private "),
    ] {
        let output = bench(&["steals", "--quick", "--rounds", "1", "--only", only]);
        let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "{stderr}");
        assert!(
            stdout.lines().any(|other| other.starts_with(line)),
            "{stdout}"
        );
        let skipped =
            "bar steals grid, geometric mean, locksley / rayon: unknown (limit 0.8) skipped";
        assert!(stdout.contains(skipped), "{stdout}");
    }
}

#[test]
fn the_simulator_runs_beside_the_pool() {
    let output = bench(&["sim", "--quick"]);
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{stderr}");
    assert!(
        stdout.contains("\nbar sim ns per node, lock-free, P=64: "),
        "{stdout}"
    );
    assert!(
        stdout.contains("uts T3   8            chase-lev"),
        "{stdout}"
    );
}

#[test]
fn exit_codes_tell_usage_from_failure() {
    assert_eq!(bench(&["--help"]).status.code(), Some(0));
    assert_eq!(bench(&["archery"]).status.code(), Some(64));
    assert_eq!(
        bench(&["turn", "owner_pair", "unknown", "1"]).status.code(),
        Some(64)
    );
    let nowhere = [
        "queues",
        "--quick",
        "--rounds",
        "1",
        "--json",
        "/nonexistent/report.json",
    ];
    assert_eq!(bench(&nowhere).status.code(), Some(3));
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn what_this_build_has_no_feature_for_or_finds_no_program_for_is_skipped() {
    let output = bench(&["cluster", "--quick"]);
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{stderr}");
    let bar = "bar cluster mpi T1L processor time / ideal half: unknown (limit 1.176) skipped";
    assert!(stdout.contains(bar), "{stdout}");
}
