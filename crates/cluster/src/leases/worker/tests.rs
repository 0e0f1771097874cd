//! Workers as threads, with a pool in memory.

mod faults;
mod limits;
mod policies;

use std::sync::atomic::AtomicU64;

use locksley_workload::{Size, Uts, UtsTree};
use serde::{Deserialize, Serialize};

use super::*;
use crate::leases::flaky::Flaky;
use crate::leases::{
    Aside, Completed, Completion, JobInfo, Limits, Memory, State, Status, Terms, follow, submit,
};
use crate::programs::uts::{self, Search};
use crate::{Max, Parcel, Program, Sum, Task, Tasks};

const BUILD: Build = Build(7);

/// Some 25,000 nodes: many quanta of a millisecond.
fn tree() -> (UtsTree, Size) {
    let tree = UtsTree::binomial(2000.0, 0.115, 8, 7);
    (tree, Uts::new(tree).size())
}

pub(super) fn job(program: &str, lease: Duration) -> JobInfo {
    JobInfo {
        id: "job".parse().expect("it is plain"),
        build: BUILD,
        program: program.to_owned(),
        terms: Terms {
            lease,
            tries: 3,
            ..Terms::default()
        },
    }
}

/// A test task.
#[derive(Serialize, Deserialize)]
enum Odd {
    Fine,
    /// Panics.
    Panics,
    /// Returns a result that is too large.
    Bloated,
    /// Spawns this many tasks, which are fine.
    Many(u32),
    /// Runs until it is cancelled.
    Endless,
    /// Spawns this many tasks, of which the one with the second number panics.
    OneBad(u32, u32),
    /// Spawns this many tasks that panic.
    AllBad(u32),
    /// Spawns an endless task, one that takes a while, and one that panics earlier.
    Mixed,
    /// Sleeps for this many milliseconds.
    Nap {
        millis: u64,
        panics: bool,
    },
    /// Spawns this many tasks that meet.
    Meeting(u32),
    /// Waits until this many tasks run at the same time; if that takes too long it returns no
    /// result.
    Meet(u32),
}

static ENDED: AtomicU64 = AtomicU64::new(0);
static MET: AtomicU32 = AtomicU32::new(0);

impl Task for Odd {
    const KIND: &'static str = "odd";
    type Output = (Sum<u64>, Max<Vec<u8>>);

    fn run(self, tasks: &Tasks<Self::Output>) -> Self::Output {
        match self {
            Odd::Fine => {}
            Odd::Panics => panic!("as it does"),
            Odd::Bloated => return (Sum(1), Max(vec![1; 2 << 20])),
            Odd::Many(number) => (0..number).for_each(|_| tasks.spawn(Odd::Fine)),
            Odd::Endless => {
                while !tasks.cancelled() {
                    thread::sleep(Duration::from_millis(1));
                }
                ENDED.fetch_add(1, Ordering::Relaxed);
            }
            Odd::OneBad(number, bad) => (0..number).for_each(|leaf| {
                tasks.spawn(if leaf == bad { Odd::Panics } else { Odd::Fine });
            }),
            Odd::AllBad(number) => (0..number).for_each(|_| tasks.spawn(Odd::Panics)),
            Odd::Mixed => {
                tasks.spawn(Odd::Endless);
                for (millis, panics) in [(400, false), (50, true)] {
                    tasks.spawn(Odd::Nap { millis, panics });
                }
            }
            Odd::Nap { millis, panics } => {
                thread::sleep(Duration::from_millis(millis));
                assert!(!panics, "it had a dream");
            }
            Odd::Meeting(number) => (0..number).for_each(|_| tasks.spawn(Odd::Meet(number))),
            Odd::Meet(number) => {
                MET.fetch_add(1, Ordering::Relaxed);
                let start = Instant::now();
                while MET.load(Ordering::Relaxed) < number {
                    if start.elapsed() > Duration::from_secs(60) {
                        return <Self::Output as crate::Reduce>::identity();
                    }
                    thread::sleep(Duration::from_millis(1));
                }
            }
        }
        (Sum(1), Max::default())
    }
}

fn odd() -> Program<(Sum<u64>, Max<Vec<u8>>)> {
    Program::new("odd").with::<Odd>()
}

/// A task that panics when it is deserialised, before it runs.
#[derive(Serialize, Deserialize)]
#[serde(from = "u8")]
struct Fragile;

impl From<u8> for Fragile {
    fn from(number: u8) -> Fragile {
        assert_eq!(number, 0, "no such number");
        Fragile
    }
}

impl Task for Fragile {
    const KIND: &'static str = "fragile";
    type Output = Sum<u64>;

    fn run(self, _: &Tasks<Sum<u64>>) -> Sum<u64> {
        Sum(1)
    }
}

pub(super) fn setup(name: &str, threads: usize) -> Setup {
    let pool = Pool::builder()
        .workers(threads)
        .build()
        .expect("it is small");
    let worker = WorkerId {
        name: name.to_owned(),
        build: BUILD,
    };
    let catalogue = Catalogue::default().with(uts::program()).with(odd());
    let catalogue = catalogue.with(Program::new("fragile").with::<Fragile>());
    let catalogue = catalogue.with(policies::program());
    let catalogue = catalogue.with(Program::new("print").with::<limits::Print>());
    let mut setup = Setup::new(worker, pool, catalogue);
    setup.quantum = Duration::from_millis(2);
    setup.linger = Some(Duration::from_millis(300));
    setup
}

