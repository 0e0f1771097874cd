//! Waiting that runs only what it waits for.
//!
//! A worker whose job was stolen leapfrogs: it steals from a worker that executes a job of the
//! group that it waits for, or of a group which such a worker waits for in turn. What it takes
//! was forked inside the awaited job, so it descends from it. Three facts make that hold:
//!
//! - Thieves take the oldest job first. When a join's job has been stolen, so have all older ones
//!   of that worker; its queue holds nothing but what was spawned since.
//! - A worker that waits for something else, a scope or a handle, may have jobs of joins further
//!   out in its queue. What it runs meanwhile it runs apart, and no worker leapfrogs through it
//!   until that is over.
//! - So the forked jobs in the queue of a worker through which others leapfrog all descend from the
//!   job that it stole last. Spawned jobs may belong to a scope further out; a waiter that catches
//!   one of those hands it to the pool's queue, where the scope's own waiter looks too.
//!
//! Whether the victim was still inside the group when the job was stolen, and whether those who
//! led to the group still waited for it, is checked afterwards (`frames`); if not, the job goes to
//! the pool's queue likewise.

use std::thread;
use std::time::Duration;

use locksley_queue::Steal;
use locksley_trace::Activity;

use crate::machine::clock::Instant;
use crate::observe::record;
use crate::observe::stats::Event;
use crate::scheduler::descendants::Descendants;
use crate::scheduler::injector::{QueuedJob, UNKNOWN_OWNER};
use crate::scheduler::registry::{Block, Blocked, Registry};
use crate::scheduler::worker::Worker;
use crate::strategy::local_queue::HANDFUL;
use crate::task::job::GroupId;
use crate::task::latch::{Awaited, Latch};

/// How long a blocked waiter sleeps before it looks again. Where every spare is blocked too, a task
/// of its own may lie in the pool's queue, and no other worker be free to run it.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// How long it sleeps after many looks in vain.
pub(crate) const LOOK_RARELY: Duration = Duration::from_millis(160);

/// How long a waiter without a spare sleeps at first where there is nothing for it to do; then
/// twice as long each time, up to [`LOOK_AGAIN`]. What it waits for unparks it, but a thief that
/// makes new work for it does not.
const FIRST_NAP: Duration = Duration::from_micros(50);

/// The sleeps of a waiter since it last had something to do.
#[derive(Clone, Copy, Default)]
struct Sleeps {
    /// Those in which no other worker took its place.
    naps: u32,
    /// Those of [`LOOK_AGAIN`] and more.
    long: u32,
}

impl Sleeps {
    /// Begins a sleep in which no other worker takes the waiter's place. Returns its length.
    fn nap(&mut self) -> Duration {
        let length = (FIRST_NAP * (1 << self.naps)).min(LOOK_AGAIN);
        self.naps = (self.naps + 1).min(8);
        if length == LOOK_AGAIN {
            self.count_long();
        }
        length
    }

    /// The length of the next sleep with a spare in the waiter's place.
    fn block(&self) -> Duration {
        (LOOK_AGAIN * (1 << self.long.min(4))).min(LOOK_RARELY)
    }

    /// It has slept for long.
    fn count_long(&mut self) {
        self.long = self.long.saturating_add(1);
    }

    /// Where to look after that. Everywhere ever more thoroughly: most waits end by themselves, and
    /// what lies in other workers' queues is in good hands there. But a task behind any number of
    /// others is reached soon. A waiter without a spare sleeps more often, so it looks more rarely.
    fn look(&self) -> Look {
        let alone = self.naps > 0;
        if self.long == 0 || alone && !self.long.is_power_of_two() && self.long % 16 > 0 {
            return Look::Nearby;
        }
        let most = HANDFUL.saturating_mul(4_usize.saturating_pow(self.long));
        Look::Everywhere { most }
    }
}

/// Where a waiter looks for its own jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// In its own queues, and in the pool's.
    Nearby,
    /// Among the oldest jobs of other workers' queues too, so many of each: it has slept, and
    /// nothing came of that.
    Everywhere { most: usize },
}

/// How long a thread outside of the pool looks at a latch before it lets others run. To park it and
/// to wake it takes several times as long, so a short task gains much, and a long one loses little.
const GLANCE: Duration = Duration::from_micros(3);

/// How long it goes on looking before it parks, and gives its processor to any thread that wants
/// it.
const PATIENCE: Duration = Duration::from_micros(25);

