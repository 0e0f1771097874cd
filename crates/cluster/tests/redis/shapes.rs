//! Time on a server for a root that spawns many tasks, and for many first tasks.

use std::process::Command;
use std::time::{Duration, Instant};

use locksley_cluster::leases::{follow, submit};

use crate::processes::{Grain, Nap, Process, THREADS, command, deeds, job, this};
use crate::server::{Started, until};

/// Returns the time that `workers` workers with `threads` threads each take for the leaves of a
/// root.
fn leaves(number: u32, millis: u64, workers: usize, threads: usize) -> Option<Duration> {
    let server = Started::with(&["--appendfsync", "everysec"], "127.0.0.1")?;
    let redis = server.connect();
    let start = |_| {
        let mut program = Command::new(this());
        command(&mut program, "worker", &server.url());
        Process::spawn(program.env(THREADS, threads.to_string()))
    };
    let workers: Vec<Process> = (0..workers).map(start).collect();
    until("they are there", || {
        let there = locksley_cluster::leases::LeasePool::workers(&redis);
        there.is_ok_and(|there| there.len() == workers.len())
    });
    let mut job = job("leaves", "deeds");
    // Long, so that no lease expires on a busy machine.
    job.terms.lease = Duration::from_secs(15);
    let began = Instant::now();
    let leaves = number;
    submit(&redis, &job, [Nap { leaves, millis }]).expect("it is new");
    let ended = follow(&redis, &job.id, Duration::from_secs(30), |_| {}).expect("it ends");
    let time = began.elapsed();
    let found = ended.result(&deeds()).expect("it is a result").0;
    assert_eq!(found, u64::from(number));
    eprintln!("{number} leaves of {millis} ms: {time:.2?}");
    workers.into_iter().for_each(|worker| {
        worker.stop();
    });
    Some(time)
}

/// Without a hand-over while the lease runs, one thread would run two leaves in sequence.
#[test]
fn eight_long_leaves_are_spread_over_four_workers() {
    if let Some(time) = leaves(8, 5000, 4, 2) {
        assert!(time < Duration::from_secs(9), "{time:?}, ideal is 5 s");
    }
}

/// One lease at a time, or a limit on what is handed over, would take 40 s.
#[test]
fn many_short_leaves_are_spread_over_eight_threads() {
    if let Some(time) = leaves(20_000, 4, 4, 2) {
        assert!(time < Duration::from_secs(30), "{time:?}, ideal is 10 s");
    }
}

/// Returns the peak memory of this process, in MiB.
#[cfg(target_os = "linux")]
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("it is there");
    let mut lines = status.lines();
    let line = lines.find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
    kilobytes
        .and_then(|number| number.parse::<u64>().ok())
        .expect("it is a number")
        >> 10
}

#[test]
#[cfg(target_os = "linux")]
#[ignore = "takes a minute; scripts/deep-check runs it"]
fn a_million_first_tasks_go_in_chunks() {
    let Some(server) = Started::with(&["--appendfsync", "everysec"], "127.0.0.1") else {
        return;
    };
    let redis = server.connect();
    let job = job("grains", "deeds");
    let (before, began) = (peak(), Instant::now());
    let grains = (0..1_000_000).map(|number| Grain { number });
    submit(&redis, &job, grains).expect("it is new");
    let time = began.elapsed();
    let grown = peak() - before;
    let outstanding = crate::processes::status(&redis, &job.id).outstanding;
    assert_eq!(outstanding, 1_000_000);
    let info = server.ask(&["INFO", "memory"]);
    let used = info
        .lines()
        .find(|line| line.starts_with("used_memory_peak_human"));
    eprintln!("submitted in {time:.2?}, {grown} MiB here, {used:?} there");
    assert!(grown < 64, "{grown} MiB");
}
