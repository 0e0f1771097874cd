//! The queue of the strategy `dealing`: Hendler and Shavit, "Work Dealing" (SPAA 2002), in which
//! the worker that creates work deals it to other workers, which need not steal.
//!
//! ```text
//!              worker 0      worker 1      worker 2
//!   stack     | a  b  c |   | d |         |  |          jobs that a worker deals to itself
//!   from 0         -        x ─> y         z            buffers: one producer, one consumer
//!   from 1         -          -            -
//!   from 2         v          -            -
//! ```
//!
//! Each worker has a buffer from each other worker, a row of the matrix of [`locksley_queue::pcb`].
//! A *spawned* job goes into the buffer to the worker that the put-rule selects ([`Dealing`]):
//! each in turn (`simple`), the one that the job prefers (`locality`, `spawn_near`), or the one
//! with the fewest pending jobs (`adaptive`). A worker without work takes the jobs that it was
//! dealt, buffer after buffer, in the order of the get-rule. Dealing and collecting take a few
//! loads and stores, and no compare-and-swap except one for every
//! [`GRANULARITY`](locksley_queue::pcb::GRANULARITY) items that are recycled.
//!
//! **Forks.** The paper has independent tasks, and no joins. A join soon takes back the job that it
//! forks, unless another worker begins it. So forks lie in the pool's deque, and are stolen, as
//! under every strategy.
//!
//! # Where it differs from the paper, and why
//!
//! In the paper an item is executed by the worker that it was dealt to, whatever that worker does
//! meanwhile. But a task may wait for another one, by a join, by a scope, or by means that the
//! runtime does not know; and the worker that was dealt the other task may be blocked, or may be
//! the waiting one itself. So every dealt job can be reached by other workers:
//!
//! - **Other workers can enter a worker's inbox.** A worker's stack and its ends of the buffers are
//!   behind a lock that is biased towards it (`biased`): it enters with a store and a load; another
//!   worker, which pays with a `membarrier`, enters only when it must.
//! - **A worker deals only its surplus.** It keeps a job if its stack is empty, and deals the next
//!   one to the worker that the rule selected for this one. It does not give its only job to a
//!   worker that asks, nor is that job fetched while the worker makes progress. So a chain of
//!   tasks, each of which spawns the next, stays on its worker. Dealt in turn, it would wake a
//!   worker for each of them.
//! - **A worker that is out of work helps out.** It asks first: a worker that has jobs on its stack
//!   deals it the oldest when it next spawns one. If it has seen work for [`PATIENCE`] without
//!   getting any, it fetches half of the jobs of the fullest buffer to a busy worker, or the oldest
//!   of that worker's stack. Under `locality` it leaves the jobs that prefer that worker, unless
//!   that worker has taken none of the jobs dealt to it for [`STUCK`].
//! - **A waiter gets back the jobs that it dealt**, unless they have begun: a scope gets its tasks
//!   (but, as above, not those that prefer another worker). A waiter takes a job that it was dealt
//!   only if it waits for that job, or if it takes any work. Before it blocks, it moves the rest to
//!   the pool's queue, where a waiter for them looks. A scope that has waited in vain also gets its
//!   tasks from the inbox of a worker that has fetched them, or to which others have dealt them.
//! - **More workers than processors** do not all run: a worker that goes to sleep because enough
//!   others run moves the jobs that it was dealt to the pool's queue too, whatever they prefer.
//! - **Spares**, and workers beyond [`MOST`], have no buffers: their jobs are stolen from their
//!   stacks.
//!
//! Also: a worker's buffer to itself is a stack, newest first, because the innermost join or scope
//! is the one that is waited for (and to save space: in the paper's order a recursion is unfolded
//! breadth first). The get-rule moves on after a batch, because draining one buffer completely
//! starves the others. Termination is detected (`matrix`).
//!
//! With `mode=dedicated` none of this applies: see `dedicated`.
//!
//! # Theorems
//!
//! - *Theorem 1*, a non-blocking pool of items: holds between two workers of which neither enters
//!   the other's inbox. An owner that finds another worker in its inbox waits for it to leave; that
//!   worker only moves up to 64 pointers there.
//! - *Theorem 3*: under `simple` the numbers of spawned jobs dealt to two workers differ by at most
//!   n, except for the jobs that a worker keeps because it has no other.
//! - *Theorems 6 and 7*: with enough items, and phases as long as the paper requires, the time is
//!   within 3 + alpha of the optimum. Helping out does not increase it: no worker is idle while
//!   there is work, except for [`STUCK`] under `locality`.
//! - *Theorem 11*: under `locality` at least 1 - 1/L of the jobs are executed by the worker that
//!   they prefer, if their preferences are evenly distributed, and no worker is stuck.

