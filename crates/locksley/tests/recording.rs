//! A recording has the program's structure, whichever workers ran it.
#![cfg(not(loom))]

mod support;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use locksley::{Pool, Recording, Strategy, Waiting};

use support::fib;

/// [`fib`] for tasks, which return nothing.
fn forks(n: u64) {
    fib(n);
}

/// Tasks that spawn tasks into the same scope, each of which forks.
fn bushes(s: &locksley::Scope<'_>, depth: u64) {
    for below in 0..depth {
        s.spawn(move |s| {
            fib(below);
            bushes(s, below);
        });
    }
}

fn recording_pool(workers: usize, strategy: Strategy, waiting: Waiting) -> Pool {
    let builder = Pool::builder().workers(workers).strategy(strategy);
    let pool = builder.waiting(waiting).record(true).build();
    pool.expect("the pool starts")
}

/// Records a program under every strategy, and asserts that the structure is always the same.
/// Returns it.
fn structure(program: impl Fn(&Pool)) -> String {
    let mut first = None;
    for strategy in Strategy::ALL {
        for (workers, waiting) in [
            (1, Waiting::Leapfrog),
            (2, Waiting::TakeAny),
            (5, Waiting::Leapfrog),
        ] {
            let pool = recording_pool(workers, strategy, waiting);
            program(&pool);
            let recording = pool.take_recording().expect("something was run");
            let json = recording.to_json(Duration::MAX);
            let first = first.get_or_insert_with(|| json.clone());
            assert_eq!(json, *first, "{strategy}, {workers} workers");
        }
    }
    first.expect("there are strategies")
}

fn record(program: impl FnOnce(&Pool)) -> Recording {
    let pool = recording_pool(2, Strategy::default(), Waiting::default());
    program(&pool);
    pool.take_recording().expect("something was run")
}

#[test]
fn joins_are_recorded_alike_under_every_strategy() {
    let json = structure(|pool| assert_eq!(pool.install(|| fib(13)), 233));
    // One fork for each call with n of 2 or more: F(14) - 1.
    assert_eq!(json.matches("\"id\"").count(), 3 * 376 + 1);
}

#[test]
fn scopes_are_recorded_alike_under_every_strategy() {
    structure(|pool| {
        pool.scope(|s| {
            bushes(s, 5);
            locksley::scope(|s| bushes(s, 3));
            // From inside a join, into the scope around it.
            locksley::join(|| s.spawn(|_| forks(4)), || fib(5));
        });
    });
}

#[test]
fn tasks_in_order_are_recorded_alike_under_every_strategy() {
    structure(|pool| {
        pool.scope_fifo(|s| {
            for n in 0..8 {
                s.spawn_fifo(move |_| forks(n));
            }
        });
    });
}

#[test]
fn a_scope_is_drawn_with_its_tasks_leading_to_its_end() {
    let recording = record(|pool| pool.scope(|s| s.spawn(|_| ())));
    let expected = r#"{"format": "locksley-dag/1", "nodes": [
{"id": "0", "next": ["2"]},
{"id": "1"},
{"id": "2", "next": ["3", "4"]},
{"id": "3", "next": ["1"]},
{"id": "4", "next": ["1"]}
]}
"#;
    assert_eq!(recording.to_json(Duration::MAX), expected);
}

#[test]
fn runs_follow_each_other() {
    let recording = record(|pool| {
        for n in [3, 4, 5] {
            pool.install(|| fib(n));
        }
    });
    assert_eq!(recording.forks(), 2 + 4 + 7);
    let json = recording.to_json(Duration::MAX);
    let sinks = json.lines().filter(|line| line.contains("id"));
    let sinks = sinks.filter(|line| !line.contains("next")).count();
    assert_eq!(sinks, 1);
}

fn panics(n: u64) {
    match n {
        0 => panic!("on purpose"),
        n => forks(n),
    }
}

#[test]
fn a_panic_ends_a_strand_and_no_more() {
    let json = structure(|pool| {
        let attempt = |f: &(dyn Fn() + Sync)| {
            let result = catch_unwind(AssertUnwindSafe(|| pool.install(f)));
            assert!(result.is_err());
        };
        attempt(&|| _ = locksley::join(|| panics(0), || fib(5)));
        attempt(&|| _ = locksley::join(|| fib(5), || panics(0)));
        attempt(&|| _ = locksley::join(|| panics(0), || panics(0)));
        attempt(&|| {
            locksley::scope(|s| {
                s.spawn(|_| panics(0));
                s.spawn(|_| panics(4));
                fib(3);
                panic!("on purpose");
            });
        });
        pool.install(|| {
            let caught = catch_unwind(|| locksley::join(|| fib(2), || panics(0)));
            assert!(caught.is_err());
            fib(3)
        });
    });
    // fib(2), fib(3), fib(4) and fib(5) fork 1, 2, 4 and 7 times.
    let forks = (1 + 7) + (1 + 7) + 1 + (2 + 4 + 2) + (1 + 1 + 2);
    // A node that forks has the names of two others after its own.
    let forking = json.lines().filter(|line| line.matches('"').count() == 10);
    assert_eq!(forking.count(), forks);
}

