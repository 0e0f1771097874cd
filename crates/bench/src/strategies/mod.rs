//! The strategies beside each other: what the papers say of them, measured.
//!
//! | measurement | claim |
//! |---|---|
//! | [`programs`] | none is much slower than plain stealing where plain stealing is good |
//! | [`onset`] | sharing gets all workers to work sooner where one makes all the work, or little is there to steal (Rito, "Scheduling computations", chapter 5) |
//! | [`balance`] | stealing half takes fewer steals and evens the loads out (Hendler and Shavit, "Non-Blocking Steal-Half Work Queues", Theorem 3.9) |
//! | [`affinity`] | dealing by locality keeps at least 1 - 1/L of the tasks where their data is (the same, "Work Dealing", Theorem 11) |
//! | [`modes`] | dealing as published beside the pool's hybrid, in which idle workers fetch |
//! | [`hidden`] | a task that neither forks nor pops hides nothing for long |
//! | [`throttled`] | where processors differ, the time is near W / (P Pi) (Bender and Rabin) |
//! | [`price`] | what a task costs in fences, read-modify-writes and instructions (Rito, Theorem 6.17) |
//!
//! A strategy is known by its text. One that this build cannot read is left out, with a remark.

mod affinity;
mod balance;
mod hidden;
mod limits;
mod lineup;
mod modes;
mod onset;
mod price;
mod programs;
mod throttled;

use crate::harness::report::Outcome;
use crate::harness::{Plan, Wrong};

/// Measures everything.
pub(crate) fn run(plan: &Plan) -> Result<Outcome, Wrong> {
    lineup::remark();
    let mut outcome = Outcome::default();
    programs::measure(plan, &mut outcome)?;
    onset::measure(plan, &mut outcome)?;
    balance::measure(plan, &mut outcome)?;
    affinity::measure(plan, &mut outcome)?;
    modes::measure(plan, &mut outcome)?;
    hidden::measure(plan, &mut outcome)?;
    throttled::measure(plan, &mut outcome)?;
    price::measure(plan, &mut outcome)?;
    outcome.bars = limits::bars(&outcome);
    Ok(outcome)
}
