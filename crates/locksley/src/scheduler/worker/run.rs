//! Running jobs.

use locksley_strategy::Job;
use locksley_trace::Activity;

use super::Worker;
use crate::observe::stats::Event;
use crate::scheduler::injector::QueuedJob;
use crate::task::job::JobRef;

/// Number of its own jobs that a worker runs before it looks at the pool's queue.
const IN_A_ROW: u32 = 256;

impl Worker {
    /// Runs a job of another worker while this one waits.
    pub(crate) fn help(&self, queued: QueuedJob) {
        self.deeper(|| {
            if self.seems_empty() {
                self.run_job(queued);
            } else {
                // The jobs in its queues were pushed before, and need not descend from this one.
                self.run_apart(queued);
            }
        });
    }

    /// Calls `run` with the depth of nested jobs raised by one.
    pub(crate) fn deeper(&self, run: impl FnOnce()) {
        let depth = self.helping.get() + 1;
        self.helping.set(depth);
        self.counters.set_depth(depth);
        run();
        self.helping.set(depth - 1);
        self.counters.set_depth(depth - 1);
    }

    /// Returns the number of other workers' jobs on the stack, each run while the worker waited.
    pub(crate) fn depth(&self) -> usize {
        self.helping.get()
    }

    /// Publishes the counts that the owner's thread keeps for itself.
    pub(crate) fn publish_counts(&self) {
        #[cfg(all(feature = "stats", not(loom)))]
        {
            // SAFETY: only the owner's thread has a `&Worker`.
            let exposed = unsafe { self.deque.exposed() };
            self.counters.publish(exposed);
            // SAFETY: as above, and nothing below calls back into the worker while it is borrowed.
            if let Some(queue) = unsafe { self.local_queue() } {
                self.counters.publish_transfers(queue.transfers());
            }
        }
    }

    /// Runs a job from the worker's main loop or on behalf of a waiter.
    pub(crate) fn run_job(&self, queued: QueuedJob) {
        if self.drops_ghost(&queued) {
            return;
        }
        self.registry().end_search(self);
        self.close_to_offers();
        self.publish_counts();
        // SAFETY: the job was taken from a queue, so it is executed here and nowhere else.
        let group = unsafe { queued.job.group() };
        self.task_stack.enter_root(group);
        self.execute(queued);
        self.task_stack.leave();
    }

    /// Runs the newest of the worker's own jobs, one after the other, until there is none, or a job
    /// is targeted at the worker.
    pub(crate) fn run_newest(&self) {
        let registry = self.registry();
        if registry.config.breadth_first {
            return;
        }
        registry.pass_on_summons(self);
        let mut run = 0_u32;
        while self.targeted_jobs.is_empty() && !registry.is_orphaned() {
            run = run.wrapping_add(1);
            // Tasks that spawn each other endlessly must not starve jobs from outside.
            let outside = (run % IN_A_ROW == 0).then(|| registry.injector.pop());
            if let Some(queued) = outside.flatten() {
                self.run_job(queued);
            }
            let Some(job) = self.pop() else { break };
            let queued = self.queued(job);
            if !self.drops_ghost(&queued) {
                // SAFETY: the job was taken from a queue, so it is executed here and nowhere else.
                let group = unsafe { job.group() };
                self.task_stack.enter_root(group);
                self.execute(queued);
                self.task_stack.leave();
            }
        }
        self.publish_counts();
    }

    /// Executes a job without an entry of its own on the task stack.
    #[inline]
    pub(crate) fn execute(&self, queued: QueuedJob) {
        self.counters.count(Event::Task);
        let _work = self.traced(Activity::Work);
        // SAFETY: the job was taken from a queue, so it is executed here and nowhere else.
        unsafe { queued.job.execute(self, queued.owner) };
        self.count_executed(queued.job);
    }

    /// Tells the strategy's queue that a job is done, if it was dealt.
    #[inline]
    pub(crate) fn count_executed(&self, job: JobRef) {
        if !job.is_dealt() {
            return;
        }
        // SAFETY: the queue does not call back into the worker.
        if let Some(queue) = unsafe { self.local_queue() } {
            queue.executed(job.is_near());
        }
    }

    /// Runs a job that is unrelated to what the worker is doing.
    pub(crate) fn run_foreign(&self, queued: QueuedJob) {
        // An adopted thread may have forked outside of any job.
        if self.task_stack.depth() == 0 && self.seems_empty() {
            return self.run_job(queued);
        }
        self.run_apart(queued);
    }

    fn run_apart(&self, queued: QueuedJob) {
        self.task_stack.enter_foreign();
        self.run_job(queued);
        self.task_stack.leave_foreign();
    }

    /// Runs a job that is targeted at this worker. Returns `true` if there was one.
    pub(crate) fn run_targeted(&self) -> bool {
        let Some(targeted) = self.targeted_jobs.pop() else {
            return false;
        };
        self.run_foreign(targeted);
        true
    }

    /// Looks for a job everywhere: in the worker's own queue, among offers, in the pool's queue and
    /// at other workers.
    pub(crate) fn find_work(&self) -> Option<QueuedJob> {
        let pauses = self.pauses_steals();
        match self.take_own().or_else(|| self.receive()) {
            None if pauses => self.registry().injector.pop(),
            None => self.find_work_abroad(),
            found => found,
        }
    }

    /// Returns `true` if the worker should not steal yet, because its last steals brought little.
    pub(crate) fn pauses_steals(&self) -> bool {
        self.tiny_work.pauses(|| self.registry().now())
    }

    /// [`find_work`](Worker::find_work) for a worker that is inside of a job: a job that it takes
    /// from its own queue may be that of an enclosing join.
    pub(crate) fn take_anything(&self) -> Option<QueuedJob> {
        self.take_own().or_else(|| self.find_work_abroad())
    }
}
