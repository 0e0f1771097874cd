//! Requests that a worker answers, and calls that it leaves at itself.

use locksley_queue::barrier::{self, FenceMode};

use super::Worker;
use crate::scheduler::idle::sleep::take_call;
use crate::sync::{Ordering, fence};

/// For how many spawned jobs after a request a worker keeps half of all public. Thieves that ask
/// once mostly come again, and a task that spawns others spawns many.
const GENEROUS: u32 = 64;

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
            self.generous.set(GENEROUS);
        }
        if barrier::fence_mode() == FenceMode::Symmetric {
            // SAFETY: as above.
            unsafe { self.deque.expose(usize::MAX) };
            fence(Ordering::SeqCst); // [Z3]
        } else if self.is_recorded() {
            self.seal();
        } else if self.deque.public_len() == 0 {
            // SAFETY: as above.
            unsafe {
                let private = self.deque.private_len();
                self.deque.expose(self.exposure.amount(private));
            }
        }
        let (mut dealt_to, mut wants_call) = (None, self.reference);
        // SAFETY: as in `push_spawned`.
        if let Some(pile) = unsafe { &mut *self.pile.get() } {
            if self.deque.public_len() > 0 {
                pile.share_public();
            }
            dealt_to = pile.dealt_to();
            wants_call |= pile.wants_call();
        }
        let more_sleep = self.registry().wake_one_for(dealt_to);
        if more_sleep || wants_call || self.is_recorded() {
            self.deque.call();
        }
    }
}
