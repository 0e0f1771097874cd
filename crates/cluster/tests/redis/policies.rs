//! Faults while tasks pause, are late, are urgent, or are delayed.

use std::hash::{BuildHasher, RandomState};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use locksley_cluster::leases::{JobInfo, LeasePool, Redis, State, Status, follow, submit};
use locksley_cluster::{Policy, Program, Sum, Task, Tasks};
use rustix::process::Signal;
use serde::{Deserialize, Serialize};

use crate::processes::{self, Process, status};
use crate::server::{Started, until};

/// Appends a mark to a file. Returns the number of marks.
fn mark(file: &Path) -> usize {
    let opened = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(file);
    let mut opened = opened.expect("there is room for a file");
    opened.write_all(b"x").expect("there is room");
    marks(file)
}

fn marks(file: &Path) -> usize {
    std::fs::read(file).map_or(0, |marks| marks.len())
}

/// Fails at its first tries.
#[derive(Serialize, Deserialize)]
pub(crate) struct Shaky {
    file: PathBuf,
    failures: usize,
}

impl Task for Shaky {
    const KIND: &'static str = "shaky";
    const POLICY: Policy = Policy::new()
        .tries(9)
        .back_off(Duration::from_millis(600), Duration::from_secs(2));
    type Output = Sum<u64>;

    fn run(self, _: &Tasks<Sum<u64>>) -> Sum<u64> {
        assert!(mark(&self.file) > self.failures, "it fell");
        Sum(1)
    }
}

/// Never returns.
#[derive(Serialize, Deserialize)]
pub(crate) struct Endless {
    file: PathBuf,
}

impl Task for Endless {
    const KIND: &'static str = "endless";
    const POLICY: Policy = Policy::new().timeout(Duration::from_millis(200)).tries(2);
    type Output = Sum<u64>;

    fn run(self, _: &Tasks<Sum<u64>>) -> Sum<u64> {
        mark(&self.file);
        loop {
            sleep(Duration::from_secs(3600));
        }
    }
}

/// Kills its process, and is urgent.
#[derive(Serialize, Deserialize)]
pub(crate) struct Poison;

impl Task for Poison {
    const KIND: &'static str = "poison";
    const POLICY: Policy = Policy::new().urgent();
    type Output = Sum<u64>;

    fn run(self, _: &Tasks<Sum<u64>>) -> Sum<u64> {
        std::process::abort();
    }
}

/// Succeeds; spawns poison, or a delayed task.
#[derive(Serialize, Deserialize)]
pub(crate) enum Plain {
    Fine,
    Poisoned(u32),
    Later(Duration),
}

impl Task for Plain {
    const KIND: &'static str = "plain";
    type Output = Sum<u64>;

    fn run(self, tasks: &Tasks<Sum<u64>>) -> Sum<u64> {
        match self {
            Plain::Fine => sleep(Duration::from_millis(20)),
            Plain::Poisoned(fine) => {
                tasks.spawn(Poison);
                (0..fine).for_each(|_| tasks.spawn(Plain::Fine));
            }
            Plain::Later(delay) => tasks.spawn_after(delay, Plain::Fine),
        }
        Sum(1)
    }
}

/// A binary tree of tasks. At random, some fail, some are late, some are delayed, and some are
/// urgent, so that a further try may succeed.
#[derive(Serialize, Deserialize)]
pub(crate) struct RandomTree<const URGENT: bool> {
    pub(crate) depth: u32,
}

impl<const URGENT: bool> Task for RandomTree<URGENT> {
    const KIND: &'static str = if URGENT { "gale/urgent" } else { "gale" };
    const POLICY: Policy = {
        let policy = Policy::new()
            .timeout(Duration::from_millis(150))
            .tries(10_000)
            .back_off(Duration::from_millis(20), Duration::from_millis(200));
        if URGENT { policy.urgent() } else { policy }
    };
    type Output = Sum<u64>;

    fn run(self, tasks: &Tasks<Sum<u64>>) -> Sum<u64> {
        let chance = RandomState::new().hash_one(self.depth);
        if let Some(depth) = self.depth.checked_sub(1) {
            tasks.spawn(RandomTree::<true> { depth });
            tasks.spawn_after(
                Duration::from_millis(chance % 60),
                RandomTree::<false> { depth },
            );
        }
        match chance >> 60 {
            0 => panic!("a gust"),
            1 => {
                while !tasks.cancelled() {
                    sleep(Duration::from_millis(1));
                }
            }
            _ => sleep(Duration::from_millis(chance >> 32 & 7)),
        }
        Sum(1)
    }
}

