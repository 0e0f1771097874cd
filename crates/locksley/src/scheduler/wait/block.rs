//! Waiting for events outside of the pool: a worker blocks and a spare takes its place, or it runs
//! other jobs meanwhile.

use std::thread;
use std::time::Duration;

use locksley_trace::Activity;

use super::sleeps::{LOOK_AGAIN, Sleeps};
use crate::observe::record;
use crate::observe::stats::Event;
use crate::scheduler::injector::QueuedJob;
use crate::scheduler::registry::{Block, Blocked, Registry};
use crate::scheduler::worker::Worker;
use crate::task::job::GroupId;
use crate::task::latch::Latch;

/// What a waiter does if it finds no job that it may run.
#[derive(Clone, Copy)]
pub(crate) enum Meanwhile {
    /// It blocks, and a spare takes its place; if none can, it takes any work.
    Block(Block),
    /// It takes any work.
    Work,
    /// It sleeps, and no other worker takes its place.
    Sleep,
}

impl Worker {
    /// Waits for a group of another pool. The thread that sets the latch unparks the waiter.
    #[cold]
    pub(crate) fn wait_abroad(&self, abroad: &Registry, latch: &Latch, group: GroupId) {
        self.task_stack.enter_wait(group);
        self.serve_until(
            self.meanwhile(Block::Briefly),
            &|| latch.probe(),
            &|| latch.probe_or_await(),
            &|| self.handed_back(abroad, group),
        );
        self.task_stack.leave();
    }

    /// Waits until `probe` returns `true`. `probe_or_await` is the same for a worker that goes to
    /// sleep: if it returns `false`, the thread that later makes it `true` unparks this one.
    ///
    /// A spare takes the worker's place, and the worker runs only jobs that are targeted at it. If
    /// no spare can take its place, it takes any work.
    pub(crate) fn wait_until(&self, probe: &dyn Fn() -> bool, probe_or_await: &dyn Fn() -> bool) {
        let meanwhile = self.meanwhile(Block::Indefinitely);
        self.serve_until(meanwhile, probe, probe_or_await, &|| None);
    }

    /// Waits until another pool has ended. With `Waiting::Own`, the worker runs jobs from its own
    /// pool's queue meanwhile: a task of the pool that ends may wait for them.
    pub(crate) fn wait_for_pool(
        &self,
        probe: &dyn Fn() -> bool,
        probe_or_await: &dyn Fn() -> bool,
    ) {
        let alone = self.registry().blocks_alone();
        let came_in = || alone.then(|| self.registry().injector.pop()).flatten();
        let meanwhile = self.meanwhile(Block::Indefinitely);
        self.serve_until(meanwhile, probe, probe_or_await, &came_in);
    }

    /// Returns what a waiter of this worker's pool does meanwhile, if it would `block`.
    fn meanwhile(&self, block: Block) -> Meanwhile {
        if self.registry().blocks_alone() {
            Meanwhile::Sleep
        } else if self.registry().takes_any() {
            Meanwhile::Work
        } else {
            Meanwhile::Block(block)
        }
    }

    /// Sleeps until it is unparked, or for a while, without a spare in its place. Does not sleep if
    /// `ready`, or if a job is targeted at this worker.
    pub(super) fn nap_alone(&self, sleeps: &mut Sleeps, ready: &dyn Fn() -> bool) {
        self.counters.count(Event::Park);
        let _parked = self.traced(Activity::Parked);
        if self.targeted_jobs.is_empty() && !ready() {
            thread::park_timeout(sleeps.nap());
        }
    }

    /// Waits until `probe` returns `true`: runs jobs that are targeted at this worker or that `own`
    /// finds. A waiter that blocks briefly asks `own` again now and then.
    #[inline(never)]
    pub(crate) fn serve_until(
        &self,
        meanwhile: Meanwhile,
        probe: &dyn Fn() -> bool,
        probe_or_await: &dyn Fn() -> bool,
        own: &dyn Fn() -> Option<QueuedJob>,
    ) {
        let _pause = record::pause(self);
        let _wait = self.traced(Activity::Wait);
        let registry = self.registry();
        let (mut idle, mut sleeps, mut blocked) = (0, Sleeps::default(), None);
        while !probe() {
            registry.check_process();
            if self.has_targeted(&mut blocked) && self.run_targeted() {
                (idle, sleeps) = (0, Sleeps::default());
            } else if let Some(queued) = own() {
                blocked = None;
                self.help(queued);
                (idle, sleeps) = (0, Sleeps::default());
            } else if let Meanwhile::Sleep = meanwhile {
                if registry.rest(&mut idle) {
                    // Tasks that it has spawned must not wait for it: in the pool's queue their
                    // waiters find them.
                    while let Some(spawned) = self.pop_of(GroupId::NONE) {
                        registry.inject(spawned);
                    }
                    self.expose_jobs();
                    self.nap_alone(&mut sleeps, probe_or_await);
                }
            } else if matches!(meanwhile, Meanwhile::Block(block)
                if self.block(&mut blocked, block, LOOK_AGAIN, probe_or_await))
            {
                idle = 0;
            } else if let Some(queued) = self.take_anything() {
                self.help(queued);
                idle = 0;
            } else if registry.rest(&mut idle) {
                registry.sleep(self, probe_or_await);
            }
        }
        registry.pass_on_summons(self);
        self.publish_counts();
    }

    /// Returns `true` if a job is targeted at this worker. In that case the worker ceases to be
    /// blocked.
    pub(super) fn has_targeted(&self, blocked: &mut Option<Blocked<'_>>) -> bool {
        let targeted = !self.targeted_jobs.is_empty();
        if targeted {
            *blocked = None;
        }
        targeted
    }

    /// Parks the worker once, with a spare in its place; for at most `length` if it blocks briefly.
    /// Returns `false` if no spare can take its place.
    ///
    /// The worker stays counted as blocked while it looks for jobs afterwards. So however much many
    /// such waiters search, there is a worker to run the job that they look for.
    pub(super) fn block<'w>(
        &'w self,
        blocked: &mut Option<Blocked<'w>>,
        block: Block,
        length: Duration,
        ready: impl FnOnce() -> bool,
    ) -> bool {
        let registry = self.registry();
        if registry.counts.get().lacks_spares() {
            *blocked = None;
        }
        if blocked.is_none() {
            self.expose_jobs();
            *blocked = registry.begin_block(block);
        } else if block == Block::Briefly {
            // Jobs that have been dealt to it meanwhile, and pushes that the last look has missed.
            self.expose_jobs();
            registry.look_for_blocked(block);
        }
        if blocked.is_none() {
            self.counters.count(Event::NoSpare);
            return false;
        }
        self.counters.count(Event::Park);
        let _parked = self.traced(Activity::Parked);
        if self.targeted_jobs.is_empty() && !ready() {
            self.seen_blocked(|| match block {
                Block::Briefly => thread::park_timeout(length),
                Block::Indefinitely => thread::park(),
            });
        }
        true
    }

    /// Runs a closure that blocks this worker, with a spare in its place if there is one.
    pub(crate) fn blocking<R>(&self, block: impl FnOnce() -> R) -> R {
        if self.is_blocked() {
            // A spare has taken its place already.
            return block();
        }
        let _pause = record::pause(self);
        self.expose_jobs();
        let _blocked = self.registry().begin_block(Block::Indefinitely);
        self.counters.count(Event::Park);
        self.seen_blocked(block)
    }
}