mod biased;
mod dedicated;
mod inbox;
mod local_queue;
mod matrix;
#[cfg(all(test, loom))]
#[path = "../../tests/loom/dealing.rs"]
mod models;
#[cfg(all(test, not(loom)))]
#[path = "../../tests/unit/dealing.rs"]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use locksley_policy::{Collector, DealRule, Dealer, Dealing, Random};
use locksley_queue::Steal;

use biased::{OwnerLock, biased};
pub use dedicated::{Closed, DedicatedQueue};
use inbox::Inbox;
pub use local_queue::DealtJobs;
#[cfg(doc)]
use matrix::MOST;
pub use matrix::Matrix;
use matrix::PeerState;

use crate::QueuedJob;
use crate::{GroupId, Job};
use crate::{MAX_BATCH, StealHandle, StolenBatch, TransferCounts};
use locksley_machine::clock::Instant;

/// Time for which a worker that is out of work, and sees some, only asks for it. Entering another
/// worker's inbox takes as long or several times that, and meanwhile the worker does not see the
/// jobs that it is dealt.
const PATIENCE: Duration = Duration::from_micros(5);

/// Number of times that a waiter looks in vain before it fetches the jobs that it dealt. A worker
/// that has asked for them takes them sooner.
const RECALL: u32 = 4;

/// Time without taking a job from its buffers after which other workers may execute a worker's jobs
/// although they prefer that worker.
const STUCK: Duration = Duration::from_millis(10);

/// The longest time between two looks at a worker that are compared. After a longer one the
/// observer does not know whether the worker had nothing to take in between. Blocked waiters look
/// twice as often: every [`RECALL`] times that they wake up.
const LONGEST_GAP: Duration = LONGEST_PAUSE.saturating_mul(2 * RECALL);

/// The longest pause of a blocked waiter between two looks.
pub const LONGEST_PAUSE: Duration = Duration::from_millis(160);

/// The owner's side of a queue of the strategy `dealing`.
pub struct DealingQueue<J: Job> {
    me: usize,
    inbox: OwnerLock<Inbox<J>>,
    state: Arc<PeerState<J>>,
    matrix: Arc<Matrix<J>>,
    policy: Dealing,
    /// The put-rule; `None` for a worker that has no buffers.
    dealer: Option<Dealer>,
    /// The get-rule.
    collector: Collector,
    random: Random,
    /// Time since which every search has seen work and got none.
    waits_since: Option<Instant>,
    /// Set if that was [`PATIENCE`] ago, so that this search fetches.
    fetches: bool,
    /// Set if a worker has been asked in this search.
    asked: bool,
    /// Set if this search has seen work that it did not get.
    waits: bool,
    /// Set if this search has seen jobs that it left to other workers.
    refused: bool,
    /// Number of calls of `take_back` since the last that looked for dealt jobs.
    recalls: u32,
    /// The worker to which a job was dealt last.
    dealt_to: Option<usize>,
    /// The worker that the rule selected for a job that was kept, as it was the only one. The
    /// next job is dealt to it.
    postponed: Option<usize>,
    /// Number of jobs that each worker had executed when it was last seen with a single job.
    seen_executed: Box<[Option<u64>]>,
    /// The last observations of the other workers' progress, under `locality`.
    watches: Box<[Option<Watch>]>,
    transfers: TransferCounts,
}

/// The observed progress of a worker that had jobs that prefer it.
#[derive(Clone, Copy)]
struct Watch {
    /// The worker's [`progress`](Matrix::progress).
    taken: u64,
    /// Time since which the progress has not changed.
    since: Instant,
    /// Time of the last look.
    seen: Instant,
}

/// The other workers' side of a [`DealingQueue`].
pub struct DealingStealer<J: Job> {
    index: usize,
    state: Arc<PeerState<J>>,
    matrix: Arc<Matrix<J>>,
}

impl<J: Job> DealingQueue<J> {
    /// Creates the queue of the worker with this index, and registers the worker in the matrix.
    pub fn new(
        index: usize,
        matrix: Arc<Matrix<J>>,
        policy: Dealing,
        seed: u64,
    ) -> DealingQueue<J> {
        let process = matrix.process(index);
        let members = matrix.members();
        let dealer = process.as_ref().map(|_| policy.dealer(index, members));
        let (inbox, remote) = biased(Inbox::new(process));
        let state = Arc::new(PeerState::new(remote));
        matrix.register(index, state.clone());
        let watches = match policy.rule {
            DealRule::Locality { .. } => members,
            _ => 0,
        };
        DealingQueue {
            me: index,
            inbox,
            state,
            policy,
            collector: policy.collector(if dealer.is_some() { index } else { 0 }),
            dealer,
            // A different stream from that of the worker's search.
            random: Random::new(!seed, index as u64),
            waits_since: None,
            fetches: false,
            asked: false,
            waits: false,
            refused: false,
            recalls: 0,
            dealt_to: None,
            postponed: None,
            seen_executed: vec![None; matrix.max_workers()].into_boxed_slice(),
            watches: vec![None; watches].into_boxed_slice(),
            transfers: TransferCounts::default(),
            matrix,
        }
    }

