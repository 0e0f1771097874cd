//! Several processes: what it costs to spread a program over them.
//!
//! | measurement | claim |
//! |---|---|
//! | `mpi`, feature `mpi` | UTS T1L on two ranks of one worker: at least 0.85 of the ideal half of the serial processor time |
//! | `redis`, feature `redis` | tasks of 10 ms that are leased from a server: less than 0.1 of processor time beyond the work |
//! | `crowd`, feature `redis` | 10,000 workers that hold 8 leases each and have nothing else to do, or that hold none: less than 0.1 of the server's processor |

#[cfg(feature = "redis")]
mod crowd;
#[cfg(feature = "mpi")]
pub(crate) mod mpi;
#[cfg(feature = "redis")]
mod redis;

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
    #[cfg(feature = "redis")]
    let overhead = if plan.includes(redis::NAME) {
        redis::measure(plan, &mut outcome)?
    } else {
        None
    };
    #[cfg(not(feature = "redis"))]
    let overhead = None;
    outcome.bars.push(Bar {
        name: "cluster redis overhead of 10 ms tasks".into(),
        limit: OVERHEAD,
        measured: overhead,
    });
    #[cfg(feature = "redis")]
    let load = if plan.includes(crowd::NAME) {
        crowd::measure(plan, &mut outcome)?
    } else {
        None
    };
    #[cfg(not(feature = "redis"))]
    let load = None;
    outcome.bars.push(Bar {
        name: "cluster redis server's load of 10,000 idle workers".into(),
        limit: LOAD,
        measured: load,
    });
    Ok(outcome)
}

/// The part of a processor that a server takes for workers that do nothing.
const LOAD: f64 = 0.1;

/// Processor time beyond the work, of the worker and the server together, as a part of the work.
const OVERHEAD: f64 = 0.1;

/// How much processor time the busier of two ranks may take, in halves of the serial time: an
/// efficiency of 0.85 is 1.176 of them.
const OF_IDEAL: f64 = 1.176;
