//! Naps: sleeps that end by themselves, after which the sleeper looks for work.
//!
//! A worker naps before it sleeps for long. And while as many workers are awake as there are
//! processors, one of those that sleep is the *napper*: a push leaves its job to it instead of
//! waking a worker that would have to share a processor. If the napper sees jobs that stay where
//! they are, their owners are held up, and it wakes as many workers as there are jobs. What moves
//! is in good hands; it takes part in that only after a while.

use std::thread;
use std::time::Duration;

use locksley_trace::Activity;

use super::Registry;
use crate::observe::stats::Event;
use crate::scheduler::idle::shared_barrier::Ticket;
use crate::scheduler::worker::Worker;

/// How long a worker naps when all it can see is private work.
const NAP: Duration = Duration::from_micros(500);

/// The same while pushes leave their jobs to workers that nap, and how often a worker does so then.
const SHORT_NAP: Duration = Duration::from_micros(250);
const SHORT_NAPS: u32 = 12;

/// The first nap of a worker that was drafted. Each one is twice as long as the one before, up to
/// the last, after which it takes part in whatever there is. Together they last 12 ms: tasks that
/// wait for what is left to the napper by spinning may use up all processors meanwhile.
const FIRST_NAP: Duration = Duration::from_micros(100);
const DOUBLINGS: u32 = 6;

/// How many jobs each queue of a pool has, the pool's own first, and how many of them are public.
#[derive(PartialEq)]
struct Sight(Vec<(usize, usize)>);

impl Sight {
    /// How many jobs there are.
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

    /// Returns `true` if a worker that was woken would have to share a processor with another one.
    fn is_saturated(&self) -> bool {
        let counts = self.counts.get();
        counts.asleep() > 0 && counts.awake(self.size) >= self.processors
    }

    /// Returns `true` if no worker need be woken for a job, because one naps that will see it, or
    /// was drafted to. It restores the call that the pusher of the job has cleared.
    pub(crate) fn leaves_to_napper(&self) -> bool {
        if !self.is_saturated() {
            return false;
        }
        self.counts.note_left();
        self.counts.has_napper() || self.draft_napper()
    }

    /// Returns `true` if a job, which its pusher may as well run itself, is left to a worker that
    /// naps because wake-ups were in vain lately. The pusher's call must stand. For a thread that
    /// has passed a fence since it pushed the job.
    pub(crate) fn leaves_to_nap(&self) -> bool {
        self.counts.leaves_to_nap()
    }

    /// Makes a worker that sleeps a napper. Returns `false` if none sleeps.
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

    /// Ends a nap of the calling worker, or that it was drafted for one, and restores the calls that
    /// pushes have cleared because they relied on it. Returns `true` if it may have missed a push
    /// that saw no call, and must pass a heavy barrier before it looks.
    fn end_nap(&self) -> bool {
        let left = self.counts.end_nap();
        self.leave_calls() || left
    }

    /// The same for a worker that gets up, and looks then.
    pub(super) fn end_nap_to_get_up(&self) {
        if self.end_nap() && !self.sleepers_barrier.pass() {
            // What it may have missed, another one sees that sleeps for no longer than a nap.
            self.wake_one();
        }
    }

    /// Parks the calling worker for so long, or until `awake`. Returns `true` if it was for so
    /// long.
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

    /// Parks the calling worker, which has just begun to sleep and called so many workers, for a
    /// while, and looks for work after that. Returns `Some(false)` if there is none, and `None` if
    /// that is not known, or it was woken.
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

    /// Naps for a worker that was drafted. Returns as [`nap_first`](Registry::nap_first) does.
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
                // The caller still counts as asleep, and may be one of them.
                let jobs = 0..sight.jobs();
                jobs.take_while(|_| self.wake_sleeper()).for_each(drop);
                return Some(true);
            }
            before = sight;
        }
        self.look_for_good(None)
    }

    /// Ends a nap, and looks for work. No push is missed: one that is not seen wakes the caller.
    /// `called` tells when all workers were called, and how many there were, if that is so.
    fn look_for_good(&self, called: Option<(Ticket, usize)>) -> Option<bool> {
        let must_pass = self.end_nap();
        let is_ordered = |(ticket, workers)| {
            self.sleepers_barrier.was_passed_since(ticket) && self.workers() == workers
        };
        if !must_pass && called.is_some_and(is_ordered) {
            Some(self.work_in_sight())
        } else {
            self.call_for_work()
        }
    }

    /// Sleeps for a moment: what is in sight had better be left to another worker, which is busy;
    /// or what is not in sight is not known.
    pub(super) fn nap(&self, worker: &Worker, needed: bool) {
        if needed {
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
