//! How a pool's threads start, and the main loop of a worker.

use std::sync::Arc;
use std::thread;

use super::Registry;
use crate::error::{BuildError, report};
use crate::machine::jobserver::{Jobserver, Token};
use crate::machine::share::{self, Backoff};
use crate::machine::topology::processors_now;
use crate::pool::thread_builder::{self, Report, Reports, SpawnThread, ThreadBuilder};
use crate::scheduler::idle::yield_backoff::YieldBackoff;
use crate::scheduler::worker::Worker;
use crate::sync::Ordering;

/// Number of rounds of its main loop after which a worker checks whether it is time to count the
/// processors again.
const LOOKS: u32 = 64;

impl Registry {
    /// Passes each worker to `spawn`, which starts its thread. On failure no thread is left.
    pub(crate) fn start(self: &Arc<Self>, spawn: SpawnThread<'_>) -> Result<(), BuildError> {
        let adopts = self.config.use_current_thread;
        if adopts && Worker::current().is_some() {
            return Err(BuildError::AlreadyWorker);
        }
        let reports = (!self.config.pinned_cpus.is_empty()).then(Reports::new);
        // If `spawn` panics, the threads that have been started end too.
        let unwinding = EndOnDrop(self);
        let first = usize::from(adopts);
        for index in first..self.size {
            let thread = ThreadBuilder::new(self.clone(), index, reports.as_ref().map(Report::new));
            if let Err(source) = spawn(thread) {
                // Threads that the caller has yet to start end as soon as they start.
                self.break_off();
                self.join_threads();
                return Err(BuildError::Thread {
                    started: index - first,
                    source,
                });
            }
        }
        std::mem::forget(unwinding);
        if let Some(error) = reports.and_then(|reports| reports.wait()) {
            self.close();
            return Err(error);
        }
        if adopts {
            thread_builder::adopt(self);
        }
        Ok(())
    }

    /// The main loop of a worker, or of a spare.
    pub(crate) fn main_loop(&self, worker: &Worker) {
        let guard = AbortOnUnwind;
        let spare = worker.index() >= self.size;
        let mut idle = 0;
        // A job may have forked the process: the jobs that are left belong to frames that are gone.
        let mut rounds = 0_u32;
        let mut token = Token::of(self.jobserver.filter(|_| !spare));
        let mut hold = None;
        while !self.is_orphaned() {
            rounds = rounds.wrapping_add(1);
            if rounds % LOOKS == 0 {
                self.look_at_processors();
            }
            let may_work = spare || worker.index() < self.share.active() && token.take();
            if may_work {
                hold = None;
            } else {
                token.put_back();
                if self.hold_back(worker, &mut hold) {
                    continue;
                }
            }
            if spare && worker.was_refused() && self.counts.get().has_spare_left_over() {
                // It was activated for work that it had to leave alone, and need not wait for more.
                self.put_aside(worker);
            }
            if !worker.targeted_jobs.is_empty() {
                self.end_pause(worker, &mut idle);
                worker.linger.targeted.set(true);
                worker.run_targeted();
            } else if let Some(queued) = worker.find_work() {
                self.end_pause(worker, &mut idle);
                worker.linger.targeted.set(false);
                let stolen = worker.tiny_work.begin_job();
                worker.run_job(queued);
                worker.tiny_work.end_job(stolen, || self.now());
                worker.end_work();
                if !spare {
                    worker.run_newest();
                } else if self.counts.get().has_spare_left_over() {
                    self.put_aside(worker);
                }
            } else if self.is_drained()
                && worker.has_no_dealt_jobs()
                && (spare || self.end_broadcasts(worker))
            {
                worker.trace_leaving();
                // No spare takes the place of an exit handler that blocks.
                self.counts.try_change(|counts| counts.limit_spares(0));
                // The worker that finished the last task may not have seen that the pool closes.
                // And exit handlers may spawn more tasks.
                self.wake_all();
                break;
            } else {
                worker.trace_idle();
                worker.open_to_offers();
                if idle == 0 {
                    let worth_it = worker.linger.begin_pause(self.now());
                    worth_it
                        .into_iter()
                        .for_each(|worth_it| self.counts.note_search(worth_it));
                }
                let rested = self.rest_until(
                    &mut idle,
                    || worker.has_offer(),
                    || self.try_yield(&worker.yields),
                );
                if rested && (spare || !self.lingers(worker)) {
                    self.look_at_processors();
                    if spare {
                        self.nap_if_refused(worker);
                        self.put_aside(worker);
                    } else {
                        token.put_back();
                        self.sleep(worker, || self.is_drained())
                    }
                    // It searches again, and its pause goes on.
                    idle = 1;
                }
            }
        }
        // The thread may be unwinding already, if this is called by a destructor.
        std::mem::forget(guard);
    }

