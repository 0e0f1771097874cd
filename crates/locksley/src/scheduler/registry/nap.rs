//! Naps: sleeps that end by themselves, after which the sleeper looks for work.
//!
//! A worker naps before it sleeps for long. And while as many workers are awake as there are
//! processors, one of the sleepers is the *napper*: a push leaves its job to it instead of waking a
//! worker that would have to share a processor. If the napper sees a queue with jobs that does not
//! change, the queue's owner is held up, and the napper wakes as many workers as there are jobs. If
//! all queues change, their owners make progress, and the napper takes jobs only after a while.

use std::thread;
use std::time::Duration;

use locksley_trace::Activity;

use super::Registry;
use crate::observe::stats::Event;
use crate::scheduler::idle::shared_barrier::Ticket;
use crate::scheduler::worker::Worker;

/// The usual length of a nap.
const NAP: Duration = Duration::from_micros(500);

/// Length and number of a worker's naps while wake-ups are in vain, and pushes leave their jobs to
/// it.
const SHORT_NAP: Duration = Duration::from_micros(250);
const SHORT_NAPS: u32 = 12;

/// The first nap of a drafted worker. Each of the following [`DOUBLINGS`] naps is twice as long as
/// the one before; after the last, the worker takes any job. Together they last 12 ms. They must
/// end, because tasks that spin until a job is done that was left to the napper may use up all
/// processors meanwhile.
const FIRST_NAP: Duration = Duration::from_micros(100);
const DOUBLINGS: u32 = 6;

/// For each queue of a pool, the pool's own first, the number of jobs and how many of them are
/// public.
#[derive(PartialEq)]
struct Sight(Vec<(usize, usize)>);

impl Sight {
    /// Returns the number of jobs in all queues.
    fn jobs(&self) -> usize {
        self.0.iter().map(|&(jobs, _)| jobs).sum()
    }

    /// Returns `true` if a queue with jobs is as it was `before`.
    fn is_stuck(&self, before: &Sight) -> bool {
        let mut pairs = self.0.iter().zip(&before.0);
        pairs.any(|(now, before)| now.0 > 0 && now == before)
    }
}

impl Registry {
    fn sight(&self) -> Sight {
        let own = (self.injector.len(), 0);
        let workers = self.workers_in(0..self.workers());
        let workers = workers.map(|worker| (worker.load(), worker.deque.public_len()));
        Sight(std::iter::once(own).chain(workers).collect())
    }

    /// Returns `true` if no worker need be woken for a job, because a napper will see it; drafts a
    /// napper if there is none. The napper restores the call that the pusher of the job has
    /// cleared.
    pub(crate) fn leaves_to_napper(&self) -> bool {
        let counts = self.counts.get();
        if counts.asleep() == 0 || counts.awake(self.size) < self.processors {
            return false;
        }
        self.counts.note_left();
        self.counts.has_napper() || self.draft_napper()
    }

    /// Drafts a sleeping worker as a napper. Returns `false` if none sleeps.
    #[cold]
    fn draft_napper(&self) -> bool {
        let workers = self.workers_in(0..self.workers());
        let states = workers.map(|worker| (worker, &worker.sleep));
        let drafted = self.counts.draft(states);
        if let Some(worker) = drafted {
            self.count(Event::Woken);
            worker.unpark();
        }
        drafted.is_some()
    }

    /// Ends a nap or a draft of the calling worker, which gets up and looks for work. If a push has
    /// relied on it, restores the calls that such pushes have cleared. Then it may have missed a
    /// push that saw no call, and passes a heavy barrier.
    pub(super) fn end_nap_to_get_up(&self) {
        if !self.counts.end_nap() {
            return;
        }
        self.leave_calls();
        if !self.sleepers_barrier.pass() {
            // The worker that this wakes sleeps no longer than a nap, and sees what the caller may
            // have missed.
            self.wake_one();
        }
    }

    /// Parks the calling worker for `length`, or until `awake`. Returns `true` if the time has
    /// passed.
    fn park_for(&self, length: Duration, awake: &dyn Fn() -> bool) -> bool {
        let until = self.now() + length.as_nanos() as u64;
        while !awake() {
            let left = until.saturating_sub(self.now());
            if left == 0 {
                return true;
            }
            thread::park_timeout(Duration::from_nanos(left));
        }
        false
    }

    /// Parks the calling worker for a while, and looks for work after that. The worker has just
    /// begun to sleep, and has called the first `called` workers. Returns `Some(false)` if there is
    /// no work, and `None` if that is not known or the worker was woken.
    pub(super) fn nap_first(&self, called: usize, awake: &dyn Fn() -> bool) -> Option<bool> {
        let ticket = self.sleepers_barrier.ticket();
        let (length, mut naps) = if self.counts.needs_napper() {
            (SHORT_NAP, SHORT_NAPS)
        } else {
            (NAP, 1)
        };
        self.counts.begin_nap();
        while self.park_for(length, awake) {
            naps -= 1;
            if naps == 0 {
                return self.look_for_good(Some((ticket, called)));
            } else if self.work_in_sight() {
                self.end_nap_to_get_up();
                return Some(true);
            }
        }
        self.end_nap_to_get_up();
        None
    }

    /// Takes the naps of a worker that was drafted. Returns the same as
    /// [`nap_first`](Registry::nap_first).
    pub(super) fn nap_drafted(&self, awake: &dyn Fn() -> bool) -> Option<bool> {
        let mut before = self.sight();
        for doubling in 0..=DOUBLINGS {
            if !self.park_for(FIRST_NAP * (1 << doubling), awake) {
                self.end_nap_to_get_up();
                return None;
            }
            let sight = self.sight();
            if sight.is_stuck(&before) {
                self.end_nap_to_get_up();
                // The caller still counts as asleep, and may be among those that it wakes.
                let jobs = 0..sight.jobs();
                jobs.take_while(|_| self.wake_sleeper()).for_each(drop);
                return Some(true);
            }
            before = sight;
        }
        self.look_for_good(None)
    }

    /// Ends a nap, and looks for work. No push is missed: one that the caller does not see wakes
    /// it. `called` tells when the caller has called all workers, and how many there were; `None`
    /// if it has not.
    fn look_for_good(&self, called: Option<(Ticket, usize)>) -> Option<bool> {
        let left = self.counts.end_nap();
        let must_pass = self.leave_calls() || left;
        let is_ordered = |(ticket, workers)| {
            self.sleepers_barrier.was_passed_since(ticket) && self.workers() == workers
        };
        if !must_pass && called.is_some_and(is_ordered) {
            Some(self.work_in_sight())
        } else {
            self.call_for_work()
        }
    }

    /// Sleeps for a moment if the work in sight should be left to another worker, which is busy.
    pub(super) fn nap_if_refused(&self, worker: &Worker) {
        if worker.was_refused() {
            self.nap_for(worker, NAP);
        }
    }

    pub(super) fn nap_for(&self, worker: &Worker, time: Duration) {
        worker.counters.count(Event::Park);
        let _parked = worker.traced(Activity::Parked);
        thread::park_timeout(time);
    }
}

#[cfg(all(test, not(loom)))]
#[path = "../../../tests/unit/scheduler/registry/nap.rs"]
mod tests;
