//! Waiting workers, which run only what they wait for.
//!
//! A worker whose job was stolen leapfrogs: it steals from a worker that executes a job of the
//! awaited group, or of a group that such a worker waits for in turn. What it takes was forked
//! inside the awaited job, so it descends from that job. This rests on three facts:
//!
//! - Thieves take the oldest job first. When a join's job has been stolen, so have all older ones
//!   of that worker; its queue holds nothing but what was spawned since.
//! - A worker that waits for something else, a scope or a handle, may have jobs of enclosing joins
//!   in its queue. What it runs meanwhile it marks as foreign, and no worker leapfrogs through it
//!   until that is over.
//! - So the forked jobs in the queue of a worker through which others leapfrog all descend from the
//!   job that it stole last. Spawned jobs may belong to an enclosing scope; a waiter that steals
//!   one of those puts it into the pool's queue, where the scope's own waiter looks too.
//!
//! After the steal the thief checks whether the victim was still inside the group, and whether the
//! workers that led to the group still waited for it (`task_stack`). If not, the job goes to the
//! pool's queue, too.

mod block;
mod descendants;
mod search;
mod sleeps;

use std::time::Duration;
use std::{mem, thread};

use locksley_trace::Activity;

pub(crate) use self::block::Meanwhile;
use self::sleeps::{LOOK_AGAIN, Sleeps};
pub(crate) use self::sleeps::{LOOK_RARELY, Look};
use crate::machine::clock::Instant;
use crate::observe::record;
use crate::scheduler::injector::QueuedJob;
use crate::scheduler::registry::{Block, Blocked, Registry};
use crate::scheduler::worker::Worker;
use crate::task::job::GroupId;
use crate::task::latch::{Awaited, Latch};

/// How long a thread outside of the pool spins on a latch before it yields. Parking and waking it
/// takes several times as long, so a short task gains much, and a long one loses little.
const GLANCE: Duration = Duration::from_micros(1);

/// How long that thread spins and yields before it parks.
const PATIENCE: Duration = Duration::from_micros(25);

/// How long, if it has a processor to itself and the workers share the others. Once it parks, the
/// system moves one of them to the free processor.
const ALONE: Duration = Duration::from_micros(6);

/// A yield that is shorter has not run another thread.
const SWITCH: Duration = Duration::from_micros(1);

/// Blocks a thread that is not a worker until a latch of this pool is set.
pub(crate) fn wait_outside(registry: &Registry, latch: &Latch) {
    if !latch.probe() {
        registry.check_process();
    }
    if registry.has_processors() {
        let start = Instant::now();
        while !latch.probe() && start.elapsed() < GLANCE {
            std::hint::spin_loop();
        }
        let mut now = Duration::ZERO;
        while !latch.probe() && now < PATIENCE && registry.try_yield(&registry.outside_yields) {
            let before = mem::replace(&mut now, start.elapsed());
            if now - before < SWITCH && now > ALONE && registry.is_crowded() {
                break;
            }
        }
    }
    latch.park(thread::park);
}

impl Worker {
    /// Waits for a join's job, and helps meanwhile.
    #[cold]
    pub(crate) fn wait_for_job(&self, latch: &Latch, group: GroupId) {
        // A thief that stole the job in error may have put it into the pool's queue.
        self.wait_with(latch, group, |_| self.registry().injector.pop_forked(group));
    }

    /// Waits for a scope: runs its tasks wherever they are, and helps with those of others.
    #[cold]
    pub(crate) fn wait_for_scope(&self, tasks: &impl Awaited, group: GroupId) {
        let mut versions = Vec::new();
        self.wait_with(tasks, group, |look| {
            let found = self.take_of(group);
            found.or_else(|| match look {
                Look::Nearby => None,
                Look::Everywhere { most } => self.gather(tasks, group, most, &mut versions),
            })
        });
    }

    /// Takes a spawned job of a group from the worker's queue, from the pool's queue, or from the
    /// worker that it was dealt to.
    pub(crate) fn take_of(&self, group: GroupId) -> Option<QueuedJob> {
        self.pop_of(group)
            .or_else(|| self.registry().injector.pop_scoped(group))
            .or_else(|| self.take_back(group))
    }

