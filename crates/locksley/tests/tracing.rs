//! A trace shows what the workers did, under every strategy.
#![cfg(all(feature = "stats", not(loom)))]

mod support;

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use locksley::{Pool, Strategy, Trace, Waiting, WorkerStats};
use locksley_trace::{Activity, Arrow, Subject, TraceEvent};

use support::fib;

/// Joins, scopes, spawned tasks, broadcasts, and a job that must be stolen: two closures wait for
/// each other.
fn mixture(pool: &Pool) {
    pool.install(|| {
        fib(18);
        let met = AtomicBool::new(false);
        locksley::join(
            || {
                while !met.load(Ordering::Acquire) {
                    // Under some strategies a worker exposes jobs only when it forks.
                    locksley::join(std::thread::yield_now, || ());
                }
            },
            || met.store(true, Ordering::Release),
        );
        let sum = AtomicUsize::new(0);
        locksley::scope(|s| {
            for part in 0..200 {
                let sum = &sum;
                s.spawn_near(part, move |_| {
                    sum.fetch_add(fib(5) as usize, Ordering::Relaxed);
                });
            }
        });
        assert_eq!(sum.into_inner(), 1000);
        assert_eq!(locksley::spawn(|| fib(10)).join(), 55);
    });
    pool.broadcast(|_| ());
}

fn traced(workers: usize, strategy: Strategy, waiting: Waiting, capacity: usize) -> Pool {
    let builder = Pool::builder().workers(workers).strategy(strategy);
    let pool = builder.waiting(waiting).trace(capacity).build();
    pool.expect("the pool starts")
}

/// Returns the slices of each thread, outer ones first, as (thread, since, until, name), in
/// nanoseconds.
fn slices(trace: &Trace) -> Vec<(u32, i64, i64, &str)> {
    let nanos = |micros: f64| (micros * 1000.0).round() as i64;
    let mut slices = Vec::new();
    for event in &trace.events {
        if let TraceEvent::Slice {
            name, ts, dur, tid, ..
        } = event
        {
            slices.push((*tid, nanos(*ts), nanos(*ts) + nanos(*dur), name.as_ref()));
        }
    }
    slices.sort_by_key(|&(tid, since, until, _)| (tid, since, -until));
    slices
}

fn count_slices(trace: &Trace, activity: Activity) -> usize {
    let slices = slices(trace).into_iter();
    slices.filter(|slice| slice.3 == activity.name()).count()
}

/// Checks that slices nest, and that idle slices do not contain work.
fn check_nesting(trace: &Trace) {
    let mut around: Vec<(u32, i64, i64, &str)> = Vec::new();
    for slice in slices(trace) {
        assert!(slice.1 <= slice.2, "{slice:?}");
        around.retain(|outer| outer.0 == slice.0 && outer.2 > slice.1);
        for outer in &around {
            assert!(slice.2 <= outer.2, "{slice:?} cuts {outer:?}");
            let idle = outer.3 == Activity::Idle.name();
            assert!(
                !idle || slice.3 == Activity::Parked.name(),
                "{slice:?} in {outer:?}"
            );
        }
        around.push(slice);
    }
}

/// Checks that each arrow has two ends, on different threads with names, the second not before the
/// first. Returns the number of arrows of a kind.
fn check_arrows(trace: &Trace, kind: Arrow) -> u64 {
    let mut named = Vec::new();
    let (mut left, mut arrived) = (Vec::new(), Vec::new());
    for event in &trace.events {
        match event {
            TraceEvent::Name { name, tid, .. } if *name == Subject::Thread => named.push(*tid),
            TraceEvent::Left {
                cat, id, ts, tid, ..
            } if cat == kind.name() => left.push((*id, *tid, *ts)),
            TraceEvent::Arrived {
                cat, id, ts, tid, ..
            } if cat == kind.name() => arrived.push((*id, *tid, *ts)),
            _ => {}
        }
    }
    assert_eq!(left.len(), arrived.len());
    left.sort_by_key(|end| end.0);
    arrived.sort_by_key(|end| end.0);
    for (from, to) in left.iter().zip(&arrived) {
        assert_eq!(from.0, to.0);
        assert_ne!(from.1, to.1, "{kind:?} to oneself");
        assert!(from.2 <= to.2, "{kind:?} arrives before it leaves");
        assert!(named.contains(&from.1) && named.contains(&to.1));
    }
    left.len() as u64
}

