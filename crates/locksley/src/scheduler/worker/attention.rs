//! Requests that a worker answers, and calls that it leaves at itself.

use std::cell::Cell;

use locksley_queue::barrier;

use super::Worker;
use crate::scheduler::idle::sleep::take_call;
use crate::sync::Ordering;

/// For how many spawned jobs after a request a worker keeps half of all public. Thieves that ask
/// once mostly come again, and a task that spawns others spawns many.
const GENEROUS: u32 = 64;

/// How many jobs a worker makes public before it looks what came of that.
const SAMPLE: u64 = 64;

/// Whether a worker makes spawned jobs public before it is asked for them. The owner's alone.
///
/// It does for a while after a request, unless it had to take back most of the last ones: its tasks
/// are so short that it is done with them before a thief is there.
#[derive(Default)]
pub(super) struct Generosity {
    /// For how many more spawned jobs.
    left: Cell<u32>,
    /// How many jobs had been made public and stolen when it last looked.
    seen: Cell<(u64, u64)>,
    /// Set if most of them were taken back.
    in_vain: Cell<bool>,
}

impl Generosity {
    /// A thief has asked. So far that many jobs have been made public, and that many stolen.
    fn renew(&self, exposed: u64, stolen: u64) {
        let (exposed_before, stolen_before) = self.seen.get();
        let shown = exposed.wrapping_sub(exposed_before);
        if shown >= SAMPLE {
            let taken = stolen.wrapping_sub(stolen_before);
            self.in_vain.set(taken < shown / 3);
            self.seen.set((exposed, stolen));
        }
        self.left.set(if self.in_vain.get() { 0 } else { GENEROUS });
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
    /// Sends the next fork the slow way, because what the worker runs is recorded: see `record`.
    ///
    /// A job that is stolen before the worker has seen the call would not be recorded. So all jobs
    /// are public while a strand runs, and no thief forces the worker to show what it has just
    /// pushed.
    pub(crate) fn seal(&self) {
        self.sealed.store(true, Ordering::Relaxed);
        // SAFETY: only the owner's thread has a `&Worker`. A force that is under way is cancelled.
        unsafe { self.deque.expose(usize::MAX) };
        self.deque.call();
    }

    /// What the worker runs is not recorded any more.
    pub(crate) fn unseal(&self) {
        self.sealed.store(false, Ordering::Relaxed);
    }

    /// Wakes a sleeping worker if one wants work. After a push to the strategy's queue.
    #[inline(always)]
    pub(crate) fn notify_push(&self) {
        barrier::light(); // [Z3]
        // Whatever is in its own queues: the job may have gone to another worker's.
        if self.deque.is_called() {
            self.attend();
        }
    }

    /// Answers a request, if one stands and there is something to answer it with.
    #[inline(always)]
    pub(crate) fn poll_requests(&self) {
        if self.deque.is_called() && !self.seems_empty() {
            self.attend();
        }
    }

    /// Returns `true` if a job should be public for a worker that will be woken. One that is on its
    /// way asks when it is there, should it come in time at all.
    fn shows_unasked(&self) -> bool {
        !self.generosity.in_vain.get() || !self.registry().has_enough_summoned()
    }

    /// A request stands, or the deque must make room: exposes jobs, and wakes a sleeping worker.
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
            self.generosity.renew(exposed, stolen);
        }
        // What is not in this deque, this worker may not get round to.
        let may_leave = self.has_deque_alone();
        let to_napper = may_leave && self.registry().leaves_to_napper();
        let left = to_napper || may_leave && self.registry().leaves_to_nap();
        let shown = attention.asked || !left && self.shows_unasked();
        if self.is_recorded() {
            self.seal();
        } else if shown && self.deque.public_len() == 0 {
            // SAFETY: as above.
            unsafe {
                let private = self.deque.private_len();
                self.deque.expose(self.exposure.amount(private));
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
            wants_call |= queue.wants_call();
        }
        self.inform_donor();
        if wants_call {
            self.count_down();
        }
        // The call of those that sleep longer stays, or the napper restores it.
        let more_sleep =
            !to_napper && (left || self.registry().wake_one_for(dealt_to, is_dedicated));
        if more_sleep || wants_call || self.is_recorded() {
            self.deque.call();
        }
    }
}

#[cfg(all(test, not(loom)))]
#[path = "../../../tests/unit/scheduler/worker/attention.rs"]
mod tests;
