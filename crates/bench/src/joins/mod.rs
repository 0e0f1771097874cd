//! The pool compared with other runtimes: fork and join, idling, waking, memory.

mod cases;
mod contenders;
mod guest;
mod instructions;
mod limits;
mod memory;
mod positions;
mod probes;
mod spawning;
mod turns;
mod wake_up;

use std::time::Duration;

use crate::harness::callgrind::Unavailable;
use crate::harness::report::{Instructions, Outcome};
use crate::harness::{Measured, Plan, WrongResult};

pub(crate) use cases::{Case, Visitor, visit};
pub(crate) use guest::{contender, serve};
pub(crate) use instructions::{FORK, count_on, run as run_counted};
pub(crate) use probes::{Probe, probe};
pub(crate) use spawning::run as run_spawning;

/// Shortest duration of a sample, which is long compared to waking the workers.
const SAMPLE: Duration = Duration::from_millis(20);

/// Measures everything.
pub(crate) fn run(plan: &Plan) -> Result<Outcome, WrongResult> {
    let mut maker = turns::Maker::new(plan.quick);
    cases::visit(plan.quick, &mut maker);
    let mut workloads = maker.workloads;
    workloads.push((wake_up::workload(), 1));
    let workloads: Vec<Measured> = workloads
        .into_iter()
        .filter(|(workload, _)| plan.includes(workload.name))
        .map(|(workload, length)| workload.run(&shorter(plan, length)))
        .collect::<Result<_, _>>()?;
    let mut figures = probes::figures(plan);
    figures.extend(positions::figures(plan));
    let instructions = count(plan).unwrap_or_else(|unavailable| {
        eprintln!("{unavailable}");
        Vec::new()
    });
    let bars = limits::bars(&workloads, &instructions, &figures);
    Ok(Outcome {
        workloads,
        instructions,
        figures,
        bars,
        ..Outcome::default()
    })
}

/// Counts the instructions of joins, scopes and spawns.
fn count(plan: &Plan) -> Result<Vec<Instructions>, Unavailable> {
    Ok([instructions::count(plan)?, spawning::count(plan)?].concat())
}

pub(crate) fn shorter(plan: &Plan, length: usize) -> Plan {
    Plan {
        rounds: plan.rounds.div_ceil(length),
        sample: if plan.quick { plan.sample } else { SAMPLE },
        ..plan.clone()
    }
}
