//! The setup of a simulation.

use locksley_policy::{Balancer, Donor, Theta};

use crate::engine::{Costs, Speeds, Topology};
use crate::strategy::Strategy;
use crate::user_policies::{UserBalancer, UserDonor};

/// Largest number of processors. The number of a processor and a mark share a word of 32 bits.
pub const MAX_PROCESSORS: usize = 1 << 30;

/// Largest number of processors under work dealing, which has a buffer for every pair of them.
pub const MAX_DEALERS: usize = 4096;

/// Input of a simulation: a machine, a scheduler, a seed, and what is recorded.
///
/// ```
/// use locksley_sim::{Costs, Setup, Strategy};
///
/// let setup = Setup {
///     costs: Costs { steal: 10, ..Costs::default() },
///     seed: 42,
///     ..Setup::new(64, Strategy::LockFree)
/// };
/// assert!(setup.check().is_ok());
/// assert!(Setup::new(0, Strategy::LockFree).check().is_err());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Setup {
    /// Number of processors.
    pub processors: usize,
    /// The scheduler.
    pub strategy: Strategy,
    /// Costs of operations.
    pub costs: Costs,
    /// Distances between processors.
    pub topology: Topology,
    /// Speeds of the processors.
    pub speeds: Speeds,
    /// Seed of all random numbers.
    pub seed: u64,
    /// Interval between samples of the loads, in ticks; 0 for no samples.
    pub sample: u64,
    /// Whether to record a timeline of what each processor did.
    pub timeline: bool,
    /// Capacity of a processor's mailbox (thesis, Algorithm 14) under `sharing` and
    /// `private-sharing`, and under `auto` while it shares; 0 for no mailboxes. A processor that
    /// enables a node with affinity to another processor leaves a letter, which points to the node,
    /// in the mailbox of that processor.
    pub mailbox: u32,
    /// User-defined choice of victims. See [`Setup::balancer`].
    pub balancer: Option<UserBalancer>,
    /// User-defined choice of when and to whom to give. See [`Setup::donor`].
    pub donor: Option<UserDonor>,
}

impl Setup {
    /// Creates the model of the thesis: equal processors, every iteration takes one step, and
    /// nothing is recorded.
    pub fn new(processors: usize, strategy: Strategy) -> Setup {
        Setup {
            processors,
            strategy,
            costs: Costs::default(),
            topology: Topology::flat(),
            speeds: Speeds::nominal(),
            seed: 1,
            sample: 0,
            timeline: false,
            mailbox: 0,
            balancer: None,
            donor: None,
        }
    }

    /// Sets a user-defined choice of victims, for `lock-free`, `flexible`, `semi-private`,
    /// `sharing` and `private-sharing`. This is the custom part of CFLFWS and CFWSS (thesis,
    /// Algorithms 2 and 7). `make` is called with the number of each processor. The balancer that
    /// it returns chooses the victim with probability `theta`; otherwise the processor tries a
    /// random victim.
    ///
    /// The outcome is a function of computation and setup as long as the balancers draw random
    /// numbers only from the [`Source`](locksley_policy::Source) that they are given.
    ///
    /// ```
    /// use locksley_policy::{Balancer, Actor, Source, Theta, View};
    /// use locksley_sim::dag::{Fib, Strands};
    /// use locksley_sim::{Setup, Strategy, simulate};
    ///
    /// /// Tries the one to the right.
    /// struct Right;
    ///
    /// impl Balancer for Right {
    ///     fn choose(
    ///         &mut self,
    ///         actor: Actor,
    ///         view: &dyn View,
    ///         _: &mut dyn Source,
    ///     ) -> Option<usize> {
    ///         Some((actor.me + 1) % view.count())
    ///     }
    /// }
    ///
    /// let setup = Setup::new(64, Strategy::LockFree).balancer(Theta::HALF, |_| Right);
    /// let report = simulate(&mut Strands::new(Fib::new(20)), &setup)?;
    /// assert!(report.makespan as f64 <= 2.0 * report.size.greedy_at_most(64));
    /// # Ok::<(), locksley_sim::SimError>(())
    /// ```
    pub fn balancer<B>(
        mut self,
        theta: Theta,
        make: impl Fn(usize) -> B + Send + Sync + 'static,
    ) -> Setup
    where
        B: Balancer + Send + 'static,
    {
        self.balancer = Some(UserBalancer::new(theta, make));
        self
    }

