//! The queues of `locksley-queue` compared with those of other crates.

pub(crate) mod contenders;
mod limits;
mod workloads;

use crate::harness::callgrind::{self, Unavailable};
use crate::harness::progress::Progress;
use crate::harness::report::{Instructions, Outcome};
use crate::harness::{Measured, Plan, Workload, WrongResult};
use workloads::{
    busy_owner, owner_pair, producer_consumer, push_all_pop_all, steal_half, steal_one,
};

/// Every workload of the suite, in the order of the report.
pub(crate) fn workloads() -> Vec<Workload> {
    vec![
        owner_pair::workload(),
        push_all_pop_all::workload(),
        steal_one::workload(),
        steal_half::workload(),
        busy_owner::workload(),
        producer_consumer::one_thread(),
        producer_consumer::two_threads(),
    ]
}

/// Runs every measurement of the suite.
pub(crate) fn run(plan: &Plan) -> Result<Outcome, WrongResult> {
    let workloads: Vec<Measured> = workloads()
        .into_iter()
        .filter(|workload| plan.includes(workload.name))
        .map(|workload| workload.run(plan))
        .collect::<Result<_, _>>()?;
    let instructions = instructions(plan).unwrap_or_else(|unavailable| {
        eprintln!("{unavailable}");
        Vec::new()
    });
    let bars = limits::bars(&workloads, &instructions);
    Ok(Outcome {
        workloads,
        instructions,
        bars,
        ..Outcome::default()
    })
}

/// Counts the instructions of the owner's push and pop alone.
fn instructions(plan: &Plan) -> Result<Vec<Instructions>, Unavailable> {
    let (workload, counted) = (owner_pair::workload(), owner_pair::counted());
    if !plan.includes(workload.name) {
        return Ok(Vec::new());
    }
    let progress = Progress::start("instructions", counted.names().count() as u64);
    let count = |contender| {
        progress.step();
        callgrind::per_operation(&[crate::TURN, counted.name, contender])
    };
    let loop_alone = count(owner_pair::NOTHING)?;
    workload
        .names()
        .map(|contender| {
            Ok(Instructions {
                workload: workload.name,
                contender,
                instructions: count(contender)? - loop_alone,
            })
        })
        .collect()
}

/// Returns the workload called `name`, including those whose instructions are only counted.
pub(crate) fn find(name: &str) -> Option<Workload> {
    workloads()
        .into_iter()
        .chain([owner_pair::counted()])
        .find(|workload| workload.name == name)
}