/// Blocks a thread that is no worker until a latch of this pool is set.
pub(crate) fn wait_outside(registry: &Registry, latch: &Latch) {
    if !latch.probe() {
        registry.check_process();
    }
    if registry.has_processors() {
        let start = Instant::now();
        while !latch.probe() && start.elapsed() < GLANCE {
            std::hint::spin_loop();
        }
        while !latch.probe() && start.elapsed() < PATIENCE && registry.give_way() {}
    }
    latch.park(thread::park);
}

impl Worker {
    /// Waits for a join's job, and helps meanwhile.
    #[cold]
    pub(crate) fn wait_for_job(&self, latch: &Latch, group: GroupId) {
        // A thief that stole it in error may have left it in the pool's queue.
        self.wait_with(latch, group, |_| {
            let queued = self.registry().injector.pop_forked(group);
            queued.or_else(|| self.take_back(group, false))
        });
    }

    /// Waits for a scope: runs its tasks wherever they are, and helps with those of others.
    #[cold]
    pub(crate) fn wait_for_scope(&self, tasks: &impl Awaited, group: GroupId) {
        self.wait_with(tasks, group, |look| {
            let found = self.take_of(group);
            found.or_else(|| match look {
                Look::Nearby => None,
                Look::Everywhere { most } => self.gather(tasks, group, most),
            })
        });
    }

    /// Takes a spawned job of a group out of another worker's queues, if it is among the oldest
    /// jobs of one, `most` of each. Jobs that are in the way go to the pool's queue.
    ///
    /// It may lie among jobs that cannot be finished: they want a lock, say, which the caller
    /// holds. No worker that leapfrogs finds it there, and spares that look for work take what is
    /// around it, and stop likewise.
    #[cold]
    fn gather(&self, tasks: &impl Awaited, group: GroupId, most: usize) -> Option<QueuedJob> {
        let registry = self.registry();
        let others = (0..registry.workers()).filter(|&index| index != self.index());
        let mut others = others.take_while(|_| !tasks.is_over());
        others.find_map(|index| {
            let other = registry.worker(index);
            let mut found = None;
            let moved = other.stealer().map(|stealer| stealer.drain(most));
            for job in moved.unwrap_or_default() {
                let owner = UNKNOWN_OWNER;
                self.keep_or_inject(QueuedJob { job, owner }, group, &mut found);
            }
            if found.is_none() {
                // After the first, a handful more: others of the group may be next to it, and are
                // found in the pool's queue then.
                let mut more = HANDFUL;
                self.steal_until(other, most, |job| {
                    self.keep_or_inject(QueuedJob { job, owner: index }, group, &mut found);
                    more -= usize::from(found.is_some());
                    more == 0
                });
            }
            found
        })
    }

    /// Keeps a job that was taken out of a queue if it is the first of this group, and gives any
    /// other to the pool.
    fn keep_or_inject(&self, queued: QueuedJob, group: GroupId, found: &mut Option<QueuedJob>) {
        if found.is_none() && queued.is_spawned_in(group) {
            *found = Some(queued);
        } else if !self.drops_ghost(&queued) {
            self.registry().inject(queued);
        }
    }

    /// Takes a spawned job of a group from the worker's queue, from the pool's queue, or from the
    /// worker that the worker has dealt it to.
    pub(crate) fn take_of(&self, group: GroupId) -> Option<QueuedJob> {
        self.pop_of(group)
            .or_else(|| self.registry().injector.pop_scoped(group))
            .or_else(|| self.take_back(group, true))
    }

    /// Waits for a group of another pool. The thread that sets the latch unparks the waiter.
    #[cold]
    pub(crate) fn wait_abroad(&self, abroad: &Registry, latch: &Latch, group: GroupId) {
        let (ready, ready_asleep) = (|| latch.probe(), || latch.probe_or_await());
        let handed_back = || self.handed_back(abroad, group);
        self.task_stack.enter_wait(group);
        if self.registry().blocks_alone() {
            self.block_until(&ready, &ready_asleep, &handed_back);
        } else {
            let blocks = (!self.registry().takes_any()).then_some(Block::Briefly);
            self.serve_until(blocks, &ready, &ready_asleep, &handed_back);
        }
        self.task_stack.leave();
    }

    /// Waits until `ready`. `ready_asleep` is the same for a worker that goes to sleep: if it
    /// returns `false`, the thread that makes it so unparks this one.
    ///
    /// A spare takes the worker's place, and it helps with nothing but runs the jobs that are
    /// targeted at it; or, where no spare can, it takes what work there is.
    pub(crate) fn wait_until(&self, ready: impl Fn() -> bool, ready_asleep: impl Fn() -> bool) {
        self.wait_for_any(&ready, &ready_asleep);
    }