    /// Returns a handle for other workers.
    pub fn as_dealing(&self) -> DealingStealer<J> {
        DealingStealer {
            index: self.me,
            state: self.state.clone(),
            matrix: self.matrix.clone(),
        }
    }

    /// Pushes a job on the stack.
    #[inline]
    fn keep(&mut self, job: J) {
        let state = &*self.state;
        self.inbox.with(|inbox| inbox.push(job, state));
    }

    /// Deals a spawned job: the paper's `putItem`.
    fn deal(&mut self, job: J, near: Option<usize>) {
        let (me, matrix, state) = (self.me, &*self.matrix, &*self.state);
        let Some(dealer) = &mut self.dealer else {
            return self.keep(job);
        };
        let pending = |to: usize| {
            if to == me {
                state.stacked()
            } else {
                matrix.pending(me, to)
            }
        };
        let postponed = self.postponed.take_if(|_| near.is_none());
        let mut to = postponed.unwrap_or_else(|| dealer.deal(near, pending, &mut self.random));
        if to != me && near.is_none() && state.stacked() == 0 {
            self.postponed = Some(to);
            to = me;
        }
        let job = job.dealt(near == Some(to));
        self.transfers.near += u64::from(near.is_some());
        if to == me {
            self.transfers.kept += 1;
            matrix.count_dealt(me, me, false);
            return self.keep(job);
        }
        self.transfers.dealt += 1;
        self.dealt_to = Some(to);
        self.inbox.with(|inbox| inbox.produce(matrix, me, to, job));
    }

    /// Deals the oldest job of the stack to the worker that has asked, if it is still idle. The
    /// stack has another job.
    #[cold]
    #[inline(never)]
    fn answer(&mut self) {
        let (me, matrix, state) = (self.me, &*self.matrix, &*self.state);
        let asker = state.take_asker().filter(|&asker| asker != me);
        let Some(asker) = asker.filter(|_| self.dealer.is_some()) else {
            return;
        };
        if !matrix.state(asker).is_some_and(PeerState::is_idle) {
            return;
        }
        let stays = self.is_local();
        let dealt = self.inbox.with(|inbox| {
            let job = inbox.pop_oldest(state, |job| !(stays && job.is_near()))?;
            inbox.produce(matrix, me, asker, job.anywhere().dealt(false));
            Some(job)
        });
        if let Some(job) = dealt {
            if job.is_dealt() {
                // The job was counted as dealt twice, and will be executed once.
                matrix.count_executed(me);
            }
            self.transfers.dealt += 1;
            self.dealt_to = Some(asker);
        }
    }

    /// Takes a job that this worker was dealt: the paper's `getItem`.
    fn collect(&mut self) -> Option<QueuedJob<J>> {
        let (me, matrix, policy) = (self.me, &*self.matrix, &self.policy);
        let (collector, members) = (&mut self.collector, matrix.members());
        self.dealer.as_ref()?;
        let collected = self.inbox.with(|inbox| {
            (0..=members).find_map(|_| {
                let from = collector.at();
                let job = inbox.consume(matrix, me, from);
                collector.advance(job.is_some(), policy, members);
                job.map(|job| (job, from))
            })
        });
        collected.map(|(job, from)| self.collected(job, from))
    }

    /// Counts a job that came out of one of the worker's buffers.
    fn collected(&mut self, job: J, owner: usize) -> QueuedJob<J> {
        self.transfers.collected += 1;
        self.has_found();
        QueuedJob { job, owner }
    }

    /// Notes that the worker has found work.
    fn has_found(&mut self) {
        (self.waits_since, self.fetches) = (None, false);
        self.state.set_idle(false);
    }

    fn is_local(&self) -> bool {
        matches!(self.policy.rule, DealRule::Locality { .. })
    }

    /// Asks a worker for a job, unless a worker has been asked in this search.
    fn ask(&mut self, victim: &DealingStealer<J>) -> Steal<StolenBatch<J>> {
        if victim.is_empty() {
            return Steal::Empty;
        }
        if !self.asked && victim.state.stacked() > 0 {
            self.asked = true;
            victim.state.ask(self.me);
        }
        self.waits = true;
        Steal::Private
    }

