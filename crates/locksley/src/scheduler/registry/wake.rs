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

/// Pauses between a sleeper's calls and its look for work: longer than a store takes to be seen.
const SETTLE: u32 = 16;

impl Registry {
    /// Hands a job to the pool.
    pub(crate) fn inject(&self, queued: QueuedJob) {
        self.check_process();
        self.count(Event::Handed);
        let job = queued.job.anywhere();
        self.injector.push(QueuedJob { job, ..queued });
        fence(Ordering::SeqCst);
        self.wake_one();
    }

    /// Sends a job to one worker. It will run it when it is done with what it does, or waits.
    pub(crate) fn deliver(&self, index: usize, job: JobRef) {
        self.check_process();
        let worker = self.worker(index);
        worker.targeted_jobs.push(QueuedJob { job, owner: index });
        // Against `sleep`, which looks for mail after its heavy barrier.
        fence(Ordering::SeqCst);
        self.counts.wake(&worker.sleep);
        worker.unpark();
    }

    /// Wakes a sleeping worker to search, or calls up a spare. Returns `true` if another one would
    /// like to be woken.
    ///
    /// Not while enough workers that were woken before are on their way: each of them wakes another
    /// if there is more work than it takes. So few are woken for nothing, and yet, where there are
    /// processors for them, the number of those that are up grows by half each time.
    pub(crate) fn wake_one(&self) -> bool {
        if self.has_enough_summoned() {
            return self.counts.get().wants_work();
        }
        if !self.wake_sleeper() {
            self.call_spare();
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

    /// Returns `true` if so many workers that were woken have not got up yet that no more are
    /// woken.
    pub(crate) fn has_enough_summoned(&self) -> bool {
        let summoned = self.counts.summoned();
        if summoned == 0 {
            return false;
        }
        let awake = self.size.saturating_sub(self.counts.get().asleep());
        summoned >= (awake.min(self.processors) / 2).max(1)
    }

    /// [`wake_one`](Registry::wake_one), preferably this one, to which work was dealt; no other if
    /// that is `dedicated` to it.
    pub(crate) fn wake_one_for(&self, dealt_to: Option<usize>, dedicated: bool) -> bool {
        match dealt_to {
            // Woken to search, so that it passes it on if it has something else to do.
            Some(index) if self.wake_near(index) || dedicated => self.counts.get().wants_work(),
            _ => self.wake_one(),
        }
    }

    /// Wakes a certain worker for which there is work. Returns `true` if it slept, and this call
    /// woke it.
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

    /// Leaves a call at every worker, so that its next push wakes a sleeper. Returns `true` if one
    /// was not called already.
    pub(super) fn leave_calls(&self) -> bool {
        let workers = self.workers_in(0..self.workers());
        let left = workers.map(|worker| leave_call(&worker.deque));
        left.fold(false, |any, left| any | left)
    }

    /// Leaves a call at every worker, and looks whether there is work. A push whose store is on its way just then may be missed.
    pub(super) fn call_and_look(&self) -> bool {
        self.leave_calls();
        for _ in 0..SETTLE {
            std::hint::spin_loop();
        }
        self.work_in_sight()
    }

    /// The same, and no push is missed. Returns `None` if the barrier was refused, so that one may
    /// be.
    pub(super) fn call_for_work(&self) -> Option<bool> {
        loop {
            let count = self.workers();
            self.leave_calls();
            let ordered = self.sleepers_barrier.pass();
            // A spare that starts after the barrier takes itself to be called.
            if self.workers() == count {
                return ordered.then(|| self.work_in_sight());
            }
        }
    }

    /// Puts an idle worker to sleep, unless there is something to do after all, or until `ready`;
    /// the thread that makes it so unparks the worker.
    pub(crate) fn sleep(&self, worker: &Worker, ready: impl Fn() -> bool) {
        self.sleep_until(worker, &ready);
    }

    /// [`sleep`](Registry::sleep), of which there is one copy.
    fn sleep_until(&self, worker: &Worker, ready: &dyn Fn() -> bool) {
        worker.close_to_offers();
        let summoned = worker.summoned.take();
        self.counts.begin_sleep(&worker.sleep);
        let called = self.workers();
        let awake = || !worker.sleep.is_asleep() || !worker.targeted_jobs.is_empty() || ready();
        if self.call_and_look() || worker.has_received() || awake() {
            self.end_sleep(worker);
            // What is in sight may be what it was woken for, and a pusher rely on it to wake
            // others.
            worker.summoned.set(true);
            self.nap(worker, worker.was_refused());
            return;
        }
        if summoned {
            self.note_search(false);
        }
        worker.counters.count(Event::Park);
        worker.publish_counts();
        neighbours::look_around(self, worker);
        let parked = worker.traced(Activity::Parked);
        // Where the barrier is refused, the naps were all.
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

    /// A worker that was woken to search, and has not done so since, has something to do: if there
    /// is work in sight, another one is woken in its place.
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

    /// Notes whether it was worth its price that a worker was woken.
    pub(super) fn note_search(&self, worth_it: bool) {
        self.counts.note_search(worth_it);
    }

    #[cold]
    #[inline(never)]
    fn wake_another(&self) {
        // What the caller was woken for is in sight behind it, unless it was taken.
        fence(Ordering::Acquire); // [Z6]
        if self.work_in_sight() && !self.leaves_to_napper() {
            self.wake_one();
        }
    }

    pub(super) fn wake_all(&self) {
        // Against `sleep`, which looks whether the pool closes after its heavy barrier.
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
