//! Schedulers as discrete events.

mod bits;
mod costs;
mod pace;
mod pile;
mod stealing;
mod tally;
mod topology;
mod watch;
mod wheel;

pub use costs::Costs;
pub use pace::{NOMINAL, Speed, Speeds};
pub use tally::Tally;
pub use topology::Topology;
pub use watch::{Happening, Load, Move};

use locksley_policy::Victims;

use crate::dag::Computation;
use crate::report::Report;
use crate::setup::{Setup, SimError};
use crate::strategy::Strategy;
use pile::{LockFree, SemiPrivate};
use stealing::{Pacing, Stealing};
use watch::Watch;

/// How a run ended.
pub(crate) struct Finish {
    makespan: u64,
    tally: Tally,
    watch: Watch,
}

impl Finish {
    fn new(makespan: u64, tally: Tally, watch: Watch) -> Finish {
        Finish {
            makespan,
            tally,
            watch,
        }
    }
}

/// Simulates a scheduler that executes a computation.
///
/// The outcome is a function of the computation and the setup, bit for bit.
///
/// ```
/// use locksley_sim::dag::{Fib, Strands};
/// use locksley_sim::{Setup, Strategy, simulate};
///
/// let mut fib = Strands::new(Fib::new(20));
/// let report = simulate(&mut fib, &Setup::new(16, Strategy::LockFree))?;
/// assert_eq!(report.tally.executed, report.size.work);
/// assert!(report.makespan as f64 >= report.size.at_least(16));
/// # Ok::<(), locksley_sim::SimError>(())
/// ```
///
/// # Errors
///
/// If the setup makes no sense, or the processors are taken away before the computation ends.
pub fn simulate<C: Computation>(computation: &mut C, setup: &Setup) -> Result<Report, SimError> {
    simulate_with(computation, setup, Pacing::Lazy)
}

fn simulate_with<C: Computation>(
    computation: &mut C,
    setup: &Setup,
    pacing: Pacing,
) -> Result<Report, SimError> {
    setup.check()?;
    let finish = match setup.strategy {
        Strategy::LockFree => {
            Stealing::<C, LockFree<_>>::new(computation, setup, Victims::Uniform, pacing).run()
        }
        Strategy::Flexible(flexible) => {
            Stealing::<C, LockFree<_>>::new(computation, setup, flexible.victims, pacing).run()
        }
        Strategy::SemiPrivate => {
            Stealing::<C, SemiPrivate<_>>::new(computation, setup, Victims::Uniform, pacing).run()
        }
    };
    let finish = finish.ok_or(SimError::Stuck)?;
    let (loads, timeline) = finish.watch.into_parts();
    Ok(Report {
        strategy: setup.strategy.to_string(),
        processors: setup.processors,
        seed: setup.seed,
        size: computation.size(),
        makespan: finish.makespan,
        tally: finish.tally,
        loads,
        timeline,
    })
}

#[cfg(test)]
mod tests;
