//! The costs of distributing a program over several processes.
//!
//! | measurement | claim |
//! |---|---|
//! | `mpi`, feature `mpi` | UTS T1L on two ranks of one worker: at least 0.85 of the ideal half of the serial processor time |
//! | `redis`, feature `redis` | tasks of 10 ms that are leased from a server: less than 0.1 of processor time beyond the work |
//! | `crowd`, feature `redis` | 10,000 idle workers with 8 leases each, or with none: less than 0.1 of the server's processor |

#[cfg(feature = "redis")]
mod crowd;
#[cfg(feature = "mpi")]
pub(crate) mod mpi;
#[cfg(feature = "redis")]
mod redis;

use crate::harness::report::Outcome;
use crate::harness::{Bar, Plan, WrongResult};

/// Measures everything that this build has the features for.
pub(crate) fn run(plan: &Plan) -> Result<Outcome, WrongResult> {
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

/// Limit of the share of a processor that a server takes for idle workers.
const LOAD: f64 = 0.1;

/// Limit of the processor time beyond the work, of worker and server together, relative to the
/// work.
const OVERHEAD: f64 = 0.1;

/// Limit of the processor time of the busier of two ranks, relative to half of the serial time:
/// 1.176 is an efficiency of 0.85.
const OF_IDEAL: f64 = 1.176;
