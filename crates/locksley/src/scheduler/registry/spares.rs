//! Blocking, and the spares that take a blocked worker's place.
//!
//! The counts, and why no finite program deadlocks for want of threads, are in `idle/README.md`.
//! A spare that has finished a job and finds more spares up than workers blocked, or no work, is
//! put aside. So at most as many threads look for work as the pool has workers, and a waiter that
//! resumes does not wait for its spare. If the system refuses a spare's thread, the limit falls to
//! the number of existing spares, and all waiters wake to check it again.

use std::thread;

use locksley_queue::barrier;
use locksley_trace::Activity;

use super::Registry;
use crate::observe::stats::Event;
use crate::pool::thread_builder::ThreadBuilder;
use crate::scheduler::idle::counts::Counts;
use crate::scheduler::worker::Worker;
use crate::sync::{Ordering, fence, lock};
use crate::task::job::catch;

/// For how long a worker blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Block {
    /// It looks for work again soon, so it may miss a push.
    Briefly,
    /// It must not miss a push.
    Indefinitely,
}

/// A worker that is counted as blocked until this is dropped.
pub(crate) struct Blocked<'r>(&'r Registry);

impl Drop for Blocked<'_> {
    fn drop(&mut self) {
        self.0.counts.change(Counts::end_block);
    }
}

impl Registry {
    /// Counts the calling worker as blocked, so that a spare takes its place. Returns `None` if no
    /// spare can.
    pub(crate) fn begin_block(&self, block: Block) -> Option<Blocked<'_>> {
        if !self.counts.begin_block() {
            return None;
        }
        let blocked = Blocked(self);
        self.look_for_blocked(block);
        // The spare that was called may have been refused.
        (!self.counts.get().lacks_spares()).then_some(blocked)
    }

    /// Wakes a worker or a spare if there is work in sight, and leaves calls for later pushes. For
    /// a worker that is counted as blocked, before it parks.
    pub(crate) fn look_for_blocked(&self, block: Block) {
        let work = match block {
            Block::Briefly => self.call_and_look(),
            Block::Indefinitely => self.call_for_work() != Some(false),
        };
        if work {
            self.wake_one();
        }
    }

    /// Calls up a spare if one is wanted.
    pub(super) fn activate_spare(&self) {
        if self.counts.try_change(Counts::activate_spare) {
            self.wake_spare();
        }
    }

    /// Wakes a spare that is put aside, or starts a new one. The spare is counted as up already.
    #[cold]
    fn wake_spare(&self) {
        self.count(Event::Spare);
        let taken = self.workers();
        let mut spares = self.workers_in(self.size..taken);
        if let Some(worker) = spares.find(|worker| worker.sleep.end_spare()) {
            worker.unpark();
        } else if !self.start_spare() {
            self.counts.change(Counts::lower_spare);
            self.limit_spares();
        }
    }

    /// Lowers the limit of spares to those that exist, and wakes the workers that count on a
    /// further one.
    #[cold]
    fn limit_spares(&self) {
        let started = self.workers() - self.size;
        if self.is_drained()
            || !self
                .counts
                .try_change(|counts| counts.limit_spares(started))
        {
            return;
        }
        fence(Ordering::SeqCst);
        for worker in self.workers_in(0..self.workers()) {
            worker.unpark();
        }
    }

    fn start_spare(&self) -> bool {
        // Not under the lock: user code that creates a donor or a balancer may panic, and the panic
        // handler may use the pool.
        let next = self.workers();
        if next < self.slots.len() {
            self.init_worker(next);
        }
        let mut threads = lock(&self.threads);
        let index = self.workers();
        if index >= self.slots.len() || self.is_drained() {
            return false;
        }
        // It has missed the calls that were left so far, so it starts with one.
        self.init_worker(index).deque.request_attention();
        // Before it starts: a thief that sees what it pushed must know of its queue.
        self.taken.store(index + 1, Ordering::Release);
        // The user's function for names may panic; unwinding must not leave a frame that holds a
        // job.
        let started = catch(|| ThreadBuilder::new(self.shared(), index, None).start());
        if let Ok(Ok(handle)) = started {
            threads.push(handle);
            return true;
        }
        self.taken.store(index, Ordering::Release);
        drop(threads);
        if let Err(payload) = started {
            self.config.handle_panic(payload);
        }
        false
    }

    /// Puts a spare aside until it is activated again.
    pub(super) fn put_aside(&self, worker: &Worker) {
        worker.expose_jobs();
        worker.sleep.begin_spare();
        self.counts.lower_spare();
        // A push before that has not activated it.
        if self.counts.get().wants_spare() && self.call_for_work() != Some(false) {
            self.activate_spare();
        }
        worker.counters.count(Event::Park);
        worker.publish_counts();
        let _parked = worker.traced(Activity::Parked);
        if self.is_closing() {
            // Pairs with the worker that ends the last task, as for a worker that goes to sleep.
            let _ = barrier::heavy();
        }
        while worker.sleep.is_spare() {
            if self.is_drained() {
                self.raise_spare(worker);
                return;
            }
            thread::park();
        }
    }

    /// Raises a spare that is put aside, unless another thread does, and counts it as up.
    pub(super) fn raise_spare(&self, worker: &Worker) {
        if !worker.sleep.is_spare() {
            return;
        }
        // Counted before it can be up, since it may be put aside again at once.
        self.counts.change(Counts::raise_spare);
        if !worker.sleep.end_spare() {
            self.counts.change(Counts::lower_spare);
            // Another thread may have taken the count for that of a spare that is up, and activated
            // none.
            self.activate_spare();
        }
    }
}
