//! Faults on one host.

use std::fs::{self, OpenOptions};
use std::io::Write;

use crate::job::{Job, signal};
use crate::rank;

pub(crate) fn panic() {
    let done = Job::new(rank::FRAGILE).ranks(3).start().end();
    done.assert_failed(&["on rank", "a task of the kind fragile", "number 700 broke"]);
}

pub(crate) fn kill() {
    for victim in [0, 2] {
        let job = Job::new(rank::ENDLESS).ranks(3).start();
        let processes = job.processes();
        assert!(signal(processes[victim], "KILL"));
        let done = job.end_soon();
        assert!(!done.success, "{done:?}");
        // MPI notices the end of a process, and reports it itself.
        assert!(done.err.contains("Killed"), "{done:?}");
    }
}

pub(crate) fn kill_launcher() {
    let job = Job::new(rank::ENDLESS).ranks(3).start();
    job.processes();
    assert!(signal(job.launcher(), "KILL"));
    let done = job.end_soon();
    assert!(!done.success, "{done:?}");
}

pub(crate) fn stop() {
    for victim in [0, 1] {
        let job = Job::new(rank::ENDLESS).ranks(3).start();
        let processes = job.processes();
        assert!(signal(processes[victim], "STOP"));
        let done = job.end_soon();
        done.assert_failed(&[&format!("rank {victim} has been silent")]);
    }
}

pub(crate) fn builds() {
    let job = Job::new(rank::SEARCH);
    let other = job.folder().join("other");
    fs::copy(std::env::current_exe().unwrap(), &other).unwrap();
    let mut file = OpenOptions::new().append(true).open(&other).unwrap();
    file.write_all(b"another build").unwrap();
    drop(file);
    // The job may end before the last rank has written its file.
    let done = job.ranks(2).ranks_of(1, other).start().end();
    done.assert_failed(&["rank 2 runs the build", "the same executable"]);
}
