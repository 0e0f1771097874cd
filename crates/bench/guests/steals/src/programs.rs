//! Programs that steal often for their size.

use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

use crate::grid::summed;
use crate::spin::{Rate, spin};
use crate::{Caller, Case};

/// Returns the program with this name.
pub(crate) fn find(name: &str, rate: Rate) -> Option<(Caller, Box<dyn Case>)> {
    Some(match name {
        "sort" => (Caller::Prepared, sorted(100_000)),
        "tick" => (Caller::BackToBack, tick(rate)),
        "blake3 64 KiB in" => (Caller::BackToBack, blake3(64 << 10)),
        "blake3 64 KiB out" => (Caller::Outside, blake3(64 << 10)),
        "blake3 1 MiB in" => (Caller::BackToBack, blake3(1 << 20)),
        "blake3 1 MiB out" => (Caller::Outside, blake3(1 << 20)),
        "low parallelism" => (Caller::BackToBack, low_parallelism(rate)),
        "fib" => (Caller::BackToBack, fib(24)),
        "empty tasks" => (Caller::BackToBack, empty_tasks(10_000)),
        "empty tasks out" => (Caller::Outside, empty_tasks_of_outside(1_000)),
        "tree of tasks" => (Caller::BackToBack, tree(10)),
        "broadcast" => (Caller::BackToBack, broadcast(8)),
        "yields" => (Caller::BackToBack, yields(1_000)),
        "mixed joins" => (Caller::BackToBack, mixed_joins(rate)),
        "late start" => (Caller::AfterSleep(100), late_start(8)),
        _ => return None,
    })
}

/// Sorts random numbers, unstably.
struct Sorted {
    input: Vec<u32>,
    expected: Vec<u32>,
    values: Vec<u32>,
}

fn sorted(count: u64) -> Box<dyn Case> {
    let number = |seed| (spin(3, seed) >> 32) as u32;
    let input: Vec<u32> = (0..count).map(number).collect();
    let mut expected = input.clone();
    expected.sort_unstable();
    Box::new(Sorted {
        input,
        expected,
        values: Vec::new(),
    })
}

impl Case for Sorted {
    fn prepare(&mut self) {
        self.values.clone_from(&self.input);
    }

    fn call(&mut self) {
        self.values.par_sort_unstable();
    }

    fn check(&mut self) -> Result<(), String> {
        if self.values == self.expected {
            Ok(())
        } else {
            Err("the numbers are not sorted".to_owned())
        }
    }
}

/// Numbers of tasks of the systems of a game, which run in sequence.
const BURSTS: [u64; 8] = [4, 16, 32, 8, 64, 12, 24, 6];

/// A tick as in a game: a burst of tasks of 2 us for each system, and 10 us of serial work in
/// between.
fn tick(rate: Rate) -> Box<dyn Case> {
    let (task, between) = (rate.steps(2.0), rate.steps(10.0));
    let systems = BURSTS.iter().flat_map(|&burst| 0..burst);
    let expected = systems.fold(
        spin(between, 0).wrapping_mul(BURSTS.len() as u64),
        |sum, seed| sum.wrapping_add(spin(task, seed)),
    );
    summed(expected, move || {
        let sum = AtomicU64::new(0);
        for burst in BURSTS {
            sum.fetch_add(spin(between, 0), Ordering::Relaxed);
            rayon::scope(|scope| {
                for seed in 0..burst {
                    let sum = &sum;
                    scope.spawn(move |_| {
                        sum.fetch_add(spin(task, seed), Ordering::Relaxed);
                    });
                }
            });
        }
        sum.into_inner()
    })
}

/// The hash of `length` bytes, of which the first eight bytes are compared.
fn blake3(length: usize) -> Box<dyn Case> {
    let input: Vec<u8> = (0..length as u64)
        .map(|seed| (spin(2, seed) >> 40) as u8)
        .collect();
    let start = |hash: blake3::Hash| {
        let bytes = hash.as_bytes().first_chunk().expect("a hash has 32 bytes");
        u64::from_le_bytes(*bytes)
    };
    summed(start(blake3::hash(&input)), move || {
        start(blake3::Hasher::new().update_rayon(&input).finalize())
    })
}

