//! The simulator: its speed, and how well its predictions agree with the pool.

mod agreement;
mod deques;
mod throughput;

use crate::harness::report::Outcome;
use crate::harness::{Plan, WrongResult};

/// Runs every measurement of the suite.
pub(crate) fn run(plan: &Plan) -> Result<Outcome, WrongResult> {
    let mut outcome = Outcome::default();
    if plan.includes(throughput::NAME) {
        throughput::measure(plan, &mut outcome)?;
    }
    if plan.includes(agreement::NAME) {
        agreement::measure(plan, &mut outcome)?;
    }
    if plan.includes(deques::NAME) {
        deques::measure(plan, &mut outcome)?;
    }
    Ok(outcome)
}
