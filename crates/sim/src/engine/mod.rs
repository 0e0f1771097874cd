//! Discrete-event simulation of schedulers.

mod auto;
mod bits;
mod central;
mod core;
mod costs;
mod dealing;
mod extended;
mod half;
mod interrupting;
mod lifelines;
mod mail;
mod queue;
mod sampler;
mod sending;
mod sharing;
mod speed;
mod stealing;
mod stuck;
mod tally;
mod topology;
mod wheel;

pub use costs::Costs;
pub use sampler::{Load, Move, TimelineEvent};
pub use speed::{NOMINAL, Speed, Speeds};
pub use tally::Tally;
pub use topology::Topology;

use locksley_policy::{Source, Victims};

use self::core::Core;
use crate::CounterRng;
use crate::dag::{Computation, Visitor};
use crate::report::Report;
use crate::rounds;
use crate::setup::{Setup, SimError};
use crate::strategy::Strategy;
use auto::Autos;
use central::Central;
use dealing::Dealers;
pub(crate) use extended::Extended;
use half::Half;
use interrupting::{Interrupting, Kind};
use lifelines::Lines;
use queue::{LockFree, SemiPrivate};
pub(crate) use sampler::Sampler;
use sending::Senders;
use sharing::Sharers;
use stealing::{Pacing, Stealing};

/// Draws the position of the idle processor that acts first in a tick.
fn first_to_act(seed: u64, now: u64, count: usize) -> usize {
    match count {
        0 => 0,
        _ => CounterRng::at(seed, usize::MAX, now).below(count),
    }
}

/// End of a run.
pub(crate) struct Finish {
    makespan: u64,
    tally: Tally,
    sampler: Sampler,
}

impl Finish {
    pub(crate) fn new(makespan: u64, tally: Tally, sampler: Sampler) -> Finish {
        Finish {
            makespan,
            tally,
            sampler,
        }
    }
}

/// Simulates the execution of a computation by a scheduler.
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
/// Returns an error if the setup cannot be simulated, or if the computation does not end because
/// its processors have been taken away.
pub fn simulate<C: Computation>(computation: &mut C, setup: &Setup) -> Result<Report, SimError> {
    simulate_with(computation, setup, Pacing::Lazy)
}

/// Simulates a computation of any type.
///
/// ```
/// use locksley_sim::dag::Dag;
/// use locksley_sim::{Setup, Simulate, Strategy};
///
/// let dag: Dag = "fib:n=20".parse()?;
/// let report = dag.build(Simulate(&Setup::new(16, Strategy::LockFree)))??;
/// assert_eq!(report.tally.executed, report.size.work);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Simulate<'a>(pub &'a Setup);

impl Visitor for Simulate<'_> {
    type Output = Result<Report, SimError>;

    fn visit<C: Computation>(self, mut computation: C) -> Self::Output {
        simulate(&mut computation, self.0)
    }
}

fn simulate_with<C: Computation>(
    computation: &mut C,
    setup: &Setup,
    pacing: Pacing,
) -> Result<Report, SimError> {
    setup.check()?;
    let count = setup.processors;
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
        Strategy::Lifelines(policy) => Core::new(computation, setup).run(Lines::new(policy, count)),
        Strategy::StealHalf(policy) => Core::new(computation, setup).run(Half::new(policy, count)),
        Strategy::Sharing(policy) => {
            let sharers = Sharers::new(policy, count, setup.mailbox).with_user_policies(setup);
            Core::new(computation, setup).run(sharers)
        }
        Strategy::PrivateSharing(policy) => {
            let sharers = Sharers::new(policy, count, setup.mailbox).with_user_policies(setup);
            Core::new(computation, setup).run(sharers.privately())
        }
        Strategy::Auto(tuning) => {
            let autos = Autos::new(tuning, count, setup.mailbox);
            Core::new(computation, setup).run(autos)
        }
        Strategy::Dealing(policy) => Core::new(computation, setup).run(Dealers::new(policy, count)),
        Strategy::Sending(target) => {
            let donors = setup.donor.as_ref().map(|user| user.make(count));
            Core::new(computation, setup).run(Senders::new(target, count, donors))
        }
        Strategy::Asymmetric => {
            Core::new(computation, setup).run(Interrupting::new(Kind::Asymmetric, count))
        }
        Strategy::Split => Core::new(computation, setup).run(Interrupting::new(Kind::Split, count)),
        Strategy::Synchronous => Some(rounds::run(computation, setup, None)),
        Strategy::SynchronousSharing(policy) => Some(rounds::run(computation, setup, Some(policy))),
        Strategy::Greedy => Core::new(computation, setup).run(Central::new()),
    };
    let finish = finish.ok_or(SimError::Stuck)?;
    let (loads, timeline) = finish.sampler.into_parts();
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