/// A busy worker that forks a pair of tasks of 20 us every 200 us.
fn low_parallelism(rate: Rate) -> Box<dyn Case> {
    let (alone, task) = (rate.steps(180.0), rate.steps(20.0));
    let sum = |alone: u64, (a, b): (u64, u64)| alone.wrapping_add(a).wrapping_add(b);
    let expected = sum(spin(alone, 0), (spin(task, 1), spin(task, 2)));
    summed(expected, move || {
        let first = spin(alone, 0);
        sum(first, rayon::join(|| spin(task, 1), || spin(task, 2)))
    })
}

/// As many tasks as there are workers, none of which ends before all have begun.
fn late_start(tasks: u64) -> Box<dyn Case> {
    summed(tasks, move || {
        let (all, met) = (Barrier::new(tasks as usize), AtomicU64::new(0));
        rayon::scope(|scope| {
            for _ in 0..tasks {
                scope.spawn(|_| {
                    all.wait();
                    met.fetch_add(1, Ordering::Relaxed);
                });
            }
        });
        met.into_inner()
    })
}

/// The `n`-th Fibonacci number, which consists of forks only.
fn fib(n: u64) -> Box<dyn Case> {
    fn serial(n: u64) -> u64 {
        if n < 2 {
            n
        } else {
            serial(n - 1) + serial(n - 2)
        }
    }
    fn forked(n: u64) -> u64 {
        if n < 2 {
            return n;
        }
        let (a, b) = rayon::join(|| forked(n - 1), || forked(n - 2));
        a + b
    }
    summed(serial(n), move || forked(n))
}

/// A scope with tasks that only count.
fn empty_tasks(tasks: u64) -> Box<dyn Case> {
    summed(tasks, move || {
        let run = AtomicU64::new(0);
        rayon::scope(|scope| {
            for _ in 0..tasks {
                scope.spawn(|_| {
                    run.fetch_add(1, Ordering::Relaxed);
                });
            }
        });
        run.into_inner()
    })
}

/// A scope with tasks that only count, spawned by a thread outside of the pool.
fn empty_tasks_of_outside(tasks: u64) -> Box<dyn Case> {
    summed(tasks, move || {
        let run = AtomicU64::new(0);
        rayon::in_place_scope(|scope| {
            for _ in 0..tasks {
                scope.spawn(|_| {
                    run.fetch_add(1, Ordering::Relaxed);
                });
            }
        });
        run.into_inner()
    })
}

/// Tasks that spawn two tasks each, down to `depth`.
fn tree(depth: u32) -> Box<dyn Case> {
    fn grow<'s>(scope: &rayon::Scope<'s>, depth: u32, leaves: &'s AtomicU64) {
        if depth == 0 {
            leaves.fetch_add(1, Ordering::Relaxed);
            return;
        }
        for _ in 0..2 {
            scope.spawn(move |scope| grow(scope, depth - 1, leaves));
        }
    }
    summed(1 << depth, move || {
        let leaves = AtomicU64::new(0);
        rayon::scope(|scope| grow(scope, depth, &leaves));
        leaves.into_inner()
    })
}

/// Ten joins of two tasks of 0.2 us, and one of two tasks of 20 us: what a thief learns from the
/// tiny ones must not keep it from the long one.
fn mixed_joins(rate: Rate) -> Box<dyn Case> {
    let both = move |steps, seed| {
        let (a, b) = rayon::join(|| spin(steps, seed), || spin(steps, seed + 1));
        u64::from(a != b)
    };
    let (tiny, long) = (rate.steps(0.2), rate.steps(20.0));
    summed(11, move || {
        let tiny: u64 = (0..10).map(|seed| both(tiny, seed)).sum();
        tiny + both(long, 10)
    })
}

/// A broadcast that counts the workers.
fn broadcast(workers: u64) -> Box<dyn Case> {
    summed(workers, || rayon::broadcast(|_| 1).iter().sum())
}

/// A task that yields `count` times while there is nothing else to do.
fn yields(count: u64) -> Box<dyn Case> {
    summed(count, move || {
        let yields = (0..count).map(|_| rayon::yield_now());
        yields.filter(|answer| answer.is_some()).count() as u64
    })
}
