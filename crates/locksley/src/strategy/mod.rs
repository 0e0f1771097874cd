//! Scheduling strategies.

pub(crate) mod local_queue;

use std::fmt;
use std::str::FromStr;

use locksley_policy::{
    Amount, DealMode, DealRule, Dealing, Flexible, Heuristic, ParseError, Reader, Sharing,
    StealHalf, Target, TextForm, Theta, Victims, When, Writer,
};

/// A way of scheduling: a kind of work queue and the policies that go with it. The
/// [guide](crate::guide::strategies) says which suits which program.
///
/// | text | queue | policies |
/// |---|---|---|
/// | `stealing` | the pool's split deque: private until a thief asks, or forces it | |
/// | `chase-lev` | Chase and Lev's deque | |
/// | `abp` | the bounded deque of Arora, Blumofe and Plaxton | |
/// | `semi-private` | the pool's split deque, of which one job is exposed at a time | |
/// | `flexible:VICTIMS` | the pool's split deque | which victim to try: [`Victims`] |
/// | `steal-half:WHEN,amount=AMOUNT` | the pool's split deque for forks, Hendler and Shavit's extended deque for spawned jobs | when to balance, how much to take: [`When`], [`Amount`] |
/// | `sharing:HEURISTIC,theta_s=P,theta_r=P,target=TARGET` | the pool's split deque for forks, Chase and Lev's deque of aged entries, which can be offered, for spawned jobs | when to give work away, how often not, to which worker: [`Sharing`] |
/// | `dealing:RULE,batch=N,mode=MODE` | the pool's split deque for forks, a stack and Hendler and Shavit's producer-consumer buffers between any two workers | to which worker to deal, how long to collect from one: [`DealRule`], [`Dealing`] |
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Strategy {
    /// Work stealing in which the thief pays for synchronisation: the owner of a queue issues no
    /// fence and no compare-and-swap, and yet thieves can get at every task. The default.
    #[default]
    Stealing,
    /// Lock-free work stealing on the growable deque of Chase and Lev.
    ChaseLev,
    /// Lock-free work stealing on the bounded deque of Arora, Blumofe and Plaxton. If a bounded
    /// queue is full, here and below, a join runs its second closure itself, and a spawn goes
    /// through the pool's queue.
    Abp,
    /// Work stealing on semi-private deques: thieves ask, and the owner exposes at its next fork.
    SemiPrivate,
    /// Work stealing on the pool's split deque, in which a policy chooses the victim to try first.
    /// [`Builder::victims`](crate::Builder::victims) and
    /// [`Builder::balancer`](crate::Builder::balancer) overrule it.
    Flexible(Flexible),
    /// Work stealing on the extended deque of Hendler and Shavit, of which a thief takes up to half
    /// at once. Workers can also be told to balance while they have work. The queue is bounded.
    StealHalf(StealHalf),
    /// Lock-free work stealing in which busy workers also give work away: what they fork or spawn
    /// is offered to an idle worker when a policy says so (Rito, "Scheduling computations", CFWSS).
    /// For programs in which one task makes all the work, or in which there is little to steal. The
    /// queue is bounded.
    Sharing(Sharing),
    /// Work dealing on the producer-consumer buffers of Hendler and Shavit: the worker that spawns
    /// a task deals it to the worker that an rule chooses, and forks are dealt on request. For
    /// tasks that prefer certain workers ([`spawn_near`](crate::spawn_near) with
    /// `dealing:locality`), and for many tasks that are alike. Dealing and collecting take no
    /// compare-and-swap.
    ///
    /// With `mode=dedicated` it works as published: a spawned task is executed by the worker that
    /// it was dealt to and by no other, and a worker executes such tasks in the order in which they
    /// were dealt. Waiters take any work then, whatever
    /// [`Builder::waiting`](crate::Builder::waiting) says; a task must not block on another one by
    /// other means; and the calling thread cannot be one of the workers.
    Dealing(Dealing),
}

/// `true` if pools can have all strategies, which is the feature `strategies`, on by default.
/// Without it there are only those that need no queue of their own: `stealing`, `semi-private` and
/// `flexible`.
pub const HAS_STRATEGIES: bool = cfg!(feature = "strategies");

impl Strategy {
    /// Returns `true` if the strategy works on the pool's split deque alone.
    pub(crate) fn is_built_in(&self) -> bool {
        matches!(
            self,
            Strategy::Stealing | Strategy::SemiPrivate | Strategy::Flexible(_)
        )
    }

    /// One strategy of each kind.
    pub const ALL: [Strategy; 8] = {
        let (mut all, mut number) = ([Strategy::Stealing; 8], 0);
        while number < all.len() {
            all[number] = Strategy::NAMED[number].1;
            number += 1;
        }
        all
    };

