//! How a worker answers requests of thieves and calls of sleepers.

use std::cell::Cell;

use locksley_queue::barrier;

use super::Worker;
use crate::scheduler::idle::sleep::take_call;
use crate::sync::Ordering;

/// Number of spawned jobs after a request for which a worker keeps half of its jobs public. A thief
/// that has asked once mostly comes again, and a task that spawns others spawns many.
const EAGER_PUSHES: u32 = 64;

/// Number of jobs that a worker makes public before it checks how many of them were stolen.
const SAMPLE: u64 = 64;

/// Decides whether a worker makes spawned jobs public before a thief asks for them. Accessed by the
/// owner only.
///
/// It does so for a while after a request, unless it took back most of the last public jobs: then
/// its tasks are so short that it is done with them before a thief arrives.
#[derive(Default)]
pub(super) struct EagerExposure {
    /// Number of further spawned jobs that are made public unasked.
    left: Cell<u32>,
    /// Numbers of jobs that had been made public, and stolen, at the last check.
    seen: Cell<(u64, u64)>,
    /// Set if most of them were taken back.
    in_vain: Cell<bool>,
}

impl EagerExposure {
    /// Called when a thief has asked. `exposed` jobs have been made public so far, and `stolen`
    /// jobs stolen.
    fn renew(&self, exposed: u64, stolen: u64) {
        let (exposed_before, stolen_before) = self.seen.get();
        let shown = exposed.wrapping_sub(exposed_before);
        if shown >= SAMPLE {
            let taken = stolen.wrapping_sub(stolen_before);
            self.in_vain.set(taken < shown / 3);
            self.seen.set((exposed, stolen));
        }
        self.left
            .set(if self.in_vain.get() { 0 } else { EAGER_PUSHES });
    }

    /// Returns `true` if half of all jobs should be public, after the push of one.
    #[inline]
    pub(super) fn applies(&self) -> bool {
        let left = self.left.get();
        self.left.set(left.saturating_sub(1));
        left > 0
    }
}

impl Worker {
    /// Sends the next fork the slow way, because the worker is recorded: see `record`.
    ///
    /// A job that is stolen before the worker has seen the call would not be recorded. So all jobs
    /// are public while a strand runs, and no thief forces the worker to expose a job that it has
    /// just pushed.
    pub(crate) fn seal(&self) {
        self.sealed.store(true, Ordering::Relaxed);
        // SAFETY: only the owner's thread has a `&Worker`. A force that is under way is cancelled.
        unsafe { self.deque.expose(usize::MAX) };
        self.deque.request_attention();
    }

    /// Ends the effect of [`seal`](Worker::seal): the worker is not recorded any more.
    pub(crate) fn unseal(&self) {
        self.sealed.store(false, Ordering::Relaxed);
    }

    /// Wakes a sleeping worker if one has left a call. For use after a push to the strategy's
    /// queue.
    #[inline(always)]
    pub(crate) fn notify_push(&self) {
        barrier::light(); // [Z3]
        // Even if its own queues are empty: the job may have gone to another worker's.
        if self.deque.is_attention_requested() {
            self.attend();
        }
    }

    /// Answers a request, if there is one, and if the worker has jobs.
    #[inline(always)]
    pub(crate) fn poll_requests(&self) {
        if self.deque.is_attention_requested() && !self.seems_empty() {
            self.attend();
        }
    }

    /// Returns `true` if a job should be made public for a worker that will be woken. A worker that
    /// is on its way already asks when it arrives, should it come in time at all.
    fn shows_unasked(&self) -> bool {
        !self.eager_exposure.in_vain.get() || !self.registry().has_enough_summoned()
    }

    /// Answers a request, or makes room in the deque: exposes jobs, and wakes a sleeping worker.
    #[cold]
    #[inline(never)]
    pub(crate) fn attend(&self) {
        // SAFETY: only the owner's thread has a `&Worker`, for all of these.
        let attention = unsafe { take_call(&self.deque) };
        if !attention.requested {
            return;
        }
        if attention.asked {
            // SAFETY: as above.
            let (exposed, stolen) = unsafe { (self.deque.exposed(), self.deque.stolen()) };
            self.eager_exposure.renew(exposed, stolen);
        }
        // Jobs in other queues are not left to a napper, because this worker may never run them
        // itself.
        let may_leave = self.has_deque_alone();
        let to_napper = may_leave && self.registry().leaves_to_napper();
        let left = to_napper || may_leave && self.registry().counts.leaves_to_nap();
        let shown = attention.asked || !left && self.shows_unasked();
        if self.is_recorded() {
            self.seal();
        } else if shown && self.deque.public_len() == 0 {
            // SAFETY: as above.
            unsafe {
                // The older half, so that the next thieves need not ask.
                let half = self.deque.private_len().div_ceil(2);
                self.deque.expose(if self.exposes_one { 1 } else { half });
            }
        }
        let gives = self.deque.public_len() > 0;
        if gives {
            self.consult_donor();
        }
        let (mut dealt_to, mut is_dedicated) = (None, false);
        let mut wants_call = self.reference;
        // SAFETY: as in `push_spawned`.
        if let Some(queue) = unsafe { self.local_queue() } {
            if gives {
                queue.share_public();
            }
            dealt_to = queue.dealt_to();
            // Any worker may take what is in the deque.
            is_dedicated = queue.is_dedicated() && self.deque.is_empty();
            wants_call |= queue.wants_attention();
        }
        self.inform_donor();
        if wants_call {
            self.count_down();
        }
        // The call stays for workers that are still asleep, or the napper restores it.
        let more_sleep =
            !to_napper && (left || self.registry().wake_one_for(dealt_to, is_dedicated));
        if more_sleep || wants_call || self.is_recorded() {
            self.deque.request_attention();
        }
    }
}

#[cfg(all(test, not(loom)))]
#[path = "../../../tests/unit/scheduler/worker/attention.rs"]
mod tests;