    /// [`wait_until`](Worker::wait_until), of which there is one copy.
    fn wait_for_any(&self, ready: &dyn Fn() -> bool, ready_asleep: &dyn Fn() -> bool) {
        if self.registry().blocks_alone() {
            return self.block_until(ready, ready_asleep, &|| None);
        }
        let blocks = (!self.registry().takes_any()).then_some(Block::Indefinitely);
        self.serve_until(blocks, ready, ready_asleep, &|| None);
    }

    /// Waits until another pool has ended. Without spares the worker runs what comes into its own
    /// pool meanwhile: a task of the pool that ends may wait for that.
    pub(crate) fn wait_for_pool(&self, ready: &dyn Fn() -> bool, ready_asleep: &dyn Fn() -> bool) {
        if self.registry().blocks_alone() {
            let came_in = || self.registry().injector.pop();
            return self.block_until(ready, ready_asleep, &came_in);
        }
        self.wait_for_any(ready, ready_asleep);
    }

    /// The same in a pool without spares whose waiters take no strangers' work: runs what is
    /// targeted at this worker and what `own` finds, and sleeps otherwise.
    #[inline(never)]
    fn block_until(
        &self,
        ready: &dyn Fn() -> bool,
        ready_asleep: &dyn Fn() -> bool,
        own: &dyn Fn() -> Option<QueuedJob>,
    ) {
        let _pause = record::pause(self);
        let _wait = self.traced(Activity::Wait);
        let registry = self.registry();
        let (mut idle, mut sleeps) = (0, Sleeps::default());
        while !ready() {
            registry.check_process();
            if self.run_targeted() {
                (idle, sleeps) = (0, Sleeps::default());
            } else if let Some(queued) = own() {
                self.help(queued);
                (idle, sleeps) = (0, Sleeps::default());
            } else if registry.rest(&mut idle) {
                // What it has spawned must not wait for it: a waiter may look for it in the pool's
                // queue.
                while let Some(spawned) = self.pop_of(GroupId::NONE) {
                    registry.inject(spawned);
                }
                self.expose_jobs();
                self.nap_alone(&mut sleeps, ready_asleep);
            }
        }
        registry.pass_on_summons(self);
        self.publish_counts();
    }

    /// Sleeps until it is unparked, or for a while, and no worker takes its place. Not if `ready`,
    /// or something is targeted at this worker.
    fn nap_alone(&self, sleeps: &mut Sleeps, ready: &dyn Fn() -> bool) {
        self.counters.count(Event::Park);
        let _parked = self.traced(Activity::Parked);
        if self.targeted_jobs.is_empty() && !ready() {
            thread::park_timeout(sleeps.nap());
        }
    }

    /// Takes a job of this pool that a worker of another one waits for inside of a group there.
    fn handed_back(&self, abroad: &Registry, group: GroupId) -> Option<QueuedJob> {
        let registry = self.registry();
        if registry.injector.is_empty() {
            return None;
        }
        let mut descendants = Descendants::of(group, None);
        let mut next = 0;
        while next < descendants.count {
            for worker in 0..abroad.workers() {
                descendants.sight(worker, next, abroad);
            }
            next += 1;
        }
        for number in 1..descendants.count {
            let Some(job) = registry.injector.pop_of(descendants.groups[number]) else {
                continue;
            };
            if descendants.holds(number, abroad) {
                return Some(job);
            }
            registry.inject(job);
        }
        None
    }

    /// The same; only if it `blocks` may a spare take the worker's place. `own` finds jobs that the
    /// waiter may run, and is asked again now and then by one that blocks briefly.
    pub(crate) fn serve_until(
        &self,
        blocks: Option<Block>,
        ready: &dyn Fn() -> bool,
        ready_asleep: &dyn Fn() -> bool,
        own: &dyn Fn() -> Option<QueuedJob>,
    ) {
        let _pause = record::pause(self);
        let _wait = self.traced(Activity::Wait);
        let registry = self.registry();
        let (mut idle, mut blocked) = (0, None);
        while !ready() {
            registry.check_process();
            if self.has_targeted(&mut blocked) && self.run_targeted() {
                idle = 0;
            } else if let Some(queued) = own() {
                blocked = None;
                self.help(queued);
                idle = 0;
            } else if blocks
                .is_some_and(|block| self.block(&mut blocked, block, LOOK_AGAIN, ready_asleep))
            {
                idle = 0;
            } else if let Some(queued) = self.take_anything() {
                self.help(queued);
                idle = 0;
            } else if registry.rest(&mut idle) {
                registry.sleep(self, ready_asleep);
            }
        }
        registry.pass_on_summons(self);
        self.publish_counts();
    }

