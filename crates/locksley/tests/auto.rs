//! The strategy that chooses: it goes over to sharing where one worker makes all the work, and back where
//! everybody has some. Whatever it does, every job runs once.
#![cfg(all(not(loom), feature = "stats"))]

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use locksley::{Pool, Strategy, Waiting};

/// More workers than the machine may have processors, but the pool is told that there are enough.
const WORKERS: usize = 8;

fn pool(waiting: Waiting) -> Pool {
    let builder = Pool::builder().workers(WORKERS).processors(WORKERS);
    let builder = builder.strategy(Strategy::auto(2)).waiting(waiting);
    builder.build().expect("the pool starts")
}

/// A chain that forks one small job at a time.
fn chain(links: usize) -> usize {
    match links {
        0 => 0,
        _ => {
            let (rest, one) = locksley::join(|| chain(links - 1), || 1);
            rest + one
        }
    }
}

/// How often a worker has tried to give a job away so far.
fn spreads(pool: &Pool) -> u64 {
    let total = pool.stats().total();
    total.offered + total.refused
}

/// One worker works, and the others have next to nothing to do.
fn one_works(pool: &Pool) {
    assert_eq!(pool.install(|| chain(300)), 300);
}

/// Every worker is in a job of its own, and stays there until all are.
fn all_work(pool: &Pool) {
    let begun = AtomicUsize::new(0);
    pool.broadcast(|_| {
        begun.fetch_add(1, Ordering::AcqRel);
        while begun.load(Ordering::Acquire) < WORKERS {
            thread::yield_now();
        }
        assert_eq!(chain(300), 300);
        begun.fetch_add(1, Ordering::AcqRel);
        while begun.load(Ordering::Acquire) < 2 * WORKERS {
            thread::yield_now();
        }
    });
}

/// Repeats something until a condition holds, which is as good as never not to if it has not by then.
fn until(pool: &Pool, work: fn(&Pool), done: impl Fn(&Pool) -> bool) {
    let came = (0..5000).any(|_| {
        work(pool);
        done(pool)
    });
    assert!(came, "{}", pool.stats());
}

#[test]
fn it_shares_when_one_works_and_ceases_when_all_do() {
    let pool = pool(Waiting::Leapfrog);
    all_work(&pool);
    assert_eq!(spreads(&pool), 0, "it begins with stealing");
    until(&pool, one_works, |pool| spreads(pool) > 0);
    assert!(pool.stats().total().shifts > 0);
    let before = Cell::new(spreads(&pool));
    until(&pool, all_work, |pool| {
        before.replace(spreads(pool)) == spreads(pool)
    });
}

#[test]
fn every_job_runs_once_while_it_changes_its_mind() {
    for waiting in [Waiting::Leapfrog, Waiting::TakeAny] {
        let pool = pool(waiting);
        let done = AtomicUsize::new(0);
        for _ in 0..20 {
            one_works(&pool);
            pool.scope(|s| {
                for _ in 0..1000 {
                    s.spawn(|_| {
                        done.fetch_add(chain(1), Ordering::Relaxed);
                    });
                }
            });
            all_work(&pool);
        }
        assert_eq!(done.into_inner(), 20_000);
    }
}