pub(crate) fn program() -> Program<Sum<u64>> {
    let program = Program::new("policies").with::<Shaky>().with::<Endless>();
    let program = program
        .with::<RandomTree<false>>()
        .with::<RandomTree<true>>();
    program.with::<Poison>().with::<Plain>()
}

fn start<T: Task<Output = Sum<u64>>>(redis: &Redis, first: T) -> JobInfo {
    let job = processes::job("policies", "policies");
    submit(redis, &job, [first]).expect("it is new");
    job
}

fn result(redis: &Redis, job: &JobInfo) -> (u64, Status) {
    let ended = follow(redis, &job.id, Duration::from_secs(30), |_| {}).expect("it ends");
    let Sum(ran) = ended.result(&program()).expect("it is a result");
    (ran, ended.status)
}

#[test]
fn a_worker_is_killed_and_the_server_restarted_while_a_task_pauses() {
    let Some(mut server) = Started::new() else {
        return;
    };
    let redis = server.connect();
    let file = server.folder.join("marks");
    let (failures, shaken) = (3, file.clone());
    let job = start(&redis, Shaky { file, failures });
    for failed in 1..=failures {
        let worker = Process::worker(&server);
        until("it has failed once more", || marks(&shaken) == failed);
        until("it pauses", || status(&redis, &job.id).in_flight == 0);
        worker.signal(Signal::KILL);
        server.kill();
        server.restart();
        until("the server answers", || redis.status(&job.id).is_ok());
        let status = status(&redis, &job.id);
        assert_eq!((status.outstanding, status.aside), (1, 0), "{status:?}");
    }
    let worker = Process::worker(&server);
    let (ran, status) = result(&redis, &job);
    assert_eq!((ran, status.aside), (1, 0), "{status:?}");
    assert_eq!(marks(&shaken), failures + 1);
    worker.stop();
}

#[test]
fn a_task_that_never_returns_is_late_twice_and_ends_the_workers_that_had_it() {
    let Some(server) = Started::new() else { return };
    let redis = server.connect();
    let file = server.folder.join("marks");
    let job = start(&redis, Endless { file: file.clone() });
    for _ in 0..2 {
        let said = Process::worker(&server).end();
        assert_eq!(said.status.code(), Some(3), "{}", said.err);
        assert!(said.err.contains("do not return"), "{}", said.err);
    }
    let (ran, status) = result(&redis, &job);
    assert_eq!((ran, status.aside, status.state), (0, 1, State::Done));
    assert_eq!(marks(&file), 2);
    let reason = &status.reasons[0];
    assert_eq!(reason.attempts, 2);
    assert!(reason.reason.contains("longer than 200ms"), "{reason:?}");
}

/// An urgent task that kills its workers costs nothing else.
#[test]
fn urgent_poison_is_set_aside_and_takes_no_other_along() {
    let Some(server) = Started::new() else { return };
    let redis = server.connect();
    let job = start(&redis, Plain::Poisoned(20));
    let mut workers: Vec<Process> = (0..2).map(|_| Process::worker(&server)).collect();
    until("the job is over", || {
        for worker in workers.iter_mut().filter_map(|worker| {
            let ended = worker.has_ended();
            ended.then_some(worker)
        }) {
            *worker = Process::worker(&server);
        }
        status(&redis, &job.id).state == State::Done
    });
    let (ran, status) = result(&redis, &job);
    assert_eq!((ran, status.aside), (21, 1), "{status:?}");
}

#[test]
fn a_delayed_task_outlives_workers_and_server_and_does_not_come_early() {
    let Some(mut server) = Started::new() else {
        return;
    };
    let redis = server.connect();
    let hour = Duration::from_secs(3600);
    let job = start(&redis, Plain::Later(hour));
    let worker = Process::worker(&server);
    until("the root is done", || status(&redis, &job.id).delayed == 1);
    worker.signal(Signal::KILL);
    server.kill();
    server.restart();
    let worker = Process::worker(&server);
    until("the worker is there", || {
        redis.workers().is_ok_and(|workers| !workers.is_empty())
    });
    let later = status(&redis, &job.id);
    assert_eq!((later.delayed, later.state), (1, State::Running));
    // Emulates the passing of an hour by moving the stored deadlines.
    let key = format!("locksley:{{{}}}:later", job.id);
    let entry = server.ask(&["ZRANGE", &key, "0", "-1"]);
    let build = format!("locksley:later:{}", job.build);
    server.ask(&["ZINCRBY", &key, "-3600000", &entry]);
    server.ask(&["ZINCRBY", &build, "-3600000", job.id.as_str()]);
    let (ran, status) = result(&redis, &job);
    assert_eq!((ran, status.aside), (2, 0), "{status:?}");
    worker.stop();
}
