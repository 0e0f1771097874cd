//! How a pool is configured and built.

mod build;
mod observe;
mod threads;

use std::fmt;
use std::num::NonZero;

use locksley_policy::{Balancer, Donor, Mixed, Theta, Victims};

use crate::pool::config::Config;
use crate::strategy::{Idle, Strategy, Waiting};

/// Builds a [`Pool`](crate::Pool). Created by [`Pool::builder`](crate::Pool::builder), or by
/// `Builder::default`. The [guide](crate::guide::first_steps) has an example.
///
/// What a program does not set comes from the environment, and then from the defaults below. These
/// variables count for every pool, the global one included:
///
/// | variable | what it does |
/// |---|---|
/// | `LOCKSLEY_NUM_THREADS=N` | the number of workers, if the program sets none |
/// | `LOCKSLEY_STRATEGY=NAME` | the strategy, if the program sets none |
/// | `LOCKSLEY_STATS=1` | prints the statistics on standard error when the program exits |
/// | `LOCKSLEY_TRACE=FILE` | writes a timeline when the program exits |
/// | `LOCKSLEY_PROFILE=FILE` | writes work and span (JSON, `locksley-profile/1`) |
/// | `LOCKSLEY_RECORD=FILE` | writes a recording for `locksley replay` (JSON, `locksley-dag/1`) |
/// | `LOCKSLEY_NO_MEMBARRIER=1` | fences on both sides in place of the system call `membarrier` |
///
/// The four in the middle need the feature `stats`. `%p` in the name of a file stands for the
/// number of the process. A program that aborts or is killed writes nothing.
#[must_use = "a builder does nothing until it is built"]
pub struct Builder {
    /// `None` for the default, as below.
    workers: Option<NonZero<usize>>,
    strategy: Option<Strategy>,
    config: Config,
}

impl Default for Builder {
    fn default() -> Self {
        Builder {
            workers: None,
            strategy: None,
            config: Config {
                seed: 0x5eed,
                depth_limit: 128,
                ..Config::default()
            },
        }
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let config = &self.config;
        f.debug_struct("Builder")
            .field("workers", &self.workers)
            .field("strategy", &self.strategy)
            .field("waiting", &config.waiting)
            .field("spares", &config.spares)
            .field("idle", &config.idle)
            .field("pinning", &config.pinning)
            .field("stack_size", &config.stack_size)
            .finish_non_exhaustive()
    }
}

