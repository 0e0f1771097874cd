//! The queue of the strategy `dealing`: Hendler and Shavit, "Work Dealing" (SPAA 2002), in which
//! the worker that makes work deals it out, and none has to steal.
//!
//! ```text
//!              worker 0      worker 1      worker 2
//!   stack     | a  b  c |   | d |         |  |          what one deals to oneself
//!   from 0         -        x ─> y         z            buffers: one producer, one consumer
//!   from 1         -          -            -
//!   from 2         v          -            -
//! ```
//!
//! Each worker has a buffer from each other worker, a row of the matrix of [`locksley_queue::pcb`].
//! A *spawned* job goes into the buffer to the worker that the put-oracle names ([`Dealing`]): one
//! after the other (`simple`), the one that it had better run on (`locality`,
//! `spawn_near`), or the one that has the least pending (`adaptive`). A worker
//! without work takes what it was dealt, buffer after buffer, as the get-oracle says. To deal and
//! to collect takes a few loads and stores, and no compare-and-swap but one for every
//! [`GRANULARITY`](locksley_queue::pcb::GRANULARITY) items that are recycled.
//!
//! **Forks.** The paper knows tasks on their own, and no joins. What a join forks, the join will
//! take back in a moment unless another worker begins it. So forks lie in the pool's deque, and are
//! stolen, as under every strategy.
//!
//! # Where it differs from the paper, and why
//!
//! In the paper an item is executed by the worker that it was dealt to, whatever that does
//! meanwhile. A program may have a task wait for another one, by a join, by a scope, or by means
//! that we know nothing of, and the worker that was dealt what it waits for may be blocked, or be
//! the waiting one itself. So nothing that was dealt is out of reach:
//!
//! - **A place can be entered by others.** A worker's stack and its ends of the buffers are behind
//!   a lock that is biased towards it (`biased`): it enters with a store and a load, and another
//!   one, which pays with a `membarrier`, when it must.
//! - **A worker deals what it has too much of.** It keeps a job if its stack is empty, and deals
//!   the next one where the oracle wanted to have this one; and it gives its only job to no worker
//!   that asks, nor is that fetched while it gets on. So a chain of tasks, each of which spawns the
//!   next, stays where it is. Dealt in turn it would wake a worker for each of them.
//! - **Who is out of work helps out.** It asks first: a worker that has jobs on its stack deals it
//!   the oldest when it next spawns one. When it has seen work for [`PATIENCE`] and got none, it
//!   fetches: half of the jobs of the fullest buffer to a busy worker, or the oldest of its stack.
//!   Under `locality` it leaves alone what had better run there, unless that worker has taken
//!   nothing of what it was dealt for [`STUCK`].
//! - **A waiter gets back what it dealt**, unless it has begun: a scope its tasks (but, as above,
//!   not those that had better run elsewhere). A waiter takes what it was dealt only if that is
//!   what it waits for, or if it takes any work. Before it blocks it leaves the rest to the pool's
//!   queue, where a waiter for it looks. A scope that has waited in vain also gets its tasks from
//!   the place of one that has fetched them, or that others have dealt them to.
//! - **More workers than processors** do not all run: one that goes to sleep because there are
//!   enough others leaves what it was dealt to the pool's queue too, wherever that had better run.
//! - **Spares**, and workers beyond [`MOST`], have no buffers: what they make is stolen from their
//!   stacks.
//!
//! Further: a worker's buffer to itself is a stack, newest first, as the innermost join or scope is
//! the one that is waited for (and for the space: in the paper's order a recursion is unfolded
//! breadth first). The get-oracle goes on after a batch, for draining one buffer to its end starves
//! the others. Termination is detected (`matrix`).
//!
//! With `mode=dedicated` none of this applies: see `dedicated`.
//!
//! # Theorems
//!
//! - *Theorem 1*, a non-blocking pool of items: holds between two workers of whom neither enters
//!   the other's place. One that finds another in its own place waits for it to leave; that one
//!   does nothing there but move up to 64 pointers.
//! - *Theorem 3*: under `simple` the numbers of spawned jobs dealt to two workers differ by at most
//!   n, but for what a worker keeps because it has no other.
//! - *Theorems 6 and 7*: with enough items, and phases that are as long as the paper asks, the time
//!   is within 3 + alpha of the optimum. Helping out makes it no worse: no worker idles while there
//!   is work, but under `locality` for [`STUCK`].
//! - *Theorem 11*: under `locality` at least 1 - 1/L of the jobs are executed where they had better
//!   be, if they want to go everywhere equally, and no worker is stuck.

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

