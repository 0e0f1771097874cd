//! Tasks that run faster on the core that has their data in its cache: repeated sweeps over blocks
//! of memory.
//!
//! All blocks together are larger than the second-level cache of one core, and those of one worker
//! fit into it. A worker that gets the same blocks in each sweep has them in its cache; a worker
//! that gets other blocks has to fetch the data that another core has just written.

use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use locksley::{Pool, Strategy};

use super::lineup::{self, DEALING, LOCALITY, SHARING, STEALING};
use crate::harness::report::Outcome;
use crate::harness::{Contender, Plan, Sample, Workload, WrongResult, verify};

/// Name in tables, bars and JSON.
pub(super) const NAME: &str = "affinity";

const CONTENDERS: [&str; 9] = [
    STEALING,
    "stealing",
    SHARING,
    "sharing:greedy",
    DEALING,
    LOCALITY,
    "dealing:adaptive",
    "dealing:locality,mode=dedicated",
    "dealing:locality,l=inf,mode=dedicated",
];

const WORKERS: usize = 2;

/// Number of sweeps in a run.
const SWEEPS: u64 = 50;

const BLOCKS: usize = 12;

/// Size of all blocks together in words: one and a half times the second-level cache.
fn words() -> usize {
    let file = "/sys/devices/system/cpu/cpu0/cache/index2/size";
    let size = fs::read_to_string(file).ok();
    let kilobytes = size.and_then(|text| text.trim().strip_suffix('K')?.parse::<usize>().ok());
    kilobytes.unwrap_or(512) * 1024 * 3 / 2 / size_of::<u64>()
}

/// Reads and writes every word of a block once.
fn sweep(block: &mut [u64]) {
    for word in block {
        *word = word.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1);
    }
}

fn blocks() -> Vec<Vec<u64>> {
    let length = words() / BLOCKS;
    (0..BLOCKS)
        .map(|block| vec![block as u64; length])
        .collect()
}

/// Returns the expected contents of each block after a run.
fn oracle() -> Vec<u64> {
    let mut first: Vec<u64> = (0..BLOCKS as u64).collect();
    (0..SWEEPS).for_each(|_| sweep(&mut first));
    first
}

/// Sweeps repeatedly. Returns the time, and the number of blocks that were swept by the worker they
/// belong to.
fn run(pool: &Pool, blocks: &mut [Vec<u64>]) -> (Duration, u64) {
    let hits = AtomicU64::new(0);
    let start = Instant::now();
    pool.install(|| {
        for _ in 0..SWEEPS {
            locksley::scope(|scope| {
                for (number, block) in blocks.iter_mut().enumerate() {
                    let (near, hits) = (number % WORKERS, &hits);
                    scope.spawn_near(near, move |_| {
                        if locksley::current_worker_index() == Some(near) {
                            hits.fetch_add(1, Ordering::Relaxed);
                        }
                        sweep(block);
                    });
                }
            });
        }
    });
    (start.elapsed(), hits.into_inner())
}

fn contender(name: &'static str, strategy: Strategy) -> Contender {
    Contender::new(name, move |operations| {
        let pool = lineup::builder(strategy, WORKERS).build();
        let pool = pool.expect("the machine has room for a pool");
        let runs = operations.div_ceil(SWEEPS).max(1);
        let (mut elapsed, mut hits) = (Duration::ZERO, 0);
        for _ in 0..runs {
            let mut blocks = blocks();
            let (time, hit) = run(&pool, &mut blocks);
            elapsed += time;
            hits += hit;
            for (block, expected) in blocks.iter().zip(oracle()) {
                let same = block.iter().all(|&word| word == expected);
                verify(name, "a block is swept as often as the others", true, same)?;
            }
        }
        let swept = runs * SWEEPS * BLOCKS as u64;
        Ok(Sample {
            elapsed,
            operations: runs * SWEEPS,
            note: 1.0 - hits as f64 / swept as f64,
        })
    })
}

pub(super) fn measure(plan: &Plan, outcome: &mut Outcome) -> Result<(), WrongResult> {
    if !plan.includes(NAME) {
        return Ok(());
    }
    let contenders = lineup::known(&CONTENDERS).into_iter();
    let workload = Workload {
        name: NAME,
        about: "12 blocks, together 1.5 times the L2 cache, swept 50 times by two workers, per \
                sweep",
        reference: STEALING,
        note: Some("misses"),
        contenders: contenders
            .filter_map(|name| Some(contender(name, lineup::strategy(name)?)))
            .collect(),
    };
    outcome.workloads.push(workload.run(plan)?);
    Ok(())
}
