//! Continuations on leases: workers as threads, with a pool in memory.

use super::tests::{job, setup};
use super::*;
use crate::leases::flaky::Flaky;
use crate::leases::{Memory, State, follow, submit};
use crate::programs::merge_sort::{self, Sort};
use crate::tangle::{self, RandomTask};
use crate::{Parcel, Sum};

/// A quantum that is long enough for a task to begin, and for little else.
const SHORT: Duration = Duration::from_micros(300);

/// Runs this many workers until each has been idle for a moment.
fn work(pool: &Arc<dyn LeasePool>, workers: usize, quantum: Duration) {
    let serve_one = |number: usize| {
        let mut setup = setup(&format!("w{number}"), 2);
        setup.quantum = quantum;
        setup.catalogue = Catalogue::default()
            .with(tangle::program())
            .with(merge_sort::program());
        let pool = pool.clone();
        thread::spawn(move || serve(pool, setup, &Stop::default(), |_| {}))
    };
    let threads: Vec<_> = (0..workers).map(serve_one).collect();
    for thread in threads {
        let _ = thread.join().expect("it does not panic");
    }
}

fn tasks(panics: u64) -> Vec<RandomTask> {
    let task = |seed| RandomTask {
        panics,
        ..RandomTask::new(seed, 4)
    };
    (0..12).map(task).collect()
}

/// Runs random tasks until they are done, and compares the result. Returns the number of leases.
fn run_to_end(flaky: Flaky<Memory>, panics: u64, quantum: Duration) -> u64 {
    let flaky = Arc::new(flaky);
    let pool: Arc<dyn LeasePool> = flaky.clone();
    // Leases expire only if their replies are lost.
    let lease = if flaky.one_in < u64::MAX { 100 } else { 60_000 };
    let mut job = job("tangle", Duration::from_millis(lease));
    job.terms.tries = 1000;
    while submit(&*pool, &job, tasks(panics)).is_err() {}
    let status = || flaky.pool.status(&job.id).expect("it is in memory");
    while status().expect("it was submitted").state == State::Running {
        work(&pool, 2, quantum);
    }
    let ended = follow(&flaky.pool, &job.id, Duration::ZERO, |_| {}).expect("it is over");
    let found = ended.result(&tangle::program()).expect("it is a result");
    let expected = tasks(0).iter().map(RandomTask::whole).sum();
    assert_eq!((found, ended.status.aside), (Sum(expected), 0));
    ended.status.done
}

/// With a short quantum most spawned tasks are handed over, and groups are spread over leases.
#[test]
fn continuations_are_exact_when_groups_are_torn_apart() {
    let done = run_to_end(Flaky::new(u64::MAX, 1), 0, SHORT);
    assert!(done > 30, "they were: {done} leases");
    run_to_end(Flaky::new(u64::MAX, 1), 0, Duration::from_millis(1));
}

#[test]
fn continuations_are_exact_when_tasks_panic() {
    for quantum in [SHORT, Duration::from_millis(2)] {
        run_to_end(Flaky::new(u64::MAX, 1), 40, quantum);
    }
}

#[test]
fn continuations_are_exact_when_requests_and_replies_are_lost() {
    run_to_end(Flaky::new(16, 1), 60, SHORT);
}

/// A task of a group that is set aside leaves its slot empty, and the job ends without the rest.
#[test]
fn a_job_ends_without_a_continuation_whose_input_was_set_aside() {
    let memory = Arc::new(Memory::default());
    let pool: Arc<dyn LeasePool> = memory.clone();
    let mut job = job("tangle", Duration::from_secs(60));
    job.terms.tries = 1;
    let always = RandomTask {
        panics: 1,
        ..RandomTask::new(3, 4)
    };
    submit(&*pool, &job, [always]).expect("it is new");
    work(&pool, 1, SHORT);
    let status = pool.status(&job.id).expect("it is in memory");
    let status = status.expect("it was submitted");
    assert_eq!((status.state, status.aside > 0), (State::Done, true));
}

/// Inputs may be as large as results, though together they are larger than a task.
#[test]
fn a_continuation_may_be_larger_than_a_task() {
    let memory = Arc::new(Memory::default());
    let pool: Arc<dyn LeasePool> = memory.clone();
    let mut job = job("merge-sort", Duration::from_secs(60));
    job.terms.limits.task = 200;
    let sort = Sort {
        seed: 5,
        from: 0,
        to: 3000,
        grain: 100,
    };
    assert!(Parcel::of(&sort).encode().len() < 200);
    submit(&*pool, &job, [sort]).expect("it is new");
    work(&pool, 2, SHORT);
    let ended = follow(&*memory, &job.id, Duration::ZERO, |_| {}).expect("it is over");
    let found = ended
        .result(&merge_sort::program())
        .expect("it is a result");
    assert_eq!(found, merge_sort::expected(5, 3000));
}
