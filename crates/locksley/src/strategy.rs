//! Which way of scheduling a pool follows.

use std::fmt;
use std::str::FromStr;

/// A way of scheduling: a kind of work pile and the policies that go with it.
///
/// ```
/// use locksley::Strategy;
///
/// let strategy: Strategy = "chase-lev".parse().unwrap();
/// assert_eq!(strategy.to_string(), "chase-lev");
/// assert!("chase-leave".parse::<Strategy>().unwrap_err().to_string().contains("chase-lev"));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Strategy {
    /// Work stealing in which the thief pays: the owner of a pile issues no fence and no
    /// compare-and-swap, and no task is ever hidden. The default.
    #[default]
    Asymmetric,
    /// Lock-free work stealing on the growable deque of Chase and Lev.
    ChaseLev,
    /// Lock-free work stealing on the bounded deque of Arora, Blumofe and Plaxton. Where a pile is full,
    /// a join runs its second closure itself, and a spawn goes through the pool's injector.
    Abp,
    /// Work stealing on semi-private deques: thieves ask, and the owner exposes at its next fork.
    SemiPrivate,
}

impl Strategy {
    /// All of them.
    pub const ALL: [Strategy; 4] = [
        Strategy::Asymmetric,
        Strategy::ChaseLev,
        Strategy::Abp,
        Strategy::SemiPrivate,
    ];

    fn name(self) -> &'static str {
        match self {
            Strategy::Asymmetric => "asymmetric",
            Strategy::ChaseLev => "chase-lev",
            Strategy::Abp => "abp",
            Strategy::SemiPrivate => "semi-private",
        }
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that no strategy has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownStrategy(String);

impl fmt::Display for UnknownStrategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no strategy is called `{}`; there are", self.0)?;
        for strategy in Strategy::ALL {
            write!(f, " {strategy}")?;
        }
        Ok(())
    }
}

impl std::error::Error for UnknownStrategy {}

impl FromStr for Strategy {
    type Err = UnknownStrategy;

    fn from_str(text: &str) -> Result<Self, UnknownStrategy> {
        Strategy::ALL
            .into_iter()
            .find(|strategy| strategy.name() == text)
            .ok_or_else(|| UnknownStrategy(text.to_owned()))
    }
}

/// What a worker does while it waits for a task that another worker has.
///
/// ```
/// use std::sync::Mutex;
/// use locksley::{Pool, Waiting};
///
/// // Each task holds the lock while it waits for a join. A waiter that took any work could take the
/// // other task, which wants the lock that it holds itself.
/// let pool = Pool::builder().workers(2).waiting(Waiting::Leapfrog).build().unwrap();
/// let total = Mutex::new(0);
/// let add = || {
///     let mut total = total.lock().unwrap();
///     let (a, b) = locksley::join(|| 1, || 2);
///     *total += a + b;
/// };
/// pool.install(|| locksley::join(add, add));
/// assert_eq!(total.into_inner().unwrap(), 6);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Waiting {
    /// It leapfrogs: it takes only work that descends from what it waits for. Where there is
    /// none, it sleeps, and a spare worker takes its place. So a task that holds a lock while it
    /// waits never runs another task that wants the lock. The default.
    #[default]
    Leapfrog,
    /// It takes any work. What it runs may be unrelated, may block on a lock that the waiting task
    /// holds, and stacks up on the waiting task's stack.
    TakeAny,
}

/// How a worker that finds nothing goes to sleep.
///
/// ```
/// use locksley::{Idle, Pool};
///
/// // Workers that look around for long before they sleep: for work that comes in bursts.
/// let eager = Idle { spins: 10_000, ..Idle::default() };
/// let pool = Pool::builder().workers(2).idle(eager).build().unwrap();
/// assert_eq!(pool.install(|| 6 * 7), 42);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Idle {
    /// Rounds through all victims with a pause in between.
    pub spins: u32,
    /// Rounds after that which give the processor away in between.
    pub yields: u32,
}

impl Default for Idle {
    /// About 20 microseconds of spinning, the price of one sleep and wake-up, and then as much
    /// yielding: the classical rule that loses at most a factor of two.
    fn default() -> Self {
        Idle {
            spins: 64,
            yields: 16,
        }
    }
}