    /// Sets a user-defined choice of when and to whom to give, for `sharing`, `private-sharing` and
    /// `sending`. It replaces their heuristic and their target. `make` is called with the number of
    /// each processor. The donor is asked when its processor enables two nodes: under `sharing`
    /// only if a thief has set the flag of the processor since the last time or the donor is
    /// [eager](Donor::is_eager), under `sending` always.
    ///
    /// As for [balancers](Setup::balancer), the outcome is a function of computation and setup as
    /// long as donors draw random numbers only from the source that they are given.
    ///
    /// ```
    /// use locksley_policy::Target;
    /// use locksley_sim::dag::{Generator, Strands};
    /// use locksley_sim::{Setup, Strategy, simulate};
    ///
    /// // Processors that make work look at three others, and offer it to the one with least.
    /// let setup = Setup::new(16, "sharing".parse()?).donor(|_| Target::SHORTEST);
    /// let report = simulate(&mut Strands::new(Generator::new(200, 50, 1)), &setup)?;
    /// assert!(report.tally.donated > 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn donor<D>(mut self, make: impl Fn(usize) -> D + Send + Sync + 'static) -> Setup
    where
        D: Donor + Send + 'static,
    {
        self.donor = Some(UserDonor::new(make));
        self
    }

    /// Checks that the setup can be simulated.
    ///
    /// # Errors
    ///
    /// Returns an error that says what is wrong and what to do about it.
    pub fn check(&self) -> Result<(), SimError> {
        if self.processors == 0 || self.processors > MAX_PROCESSORS {
            return Err(SimError::Processors(self.processors));
        }
        if matches!(self.strategy, Strategy::Dealing(_)) && self.processors > MAX_DEALERS {
            return Err(SimError::Dealers(self.processors));
        }
        for (name, cost) in [("node", self.costs.node), ("steal", self.costs.steal)] {
            if cost == 0 {
                return Err(SimError::Free(name));
            }
        }
        let open = matches!(
            self.strategy,
            Strategy::LockFree
                | Strategy::Flexible(_)
                | Strategy::SemiPrivate
                | Strategy::Sharing(_)
                | Strategy::PrivateSharing(_)
        );
        if self.balancer.is_some() && !open {
            return Err(SimError::Balancer(self.strategy.to_string()));
        }
        let gives = matches!(
            self.strategy,
            Strategy::Sharing(_) | Strategy::PrivateSharing(_) | Strategy::Sending(_)
        );
        if self.donor.is_some() && !gives {
            return Err(SimError::Donor(self.strategy.to_string()));
        }
        Ok(())
    }
}

/// Error of a simulation: what is wrong, and what to do about it.
///
/// ```
/// use locksley_sim::{Setup, Strategy};
///
/// let error = Setup::new(0, Strategy::LockFree).check().unwrap_err();
/// let text = "0 processors cannot be simulated: give a number from 1 to 1073741824";
/// assert_eq!(error.to_string(), text);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SimError {
    /// There are too few or too many processors.
    #[error("{0} processors cannot be simulated: give a number from 1 to {MAX_PROCESSORS}")]
    Processors(usize),
    /// There are too many processors for work dealing.
    #[error(
        "work dealing keeps a buffer for every pair of processors, and {0} are too many: give at \
         most {MAX_DEALERS}, or another strategy"
    )]
    Dealers(usize),
    /// A cost is 0 that must be positive, or time would stand still.
    #[error("costs.{0} is 0, and time would stand still: let it cost at least 1 tick")]
    Free(&'static str),
    /// The named strategy does not use a user-defined balancer.
    #[error(
        "{0} does not ask a balancer of yours whom to steal from: leave it out, or simulate \
         lock-free, flexible, semi-private, sharing or private-sharing"
    )]
    Balancer(String),
    /// The named strategy does not use a user-defined donor.
    #[error(
        "{0} does not ask a donor of yours whom to give to: leave it out, or simulate sharing, \
         private-sharing or sending"
    )]
    Donor(String),
    /// The computation does not end.
    #[error(
        "the computation does not end, because processors that hold some of it have been taken \
         away for good: let their speed become positive again"
    )]
    Stuck,
}
