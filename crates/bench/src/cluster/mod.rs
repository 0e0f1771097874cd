//! Several processes: what it costs to spread a program over them.
//!
//! | measurement | claim |
//! |---|---|
//! | [`mpi`], feature `mpi` | UTS T1L on two ranks of one worker: at least 0.85 of the ideal half of the serial processor time |

#[cfg(feature = "mpi")]
pub(crate) mod mpi;

use crate::harness::report::Outcome;
use crate::harness::{Bar, Plan, Wrong};

/// Measures everything. What this build has no feature for is skipped.
pub(crate) fn run(plan: &Plan) -> Result<Outcome, Wrong> {
    let mut outcome = Outcome::default();
    #[cfg(feature = "mpi")]
    let efficiency = if plan.includes(mpi::NAME) {
        mpi::measure(plan, &mut outcome)?
    } else {
        None
    };
    #[cfg(not(feature = "mpi"))]
    let (efficiency, _) = (None, plan);
    outcome.bars.push(Bar {
        name: "cluster mpi T1L processor time / ideal half".into(),
        limit: OF_IDEAL,
        measured: efficiency,
    });
    Ok(outcome)
}

/// How much processor time the busier of two ranks may take, in halves of the serial time: an efficiency of 0.85 is 1.176 of them.
const OF_IDEAL: f64 = 1.176;
