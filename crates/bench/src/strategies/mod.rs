//! Compares the strategies, and measures the claims of the papers about them.
//!
//! | measurement | claim |
//! |---|---|
//! | [`programs`] | no strategy is much slower than plain stealing in programs that suit plain stealing |
//! | [`onset`] | under sharing all workers become busy sooner if one worker creates all the work, or if there is little to steal (Rito, "Scheduling computations", chapter 5) |
//! | [`balance`] | stealing half needs fewer steals and evens the loads out (Hendler and Shavit, "Non-Blocking Steal-Half Work Queues", Theorem 3.9) |
//! | [`affinity`] | dealing by locality keeps at least 1 - 1/L of the tasks where their data is (the same, "Work Dealing", Theorem 11) |
//! | [`modes`] | dealing as published compared with the pool's hybrid, in which idle workers fetch jobs |
//! | [`hidden`] | a task that neither forks nor pops does not hide jobs for long |
//! | [`throttled`] | with processors of different speeds, the time is near W / (P Pi) (Bender and Rabin) |
//! | [`price`] | the cost of a task in fences, read-modify-writes and instructions (Rito, Theorem 6.17) |
//!
//! Strategies are given as text. A strategy that this build cannot parse is left out with a remark.

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
use crate::harness::{Plan, WrongResult};

/// Runs every measurement of the suite.
pub(crate) fn run(plan: &Plan) -> Result<Outcome, WrongResult> {
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