use locksley_policy::{Collector, Dealer, Dealing, Oracle, Random};
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
use crate::{HANDFUL, StealHandle, StolenBatch, TransferCounts};
use locksley_machine::clock::Instant;

/// For how long a worker that is out of work only asks where it sees some. To enter another's place
/// takes as long, or several times that, and meanwhile it does not see what it is dealt.
const PATIENCE: Duration = Duration::from_micros(5);

/// How many times a waiter looks in vain before it fetches what it dealt. A worker that has asked
/// for it takes it sooner.
const RECALL: u32 = 4;

/// After so long without taking anything from its buffers, a worker's items may be executed by
/// others though they had better be by this one.
const STUCK: Duration = Duration::from_millis(10);

/// A worker that looks less often than this does not know whether a worker had nothing to take in
/// between. Blocked waiters look twice as often: every [`RECALL`] times that they wake up.
const LONGEST_GAP: Duration = LONGEST_PAUSE.saturating_mul(2 * RECALL);

/// How long a blocked waiter pauses at most between two looks.
pub const LONGEST_PAUSE: Duration = Duration::from_millis(160);

/// The owner's side.
pub struct DealingQueue<J: Job> {
    me: usize,
    inbox: OwnerLock<Inbox<J>>,
    state: Arc<PeerState<J>>,
    matrix: Arc<Matrix<J>>,
    policy: Dealing,
    /// The put-oracle, for one that is dealt to.
    dealer: Option<Dealer>,
    /// The get-oracle.
    collector: Collector,
    random: Random,
    /// Since when all searches have seen work and did not get any.
    waits_since: Option<Instant>,
    /// Set if that is so long ago that it fetches in this search.
    fetches: bool,
    /// Set if a worker has been asked in this search.
    asked: bool,
    /// Set if it has seen work in this search that it did not get.
    waits: bool,
    /// Set if it has seen items in this search that it left to others.
    refused: bool,
    /// Looks for what was dealt, since some was got back.
    recalls: u32,
    /// To whom something was dealt last.
    dealt_to: Option<usize>,
    /// Whose turn it was when a job was kept for want of others: the next job is dealt to it.
    owed: Option<usize>,
    /// How much each worker had executed when it was last seen with a single job.
    looks: Box<[Option<u64>]>,
    /// When others were seen to take something, where that matters.
    watches: Box<[Option<Watch>]>,
    transfers: TransferCounts,
}

/// What was seen of a worker that had something in its buffers.
#[derive(Clone, Copy)]
struct Watch {
    taken: u64,
    since: Instant,
    seen: Instant,
}

