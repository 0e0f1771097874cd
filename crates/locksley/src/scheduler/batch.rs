//! Moving several forked jobs at once, under `steal-half` where waiters take any work. The guide to
//! strategies has a proof why no order of moved jobs would serve waiters that leapfrog.
//!
//! A thief takes as many of a victim's public forked jobs as [`Amount`](locksley_policy::Amount)
//! says, with one compare-and-swap. It runs the *oldest* and keeps the others in its queue of moved
//! jobs, from which other workers take the oldest first.
//!
//! **Why the oldest.** A recursion pushes its jobs from large to small: a half of the work, a
//! quarter, an eighth and so on. In the paper a thief runs the newest job that it has taken, the
//! smallest. Then all workers are at the small end of the recursion, and the oldest job, half of
//! all work, begins last. A search that would soon end in that half, such as rayon's `find_any`
//! over an endless range, does not get there: it goes on for as long as the smaller parts take, and
//! seems to hang.

use locksley_queue::Steal;

use crate::scheduler::injector::QueuedJob;
use crate::scheduler::worker::Worker;
use crate::strategy::local_queue::LocalQueue;
use crate::task::job::JobRef;

/// Steals public forked jobs of `victim`: as many as the queue wants, but at least `least`.
fn take(
    thief: &Worker,
    queue: &mut Box<dyn LocalQueue<JobRef>>,
    victim: &Worker,
    least: usize,
    mut sink: impl FnMut(&mut Box<dyn LocalQueue<JobRef>>, JobRef),
) -> Steal<usize> {
    let load = thief.load();
    let mut jobs = Vec::new();
    let amount = |public| queue.amount_of_forks(load, public).max(least);
    let answer = victim.deque.steal_some(amount, |job| jobs.push(job));
    jobs.into_iter().for_each(|job| sink(queue, job));
    answer
}

impl Worker {
    /// Tries to steal a batch of forked jobs. Returns `None` if the strategy does not move forked
    /// jobs, or if none was stolen.
    pub(crate) fn steal_forks(&self, victim: usize) -> Option<Steal<QueuedJob>> {
        // SAFETY: the queue does not call back into the worker.
        let queue = unsafe { self.local_queue() }.filter(|queue| queue.moves_forks())?;
        let mut oldest = None;
        let worker = self.registry().worker(victim);
        let answer = take(self, queue, worker, 1, |queue, job| match oldest {
            None => oldest = Some(job),
            Some(_) => queue.keep_moved(job),
        });
        let (Steal::Success(count), Some(job)) = (answer, oldest) else {
            return None;
        };
        let answer = Steal::Success(QueuedJob { job, owner: victim });
        self.count_attempt(victim, &answer, false);
        self.note_batch(count - 1);
        Some(answer)
    }

    /// Moves forked jobs of `victim` to this worker's queue, while this worker has work. Returns
    /// their number.
    pub(crate) fn balance_forks(&self, victim: usize) -> usize {
        // SAFETY: the queue does not call back into the worker.
        let Some(queue) = unsafe { self.local_queue() }.filter(|queue| queue.moves_forks()) else {
            return 0;
        };
        let worker = self.registry().worker(victim);
        let answer = take(self, queue, worker, 0, |queue, job| queue.keep_moved(job));
        answer.success().unwrap_or(0)
    }
}
