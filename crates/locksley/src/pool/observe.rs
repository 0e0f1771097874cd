//! What a program can see of its pool.

use locksley_trace::recording::Recording;
use locksley_trace::{Profile, Trace};

use super::{Pool, run_in};
use crate::observe::record;
use crate::observe::state::PoolState;

impl Pool {
    /// Returns the number of workers that look for work without a pause: all of them, unless the
    /// process has lost processors since, by its affinity mask or the quota of its control group.
    /// The pool looks once a second while it works, unless
    /// [`Builder::processors`](crate::Builder::processors) was called. Workers beyond this number
    /// sleep for a while before each job.
    #[must_use]
    pub fn active_workers(&self) -> usize {
        self.registry.active()
    }

    /// Returns the number of jobs in each worker's queues, by index; the spares that have been
    /// started come last. The lengths are read one after the other, so a job that moves meanwhile
    /// may be counted twice, or not at all.
    #[must_use]
    pub fn loads(&self) -> Vec<usize> {
        let workers = 0..self.registry.workers();
        workers
            .map(|index| self.registry.worker(index).load())
            .collect()
    }

    /// Returns what each worker is doing, what it waits for, and how many jobs are queued, to be
    /// printed when the program seems to hang. The workers go on meanwhile, so the parts need not
    /// be of the same moment.
    #[must_use]
    pub fn state(&self) -> PoolState {
        PoolState::of(&self.registry)
    }

    /// Returns counts of what the workers have done so far. Feature `stats`, on by default.
    ///
    /// Counts lag behind a little where their worker is busy; see [`Stats`](crate::Stats).
    #[cfg(all(feature = "stats", not(loom)))]
    #[must_use]
    pub fn stats(&self) -> crate::Stats {
        self.registry.stats()
    }

    /// Returns a handle for the statistics, which stays valid after the pool has ended. It keeps
    /// the counters in memory. Feature `stats`, on by default.
    #[cfg(all(feature = "stats", not(loom)))]
    #[must_use]
    pub fn observer(&self) -> crate::Observer {
        crate::Observer::new(self.registry.clone())
    }

    /// Returns what the pool has recorded since the last call: see
    /// [`Builder::record`](crate::Builder::record). `None` if it does not record, or nothing has
    /// been run.
    ///
    /// A run is recorded when it is over. Runs of several threads at the same time are recorded one
    /// after the other, in the order in which they ended.
    #[must_use = "what was recorded is gone from the pool"]
    pub fn take_recording(&self) -> Option<Recording> {
        self.registry.take_recording()
    }

    /// Runs a closure in the pool, and records what it does, and nothing else: see
    /// [`Builder::record`](crate::Builder::record), which need not have been called.
    ///
    /// Several such calls may be under way at once; each records its own closure. One within
    /// another is a part of the outer recording too. If the closure panics, so does this.
    #[must_use = "without a look at the recording, `install` costs less"]
    pub fn record<F, R>(&self, f: F) -> (R, Recording)
    where
        F: FnOnce() -> R + Send,
        R: Send,
    {
        run_in(&self.registry, |worker| record::record(worker, |_| f()))
    }

    /// Runs a closure in the pool, and measures how parallel it is: its work and span, and what
    /// they say about the speed-up on any number of workers. [`Profile`] says how accurate it is;
    /// the [guide](crate::guide::observing) has an example.
    ///
    /// It works under every strategy, from inside of the pool and from outside. Several such calls
    /// may be under way at once; each profiles its own closure. One within another is a part of the
    /// outer profile, too. If the closure panics, so does this.
    #[must_use = "without a look at the profile, `install` costs less"]
    pub fn profile<F, R>(&self, f: F) -> (R, Profile)
    where
        F: FnOnce() -> R + Send,
        R: Send,
    {
        let (result, recording, cost) = run_in(&self.registry, |worker| {
            let cost = record::cost_of_a_strand(worker);
            let (result, recording) = record::record(worker, |_| f());
            (result, recording, cost)
        });
        let profile = recording.profile(Profile::BURDEN, cost);
        (result, profile)
    }

    /// Returns what the workers have done since the last call, as a timeline: see
    /// [`Builder::trace`](crate::Builder::trace). Empty if nothing is traced.
    ///
    /// This can be called at any time, and stops no worker. A job that still runs is drawn up to
    /// now; the rest of it comes with the next call. The trace shows the process with its process
    /// id, and each worker as one of its threads, by index; spares come last. Time counts from when
    /// the pool was configured.
    #[must_use = "what was traced is gone from the pool"]
    pub fn take_trace(&self) -> Trace {
        self.registry.take_trace()
    }
}