/// The other side.
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
        let watches = match policy.oracle {
            Oracle::Locality { .. } => members,
            _ => 0,
        };
        DealingQueue {
            me: index,
            inbox,
            state,
            policy,
            collector: policy.collector(if dealer.is_some() { index } else { 0 }),
            dealer,
            // Another stream than that of the worker's search.
            random: Random::new(!seed, index as u64),
            waits_since: None,
            fetches: false,
            asked: false,
            waits: false,
            refused: false,
            recalls: 0,
            dealt_to: None,
            owed: None,
            looks: vec![None; matrix.places()].into_boxed_slice(),
            watches: vec![None; watches].into_boxed_slice(),
            transfers: TransferCounts::default(),
            matrix,
        }
    }

    /// The other side.
    pub fn as_dealing(&self) -> DealingStealer<J> {
        DealingStealer {
            index: self.me,
            state: self.state.clone(),
            matrix: self.matrix.clone(),
        }
    }

    /// Puts a job on the stack.
    #[inline]
    fn keep(&mut self, job: J) {
        let state = &*self.state;
        self.inbox.with(|inbox| inbox.push(job, state));
    }

    /// The paper's `putItem`, for a spawned job.
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
        let owed = self.owed.take_if(|_| near.is_none());
        let mut to = owed.unwrap_or_else(|| dealer.deal(near, pending, &mut self.random));
        if to != me && near.is_none() && state.stacked() == 0 {
            self.owed = Some(to);
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
    /// caller has another one.
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
                // It was dealt for the second time, and will be executed once.
                matrix.count_executed(me);
            }
            self.transfers.dealt += 1;
            self.dealt_to = Some(asker);
        }
    }

    /// The paper's `getItem`: takes what this worker was dealt.
    fn collect(&mut self) -> Option<QueuedJob<J>> {
        let (me, matrix, policy) = (self.me, &*self.matrix, &self.policy);
        let (collector, members) = (&mut self.collector, matrix.members());
        self.dealer.as_ref()?;
        let collected = self.inbox.with(|inbox| {
            (0..=members).find_map(|_| {
                let from = collector.at();
                let job = inbox.consume(matrix, me, from);
                collector.looked(job.is_some(), policy, members);
                job.map(|job| (job, from))
            })
        });
        collected.map(|(job, from)| self.collected(job, from))
    }

    /// A job has come out of one of the worker's buffers.
    fn collected(&mut self, job: J, owner: usize) -> QueuedJob<J> {
        self.transfers.collected += 1;
        self.has_found();
        QueuedJob { job, owner }
    }

    /// There is something to do.
    fn has_found(&mut self) {
        (self.waits_since, self.fetches) = (None, false);
        self.state.set_idle(false);
    }

    fn is_local(&self) -> bool {
        matches!(self.policy.oracle, Oracle::Locality { .. })
    }

    /// Asks a worker for a job, unless one has been asked in this search.
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

    /// Fetches something from another's place.
    fn fetch(&mut self, victim: &DealingStealer<J>) -> Steal<StolenBatch<J>> {
        let (state, index) = (&*victim.state, victim.index);
        let (stacked, dealt) = (state.stacked(), self.matrix.pending_for(index));
        if stacked + dealt == 0 {
            self.forget(index);
            return Steal::Empty;
        }
        self.waits = true;
        if (stacked, dealt) == (1, 0) && self.gets_on(index) {
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
        let most = if stuck { 1 } else { HANDFUL };
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
    /// look: it will be at this one sooner than a thief that has to pass a barrier.
    fn gets_on(&mut self, worker: usize) -> bool {
        let executed = Some(self.matrix.executed(worker));
        let Some(look) = self.looks.get_mut(worker) else {
            return false;
        };
        std::mem::replace(look, executed) != executed
    }

    /// Returns `true` if `worker`, which has `near` jobs that prefer it, has made no progress for
    /// [`STUCK`]. Each time that is so, a new while begins.
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

    /// A worker has nothing that had better run there.
    fn forget(&mut self, worker: usize) {
        if let Some(watch) = self.watches.get_mut(worker) {
            *watch = None;
        }
    }

    /// Takes items back out of the buffer to this worker. One of the group is returned, and with
    /// it whether there were any at all.
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
            pending.div_ceil(2).min(HANDFUL)
        };
        let back = matrix.state(other).and_then(|state| {
            let inbox = &state.inbox;
            inbox.try_with(|inbox| inbox.give_back(matrix, [other, me], most, fits))
        });
        let back = back.unwrap_or_default();
        let any = !back.is_empty();
        let mut found = None;
        for job in back {
            // SAFETY: it has not been executed, and this worker has taken it.
            let fits = unsafe { job.group() } == group;
            match (fits, found) {
                (true, None) => found = Some(job.anywhere()),
                (true, Some(_)) => self.keep(job.anywhere()),
                (false, _) => self.deal_again(other, job),
            }
        }
        self.transfers.recalled += u64::from(found.is_some());
        (found, any)
    }

    /// Puts an item back into a buffer, behind the others.
    fn deal_again(&mut self, to: usize, job: J) {
        let (me, matrix) = (self.me, &*self.matrix);
        self.inbox.with(|inbox| inbox.produce(matrix, me, to, job));
        matrix.count_executed(me);
    }
}
