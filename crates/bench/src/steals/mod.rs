//! Tasks that are worth stealing: their cost on the drop-in rayon-core compared with rayon's own,
//! and the cost of a steal in the pool.
//!
//! | measurement | quantity | limit |
//! |---|---|---|
//! | [`grid`] | tasks of a given number and duration, forked in four ways by three callers | rayon's time |
//! | [`programs`] | programs with many steals for their size | rayon's time |
//! | [`idling`] | pools with more workers than the work needs | rayon's processor time |
//! | [`barriers`] | `membarrier` calls per successful steal | almost none |
//! | [`latency`] | delay of work behind a task that does not fork | microseconds |
//!
//! The first three run the same source (`guests/steals`) in two processes that take turns.

mod barriers;
mod grid;
mod idling;
mod latency;
mod pair;
mod programs;
#[path = "../../guests/steals/src/spin.rs"]
mod spin;

use crate::harness::report::Outcome;
use crate::harness::{Bar, Plan, WrongResult};

/// Runs every measurement of the suite.
pub(crate) fn run(plan: &Plan) -> Result<Outcome, WrongResult> {
    let mut outcome = Outcome::default();
    grid::measure(plan, &mut outcome)?;
    programs::measure(plan, &mut outcome)?;
    idling::measure(plan, &mut outcome)?;
    barriers::measure(plan, &mut outcome)?;
    latency::measure(plan, &mut outcome);
    Ok(outcome)
}

fn bar(name: String, limit: f64, measured: Option<f64>) -> Bar {
    Bar {
        name: format!("steals {name}").into(),
        limit,
        measured,
    }
}
