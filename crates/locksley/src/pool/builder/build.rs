//! Building a pool from its configuration.

use std::io;

use super::Builder;
use crate::error::BuildError;
use crate::machine::HAS_THREADS;
#[cfg(all(feature = "stats", not(loom)))]
use crate::observe::at_exit;
use crate::pool::config::MOST_WORKERS;
use crate::pool::thread_builder::{SpawnThread, ThreadBuilder};
use crate::pool::{GLOBAL, Pool, environment};
use crate::scheduler::registry::Registry;
use crate::strategy::{HAS_STRATEGIES, Strategy, Waiting};

impl Builder {
    /// Builds the pool and starts its workers.
    ///
    /// On a target without threads, which is WebAssembly without the feature `atomics`, the pool
    /// has one worker, whatever was asked for: the calling thread, as with
    /// [`use_current_thread`](Builder::use_current_thread). It runs everything itself.
    ///
    /// # Errors
    ///
    /// If the configuration cannot be met, or the operating system refuses a thread. No thread is
    /// left behind then.
    pub fn build(self) -> Result<Pool, BuildError> {
        let able = if HAS_THREADS {
            self
        } else {
            self.workers(1).spares(0).use_current_thread()
        };
        able.build_with(ThreadBuilder::spawn)
    }

    /// Builds the pool with threads that the caller starts. `spawn` gets each worker, in order, and
    /// arranges for a thread to [run](ThreadBuilder::run) it, at once or later. That thread may be
    /// scoped, and may set up thread-local variables for the tasks.
    ///
    /// The pool starts spares itself: if tasks need what the caller sets up, allow
    /// [none](Builder::spares). Ending the pool waits until each worker has been run or dropped; a
    /// worker that is dropped never runs its share of a broadcast. If the workers are
    /// [pinned](Builder::pinning), this call waits until each has been run or dropped.
    ///
    /// ```
    /// use std::cell::Cell;
    ///
    /// thread_local!(static SHIFT: Cell<&'static str> = const { Cell::new("none") });
    ///
    /// let pool = locksley::Pool::builder()
    ///     .workers(2)
    ///     .spares(0)
    ///     .build_with(|thread| {
    ///         std::thread::Builder::new().name(thread.name()).spawn(move || {
    ///             SHIFT.set("night");
    ///             thread.run();
    ///         })?;
    ///         Ok(())
    ///     })
    ///     .unwrap();
    /// assert_eq!(pool.install(|| SHIFT.get()), "night");
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`build`](Builder::build), or if `spawn` fails. In that case, workers that were given
    /// out end as soon as they are run.
    pub fn build_with(
        self,
        mut spawn: impl FnMut(ThreadBuilder) -> io::Result<()>,
    ) -> Result<Pool, BuildError> {
        self.build_by(&mut spawn)
    }

    /// [`build_with`](Builder::build_with) without generics, so that there is one copy of the code.
    fn build_by(self, spawn: SpawnThread<'_>) -> Result<Pool, BuildError> {
        let mut config = self.config;
        config.workers = match self.workers {
            Some(workers) => workers.get(),
            None => environment::workers()?,
        };
        config.strategy = self.strategy.unwrap_or_else(environment::strategy);
        config.deterministic |= environment::is_deterministic();
        if !(1..=MOST_WORKERS).contains(&config.workers) {
            return Err(BuildError::Workers {
                wanted: config.workers,
                most: MOST_WORKERS,
            });
        }
        if !HAS_STRATEGIES && !config.strategy.is_built_in() {
            return Err(BuildError::StrategyLeftOut);
        }
        if config.donor.is_some() && !matches!(config.strategy, Strategy::Sharing(_)) {
            return Err(BuildError::Donor {
                strategy: config.strategy,
            });
        }
        if config.strategy.is_dedicated() {
            if config.use_current_thread {
                return Err(BuildError::Dedicated);
            }
            // See `locksley_strategy::DedicatedQueue`.
            config.waiting = Waiting::TakeAny;
        }
        if let Some(pinner) = &config.pinner {
            config.pinned_cpus = (pinner.cpus)(&config.pinning, config.workers)?;
        }
        #[cfg(all(feature = "stats", not(loom)))]
        at_exit::prepare(&mut config);
        let registry = Registry::new(config);
        registry.start(spawn)?;
        registry.thread_counts.add_user();
        let pool = Pool { registry };
        #[cfg(all(feature = "stats", not(loom)))]
        at_exit::keep(&pool);
        Ok(pool)
    }

    /// Builds the global pool, which the free functions use. It must not exist yet.
    ///
    /// # Errors
    ///
    /// As for [`build`](Builder::build), or if the global pool exists.
    ///
    /// ```
    /// locksley::Pool::builder().workers(2).build_global().unwrap();
    /// assert_eq!(locksley::current_num_workers(), 2);
    /// // There is only one.
    /// assert!(locksley::Pool::builder().build_global().is_err());
    /// ```
    pub fn build_global(self) -> Result<(), BuildError> {
        if GLOBAL.get().is_some() {
            return Err(BuildError::GlobalExists);
        }
        let pool = self.build()?;
        GLOBAL.set(pool).map_err(|_| BuildError::GlobalExists)
    }
}