    const NAMED: [(&'static str, Strategy); 8] = [
        ("stealing", Strategy::Stealing),
        ("chase-lev", Strategy::ChaseLev),
        ("abp", Strategy::Abp),
        ("semi-private", Strategy::SemiPrivate),
        ("flexible", Strategy::flexible(Victims::STEAL_BACK)),
        (
            "steal-half",
            Strategy::steal_half(When::Empty, Amount::Difference),
        ),
        ("sharing", Strategy::sharing(Heuristic::TIT_FOR_TAT)),
        ("dealing", Strategy::dealing(DealRule::Simple)),
    ];

    /// [`Strategy::Flexible`] with this choice of victims.
    pub const fn flexible(victims: Victims) -> Strategy {
        Strategy::Flexible(Flexible { victims })
    }

    /// [`Strategy::StealHalf`] that balances at these times, and this much.
    pub const fn steal_half(when: When, amount: Amount) -> Strategy {
        Strategy::StealHalf(StealHalf { when, amount })
    }

    /// [`Strategy::Sharing`] with this heuristic, and any worker as a target.
    pub const fn sharing(heuristic: Heuristic) -> Strategy {
        Strategy::Sharing(Sharing {
            heuristic,
            theta_s: Theta::ZERO,
            theta_r: Theta::ZERO,
            target: Target::Random,
        })
    }

    /// [`Strategy::Dealing`] with this rule.
    pub const fn dealing(rule: DealRule) -> Strategy {
        Strategy::Dealing(Dealing {
            rule,
            batch: Dealing::BATCH,
            mode: DealMode::Hybrid,
        })
    }

    /// Returns `true` if spawned tasks are executed by the workers that they are dealt to, and by
    /// no others: work dealing as published.
    pub(crate) fn is_dedicated(&self) -> bool {
        matches!(self, Strategy::Dealing(policy) if policy.mode != DealMode::Hybrid)
    }

    /// Returns `true` if forks go to a queue of the strategy's own instead of the pool's deque.
    pub(crate) fn is_reference(&self) -> bool {
        matches!(self, Strategy::ChaseLev | Strategy::Abp)
    }

    pub(crate) fn name(&self) -> &'static str {
        let kind = std::mem::discriminant(self);
        let mut named = Strategy::NAMED.iter();
        let entry = named.find(|(_, one)| std::mem::discriminant(one) == kind);
        entry.map_or("", |&(name, _)| name)
    }

    /// Returns the text form; only the name in a program without the strategies, which leaves out
    /// the code that writes their policies, too.
    pub(crate) fn shown(&self) -> String {
        if HAS_STRATEGIES {
            self.to_string()
        } else {
            self.name().to_owned()
        }
    }
}

impl TextForm for Strategy {
    fn read(reader: &mut Reader<'_>) -> Result<Strategy, ParseError> {
        Ok(match reader.word("strategy", &Strategy::NAMED)? {
            Strategy::Flexible(_) => Strategy::Flexible(Flexible::read(reader)?),
            Strategy::StealHalf(_) => Strategy::StealHalf(StealHalf::read(reader)?),
            Strategy::Sharing(_) => Strategy::Sharing(Sharing::read(reader)?),
            Strategy::Dealing(_) => Strategy::Dealing(Dealing::read(reader)?),
            plain => plain,
        })
    }

    fn write(&self, writer: &mut Writer<'_, '_>) -> fmt::Result {
        writer.word(self.name())?;
        match self {
            Strategy::Flexible(policy) => policy.write(writer),
            Strategy::StealHalf(policy) => policy.write(writer),
            Strategy::Sharing(policy) => policy.write(writer),
            Strategy::Dealing(policy) => policy.write(writer),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.print(f)
    }
}

impl FromStr for Strategy {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        TextForm::parse(text)
    }
}

/// What a worker does while it waits for a task that another worker runs. The
/// [guide](crate::guide::waiting) says why it matters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Waiting {
    /// The worker leapfrogs: it takes only work that descends from what it waits for. If there is
    /// none, it sleeps, and a spare worker takes its place. So a task that holds a lock while it
    /// waits never runs another task that wants the lock. The default.
    #[default]
    Leapfrog,
    /// The worker leapfrogs. If there is no work of that kind, it sleeps, and no worker takes its
    /// place: there are no spares, so every index is below the number of workers. The depth of the
    /// stack and the locks that it meets are as with [`Leapfrog`](Waiting::Leapfrog); while it
    /// sleeps, fewer workers run than the pool has. The only unrelated work that it runs is its
    /// share of a [`broadcast`](crate::broadcast).
    ///
    /// A worker that waits for another pool runs the jobs that the other pool passes back to its
    /// own, if the two call into each other; a chain over three pools of one worker each, back to
    /// the first, deadlocks. A worker that drops another pool runs the jobs that come into its own
    /// pool from outside.
    ///
    /// A worker that polls a [`JoinHandle`](crate::JoinHandle) of its own pool runs the task
    /// itself; so the poll takes as long as the task, and no lock may be held meanwhile that the
    /// task wants. The pool does not know what any other future waits for: if that is a task that
    /// has not begun, and all workers are in [`block_on`](crate::block_on), the program deadlocks.
    Own,
    /// The worker takes any work. What it runs may be unrelated, may block on a lock that the
    /// waiting task holds, and stacks up on the waiting task's stack.
    TakeAny,
}

/// How a worker that finds nothing goes to sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Idle {
    /// Number of searches through all victims with a short pause after each.
    pub spins: u32,
    /// Number of further searches with a yield of the processor after each.
    pub yields: u32,
}

impl Default for Idle {
    /// About as long as one sleep and wake-up takes: the classical rule that loses at most a factor
    /// of two. For most of it the worker yields the processor to threads that wait for one.
    fn default() -> Self {
        Idle {
            spins: 4,
            yields: 32,
        }
    }
}
