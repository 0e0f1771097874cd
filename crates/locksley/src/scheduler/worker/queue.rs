//! A worker's own queues: pushing and taking jobs.

use locksley_queue::split::PushToken;
use locksley_trace::Arrow;

use super::Worker;
use crate::scheduler::injector::QueuedJob;
use crate::strategy::HAS_STRATEGIES;
use crate::strategy::local_queue::LocalQueue;
use crate::task::job::{GroupId, Job, JobRef};

impl Worker {
    /// Returns a job with this worker as its owner.
    #[inline]
    pub(crate) fn queued(&self, job: JobRef) -> QueuedJob {
        let owner = self.index;
        QueuedJob { job, owner }
    }

    /// Pushes a spawned job. If there is no room, it goes to the pool's queue.
    pub(crate) fn push_spawned(&self, job: JobRef) {
        // SAFETY: only the owner's thread has a `&Worker`.
        if unsafe { self.local_queue() }.is_none() {
            return self.push_marked(job);
        }
        self.consult_donor();
        // SAFETY: as above, and nothing below calls back into the worker while it is borrowed.
        let pushed = match unsafe { self.local_queue() } {
            Some(queue) if queue.is_dedicated() && self.registry().may_have_left() => Err(job),
            Some(queue) => queue.push(job),
            None => Err(job),
        };
        self.inform_donor();
        self.count_down();
        match pushed {
            Ok(()) => self.notify_push(),
            Err(job) => self.registry().inject(self.queued(job)),
        }
    }

    /// Pushes a job to the deque, and marks it as one that no join takes back.
    fn push_marked(&self, job: JobRef) {
        // SAFETY: only the owner's thread has a `&Worker`, for both. It attends below, before it
        // pushes again.
        let attention = unsafe {
            let (_, attention) = self.deque.push(job);
            self.deque.mark();
            attention
        };
        if attention {
            self.attend();
        } else if self.eager_exposure.applies() {
            self.keep_half_public();
        }
    }

    /// Makes jobs public until they are half of all, so that thieves need not ask.
    fn keep_half_public(&self) {
        // SAFETY: only the owner's thread has a `&Worker`, for both.
        unsafe {
            let (public, private) = (self.deque.public_len(), self.deque.private_len());
            if private > public {
                self.deque.expose((private - public).div_ceil(2));
            }
        }
    }

    /// Returns `true` if forks go to the strategy's own queue.
    #[inline]
    pub(crate) fn has_reference_queue(&self) -> bool {
        self.reference
    }

    /// Returns `true` if the job of the next fork is to be offered itself: the strategy gives work
    /// away, and waiters take any work. If waiters leapfrog, the oldest job is given instead.
    pub(crate) fn gives_newest(&self) -> bool {
        // SAFETY: the queue does not call back into the worker.
        let gives = || unsafe { self.local_queue() }.is_some_and(|queue| queue.gives_newest());
        !self.registry().leapfrogs() && gives()
    }

    /// Returns `true` if the worker has no queue besides its deque.
    pub(crate) fn has_deque_alone(&self) -> bool {
        // SAFETY: only the owner's thread has a `&Worker`.
        unsafe { self.local_queue() }.is_none()
    }

    /// Pushes a join's job the slow way, and returns its token if it is in the deque. Returns the
    /// job if there is no room.
    pub(crate) fn push_forked(&self, job: JobRef) -> Result<Option<PushToken>, JobRef> {
        if !self.reference && !self.gives_newest() {
            // SAFETY: only the owner's thread has a `&Worker`. It attends below, before it pushes
            // again.
            let (token, attention) = unsafe { self.deque.push(job) };
            if attention {
                self.attend();
            }
            return Ok(Some(token));
        }
        self.consult_donor();
        // SAFETY: as in `push_spawned`.
        if let Some(queue) = unsafe { self.local_queue() } {
            queue.push(job)?;
        }
        self.inform_donor();
        self.count_down();
        self.notify_push();
        Ok(None)
    }

    /// Takes the newest of the worker's own jobs.
    #[inline]
    pub(crate) fn pop(&self) -> Option<JobRef> {
        let forked = if self.reference {
            None
        } else {
            // SAFETY: only the owner's thread has a `&Worker`.
            unsafe { self.deque.pop() }
        };
        let job = forked.or_else(|| self.pop_spawned());
        self.poll_requests();
        job
    }

    /// Takes the newest job of the strategy's queue, if it has one.
    fn pop_spawned(&self) -> Option<JobRef> {
        // SAFETY: as in `push_spawned`.
        let job = unsafe { self.local_queue() }?.pop();
        self.count_down();
        job
    }

    /// Makes all jobs public, because the worker is about to block. Jobs that other workers had
    /// pushed go to the pool's queue, where their waiters look. Returns `true` if any job went
    /// there.
    pub(crate) fn expose_jobs(&self) -> bool {
        self.close_to_offers();
        // SAFETY: only the owner's thread has a `&Worker`.
        unsafe { self.deque.expose(usize::MAX) };
        self.trace_resting();
        let mut any = false;
        while let Some(queued) = self.pop_received() {
            self.registry().inject(queued);
            any = true;
        }
        any
    }