impl Builder {
    /// Sets the number of workers, at most [`max_num_workers`](crate::max_num_workers). The
    /// default, which 0 stands for, is the value of `LOCKSLEY_NUM_THREADS`, or else the number of
    /// CPUs that this process may use.
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = NonZero::new(workers);
        self
    }

    /// Sets the scheduling strategy. The default is the one that `LOCKSLEY_STRATEGY` names, or else
    /// [`Strategy::Stealing`]. An unknown name is reported on standard error, once.
    pub fn strategy(mut self, strategy: Strategy) -> Self {
        self.strategy = Some(strategy);
        self
    }

    /// Sets what a worker does while it waits. The default is [`Waiting::Leapfrog`].
    pub fn waiting(mut self, waiting: Waiting) -> Self {
        self.config.waiting = waiting;
        self
    }

    /// Sets the maximum number of spare workers: threads that take the places of blocked ones.
    /// Their indices follow those of the workers. The default is the number of workers, and at
    /// least 64. A number that is too large is lowered:
    /// [`Worker::num_spares`](crate::Worker::num_spares) returns the pool's maximum. No spare is
    /// started before it is needed.
    ///
    /// With 0, every index is below [`current_num_workers`](crate::current_num_workers), and two
    /// tasks that run at the same time never have the same one. A worker that waits, and finds no
    /// job that descends from what it waits for, then takes any job, as with [`Waiting::TakeAny`].
    /// [`Waiting::TakeAny`] and [`Waiting::Own`] have no spares.
    pub fn spares(mut self, spares: usize) -> Self {
        self.config.spares = Some(spares);
        self
    }

    /// Lets a worker take the oldest of its own tasks first instead of the newest. A hint: jobs
    /// that a join waits for still run first. [`scope_fifo`](crate::scope_fifo) and
    /// [`spawn_fifo`](crate::spawn_fifo) do the same for single tasks, at less cost. The default is
    /// `false`.
    pub fn breadth_first(mut self, breadth_first: bool) -> Self {
        self.config.breadth_first = breadth_first;
        self
    }

    /// Makes the thread that builds the pool its first worker, with index 0, until the thread ends.
    ///
    /// The pool starts one thread less, and runs no start and exit handlers for this one. The
    /// thread runs jobs only while it waits for something of the pool, or in
    /// [`yield_now`](crate::yield_now); so a pool of this worker alone makes no progress otherwise.
    /// Dropping the pool on that thread, outside of a task, runs the jobs that are left. After that
    /// the thread is still a worker of the pool, and runs what it forks itself. A broadcast panics
    /// once a worker has left, that is, after the pool or the thread has ended. A pool of this
    /// worker alone refuses all tasks, with a panic, once the thread has ended.
    ///
    /// ```
    /// std::thread::spawn(|| {
    ///     let pool = locksley::Pool::builder().workers(2).use_current_thread().build().unwrap();
    ///     assert_eq!(locksley::current_worker_index(), Some(0));
    ///     assert_eq!(pool.install(std::thread::current).id(), std::thread::current().id());
    /// });
    /// ```
    pub fn use_current_thread(mut self) -> Self {
        self.config.use_current_thread = true;
        self
    }

    /// Sets how a worker that finds no job goes to sleep. The default is [`Idle::default`].
    pub fn idle(mut self, idle: Idle) -> Self {
        self.config.idle = idle;
        self
    }

    /// Sets the number of processors for the pool's workers. It decides whether threads spin and
    /// yield before they park, and how many workers are woken. The default is the number of CPUs
    /// that this process may use.
    pub fn processors(mut self, processors: usize) -> Self {
        self.config.processors = Some(processors.max(1));
        self
    }

    /// Sets the seed of the random choice of victims. The default is a constant.
    pub fn seed(mut self, seed: u64) -> Self {
        self.config.seed = seed;
        self
    }

    /// Makes all loops of the pool split by their length alone, as
    /// [`Par::deterministic`](crate::par::Par::deterministic) does for one: sums of floating-point
    /// numbers have the same bits on any number of workers. The default is `false`, unless
    /// `LOCKSLEY_REPRODUCIBLE` is set, to anything but 0.
    pub fn deterministic(mut self, deterministic: bool) -> Self {
        self.config.deterministic = deterministic;
        self
    }

    /// Sets the maximum number of jobs that a worker has on its stack because it took each of them
    /// while it waited in the one before. A worker at this limit takes no further job while it
    /// waits: it blocks, and a spare takes its place. So the stack does not grow with the number of
    /// tasks. With 0 a worker takes no job while it waits, except those of its own scope. The
    /// default is 128, which leaves each of them 16 KiB of a thread's usual stack of 2 MiB. If no
    /// spare is left, a worker goes beyond the limit; the statistics count that as `no_spare`.
    pub fn depth_limit(mut self, depth: usize) -> Self {
        self.config.depth_limit = depth;
        self
    }

    /// Sets how an idle worker chooses its victim. The default is [`Victims::NEAREST`] where
    /// workers are pinned or the machine has several packages, NUMA nodes or last-level caches, and
    /// [`Victims::Uniform`] where all are equally near.
    ///
    /// If workers are not pinned, a worker's place is the CPU that it was last seen on. Then only
    /// boundaries count that the operating system rarely moves threads across: those of last-level
    /// caches and wider.
    pub fn victims(mut self, victims: Victims) -> Self {
        self.config.victims = Some(victims);
        self
    }

    /// Sets a user-defined choice of victims, under any strategy. `make` creates the [`Balancer`]
    /// of each worker, from the worker's index. With probability `theta` a thief asks it for the
    /// victim to try first; otherwise it tries a random one. If that victim has nothing, it tries
    /// the others. By default there is none. The [guide](crate::guide::strategies) has an example.
    ///
    /// A balancer that panics, or whose creation panics, is not asked again: its worker tries
    /// random victims from then on. The panic goes to the [panic handler](Builder::panic_handler).
    pub fn balancer<B>(
        mut self,
        theta: Theta,
        make: impl Fn(usize) -> B + Send + Sync + 'static,
    ) -> Self
    where
        B: Balancer + Send + 'static,
    {
        self.config.balancer = Some(Box::new(move |index| {
            let balancer = make(index);
            Box::new(Mixed { theta, balancer })
        }));
        self
    }

    /// Sets a user-defined choice of when and to whom to give, under the strategy `sharing`. `make`
    /// creates the [`Donor`] of each worker, from the worker's index. It replaces the strategy's
    /// heuristic and target. By default there is none. The [guide](crate::guide::strategies) has an
    /// example.
    ///
    /// A spawned task is offered to the worker that the donor names, if that worker is idle. A fork
    /// is an opportunity to give the oldest job that waits. Thieves can still steal a job that is
    /// offered.
    ///
    /// A donor that panics, or whose creation panics, is not asked again: its worker offers nothing
    /// from then on. The panic goes to the [panic handler](Builder::panic_handler).
    pub fn donor<D>(mut self, make: impl Fn(usize) -> D + Send + Sync + 'static) -> Self
    where
        D: Donor + Send + 'static,
    {
        self.config.donor = Some(Box::new(move |index| Box::new(make(index))));
        self
    }
}
