//! Programs written after the descriptions of reported deadlocks and stack overflows. All of them
//! end if their tasks run one after another on one thread.

use std::sync::{Mutex, OnceLock, RwLock};

use rayon::prelude::*;

const DONE: &str = "done";

/// Computes for about a microsecond.
pub(crate) fn work(number: u64) -> u64 {
    (0..200).fold(number, |value, step| {
        value.wrapping_mul(31).rotate_left(7) ^ step
    })
}

/// Runs a parallel loop of short steps.
fn inner_loop(length: u64) -> u64 {
    (0..length)
        .into_par_iter()
        .map(work)
        .reduce(|| 0, u64::wrapping_add)
}

/// rayon 592: a lock is held around a parallel loop, inside of a parallel loop.
pub(crate) fn mutex(pool: &rayon::ThreadPool) -> String {
    let sums = Mutex::new(Vec::new());
    pool.install(|| {
        (0..16).into_par_iter().for_each(|_| {
            let mut sums = sums.lock().unwrap();
            sums.push(inner_loop(64));
        });
    });
    let sums = sums.into_inner().unwrap();
    assert!(sums.len() == 16 && sums.iter().all(|&sum| sum == sums[0]));
    DONE.to_owned()
}

/// rayon 854: a scope with many tasks, each of which has a parallel loop over data in its frame. A
/// thread that waits for a part of one loop takes another task, which waits in turn, until its
/// stack is full.
pub(crate) fn spawns(pool: &rayon::ThreadPool) -> String {
    const TASKS: u64 = 200;
    let sums = Mutex::new(0_u64);
    pool.scope(|scope| {
        for _ in 0..TASKS {
            scope.spawn(|_| {
                let mut frame = [0_u64; 1024];
                let parts = frame.par_chunks_mut(32).enumerate();
                parts.for_each(|(index, part)| part.fill(work(index as u64)));
                let sum = frame.into_iter().fold(0, u64::wrapping_add);
                let mut sums = sums.lock().unwrap();
                *sums = sums.wrapping_add(sum);
            });
        }
    });
    let one = (0..32).map(|index| work(index).wrapping_mul(32));
    let one = one.fold(0, u64::wrapping_add);
    assert_eq!(sums.into_inner().unwrap(), one.wrapping_mul(TASKS));
    DONE.to_owned()
}

/// rayon 1142: an iterator under `par_bridge` uses the pool itself.
pub(crate) fn bridge(pool: &rayon::ThreadPool) -> String {
    const ITEMS: usize = 500;
    pool.broadcast(|_| {
        let mut pairs: Vec<(usize, String)> = (0..ITEMS)
            .into_par_iter()
            .flat_map(|i| {
                std::iter::once_with(move || rayon::join(move || i, move || i.to_string()))
                    .par_bridge()
            })
            .collect();
        pairs.par_sort_unstable();
        assert!(pairs.into_iter().map(|(number, _)| number).eq(0..ITEMS));
    });
    DONE.to_owned()
}

/// rayon 1205: tasks that hold a read lock around a parallel loop, and a waiting writer, for which
/// the lock blocks all further readers.
pub(crate) fn rwlock(pool: &rayon::ThreadPool) -> String {
    let engine = RwLock::new(0_u64);
    std::thread::scope(|threads| {
        threads.spawn(|| {
            for _ in 0..8 {
                *engine.write().unwrap() += 1;
                std::thread::yield_now();
            }
        });
        pool.scope(|scope| {
            for _ in 0..16 {
                scope.spawn(|_| {
                    let engine = engine.read().unwrap();
                    assert!(*engine <= 8 && inner_loop(64) != 0);
                });
            }
        });
    });
    assert_eq!(engine.into_inner().unwrap(), 8);
    DONE.to_owned()
}

/// rayon 1251 and the like: a value that is computed once, by a parallel loop, when the first of
/// many tasks needs it.
pub(crate) fn once(pool: &rayon::ThreadPool) -> String {
    let value = OnceLock::new();
    pool.install(|| {
        (0..16_u64).into_par_iter().for_each(|_| {
            assert_ne!(*value.get_or_init(|| inner_loop(256)), 0);
        });
    });
    DONE.to_owned()
}

/// Readers and one writer in a parallel loop. Each of them computes in parallel while it holds the
/// lock.
pub(crate) fn readers(pool: &rayon::ThreadPool) -> String {
    let table = RwLock::new(0_u64);
    pool.install(|| {
        (0..32_u64).into_par_iter().for_each(|item| {
            if item == 13 {
                let mut table = table.write().unwrap();
                *table = inner_loop(64);
            } else {
                let table = table.read().unwrap();
                assert!(*table != 1 && inner_loop(32) != 0);
            }
        });
    });
    assert_ne!(table.into_inner().unwrap(), 0);
    DONE.to_owned()
}

/// rayon 1174: a lock is held while another pool computes.
pub(crate) fn driver(pool: &rayon::ThreadPool) -> String {
    static DRIVER: OnceLock<rayon::ThreadPool> = OnceLock::new();
    let driver = DRIVER.get_or_init(|| {
        let builder = rayon::ThreadPoolBuilder::new().num_threads(pool.current_num_threads());
        builder.build().expect("a pool can be built")
    });
    let calls = Mutex::new(0);
    pool.install(|| {
        (0..16_u64).into_par_iter().for_each(|_| {
            let mut calls = calls.lock().unwrap();
            assert_ne!(driver.install(|| inner_loop(32)), 0);
            *calls += 1;
        });
    });
    assert_eq!(calls.into_inner().unwrap(), 16);
    DONE.to_owned()
}