    /// Returns the strategy's queue, for the owner. A program without the strategies has none, and
    /// the compiler leaves out the code that uses it.
    ///
    /// # Safety
    ///
    /// The reference is not kept while anything else runs that may use the queue.
    #[allow(
        clippy::mut_from_ref,
        reason = "the type is not `Sync`, and borrows are short"
    )]
    pub(crate) unsafe fn local_queue(&self) -> Option<&mut Box<dyn LocalQueue<JobRef>>> {
        if !HAS_STRATEGIES {
            return None;
        }
        // SAFETY: only the owner's thread has a `&Worker`; the caller keeps no other reference.
        unsafe { (*self.local_queue.get()).as_mut() }
    }

    /// Takes the oldest of the worker's own jobs.
    pub(super) fn take_oldest(&self) -> Option<JobRef> {
        if self.deque.public_len() == 0 {
            // SAFETY: only the owner's thread has a `&Worker`.
            unsafe { self.deque.expose(1) };
        }
        let oldest = self.deque.steal().success();
        oldest.or_else(|| self.stealer()?.steal().success())
    }

    /// Takes a job of the worker's own queue, even if an enclosing join still expects it.
    pub(crate) fn take_own(&self) -> Option<QueuedJob> {
        // SAFETY: only the owner's thread has a `&Worker`.
        if unsafe { self.local_queue() }.is_none() && self.deque.is_empty() {
            return None;
        }
        let oldest = if self.registry().config.breadth_first {
            self.take_oldest()
        } else {
            None
        };
        match oldest.or_else(|| self.pop()) {
            Some(job) => Some(self.queued(job)),
            None => self.pop_received(),
        }
    }

    /// Takes the newest job of the queue that spawned jobs are pushed to.
    #[inline]
    pub(crate) fn pop_newest(&self) -> Option<JobRef> {
        // SAFETY: only the owner's thread has a `&Worker`.
        match unsafe { self.local_queue() } {
            // SAFETY: as above.
            None => unsafe { self.deque.pop() },
            Some(_) => self.pop_spawned(),
        }
    }

    /// Takes the newest spawned job of this group out of the worker's own queue, down to the job of
    /// an enclosing join. Spawned jobs of other groups that are in the way go to the pool's queue.
    pub(crate) fn pop_of(&self, group: GroupId) -> Option<QueuedJob> {
        while let Some(job) = self.pop_newest() {
            let queued = self.queued(job);
            if !job.is_spawned() {
                // The job of an enclosing join: it goes back to its place.
                self.put_back_newest(job);
                break;
            }
            // SAFETY: the job has not been executed.
            if unsafe { job.group() } == group {
                return Some(queued);
            }
            if !self.drops_ghost(&queued) {
                self.registry().inject(queued);
            }
        }
        // SAFETY: the queue does not call back into the worker.
        let dealt = unsafe { self.local_queue() }?.pop_of(group)?;
        self.trace_move(Arrow::Dealing, dealt.owner);
        Some(dealt)
    }

    /// Pushes back a job that [`pop_newest`](Worker::pop_newest) has popped.
    fn put_back_newest(&self, job: JobRef) {
        // SAFETY: only the owner's thread has a `&Worker`.
        match unsafe { self.local_queue() } {
            None => self.push_marked(job),
            Some(_) => self.push_spawned(job),
        }
    }

    /// Pushes back a job that was just popped, or pushes one that no join expects to take back.
    pub(crate) fn put_back(&self, job: JobRef) {
        if job.is_spawned() || self.reference {
            self.push_spawned(job);
        } else {
            self.push_marked(job);
        }
    }

    /// Takes back a job of a group that this worker dealt to another one and that has not begun.
    pub(crate) fn take_back(&self, group: GroupId) -> Option<QueuedJob> {
        // SAFETY: the queue does not call back into the worker.
        let (found, moved) = unsafe { self.local_queue() }?.take_back(group);
        if moved {
            // Other workers could not see the jobs that it held meanwhile.
            self.notify_push();
        }
        found
    }

    /// Returns `true` if there is a job that only this worker may take.
    pub(crate) fn has_received(&self) -> bool {
        // SAFETY: the queue does not call back into the worker.
        unsafe { self.local_queue() }.is_some_and(|queue| queue.has_received())
    }

    /// Returns `true` if the last search saw work that this worker may not take yet.
    pub(crate) fn was_refused(&self) -> bool {
        // SAFETY: the queue does not call back into the worker.
        unsafe { self.local_queue() }.is_some_and(|queue| queue.was_refused())
    }

    /// Returns `true` if all jobs that were dealt are done.
    pub(crate) fn has_no_dealt_jobs(&self) -> bool {
        // SAFETY: the queue does not call back into the worker.
        unsafe { self.local_queue() }.is_none_or(|queue| queue.is_settled())
    }
}
