//! Dataflow: what a task costs, and flows beside fork-join and barriers.
//!
//! | measurement | claim |
//! |---|---|
//! | [`overhead`] | with one worker a task with its dependencies costs little more than a spawned one, and less than half of a node of a graph with counters |
//! | [`cholesky`], [`wavefront`] | with two workers a flow is faster than the same program with a barrier after every step |
//! | [`lu`] | a factorisation with twice the tasks of Cholesky's in a step: beside barriers, without a limit |
//! | [`heat`] | sweeps of a stencil, in which some tiles may be sweeps ahead of others: beside barriers, without a limit |
//! | [`pipeline`] | a stream through four stages, one of them in order: beside stage after stage, without a limit |
//! | [`body`] | a body that computes between forks: its tasks run meanwhile |
//! | [`fib`] | the program of Danjean's lecture "Work Stealing", as a flow and with joins |

mod body;
mod cholesky;
mod fib;
mod heat;
mod lu;
mod overhead;
mod pipeline;
mod tiles;
mod versions;
mod wavefront;

use std::time::Duration;

use locksley::Pool;

use crate::harness::report::Outcome;
use crate::harness::{Bar, Plan, Wrong};

/// What part of a spawned task's time a task of a flow may take, with one worker.
const OF_SPAWN: f64 = 3.0;

/// What part of the time of a node of a graph with counters.
const OF_COUNTERS: f64 = 0.5;

/// What part of the time of the version with barriers.
const OF_BARRIER: f64 = 1.0;

/// What part of its serial time a flow may take whose body computes as long as its tasks do.
const OF_SERIAL: f64 = 0.55;

/// The names of the versions of a program.
const FLOW: &str = "flow";
const BARRIER: &str = "barrier";
const FORK_JOIN: &str = "fork-join";
const SERIAL: &str = "serial";

/// How long a sample of a program is at least.
const SAMPLE: Duration = Duration::from_millis(15);

/// Measures everything.
pub(crate) fn run(plan: &Plan) -> Result<Outcome, Wrong> {
    let mut outcome = Outcome::default();
    let longer = Plan {
        rounds: plan.rounds.div_ceil(2),
        sample: if plan.quick { plan.sample } else { SAMPLE },
        ..plan.clone()
    };
    for (workload, plan) in [
        (overhead::workload(), plan),
        (fib::workload(plan.quick), plan),
        (body::workload(plan.quick), &longer),
        (cholesky::workload(plan.quick), &longer),
        (wavefront::workload(plan.quick), &longer),
        (lu::workload(plan.quick), &longer),
        (heat::workload(plan.quick), &longer),
        (pipeline::workload(plan.quick), &longer),
    ] {
        if plan.includes(workload.name) {
            outcome.workloads.push(workload.run(plan)?);
        }
    }
    outcome.bars = bars(&outcome);
    Ok(outcome)
}

/// Holds the measurements against the limits. What was not measured is skipped.
fn bars(outcome: &Outcome) -> Vec<Bar> {
    let bar = |name: &str, who: &str, limit: f64| {
        let mut workloads = outcome.workloads.iter();
        let measured = workloads.find(|measured| measured.name == name);
        let ratio = measured.and_then(|measured| measured.ratio(FLOW, who));
        Bar {
            name: format!("{name} {FLOW} / {who}").into(),
            limit,
            measured: ratio.map(|ratio| ratio.median),
        }
    };
    vec![
        bar(overhead::NAME, overhead::SPAWN, OF_SPAWN),
        bar(overhead::NAME, overhead::COUNTERS, OF_COUNTERS),
        bar(body::NAME, SERIAL, OF_SERIAL),
        bar(cholesky::NAME, BARRIER, OF_BARRIER),
        bar(wavefront::NAME, BARRIER, OF_BARRIER),
    ]
}

fn pool(workers: usize) -> Pool {
    let pool = Pool::builder().workers(workers).build();
    pool.expect("the machine has room for a pool")
}