#[test]
fn what_is_spawned_from_outside_is_not_recorded() {
    let recording = record(|pool| {
        pool.spawn(|| fib(10)).join();
        pool.install(|| fib(3));
        pool.in_place_scope(|s| s.spawn(|_| forks(5)));
    });
    assert_eq!(recording.forks(), 2);
}

#[test]
fn spawned_tasks_are_recorded_alike_under_every_strategy() {
    let json = structure(|pool| {
        pool.install(|| {
            let handles: Vec<_> = (0..5).map(|n| locksley::spawn(move || fib(n))).collect();
            fib(3);
            locksley::yield_now();
            let near = locksley::spawn_near(1, || locksley::spawn_fifo(|| fib(4)));
            handles.into_iter().for_each(|handle| _ = handle.join());
            // A task of a task, which another strand waits for.
            let (_, inner) = locksley::join(|| fib(2), || near.join());
            locksley::block_on(inner)
        });
    });
    let forking = json.lines().filter(|line| line.matches('"').count() == 10);
    // Seven tasks, and the joins of them and of the rest: fib(2), fib(3) and fib(4) fork 1, 2 and 4
    // times.
    assert_eq!(forking.count(), 7 + (1 + 2 + 4) + 2 + 4 + (1 + 1));
}

#[test]
fn a_spawned_task_leads_to_where_it_is_joined() {
    let recording = record(|pool| pool.install(|| locksley::spawn(|| ()).join()));
    let expected = r#"{"format": "locksley-dag/1", "nodes": [
{"id": "0", "next": ["1", "3"]},
{"id": "1", "next": ["2"]},
{"id": "2"},
{"id": "3", "next": ["2"]}
]}
"#;
    assert_eq!(recording.to_json(Duration::MAX), expected);
}

#[test]
fn a_call_within_the_pool_is_a_part_of_what_calls() {
    let recording = record(|pool| {
        pool.install(|| pool.install(|| fib(3)) + pool.run(|_| fib(3)));
    });
    assert_eq!(recording.forks(), 4);
    // One run only: one node, and three more for each fork.
    let json = recording.to_json(Duration::MAX);
    assert_eq!(json.matches("\"id\"").count(), 3 * 4 + 1);
}

#[test]
fn another_pool_records_for_itself() {
    let other = recording_pool(2, Strategy::default(), Waiting::default());
    let recording = record(|pool| {
        pool.install(|| fib(3) + other.install(|| fib(5)));
    });
    assert_eq!(recording.forks(), 2);
    assert_eq!(other.take_recording().map(|r| r.forks()), Some(7));
}

#[test]
fn an_adopted_thread_records_what_it_runs() {
    let adopted = std::thread::spawn(|| {
        let builder = Pool::builder().workers(2).use_current_thread().record(true);
        let pool = builder.build().expect("the pool starts");
        pool.install(|| fib(6));
        pool.take_recording().map(|recording| recording.forks())
    });
    assert_eq!(adopted.join().expect("no panic"), Some(12));
}

#[test]
fn recursion_deeper_than_the_stack_of_the_reader() {
    fn chain(n: u32) -> u32 {
        match n {
            0 => 0,
            n => 1 + locksley::join(|| chain(n - 1), || ()).0,
        }
    }
    let builder = Pool::builder().workers(1).stack_size(1 << 30).record(true);
    let pool = builder.build().expect("the pool starts");
    let depth = 100_000;
    assert_eq!(pool.install(|| chain(depth)), depth);
    let recording = pool.take_recording().expect("something was run");
    let reader = std::thread::Builder::new().stack_size(64 << 10);
    let read = reader.spawn(move || recording.forks()).expect("a thread");
    assert_eq!(read.join().expect("no overflow"), depth as usize);
}

#[test]
fn a_pool_records_only_if_it_is_told_to() {
    let pool = Pool::builder().workers(2).build().expect("the pool starts");
    pool.install(|| fib(5));
    assert!(pool.take_recording().is_none());
    let pool = recording_pool(2, Strategy::default(), Waiting::default());
    assert!(pool.take_recording().is_none(), "nothing was run");
}

