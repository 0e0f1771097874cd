//! The pool against the runtimes people use today: fork and join, idling, waking, memory.

mod cases;
mod contenders;
mod guest;
mod instructions;
mod limits;
mod memory;
mod probes;
mod turns;
mod wake_up;

use std::time::Duration;

use crate::harness::report::Outcome;
use crate::harness::{Measured, Plan, Wrong};

pub(crate) use cases::{Case, Visitor, visit};
pub(crate) use guest::{contender, serve};
pub(crate) use instructions::{FORK, count_on, run as run_counted};
pub(crate) use probes::{Probe, probe};

/// How long a sample is at least: long against waking the workers.
const SAMPLE: Duration = Duration::from_millis(20);

/// Measures everything.
pub(crate) fn run(plan: &Plan) -> Result<Outcome, Wrong> {
    let mut maker = turns::Maker::new(plan.quick);
    cases::visit(plan.quick, &mut maker);
    let mut workloads = maker.workloads;
    workloads.push((wake_up::workload(), 1));
    let workloads: Vec<Measured> = workloads
        .into_iter()
        .filter(|(workload, _)| plan.includes(workload.name))
        .map(|(workload, length)| workload.run(&shorter(plan, length)))
        .collect::<Result<_, _>>()?;
    let figures = probes::figures(plan);
    let instructions = instructions::count(plan).unwrap_or_else(|unavailable| {
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

pub(crate) fn shorter(plan: &Plan, length: usize) -> Plan {
    Plan {
        rounds: plan.rounds.div_ceil(length),
        sample: if plan.quick { plan.sample } else { SAMPLE },
        ..plan.clone()
    }
}
