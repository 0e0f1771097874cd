//! Ctrl-C stops a command at once; the measurements so far are kept.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::{Lab, Ran};

/// Starts a command line with pipes for its output.
fn start(lab: &Lab, line: &str) -> Child {
    let mut command = lab.command(line.split_whitespace());
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command.spawn().expect("it runs")
}

/// Waits until the command prints `said` to standard error, and interrupts it. The outcome has only
/// the errors that were printed after that.
fn interrupt_at(mut child: Child, said: &str) -> Ran {
    let mut lines = BufReader::new(child.stderr.take().expect("it is a pipe")).lines();
    let heard = lines.find(|line| line.as_ref().is_ok_and(|line| line.contains(said)));
    assert!(heard.is_some(), "it never said `{said}`");
    kill_process(Pid::from_child(&child), Signal::INT).expect("it is there");
    let err = lines.map_while(Result::ok).collect::<Vec<_>>().join("\n");
    let mut ran = Ran::from(child.wait_with_output().expect("it ends"));
    ran.err = err;
    ran
}

#[test]
fn what_was_measured_is_kept() {
    let lab = Lab::new();
    // The first workload is done when the second begins, which takes hours.
    let line =
        "compare fib:n=5 fib:n=45 --strategies stealing --rivals serial --workers 1 --rounds 1";
    let ran = interrupt_at(start(&lab, line), "measuring fib:n=45");
    assert_eq!(ran.code, 130, "{ran:?}");
    assert!(
        ran.err
            .contains("interrupted: the measurements so far are kept in"),
        "{ran:?}"
    );
    let kept: serde_json::Value =
        serde_json::from_str(&lab.read("locksley-out/compare.json")).unwrap();
    assert_eq!(kept["interrupted"], true);
    let comparisons = kept["comparisons"].as_array().unwrap();
    assert_eq!(comparisons.len(), 1, "nothing was measured of the second");
    assert_eq!(comparisons[0]["rows"].as_array().unwrap().len(), 2);
    assert!(lab.read("locksley-out/compare.txt").contains("interrupted"));
    assert!(
        lab.files()
            .iter()
            .all(|file| file.starts_with("locksley-out/"))
    );
}

#[test]
fn where_nothing_was_measured_nothing_is_written() {
    let lab = Lab::new();
    let ran = interrupt_at(
        start(&lab, "compare fib:n=45 --rivals none --rounds 1"),
        "measuring fib:n=45",
    );
    assert_eq!(ran.code, 130, "{ran:?}");
    assert!(ran.err.contains("nothing had been measured"), "{ran:?}");
    assert!(lab.files().is_empty(), "{:?}", lab.files());
}

#[test]
fn a_single_run_can_be_stopped() {
    let lab = Lab::new();
    let ran = interrupt_at(start(&lab, "run fib:n=45"), "running fib:n=45");
    assert_eq!(ran.code, 130, "{ran:?}");
    assert!(lab.files().is_empty());
}

#[test]
fn a_program_of_a_cluster_can_be_stopped() {
    let lab = Lab::new();
    for line in [
        "cluster run uts --tree T1XL",
        "cluster run uts --tree T1XL --ranks 2",
    ] {
        let ran = interrupt_at(start(&lab, line), "running uts T1XL");
        assert_eq!(ran.code, 130, "{ran:?}");
        assert!(ran.err.contains("there is no result"), "{ran:?}");
    }
}

#[test]
fn an_experiment_can_be_stopped() {
    let lab = Lab::new();
    // One thread with tasks of about a second each, for hours.
    let line = "experiment batch --threads 1 --tasks 1 --heavy 36 --rounds 1000";
    let ran = interrupt_at(start(&lab, line), "measuring batch");
    assert_eq!(ran.code, 130, "{ran:?}");
    // It depends on the machine whether a repetition was complete by then.
    let files = lab.files();
    if ran.err.contains("are kept in") {
        assert!(files.contains(&"locksley-out/experiment.json".to_owned()));
    } else {
        assert!(ran.err.contains("nothing had been measured") && files.is_empty());
    }
}