    /// Called when a worker has something to do.
    #[inline]
    fn end_pause(&self, worker: &Worker, idle: &mut u32) {
        if *idle > 0 {
            *idle = 0;
            worker.linger.end_pause(self.now());
            self.end_linger(worker);
        }
    }

    /// Returns `true` if an idle worker should look for work once more instead of going to sleep.
    /// If so, it has yielded.
    fn lingers(&self, worker: &Worker) -> bool {
        let linger = &worker.linger;
        let worthwhile = linger.is_worthwhile(self.now()) && self.has_processors();
        if worthwhile
            && (linger.targeted.get() || self.is_lingerer(worker))
            && self.try_yield(&worker.yields)
        {
            return true;
        }
        self.end_linger(worker);
        false
    }

    /// Returns `true` if this is the one worker of the pool that lingers. Makes it that worker if
    /// there is none.
    fn is_lingerer(&self, worker: &Worker) -> bool {
        let lingers = &worker.linger.lingers;
        lingers.set(lingers.get() || !self.lingering.swap(true, Ordering::Relaxed));
        lingers.get()
    }

    fn end_linger(&self, worker: &Worker) {
        if worker.linger.lingers.take() {
            self.lingering.store(false, Ordering::Relaxed);
        }
    }

    /// Counts the processors for the workers, once a second.
    fn look_at_processors(&self) {
        if self.config.processors.is_none() && self.config.pinned_cpus.is_empty() {
            self.share.look(self.now(), processors_now);
        }
    }

    /// Returns the number of workers that look for work without a pause.
    pub(crate) fn active(&self) -> usize {
        self.share.active().min(self.size)
    }

    /// Makes a worker for which there is no processor, or no job token of make, sleep before it
    /// looks for work; not if it has jobs of its own or targeted jobs. Returns `true` if it should
    /// not look for work after that either.
    #[cold]
    fn hold_back(&self, worker: &Worker, hold: &mut Option<Backoff>) -> bool {
        let is_idle = worker.seems_empty() && !worker.has_received();
        if !is_idle || !worker.targeted_jobs.is_empty() {
            return false;
        }
        let held = hold.get_or_insert_with(|| Backoff::begin(self.now()));
        self.pass_on_summons(worker);
        self.nap_for(worker, share::PAUSE);
        self.look_at_processors();
        let jobs = self.jobserver.map_or(usize::MAX, Jobserver::jobs);
        let processors = self.share.processors().min(jobs);
        let wanted = !self.is_drained() && self.work_in_sight();
        if wanted && held.goes_on(self.now(), processors) {
            return true;
        }
        *hold = None;
        false
    }

    /// Performs one step of a waiter that idles. Returns `true` if it is time to sleep. It yields
    /// even if yields take long, because a waiter that sleeps needs a spare in its place, which
    /// costs more.
    pub(crate) fn rest(&self, idle: &mut u32) -> bool {
        let try_yield = || {
            thread::yield_now();
            true
        };
        self.rest_until(idle, || false, try_yield)
    }

    /// Performs one step of idling, cut short as soon as the worker is `served`. To check that at
    /// every pause disturbs no other worker, whereas to search more often would.
    fn rest_until(
        &self,
        idle: &mut u32,
        served: impl Fn() -> bool,
        try_yield: impl Fn() -> bool,
    ) -> bool {
        let rule = self.config.idle;
        *idle += 1;
        if *idle <= rule.spins && !self.is_overcommitted() {
            for _ in 0..1 << (*idle).min(5) {
                std::hint::spin_loop();
                if served() {
                    break;
                }
            }
            return false;
        }
        *idle > rule.spins + rule.yields || !try_yield()
    }

    /// Returns `true` if more workers are awake than there are processors: one that spins keeps
    /// another from running.
    fn is_overcommitted(&self) -> bool {
        self.size > self.processors && self.counts.get().awake(self.size) > self.processors
    }

    /// Returns `true` if at least as many workers are awake as there are processors.
    pub(crate) fn is_crowded(&self) -> bool {
        self.counts.get().awake(self.size) >= self.processors
    }

    /// Yields the processor. Returns `false`, and does not yield, if the caller should sleep
    /// instead.
    pub(crate) fn try_yield(&self, backoff: &YieldBackoff) -> bool {
        let began = self.now();
        let may_yield = backoff.may_yield(began);
        if may_yield {
            thread::yield_now();
            backoff.note_yield(began, self.now());
        }
        may_yield
    }
}

/// Aborts the process if the scheduler panics, which is a fault of this library: the tasks of a
/// worker that is gone would never run.
struct AbortOnUnwind;

impl Drop for AbortOnUnwind {
    fn drop(&mut self) {
        if thread::panicking() {
            report(format_args!(
                "a worker failed; this is a fault of the library"
            ));
            std::process::abort();
        }
    }
}

/// Ends a pool whose construction was broken off by a panic.
struct EndOnDrop<'r>(&'r Registry);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.0.break_off();
    }
}
