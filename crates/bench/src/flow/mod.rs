//! Dataflow: the cost of a task, and flows compared with fork-join and barriers.
//!
//! | measurement | claim |
//! |---|---|
//! | [`overhead`] | with one worker a task with its dependencies costs little more than a spawned one, and less than half of a node of a graph with counters |
//! | [`cholesky`], [`wavefront`] | with two workers a flow is faster than the same program with a barrier after every step |
//! | [`lu`] | a factorisation with twice the tasks per step of Cholesky's: compared with barriers, no limit |
//! | [`heat`] | sweeps of a stencil, in which tiles may be sweeps ahead of others: compared with barriers, no limit |
//! | [`pipeline`] | a stream through four stages, one of them in order: compared with stages in sequence, no limit |
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
use crate::harness::{Bar, Plan, WrongResult};

/// Limit of a flow task's time relative to a spawned task, with one worker.
const OF_SPAWN: f64 = 3.0;

/// Limit of a flow task's time relative to a node of a graph with counters.
const OF_COUNTERS: f64 = 0.5;

/// Limit of a flow's time relative to the version with barriers.
const OF_BARRIER: f64 = 1.0;

/// Limit of a flow's time relative to its serial time, if the body computes as long as its tasks.
const OF_SERIAL: f64 = 0.55;

/// Names of the versions of a program.
const FLOW: &str = "flow";
const BARRIER: &str = "barrier";
const FORK_JOIN: &str = "fork-join";
const SERIAL: &str = "serial";

/// Shortest duration of a sample of a program.
const SAMPLE: Duration = Duration::from_millis(15);

/// Measures everything.
pub(crate) fn run(plan: &Plan) -> Result<Outcome, WrongResult> {
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

/// Compares the measurements with the limits. Missing measurements are skipped.
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
