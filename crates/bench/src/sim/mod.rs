//! The simulator: how fast it is, and whether it tells what the pool does.

mod agreement;
mod deques;
mod throughput;

use crate::harness::report::Outcome;
use crate::harness::{Plan, Wrong};

/// Measures everything.
pub(crate) fn run(plan: &Plan) -> Result<Outcome, Wrong> {
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
