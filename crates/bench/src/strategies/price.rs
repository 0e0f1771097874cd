//! Cost of a task: fences, read-modify-writes and membarriers as counted by the pool, and
//! instructions.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use locksley::{Strategy, WorkerStats};
use locksley_queue::counts;
use locksley_queue::pcb::{self, GRANULARITY};
use locksley_workload::{Fib, Program};

use super::lineup::{self, DEALING};
use crate::harness::progress::Progress;
use crate::harness::report::{Figures, Outcome};
use crate::harness::stats::number;
use crate::harness::table::Table;
use crate::harness::{Plan, WrongResult, verify};
use crate::joins;

const NAME: &str = "price";

/// The path of `dealing` consists of a produce and a consume. Used items are recycled in lists of
/// [`GRANULARITY`] through a lock-free pool: one call in [`GRANULARITY`] gives or gets a list, and
/// is not counted here. The table contains all that the worker pool counts, including these lists
/// and the jobs that waiters take back.
pub(super) const PATH: &str = "calls of dealing's produce and consume with a read-modify-write, \
                               beyond the lists that are recycled";

pub(super) fn measure(plan: &Plan, outcome: &mut Outcome) -> Result<(), WrongResult> {
    if plan.includes(NAME) {
        count_operations(plan, outcome)?;
    }
    if plan.includes(joins::FORK) {
        let names = lineup::known(&lineup::ALL);
        match joins::count_on(&names) {
            Ok(counts) => outcome.instructions.extend(counts),
            Err(unavailable) => eprintln!("{unavailable}"),
        }
    }
    Ok(())
}

fn count_operations(plan: &Plan, outcome: &mut Outcome) -> Result<(), WrongResult> {
    let header = [
        "strategy",
        "P",
        "fences/join",
        "rmws/join",
        "membarriers/join",
        "fences/spawn",
        "rmws/spawn",
        "membarriers/spawn",
    ];
    let mut figures = Figures::new(PATH);
    figures.add(
        DEALING,
        beyond_lists(if plan.quick { 10_000 } else { 1_000_000 })?,
    );
    let title = "price: expensive operations in the piles, thieves' included, per join of fib(27) \
                 and per task of 100000 that one worker spawns";
    let mut table = Table::new(title, &header);
    let names = lineup::known(&lineup::ALL);
    let progress = Progress::start(NAME, 2 * names.len() as u64);
    for workers in [1, 2] {
        for &name in &names {
            let strategy = lineup::strategy(name).expect("known");
            let joins = of_joins(name, strategy, workers, plan)?;
            let spawns = of_spawns(name, strategy, workers, plan)?;
            let mut row = vec![name.to_owned(), workers.to_string()];
            row.extend(joins.into_iter().chain(spawns).map(number));
            table.row(row);
            progress.step();
        }
    }
    outcome.tables.push(table);
    outcome.figures.push(figures);
    Ok(())
}

/// Runs two workers that deal to each other through a matrix like the pool's. Returns the share of
/// calls with a read-modify-write, except for calls that exchange a list.
fn beyond_lists(items: u64) -> Result<f64, WrongResult> {
    let team = pcb::matrix::<u64>(2, GRANULARITY);
    let sides: Vec<(u64, u64)> = thread::scope(|scope| {
        let sides: Vec<_> = team
            .into_iter()
            .map(|process| scope.spawn(move || deal_and_collect(process, items)))
            .collect();
        let sides = sides.into_iter();
        sides.map(|side| side.join().expect("no panic")).collect()
    });
    let (costly, sums): (Vec<u64>, Vec<u64>) = sides.into_iter().unzip();
    let expected = 2 * (0..items).sum::<u64>();
    verify(DEALING, "the sum of the items", expected, sums.iter().sum())?;
    // Each side begins without a list, needs one list per `GRANULARITY` items, and completes at
    // most as many.
    let lists = 2 * 2 * items.div_ceil(GRANULARITY as u64);
    let beyond = costly.iter().sum::<u64>().saturating_sub(lists);
    Ok(beyond as f64 / (2 * 2 * items) as f64)
}

/// Produces items for the other process, and consumes as many. Returns the number of calls that did
/// a read-modify-write, and the sum of the items received.
fn deal_and_collect(mut process: pcb::Process<u64>, items: u64) -> (u64, u64) {
    let other = 1 - process.id();
    let (mut made, mut got, mut sum) = (0, 0, 0);
    let mut rmws = counts::of_this_thread().rmws;
    let mut costly = 0;
    let mut called = || {
        let now = counts::of_this_thread().rmws;
        costly += u64::from(now > rmws);
        rmws = now;
    };
    while got < items {
        if made < items {
            let produced = process.produce(other, made);
            assert!(produced.is_ok(), "there is another process");
            called();
            made += 1;
        }
        if let Some(item) = process.consume_from(other) {
            got += 1;
            sum += item;
        }
        called();
    }
    (costly, sum)
}

/// Numbers of fences, read-modify-writes and membarriers of a program, per operation.
fn per_operation(
    strategy: Strategy,
    workers: usize,
    operations: u64,
    program: impl FnOnce(&locksley::Pool),
) -> [f64; 3] {
    let pool = lineup::builder(strategy, workers).build();
    let pool = pool.expect("the machine has room for a pool");
    // A worker publishes its counts when it takes a job.
    let tell = || -> WorkerStats {
        pool.broadcast(|_| ());
        pool.stats().total()
    };
    let before = tell();
    program(&pool);
    let done = tell() - before;
    [done.fences, done.rmws, done.membarriers].map(|count| count as f64 / operations as f64)
}

fn of_joins(
    name: &'static str,
    strategy: Strategy,
    workers: usize,
    plan: &Plan,
) -> Result<[f64; 3], WrongResult> {
    fn fib(worker: &locksley::Worker, n: u64) -> u64 {
        if n < 2 {
            return n;
        }
        let (a, b) = worker.join(|w| fib(w, n - 1), |w| fib(w, n - 2));
        a + b
    }
    let n = if plan.quick { 16 } else { 27 };
    let oracle = Fib::new(n);
    let mut answer = 0;
    let price = per_operation(strategy, workers, oracle.operations(), |pool| {
        answer = pool.run(|worker| fib(worker, n));
    });
    let checked = oracle.check(answer);
    checked.map_err(|wrong| WrongResult::new(name, "fib", wrong.expected, wrong.got))?;
    Ok(price)
}

fn of_spawns(
    name: &'static str,
    strategy: Strategy,
    workers: usize,
    plan: &Plan,
) -> Result<[f64; 3], WrongResult> {
    // Few enough at a time to fit into a bounded queue.
    const BATCH: u64 = 1000;
    let batches = if plan.quick { 2 } else { 100 };
    let done = AtomicU64::new(0);
    let price = per_operation(strategy, workers, batches * BATCH, |pool| {
        pool.install(|| {
            for _ in 0..batches {
                locksley::scope(|scope| {
                    for _ in 0..BATCH {
                        scope.spawn(|_| {
                            done.fetch_add(1, Ordering::Relaxed);
                        });
                    }
                });
            }
        });
    });
    verify(name, "tasks", batches * BATCH, done.into_inner())?;
    Ok(price)
}