/// Checks that every arrow leads to a slice, or to the point where the next one begins: a worker
/// may take a job right after another one, between the two slices.
fn check_landings(trace: &Trace) {
    let slices = slices(trace);
    for event in &trace.events {
        if let TraceEvent::Arrived { name, ts, tid, .. } = event {
            let at = (ts * 1000.0).round() as i64;
            let mut around = slices.iter().filter(|slice| slice.0 == *tid);
            let lands = around.any(|slice| at <= slice.2);
            assert!(lands, "{name} arrives nowhere");
        }
    }
}

/// Returns the number of jobs in a trace. A job that was under way when the last trace was taken
/// goes on where that trace ended, and is not counted again.
fn count_jobs(trace: &Trace, last: Option<&Trace>) -> u64 {
    let is_work = |slice: &(u32, i64, i64, &str)| slice.3 == Activity::Work.name();
    let before: Vec<_> = last.map(slices).unwrap_or_default();
    let goes_on = |slice: &(u32, i64, i64, &str)| {
        let mut before = before.iter().filter(|before| is_work(before));
        before.any(|before| (before.0, before.2) == (slice.0, slice.1))
    };
    let new = slices(trace).into_iter().filter(is_work);
    new.filter(|slice| !goes_on(slice)).count() as u64
}

/// Returns the counts of steals, donations, dealings and jobs.
fn counted(stats: WorkerStats) -> [u64; 4] {
    [stats.steals, stats.accepted, stats.collected, stats.tasks]
}