    /// Waits until `awaited` is over. `own` finds jobs that the waiter must run itself if no other
    /// worker does.
    pub(crate) fn wait_with(
        &self,
        awaited: &impl Awaited,
        group: GroupId,
        mut own: impl FnMut(Look) -> Option<QueuedJob>,
    ) {
        if awaited.is_over() {
            return;
        }
        let _pause = record::pause(self);
        let _wait = self.traced(Activity::Wait);
        let registry = self.registry();
        self.task_stack.enter_wait(group);
        let (mut idle, mut sleeps, mut blocked) = (0, Sleeps::default(), None);
        while !awaited.is_over() {
            registry.check_process();
            let takes_next = self.takes_next();
            if takes_next {
                blocked = None;
            }
            if self.has_targeted(&mut blocked) && self.run_targeted()
                || takes_next && self.run_own(group, awaited)
            {
                idle = 0;
            } else if let Some(queued) = (!takes_next).then(|| own(sleeps.look())).flatten() {
                blocked = None;
                self.run_job(queued);
                (idle, sleeps) = (0, Sleeps::default());
            } else if let Some(queued) = self.helpful_job(awaited, group) {
                blocked = None;
                let stolen = self.tiny_work.begin_job();
                self.help(queued);
                self.tiny_work.end_job(stolen, || registry.now());
                (idle, sleeps) = (0, Sleeps::default());
            // If this puts jobs into the pool's queue, the awaited one may be among them.
            } else if registry.rest(&mut idle) && !self.expose_jobs() {
                match awaited.latch() {
                    Some(latch) if registry.blocks_alone() => {
                        self.nap_alone(&mut sleeps, &|| latch.probe_or_await());
                    }
                    Some(latch) => self.doze(latch, &mut blocked, &mut sleeps),
                    None => {}
                }
            }
        }
        drop(blocked);
        self.task_stack.leave();
        registry.pass_on_summons(self);
        self.publish_counts();
    }

    /// Runs the newest jobs of the worker's own queue, up to one that is not of the group. Returns
    /// `true` if there were any.
    fn run_own(&self, group: GroupId, awaited: &impl Awaited) -> bool {
        let Some(first) = self.take_own() else {
            return false;
        };
        self.registry().pass_on_summons(self);
        let mut next = Some(first);
        self.deeper(|| {
            while let Some(queued) = next.take_if(|queued| queued.is_spawned_in(group)) {
                self.execute(queued);
                if awaited.is_over() {
                    break;
                }
                next = self.take_own();
            }
        });
        let Some(stranger) = next else { return true };
        // Checked once, since the answer may change at any moment.
        if !awaited.is_over() {
            self.help(stranger);
        } else if stranger.owner == self.index() {
            // It was below the group's jobs. An enclosing join may expect to take it back.
            self.put_back(stranger.job);
        } else {
            self.registry().inject(stranger);
        }
        true
    }

    /// Sleeps until the latch is set, or there is something that this worker may do.
    fn doze<'w>(&'w self, latch: &Latch, blocked: &mut Option<Blocked<'w>>, sleeps: &mut Sleeps) {
        let registry = self.registry();
        let ready = || latch.probe_or_await();
        if registry.takes_any() && !self.is_deep() {
            return registry.sleep(self, ready);
        }
        if self.block(blocked, Block::Briefly, sleeps.block(), ready) {
            return sleeps.count_long();
        }
        // No spare can take its place, so it takes any work rather than stop. A worker at the depth
        // limit gives others the time to do so first.
        if self.is_deep() && !ready() {
            registry.pass_on_summons(self);
            thread::park_timeout(LOOK_AGAIN);
        }
        match self.take_anything() {
            Some(queued) => {
                self.help(queued);
                *sleeps = Sleeps::default();
            }
            None => registry.sleep(self, ready),
        }
    }

    /// Returns `true` if nested waits have reached `depth_limit`.
    fn is_deep(&self) -> bool {
        self.depth() >= self.registry().config.depth_limit
    }

    /// Returns `true` if the worker takes jobs in any order, and need not search its queue for
    /// those that it must run itself.
    fn takes_next(&self) -> bool {
        let registry = self.registry();
        registry.takes_any() && !registry.leapfrogs() && !self.is_deep()
    }
}