    /// Fetches jobs from another worker's inbox.
    fn fetch(&mut self, victim: &DealingStealer<J>) -> Steal<StolenBatch<J>> {
        let (state, index) = (&*victim.state, victim.index);
        let (stacked, dealt) = (state.stacked(), self.matrix.pending_for(index));
        if stacked + dealt == 0 {
            self.forget(index);
            return Steal::Empty;
        }
        self.waits = true;
        if (stacked, dealt) == (1, 0) && self.makes_progress(index) {
            return Steal::Private;
        }
        let near = if self.is_local() {
            self.matrix.near_for(index) + state.near()
        } else {
            0
        };
        let stuck = self.is_stuck(index, near);
        if !stuck && stacked + dealt <= near {
            self.refused = true;
            return Steal::Private;
        }
        let (matrix, stays) = (&*self.matrix, self.is_local() && !stuck);
        let fits = |job: J| !(stays && job.is_near());
        let most = if stuck { 1 } else { MAX_BATCH };
        let fetched = state.inbox.try_with(|inbox| {
            let mut jobs = inbox.give_dealt(matrix, index, most, fits);
            let moved = !jobs.is_empty();
            if !moved {
                jobs.extend(inbox.pop_oldest(state, fits));
            }
            (jobs, moved)
        });
        let Some((jobs, moved)) = fetched else {
            return Steal::Retry;
        };
        let mut jobs = jobs.into_iter().map(J::anywhere);
        let Some(job) = jobs.next() else {
            self.refused |= near > 0;
            return Steal::Empty;
        };
        let more = jobs.len();
        jobs.rev().for_each(|job| self.keep(job));
        self.has_found();
        Steal::Success(StolenBatch { job, moved, more })
    }

    /// Returns `true` if `worker`, which has a single job, has executed another one since the last
    /// look: it will begin this one sooner than a thief that has to pass a barrier.
    fn makes_progress(&mut self, worker: usize) -> bool {
        let executed = Some(self.matrix.executed(worker));
        let Some(look) = self.seen_executed.get_mut(worker) else {
            return false;
        };
        std::mem::replace(look, executed) != executed
    }

    /// Returns `true` if `worker`, which has `near` jobs that prefer it, has made no progress for
    /// [`STUCK`]. After each `true` the time is measured anew.
    fn is_stuck(&mut self, worker: usize, near: usize) -> bool {
        if near == 0 {
            self.forget(worker);
            return false;
        }
        let (taken, now) = (self.matrix.progress(worker), Instant::now());
        let Some(watch) = self.watches.get_mut(worker) else {
            return false;
        };
        let fresh = Watch {
            taken,
            since: now,
            seen: now,
        };
        let seen = watch.filter(|watch| watch.taken == taken && now - watch.seen < LONGEST_GAP);
        let stuck = seen.is_some_and(|watch| now - watch.since >= STUCK);
        *watch = Some(match seen {
            Some(watch) if !stuck => Watch { seen: now, ..watch },
            _ => fresh,
        });
        stuck
    }

    /// Forgets the observations of a worker, which has no job that prefers it.
    fn forget(&mut self, worker: usize) {
        if let Some(watch) = self.watches.get_mut(worker) {
            *watch = None;
        }
    }

    /// Takes jobs back out of the buffer to the worker `other`. Returns one of the group, if any,
    /// and `true` if any job was taken out.
    fn take_back_from(&mut self, other: usize, group: GroupId) -> (Option<J>, bool) {
        let me = self.me;
        let pending = self.matrix.pending(me, other);
        let stays = self.is_local();
        let near = if stays {
            self.matrix.near(me, other)
        } else {
            0
        };
        let stuck = stays && self.is_stuck(other, near);
        if !stuck && pending <= near {
            return (None, false);
        }
        let matrix = &*self.matrix;
        let fits = |job: J| stuck || !(stays && job.is_near());
        let most = if stuck {
            1
        } else {
            pending.div_ceil(2).min(MAX_BATCH)
        };
        let back = matrix.state(other).and_then(|state| {
            let inbox = &state.inbox;
            inbox.try_with(|inbox| inbox.give_back(matrix, [other, me], most, fits))
        });
        let back = back.unwrap_or_default();
        let any = !back.is_empty();
        let mut found = None;
        for job in back {
            // SAFETY: the job has not been executed, and this worker has taken it.
            let fits = unsafe { job.group() } == group;
            match (fits, found) {
                (true, None) => found = Some(job.anywhere()),
                (true, Some(_)) => self.keep(job.anywhere()),
                (false, _) => self.put_back(other, job),
            }
        }
        self.transfers.recalled += u64::from(found.is_some());
        (found, any)
    }

    /// Puts a job back into a buffer, behind the others.
    fn put_back(&mut self, to: usize, job: J) {
        let (me, matrix) = (self.me, &*self.matrix);
        self.inbox.with(|inbox| inbox.produce(matrix, me, to, job));
        matrix.count_executed(me);
    }
}
