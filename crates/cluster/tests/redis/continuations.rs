//! Continuations, while a worker that computes their inputs is killed.

use std::time::Duration;

use locksley_cluster::leases::{JobInfo, follow, submit};
use locksley_cluster::programs::cholesky::{self, Factor};
use locksley_cluster::programs::merge_sort::{self, Sort};
use locksley_cluster::{Program, Reduce, Task};
use rustix::process::Signal;

use crate::processes::{self, Process};
use crate::server::Started;

fn job(program: &str) -> JobInfo {
    let mut job = processes::job(program, program);
    // Enough tries for a busy machine, on which leases expire for no other reason.
    job.terms.tries = 100;
    (job.terms.limits.task, job.terms.limits.result) = (16 << 20, 16 << 20);
    job
}

/// Two workers begin, one is killed while it has leases, and a third one joins.
fn with_a_killed_worker<R: Reduce, T: Task<Output = R>>(
    program: &Program<R>,
    first: T,
) -> Option<R> {
    let server = Started::new()?;
    let redis = server.connect();
    let job = job(program.name());
    let workers = [Process::worker(&server), Process::worker(&server)];
    submit(&redis, &job, [first]).expect("it is new");
    let [doomed, other] = workers;
    doomed.until_it_works(&redis, &job.id);
    doomed.signal(Signal::KILL);
    let third = Process::worker(&server);
    let ended = follow(&redis, &job.id, Duration::from_secs(30), |_| {}).expect("it ends");
    assert_eq!(ended.status.aside, 0, "{:?}", ended.status);
    assert_eq!(
        server.ask(&["EXISTS", &format!("locksley:{{{}}}:inputs", job.id)]),
        "0"
    );
    other.stop();
    third.stop();
    Some(ended.result(program).expect("it is a result"))
}

#[test]
fn a_merge_sort_is_exact_though_a_worker_is_killed() {
    let sort = Sort {
        seed: 3,
        from: 0,
        to: 200_000,
        grain: 300,
    };
    if let Some(sorted) = with_a_killed_worker(&merge_sort::program(), sort) {
        assert!(sorted == merge_sort::expected(sort.seed, sort.to));
    }
}

#[test]
fn a_cholesky_factor_is_exact_though_a_worker_is_killed() {
    // Large enough that a worker can be killed in between.
    let matrix = Factor {
        tiles: 10,
        size: if cfg!(debug_assertions) { 20 } else { 64 },
        seed: 11,
    };
    if let Some(factor) = with_a_killed_worker(&cholesky::program(), matrix) {
        assert!(factor == matrix.expected());
        assert!(matrix.residual(&factor) < 1e-12);
    }
}
