//! Tasks that are worth stealing: what they cost on the drop-in rayon-core beside rayon's own, and
//! what a steal costs in the pool.
//!
//! | measurement | what is measured | bar |
//! |---|---|---|
//! | [`grid`] | so many tasks, each so long, forked in four ways by three callers | rayon |
//! | [`programs`] | programs that steal often for their size | rayon |
//! | [`idling`] | pools that are larger than the work | rayon's processor time |
//! | [`barriers`] | `membarrier` calls per successful steal | next to none |
//! | [`latency`] | how long work waits behind a task that does not fork | microseconds |
//!
//! The first three run the same source (`guests/steals`) twice, in processes that take turns.

mod barriers;
mod grid;
mod idling;
mod latency;
mod pair;
mod programs;
#[path = "../../guests/steals/src/spin.rs"]
mod spin;

use crate::harness::report::Outcome;
use crate::harness::{Bar, Plan, Wrong};

/// Measures everything.
pub(crate) fn run(plan: &Plan) -> Result<Outcome, Wrong> {
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
