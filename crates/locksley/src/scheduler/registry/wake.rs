//! Handing jobs to a pool, and sleeping and waking its workers: the steps of `scheduler::idle`.

use std::thread;

use locksley_strategy::Job;
use locksley_trace::Activity;

use super::Registry;
use crate::observe::stats::Event;
use crate::scheduler::idle::sleep::leave_call;
use crate::scheduler::injector::QueuedJob;
use crate::scheduler::neighbours;
use crate::scheduler::worker::Worker;
use crate::sync::{Ordering, fence};
use crate::task::job::JobRef;

/// Number of pauses between a sleeper's calls and its look for work: longer than a store takes to
/// become visible.
const SETTLE: u32 = 16;

impl Registry {
    /// Pushes a job to the pool's queue, and wakes a worker.
    pub(crate) fn inject(&self, queued: QueuedJob) {
        self.check_process();
        self.count(Event::Handed);
        let job = queued.job.anywhere();
        self.injector.push(QueuedJob { job, ..queued });
        fence(Ordering::SeqCst);
        self.wake_one();
    }

    /// Targets a job at one worker, which runs it when its current job is done, or while it waits.
    pub(crate) fn deliver(&self, index: usize, job: JobRef) {
        self.check_process();
        let worker = self.worker(index);
        worker.targeted_jobs.push(QueuedJob { job, owner: index });
        // Pairs with `sleep`, which looks for targeted jobs after it has begun.
        fence(Ordering::SeqCst);
        self.counts.wake(&worker.sleep);
        worker.unpark();
    }

    /// Wakes a sleeping worker to search, or activates a spare. Returns `true` if there are more
    /// workers or spares to wake.
    ///
    /// Wakes none while enough workers that were woken before are on their way: each of them wakes
    /// another if there is more work than it takes. So few workers are woken in vain, and yet, as
    /// long as there are processors, the number of those that are awake grows by half each time.
    pub(crate) fn wake_one(&self) -> bool {
        if self.has_enough_summoned() {
            return self.counts.get().wants_work();
        }
        if !self.wake_sleeper() {
            self.activate_spare();
        }
        self.counts.get().wants_work()
    }

    /// Wakes a sleeping worker to search. Returns `false` if none sleeps.
    pub(super) fn wake_sleeper(&self) -> bool {
        // A spare that waits sleeps like any other worker.
        let workers = self.workers_in(0..self.workers());
        let states = workers.map(|worker| (worker, &worker.sleep));
        let chosen = self.counts.choose(states);
        if let Some(worker) = chosen {
            self.count(Event::Woken);
            worker.unpark();
        }
        chosen.is_some()
    }

    /// Returns `true` if no more workers should be woken, because enough of those that were woken
    /// have not got up yet.
    pub(crate) fn has_enough_summoned(&self) -> bool {
        let summoned = self.counts.summoned();
        if summoned == 0 {
            return false;
        }
        let awake = self.size.saturating_sub(self.counts.get().asleep());
        summoned >= (awake.min(self.processors) / 2).max(1)
    }

    /// [`wake_one`](Registry::wake_one), but prefers the worker that a job was `dealt_to`. Wakes no
    /// other if the job is `dedicated` to it.
    pub(crate) fn wake_one_for(&self, dealt_to: Option<usize>, dedicated: bool) -> bool {
        match dealt_to {
            // Woken to search, so that it wakes another one if it has something else to do.
            Some(index) if self.wake_near(index) || dedicated => self.counts.get().wants_work(),
            _ => self.wake_one(),
        }
    }

    /// Wakes the worker with this index, for which there is work. Returns `true` if it slept, and
    /// this call woke it.
    pub(crate) fn wake_near(&self, index: usize) -> bool {
        if index >= self.size {
            return false;
        }
        let worker = self.worker(index);
        let woken = self.counts.wake_to_search(&worker.sleep);
        if woken {
            self.count(Event::Woken);
            worker.unpark();
        }
        woken
    }

    /// Returns `true` if there is a job that a worker could take.
    pub(super) fn work_in_sight(&self) -> bool {
        !self.injector.is_empty()
            || self
                .workers_in(0..self.workers())
                .any(|worker| !worker.seems_empty())
    }

    /// Leaves a call at every worker, so that its next push wakes a sleeper. Returns `true` if a
    /// worker had none.
    pub(super) fn leave_calls(&self) -> bool {
        let workers = self.workers_in(0..self.workers());
        let left = workers.map(|worker| leave_call(&worker.deque));
        left.fold(false, |any, left| any | left)
    }