/// Takes traces until their events match the counters: the workers go on meanwhile.
fn settle(pool: &Pool, what: &str) -> Vec<Trace> {
    let (mut traces, mut told, start) = (Vec::new(), [0; 4], Instant::now());
    loop {
        let trace = pool.take_trace();
        check_nesting(&trace);
        check_landings(&trace);
        assert_eq!(trace.source.lost, 0, "{what}");
        for (sum, kind) in told
            .iter_mut()
            .zip([Arrow::Steal, Arrow::Donation, Arrow::Dealing])
        {
            *sum += check_arrows(&trace, kind);
        }
        told[3] += count_jobs(&trace, traces.last());
        traces.push(trace);
        let counted = counted(pool.stats().total());
        if told == counted {
            return traces;
        }
        let patience = Duration::from_secs(30);
        assert!(
            start.elapsed() < patience,
            "{what}: told {told:?}, counted {counted:?}"
        );
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn a_trace_tells_what_the_counters_count() {
    for strategy in Strategy::ALL {
        for (workers, waiting) in [
            (2, Waiting::Leapfrog),
            (2, Waiting::TakeAny),
            (4, Waiting::Leapfrog),
        ] {
            let pool = traced(workers, strategy, waiting, 1 << 16);
            mixture(&pool);
            let traces = settle(&pool, &format!("{strategy}, {workers}, {waiting:?}"));
            let moved: u64 = counted(pool.stats().total())[..3].iter().sum();
            assert!(moved >= 1, "{strategy}: something had to move");
            let names = &traces[0].events;
            let names = names
                .iter()
                .filter(|e| matches!(e, TraceEvent::Name { .. }));
            assert!(names.count() > workers, "{strategy}");
        }
    }
}

#[test]
fn the_workers_rest_is_drawn() {
    let pool = traced(2, Strategy::default(), Waiting::default(), 1 << 16);
    mixture(&pool);
    while pool
        .stats()
        .workers()
        .iter()
        .any(|worker| worker.parks == 0)
    {
        std::thread::yield_now();
    }
    let trace = pool.take_trace();
    for activity in [Activity::Idle, Activity::Parked, Activity::Wait] {
        assert!(count_slices(&trace, activity) >= 1, "{activity:?}");
    }
    let counters = trace.events.iter().filter_map(|event| match event {
        TraceEvent::Counter { args, .. } => Some(args),
        _ => None,
    });
    let counters: Vec<_> = counters.collect();
    assert!(counters.iter().any(|load| load.busy > 0.0));
    assert!(
        counters
            .iter()
            .all(|load| load.busy <= 2.001 && load.mean <= load.max)
    );
}

/// A task that is under way is drawn up to the present, and goes on in the next trace.
#[test]
fn a_trace_can_be_taken_in_the_middle() {
    let pool = traced(2, Strategy::default(), Waiting::default(), 1000);
    let (begun, seen) = (Barrier::new(2), Barrier::new(2));
    std::thread::scope(|threads| {
        threads.spawn(|| {
            pool.install(|| {
                begun.wait();
                seen.wait();
            });
        });
        begun.wait();
        let trace = pool.take_trace();
        seen.wait();
        assert_eq!(count_slices(&trace, Activity::Work), 1);
    });
    let rest = pool.take_trace();
    assert_eq!(count_slices(&rest, Activity::Work), 1);
    check_nesting(&rest);
}

#[test]
fn no_more_is_kept_than_there_is_room_for() {
    for capacity in [1, 7, 100] {
        let pool = traced(2, Strategy::default(), Waiting::default(), capacity);
        for _ in 0..200 {
            pool.install(|| fib(3));
        }
        let trace = pool.take_trace();
        check_nesting(&trace);
        // An entry ends at most one slice, and a slice found under way was ended or is open.
        let slices = slices(&trace).len();
        assert!(slices <= 2 * (capacity + 3), "{capacity}: {slices}");
        assert!(
            trace.source.lost >= 200 - capacity as u64 * 2,
            "{}",
            trace.source.lost
        );
        let lost = trace
            .events
            .iter()
            .filter(|e| matches!(e, TraceEvent::Instant { .. }));
        assert!(lost.count() >= 1, "where something is missing is shown");
    }
}

/// A thread reads traces all the time, from a ring that is too small.
#[test]
fn reading_beside_the_workers_is_sound() {
    for strategy in Strategy::ALL {
        let pool = traced(3, strategy, Waiting::default(), 5);
        let done = AtomicBool::new(false);
        std::thread::scope(|threads| {
            threads.spawn(|| {
                while !done.load(Ordering::Acquire) {
                    let trace = pool.take_trace();
                    check_nesting(&trace);
                    for kind in Arrow::ALL {
                        check_arrows(&trace, kind);
                    }
                }
            });
            for _ in 0..20 {
                mixture(&pool);
            }
            done.store(true, Ordering::Release);
        });
    }
}

#[test]
fn spares_have_tracks_of_their_own() {
    let pool = traced(1, Strategy::default(), Waiting::default(), 1000);
    let other = Pool::builder().workers(1).build().expect("the pool starts");
    let (barrier, inside) = (Barrier::new(2), AtomicBool::new(false));
    std::thread::scope(|threads| {
        threads.spawn(|| {
            pool.install(|| {
                other.install(|| {
                    inside.store(true, Ordering::Release);
                    barrier.wait();
                });
            });
        });
        while !inside.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
        pool.install(|| barrier.wait());
    });
    let trace = pool.take_trace();
    assert!(trace.to_json().contains("\"spare 1\""));
    assert!(
        slices(&trace)
            .iter()
            .any(|slice| slice.0 == 1 && slice.3 == "work")
    );
}

#[test]
fn what_is_not_traced_is_not_there() {
    for pool in [
        Pool::builder().workers(2).build(),
        Pool::builder().workers(2).trace(100).trace(0).build(),
    ] {
        let pool = pool.expect("the pool starts");
        mixture(&pool);
        assert!(pool.take_trace().is_empty());
    }
}
