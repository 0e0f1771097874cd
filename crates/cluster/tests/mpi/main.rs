//! Ranks that are real processes: started by `mpirun`, killed, stopped, of different builds, on
//! hosts whose links are cut.
//!
//! This program is the test runner and, when `mpirun` starts it, the program under test. Its tests
//! run one after another, since each needs all processors. Where there is no `mpirun`, or hosts
//! cannot be emulated, they are skipped, unless `LOCKSLEY_TEST_MPI` is set.

mod faults;
mod hosts;
mod job;
#[path = "../support/poll.rs"]
mod poll;
mod rank;

use std::panic::catch_unwind;
use std::process::{Command, ExitCode};

use job::{Job, demanded};
use locksley_trace::{Trace, TraceEvent};

type Test = (&'static str, fn());

const TESTS: [Test; 11] = [
    ("counts_are_exact_on_1_to_4_ranks", counts),
    ("a_trace_has_all_ranks_and_their_steals", trace),
    ("large_tasks_travel_both_ways", heavy),
    ("continuations_get_results_of_other_ranks", continuations),
    ("a_panic_ends_all_ranks", faults::panic),
    ("a_killed_rank_ends_the_job", faults::kill),
    (
        "a_killed_mpirun_leaves_no_rank_behind",
        faults::kill_launcher,
    ),
    ("a_stopped_rank_ends_the_job", faults::stop),
    ("two_builds_refuse_each_other", faults::builds),
    ("hosts_find_exact_counts", hosts::counts),
    ("a_cut_link_ends_the_job", hosts::cut),
];

fn main() -> ExitCode {
    if let Some(program) = std::env::var_os(rank::PROGRAM) {
        return rank::run(&program.to_string_lossy());
    }
    if Command::new("mpirun").arg("--version").output().is_err() {
        assert!(!demanded(), "mpirun is missing: install an MPI library");
        println!("skipped: there is no mpirun");
        return ExitCode::SUCCESS;
    }
    let only: Vec<String> = std::env::args().skip(1).collect();
    let only: Vec<&String> = only.iter().filter(|name| !name.starts_with('-')).collect();
    let mut failed = false;
    for (name, test) in TESTS {
        if only.is_empty() || only.iter().any(|only| name.contains(only.as_str())) {
            let outcome = catch_unwind(test);
            let word = if outcome.is_ok() { "ok" } else { "FAILED" };
            println!("test {name} ... {word}");
            failed |= outcome.is_err();
        }
    }
    ExitCode::from(u8::from(failed))
}

fn counts() {
    for ranks in 1..=4 {
        let done = Job::new(rank::SEARCH).ranks(ranks).start().end();
        done.assert_counted(ranks);
    }
}

fn trace() {
    let done = Job::new(rank::SEARCH).ranks(3).traced().start().end();
    done.assert_counted(3);
    let trace = Trace::from_json(&done.trace.unwrap()).unwrap();
    let ends = |rank: u32| {
        let mine = trace.events.iter().filter(move |event| event.pid() == rank);
        mine.filter_map(|event| match event {
            TraceEvent::Left { id, .. } | TraceEvent::Arrived { id, .. } => Some(*id),
            _ => None,
        })
    };
    for rank in 0..3 {
        assert!(trace.events.iter().any(|event| event.pid() == rank));
    }
    // With one worker each, all movements are between ranks.
    let from_first = ends(0).collect::<Vec<_>>();
    let to_others = ends(1).chain(ends(2));
    assert!(to_others.filter(|id| from_first.contains(id)).count() > 0);
}

fn heavy() {
    let done = Job::new(rank::HEAVY).ranks(3).start().end();
    assert!(done.success, "{done:?}");
    assert!(done.out.contains(&rank::heavy_result()), "{done:?}");
}

/// A merge sort and a Cholesky factorisation. With one worker each, all movements are between
/// ranks, and so results of children have to travel, too.
fn continuations() {
    for program in [rank::SORT, rank::CHOLESKY] {
        let done = Job::new(program).ranks(4).start().end();
        assert!(done.success, "{done:?}");
        assert!(done.out.contains(rank::VERIFIED), "{done:?}");
        assert!(!done.out.contains("moved 0 "), "{done:?}");
    }
}