    /// Leaves a call at every worker, and returns `true` if there is work in sight. May miss a push
    /// whose store is not visible yet.
    pub(super) fn call_and_look(&self) -> bool {
        self.leave_calls();
        for _ in 0..SETTLE {
            std::hint::spin_loop();
        }
        self.work_in_sight()
    }

    /// [`call_and_look`](Registry::call_and_look) with a heavy barrier, so that no push is missed.
    /// Returns `None` if the barrier was refused, so that a push may be missed.
    pub(super) fn call_for_work(&self) -> Option<bool> {
        loop {
            let count = self.workers();
            self.leave_calls();
            let ordered = self.sleepers_barrier.pass();
            // A spare that starts after the barrier starts with a call.
            if self.workers() == count {
                return ordered.then(|| self.work_in_sight());
            }
        }
    }

    /// Puts an idle worker to sleep until it is woken or `ready`, unless there is work after all.
    /// The thread that makes `ready` return `true` unparks the worker.
    pub(crate) fn sleep(&self, worker: &Worker, ready: impl Fn() -> bool) {
        self.sleep_until(worker, &ready);
    }

    /// [`sleep`](Registry::sleep) without generics, so that there is one copy of the code.
    fn sleep_until(&self, worker: &Worker, ready: &dyn Fn() -> bool) {
        worker.close_to_offers();
        let summoned = worker.summoned.take();
        self.counts.begin_sleep(&worker.sleep);
        let called = self.workers();
        let awake = || !worker.sleep.is_asleep() || !worker.targeted_jobs.is_empty() || ready();
        if self.call_and_look() || worker.has_received() || awake() {
            self.end_sleep(worker);
            // The work in sight may be what it was woken for, and a pusher may rely on it to wake
            // others.
            worker.summoned.set(true);
            self.nap_if_refused(worker);
            return;
        }
        if summoned {
            self.counts.note_search(false);
        }
        worker.counters.count(Event::Park);
        worker.publish_counts();
        neighbours::look_around(self, worker);
        let parked = worker.traced(Activity::Parked);
        // If the barrier is refused, it sleeps no longer than its naps.
        let mut work = self.nap_first(called, &awake);
        while work == Some(false) && !worker.has_received() {
            while worker.sleep.is_asleep() && !worker.sleep.is_drafted() && !ready() {
                thread::park();
            }
            if !worker.sleep.take_draft() {
                break;
            }
            work = self.nap_drafted(&awake);
        }
        drop(parked);
        self.end_sleep(worker);
        if work != Some(false) {
            // A job may have been left to this worker. If it has something else to do, it wakes
            // another one.
            worker.summoned.set(true);
        }
        neighbours::look_where(self, worker);
    }

    /// Ends the sleep of the calling worker.
    fn end_sleep(&self, worker: &Worker) {
        let got_up = self.counts.end_sleep(&worker.sleep);
        if got_up.drafted {
            self.end_nap_to_get_up();
        }
        if got_up.to_search || got_up.drafted {
            worker.summoned.set(true);
        }
    }

    /// Called when a worker has something to do. If it was woken to search, and has not done so
    /// since, wakes another one in its place if there is work in sight.
    #[inline]
    pub(crate) fn pass_on_summons(&self, worker: &Worker) {
        if worker.summoned.take() {
            self.wake_another();
        }
    }

    /// [`pass_on_summons`](Registry::pass_on_summons) of a worker that has found a job.
    #[inline]
    pub(crate) fn end_search(&self, worker: &Worker) {
        if worker.summoned.take() {
            worker.linger.woken.set(true);
            self.wake_another();
        }
    }

    #[cold]
    #[inline(never)]
    fn wake_another(&self) {
        // After it, the caller sees the job that it was woken for, unless it was taken.
        fence(Ordering::Acquire); // [Z6]
        if self.work_in_sight() && !self.leaves_to_napper() {
            self.wake_one();
        }
    }

    pub(super) fn wake_all(&self) {
        // Pairs with `sleep`, which checks whether the pool closes after it has begun.
        fence(Ordering::SeqCst);
        for worker in self.workers_in(0..self.workers()) {
            if worker.index() < self.size {
                self.counts.wake(&worker.sleep);
            } else {
                self.raise_spare(worker);
            }
            worker.unpark();
        }
    }
}