/// Like [`structure`], with [`Pool::record`] in pools that do not record otherwise.
fn structure_of_calls(program: impl Fn() + Sync) -> String {
    let mut first = None;
    for strategy in Strategy::ALL {
        for (workers, waiting) in [(1, Waiting::Leapfrog), (3, Waiting::TakeAny)] {
            let builder = Pool::builder().workers(workers).strategy(strategy);
            let pool = builder.waiting(waiting).build().expect("the pool starts");
            let ((), recording) = pool.record(&program);
            let json = recording.to_json(Duration::MAX);
            assert_eq!(
                *first.get_or_insert_with(|| json.clone()),
                json,
                "{strategy}"
            );
            // A second recording, from inside the pool, is the same.
            let ((), again) = pool.install(|| pool.record(&program));
            assert_eq!(again.to_json(Duration::MAX), json, "{strategy}, again");
            assert!(pool.take_recording().is_none());
        }
    }
    first.expect("there are strategies")
}

#[test]
fn a_call_is_recorded_as_a_pool_that_records_does() {
    let program = || {
        fib(9);
        locksley::scope(|s| bushes(s, 4));
        fib(5);
    };
    let json = structure_of_calls(program);
    assert_eq!(structure(|pool| pool.install(program)), json);
}

/// Whatever a strand does to its worker's queue, its next fork is recorded.
#[test]
fn no_fork_is_missed_between_other_things() {
    structure_of_calls(|| {
        fib(4);
        drop(locksley::spawn(|| fib(6)));
        fib(4);
        locksley::spawn(|| fib(6)).join();
        fib(4);
        locksley::spawn_near(0, || fib(6)).join();
        drop(locksley::spawn_fifo(|| fib(6)));
        fib(4);
        locksley::yield_now();
        fib(4);
        locksley::block_on(locksley::spawn(|| fib(6)));
        fib(4);
        locksley::scope(|s| {
            s.spawn(|_| forks(3));
            fib(4);
            s.spawn_near(1, |_| forks(3));
            locksley::yield_local();
            fib(4);
        });
        for _ in 0..100 {
            drop(locksley::spawn(|| ()));
            locksley::join(|| (), || ());
        }
    });
}

#[test]
fn a_call_within_another_is_a_part_of_it() {
    for strategy in Strategy::ALL {
        let pool = Pool::builder().workers(2).strategy(strategy).build();
        let pool = pool.expect("the pool starts");
        let (inner, outer) = pool.record(|| {
            fib(3);
            let (_, inner) = pool.record(|| fib(6));
            locksley::join(|| pool.record(|| fib(4)).1.forks(), || fib(4)).0 + inner.forks()
        });
        assert_eq!(inner, 12 + 4, "{strategy}");
        assert_eq!(outer.forks(), 2 + 12 + 1 + 4 + 4, "{strategy}");
    }
}

#[test]
fn calls_at_the_same_time_record_what_is_theirs() {
    for strategy in Strategy::ALL {
        let pool = Pool::builder().workers(3).strategy(strategy).build();
        let pool = pool.expect("the pool starts");
        std::thread::scope(|threads| {
            for n in [3, 7, 10, 12] {
                let pool = &pool;
                threads.spawn(move || {
                    for _ in 0..20 {
                        let (value, recording) = pool.record(|| fib(n));
                        pool.install(|| fib(8));
                        let forks = [0, 0, 1, 2, 4, 7, 12, 20, 33, 54, 88, 143, 232];
                        assert_eq!(recording.forks(), forks[n as usize], "{strategy}");
                        assert!(value > 0);
                    }
                });
            }
        });
    }
}

#[test]
fn a_call_that_panics_leaves_nothing_behind() {
    for strategy in Strategy::ALL {
        let pool = Pool::builder().workers(2).strategy(strategy).build();
        let pool = pool.expect("the pool starts");
        for _ in 0..20 {
            let program = || locksley::join(|| fib(5), || panics(0));
            assert!(catch_unwind(AssertUnwindSafe(|| pool.record(program))).is_err());
            let (caught, outer) = pool.record(|| {
                let caught = catch_unwind(AssertUnwindSafe(|| pool.record(program)));
                fib(3);
                caught.is_err()
            });
            assert!(caught);
            assert_eq!(outer.forks(), 1 + 7 + 2, "{strategy}");
            assert_eq!(pool.install(|| fib(10)), 55);
        }
    }
}

#[test]
fn tasks_that_were_cancelled_are_not_there() {
    let json = structure_of_calls(|| {
        locksley::scope(|s| {
            s.cancel();
            (0..5).for_each(|_| s.spawn(|_| forks(5)));
            fib(3);
        });
    });
    let forking = json.lines().filter(|line| line.matches('"').count() == 10);
    assert_eq!(forking.count(), 2);
}