/// Runs some workers until they have been idle for a while.
fn work(pool: &Arc<dyn LeasePool>, workers: usize) -> Vec<WorkerCounts> {
    let stop = Stop::default();
    let counts = |number: usize| {
        let setup = setup(&format!("w{number}"), 1 + number % 2);
        serve(pool.clone(), setup, &stop, |_| {}).expect("no error")
    };
    thread::scope(|scope| {
        let counts = &counts;
        let threads: Vec<_> = (0..workers)
            .map(|number| scope.spawn(move || counts(number)))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("no panic"))
            .collect()
    })
}

fn status(pool: &Arc<dyn LeasePool>) -> Status {
    let status = pool.status(&job("", Duration::ZERO).id);
    status.expect("it is there").expect("it was submitted")
}

#[test]
fn a_tree_is_counted_by_several_workers() {
    let (tree, size) = tree();
    let pool: Arc<dyn LeasePool> = Arc::new(Memory::default());
    let job = job("uts", Duration::from_secs(60));
    submit(&*pool, &job, [Search::whole(tree)]).expect("it is new");
    let all_counts = work(&pool, 3);
    let ended = follow(&*pool, &job.id, Duration::ZERO, |_| {}).expect("it is over");
    assert_eq!(
        ended.result(&uts::program()).expect("it is a result").0,
        size
    );
    let completed: u64 = all_counts.iter().map(|counts| counts.completed).sum();
    assert_eq!(completed, ended.status.done);
    assert!(completed > 1, "it was never divided: {all_counts:?}");
    assert!(ended.results.len() < 128, "they are combined");
}

#[test]
fn lost_requests_and_replies_change_nothing() {
    let (tree, size) = tree();
    for seed in 1..=2 {
        let flaky = Arc::new(Flaky::new(16, seed));
        let pool: Arc<dyn LeasePool> = flaky.clone();
        let mut job = job("uts", Duration::from_millis(40));
        // Leases whose replies are lost expire. The limit is high so that no task is set aside
        // because of that.
        job.terms.tries = 1000;
        while submit(&*pool, &job, [Search::whole(tree)]).is_err() {}
        while flaky
            .pool
            .status(&job.id)
            .expect("it is there")
            .expect("it was submitted")
            .state
            == State::Running
        {
            work(&pool, 2);
        }
        let ended = follow(&*pool, &job.id, Duration::from_secs(60), |_| {}).expect("it is over");
        assert_eq!(
            ended.result(&uts::program()).expect("it is a result").0,
            size
        );
        assert_eq!(ended.status.aside, 0);
    }
}

#[test]
fn tasks_that_panic_or_are_malformed_or_give_too_much_are_set_aside() {
    let pool: Arc<dyn LeasePool> = Arc::new(Memory::default());
    let job = job("odd", Duration::from_secs(60));
    let mut tasks: Vec<Vec<u8>> = [Odd::Fine, Odd::Panics, Odd::Bloated, Odd::Many(5000)]
        .iter()
        .map(|task| crate::Parcel::of(task).encode())
        .collect();
    tasks.push(vec![0xFF; 10]);
    let stranger = crate::Parcel::new("stranger", Vec::new());
    tasks.push(stranger.encode());
    let order = crate::leases::Order::whole(job, tasks);
    pool.submit(&order).expect("it is new");
    work(&pool, 2);
    let status = status(&pool);
    assert_eq!((status.state, status.aside), (State::Done, 4), "{status:?}");
    for reason in [
        "panicked",
        "a result of",
        "malformed",
        "no kind \"stranger\"",
    ] {
        let found = status
            .reasons
            .iter()
            .any(|aside| aside.reason.contains(reason));
        assert!(found, "{reason}: {:?}", status.reasons);
    }
    let ended = follow(&*pool, &status.job.id, Duration::ZERO, |_| {}).expect("it is over");
    let (Sum(ran), _) = ended.result(&odd()).expect("it is a result");
    assert_eq!(ran, 5002, "one that is fine, and one that spawned 5000");
}

/// Runs a job of `odd` with one first task on this many workers. Returns its result and status.
fn outcome(workers: usize, job: &JobInfo, task: Odd) -> (u64, Status) {
    let pool: Arc<dyn LeasePool> = Arc::new(Memory::default());
    submit(&*pool, job, [task]).expect("it is new");
    work(&pool, workers);
    let ended = follow(&*pool, &job.id, Duration::ZERO, |_| {}).expect("it is over");
    let (Sum(ran), _) = ended.result(&odd()).expect("it is a result");
    (ran, ended.status)
}

#[test]
fn of_ten_thousand_leaves_one_that_panics_costs_one() {
    let job = job("odd", Duration::from_secs(60));
    for workers in [1, 3] {
        let (ran, status) = outcome(workers, &job, Odd::OneBad(10_000, 7_777));
        assert_eq!((ran, status.aside), (10_000, 1), "{:?}", status.reasons);
        let Aside {
            attempts, reason, ..
        } = &status.reasons[0];
        assert_eq!(*attempts, 3);
        assert!(reason.contains("as it does"), "{reason}");
    }
}