    /// Returns `true` if a job is targeted at this worker, which is no longer blocked then.
    fn has_targeted(&self, blocked: &mut Option<Blocked<'_>>) -> bool {
        let targeted = !self.targeted_jobs.is_empty();
        if targeted {
            *blocked = None;
        }
        targeted
    }

    /// Parks the worker once, with a spare in its place, for so long if it blocks briefly. Returns
    /// `false` if no spare can take it.
    ///
    /// It stays counted as blocked while it looks what has come of that. So the job for which many
    /// such waiters look does not lack a worker, however much they search.
    fn block<'w>(
        &'w self,
        blocked: &mut Option<Blocked<'w>>,
        block: Block,
        length: Duration,
        ready: impl FnOnce() -> bool,
    ) -> bool {
        let registry = self.registry();
        if registry.lacks_spares() {
            *blocked = None;
        }
        if blocked.is_none() {
            self.expose_jobs();
            *blocked = registry.begin_block(block);
        } else if block == Block::Briefly {
            // What has been dealt to it meanwhile, and what the last look has missed.
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

    /// Runs something that blocks this worker, with a spare in its place if there is one.
    pub(crate) fn blocking<R>(&self, block: impl FnOnce() -> R) -> R {
        let _pause = record::pause(self);
        self.expose_jobs();
        let _blocked = self.registry().begin_block(Block::Indefinitely);
        self.counters.count(Event::Park);
        self.seen_blocked(block)
    }

    /// Waits for something. `own` finds jobs that the waiter must run itself, if need be.
    pub(crate) fn wait_with(
        &self,
        awaited: &impl Awaited,
        group: GroupId,
        own: impl Fn(Look) -> Option<QueuedJob>,
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
                self.help(queued);
                (idle, sleeps) = (0, Sleeps::default());
            // Nothing may go to the pool's queue that it waits for.
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
        // Asked once: it may become so at any moment.
        if !awaited.is_over() {
            self.help(stranger);
        } else if stranger.owner == self.index() {
            // It lay below them all. A join may be about to take it back.
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
        // No spare can take its place, so it takes any work rather than stand still. One that is
        // deep gives others the time to do so first.
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

    /// Returns `true` if it takes jobs in any order, so that it need not sort its queue for those
    /// that it must run itself.
    fn takes_next(&self) -> bool {
        let registry = self.registry();
        registry.takes_any() && !registry.leapfrogs() && !self.is_deep()
    }

    /// Returns a job of another worker to run while waiting for a group.
    fn helpful_job(&self, awaited: &impl Awaited, group: GroupId) -> Option<QueuedJob> {
        let registry = self.registry();
        if self.is_deep() {
            return None;
        }
        let descendant = if registry.leapfrogs() {
            self.leapfrog(awaited.runner(), group)
        } else {
            None
        };
        match descendant {
            None if registry.takes_any() => self.take_anything(),
            found => found,
        }
    }

    /// `runner` is the worker that runs what is waited for, if it is known: then no other is looked
    /// at.
    fn leapfrog(&self, runner: Option<usize>, group: GroupId) -> Option<QueuedJob> {
        let registry = self.registry();
        self.begin_search();
        if let Some(runner) = runner {
            self.task_stack.note_runner(runner);
        }
        let mut descendants = Descendants::of(group, runner);
        let mut next = 0;
        while next < descendants.count {
            let victims = match descendants.runners[next] {
                Some(runner) => runner..runner + 1,
                None => 0..registry.workers(),
            };
            for victim in victims.filter(|&v| v != self.index()) {
                if let Some(queued) = self.steal_descendant(victim, next, &mut descendants) {
                    return Some(queued);
                }
            }
            next += 1;
        }
        None
    }

    /// Steals from a worker if it is executing a job of the group of this number.
    fn steal_descendant(
        &self,
        victim: usize,
        number: usize,
        descendants: &mut Descendants,
    ) -> Option<QueuedJob> {
        let registry = self.registry();
        let worker = registry.worker(victim);
        let sighting = descendants.sight(victim, number, registry)?;
        if !descendants.holds(number, registry) {
            return None;
        }
        let Steal::Success(job) = self.steal_from(victim) else {
            return None;
        };
        let queued = QueuedJob { job, owner: victim };
        let inside = worker.task_stack.unchanged(sighting) && descendants.holds(number, registry);
        // SAFETY: the job has not been executed.
        if inside && (!job.is_spawned() || descendants.includes(unsafe { job.group() }, registry)) {
            self.counters.count(Event::Leapfrogged);
            return Some(queued);
        }
        registry.inject(queued);
        None
    }
}
