//! Compares stealing half with stealing one where a single worker creates all the work: the
//! evenness of the loads, and the number of steals.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use locksley::{Pool, Strategy};

use super::lineup::{self, CROWDS, STEALING, Work};
use crate::harness::progress::Progress;
use crate::harness::report::Outcome;
use crate::harness::stats::{median, number};
use crate::harness::table::Table;
use crate::harness::{Plan, WrongResult, verify};

const NAME: &str = "balance";

const CONTENDERS: [&str; 6] = [
    STEALING,
    "steal-half:empty,amount=one",
    "steal-half:empty,amount=half",
    "steal-half",
    "steal-half:probabilistic",
    "steal-half:factor",
];

/// Number of tasks between two samples of the loads.
const EVERY: u64 = 8;

/// Smallest average load of a meaningful sample: below it, a single task more or less is a large
/// part of the load.
const ENOUGH: usize = 4;

/// Result of a run.
#[derive(Clone, Copy, Debug)]
struct Seen {
    milliseconds: f64,
    /// Number of successful attempts to steal per thousand tasks.
    steals: f64,
    /// Number of jobs that were moved between the workers' queues per thousand tasks.
    hauled: f64,
    /// Ratio of the largest load to the average load, averaged over time.
    ratio: f64,
}

pub(super) fn measure(plan: &Plan, outcome: &mut Outcome) -> Result<(), WrongResult> {
    if !plan.includes(NAME) {
        return Ok(());
    }
    let header = ["strategy", "P", "steals", "moved", "max/average load", "ms"];
    let title = "balance: one worker spawns 1024 tasks at once (of 5 us; blocking for 100 us where \
                 there are more workers than processors); steals and moved jobs for 1000 tasks";
    let mut table = Table::new(title, &header);
    let rounds = if plan.quick {
        1
    } else {
        plan.rounds.div_ceil(8)
    };
    let names = lineup::known(&CONTENDERS);
    let progress = Progress::start(NAME, (rounds * names.len() * CROWDS.len()) as u64);
    for workers in CROWDS {
        let mut seen = vec![Vec::new(); names.len()];
        for _ in 0..rounds {
            for (name, seen) in names.iter().zip(&mut seen) {
                let strategy = lineup::strategy(name).expect("known");
                seen.push(run(name, strategy, workers)?);
                progress.step();
            }
        }
        for (name, seen) in names.iter().zip(&seen) {
            table.row(row(name, workers, seen));
        }
    }
    outcome.tables.push(table);
    Ok(())
}

fn row(name: &str, workers: usize, seen: &[Seen]) -> Vec<String> {
    let median = |figure: fn(&Seen) -> f64| {
        let figures: Vec<f64> = seen.iter().map(figure).collect();
        number(median(&figures))
    };
    vec![
        name.to_owned(),
        workers.to_string(),
        median(|seen| seen.steals),
        median(|seen| seen.hauled),
        median(|seen| seen.ratio),
        median(|seen| seen.milliseconds),
    ]
}

const TASKS: u64 = 1024;

fn run(name: &'static str, strategy: Strategy, workers: usize) -> Result<Seen, WrongResult> {
    let pool = lineup::builder(strategy, workers).build();
    let pool = pool.expect("the machine has room for a pool");
    let micros = Duration::from_micros;
    let work = Work::for_workers(workers, micros(5), micros(100));
    let (done, ratios) = (AtomicU64::new(0), Mutex::new(Vec::new()));
    let before = pool.stats();
    let start = Instant::now();
    pool.scope(|scope| {
        for _ in 0..TASKS {
            scope.spawn(|_| {
                if done.fetch_add(1, Ordering::Relaxed) % EVERY == 0
                    && let Some(ratio) = load_ratio(&pool, workers)
                    && let Ok(mut ratios) = ratios.lock()
                {
                    ratios.push(ratio);
                }
                work.run();
            });
        }
    });
    let elapsed = start.elapsed();
    verify(name, "tasks", TASKS, done.into_inner())?;
    let total = (pool.stats() - before).total();
    let ratios = ratios.into_inner().unwrap_or_default();
    let thousands = TASKS as f64 / 1000.0;
    Ok(Seen {
        milliseconds: elapsed.as_secs_f64() * 1e3,
        steals: total.steals as f64 / thousands,
        hauled: total.batch_stolen as f64 / thousands,
        ratio: ratios.iter().sum::<f64>() / ratios.len().max(1) as f64,
    })
}

/// Returns the ratio of the largest load to the average load, if the loads are large enough.
fn load_ratio(pool: &Pool, workers: usize) -> Option<f64> {
    let loads = pool.loads();
    let loads = &loads[..workers];
    let (total, max) = (loads.iter().sum::<usize>(), *loads.iter().max()?);
    (total >= ENOUGH * workers).then(|| max as f64 * workers as f64 / total as f64)
}
