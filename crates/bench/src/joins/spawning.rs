//! Counts the instructions of scopes and spawned tasks, on one worker.

use std::process::ExitCode;

use locksley::Pool;

use super::contenders::{Locksley, Rayon, Runtime};
use crate::harness::Plan;
use crate::harness::callgrind::{self, Unavailable};
use crate::harness::progress::Progress;
use crate::harness::report::Instructions;

/// Numbers of operations of the two runs.
const OPERATIONS: [u64; 2] = [2_000, 42_000];

/// Number of tasks that a scope spawns, or that are spawned before they run.
const TASKS: u64 = 100;

/// An operation whose instructions are counted.
pub(super) struct Counted {
    /// Name in tables and in the hidden subcommand.
    pub(super) name: &'static str,
    /// Limit of our instructions.
    pub(super) limit: f64,
    ours: fn(u64),
    rayons: Option<fn(u64)>,
}

pub(super) const COUNTED: [Counted; 4] = [
    Counted {
        name: "empty scope",
        limit: 150.0,
        ours: |scopes| (0..scopes).for_each(|_| locksley::scope(|_| ())),
        rayons: Some(|scopes| (0..scopes).for_each(|_| rayon::scope(|_| ()))),
    },
    Counted {
        name: "scope's task",
        limit: 550.0,
        ours: |tasks| {
            (0..tasks / TASKS).for_each(|_| {
                locksley::scope(|scope| (0..TASKS).for_each(|_| scope.spawn(|_| ())));
            });
        },
        rayons: Some(|tasks| {
            (0..tasks / TASKS).for_each(|_| {
                rayon::scope(|scope| (0..TASKS).for_each(|_| scope.spawn(|_| ())));
            });
        }),
    },
    Counted {
        name: "detached spawn",
        limit: 560.0,
        ours: |tasks| {
            (0..tasks / TASKS).for_each(|_| {
                (0..TASKS).for_each(|_| drop(locksley::spawn(|| ())));
                while locksley::yield_local() == Some(locksley::Yield::Executed) {}
            });
        },
        rayons: Some(|tasks| {
            (0..tasks / TASKS).for_each(|_| {
                (0..TASKS).for_each(|_| rayon::spawn(|| ()));
                while rayon::yield_local() == Some(rayon::Yield::Executed) {}
            });
        }),
    },
    Counted {
        name: "spawn().join()",
        limit: 900.0,
        ours: |tasks| (0..tasks).for_each(|_| locksley::spawn(|| ()).join()),
        rayons: None,
    },
];

/// Counts everything.
pub(super) fn count(plan: &Plan) -> Result<Vec<Instructions>, Unavailable> {
    let counted: Vec<_> = COUNTED.iter().filter(|c| plan.includes(c.name)).collect();
    let progress = Progress::start("instructions of spawns", counted.len() as u64);
    let mut instructions = Vec::new();
    for counted in counted {
        progress.step();
        for contender in [Locksley::NAME, Rayon::NAME] {
            if counted.by(contender).is_some() {
                let subcommand = [crate::TURN, counted.name, contender];
                instructions.push(Instructions {
                    workload: counted.name,
                    contender,
                    instructions: callgrind::per_operation_of(&subcommand, OPERATIONS)?,
                });
            }
        }
    }
    Ok(instructions)
}

impl Counted {
    fn by(&self, contender: &str) -> Option<fn(u64)> {
        match contender {
            Locksley::NAME => Some(self.ours),
            Rayon::NAME => self.rayons,
            _ => None,
        }
    }
}

/// Runs operations under valgrind, on a runtime with one worker.
pub(crate) fn run(workload: &str, contender: &str, operations: u64) -> Option<ExitCode> {
    let counted = COUNTED.iter().find(|counted| counted.name == workload)?;
    let operate = counted.by(contender)?;
    if contender == Rayon::NAME {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1);
        let pool = pool.build().expect("the machine has room for one worker");
        pool.install(|| operate(operations));
    } else {
        let pool = Pool::builder().workers(1).build();
        let pool = pool.expect("the machine has room for one worker");
        pool.install(|| operate(operations));
    }
    Some(ExitCode::SUCCESS)
}
