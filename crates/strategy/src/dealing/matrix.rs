//! What the workers of a pool under `dealing` share: the matrix of buffers, how much each worker
//! has dealt to each other, which of them are idle, and whether everything that was dealt is done.
//!
//! # Termination
//!
//! The paper leaves it out: "after traversing and finding all of its n work-queue PCBs empty, a
//! process becomes idle and initiates a termination detection protocol". Here each worker counts
//! what it has dealt, and what it has executed of what was dealt; each count has one writer and
//! only grows. An item is counted as dealt before it can be seen, and as executed when everything
//! that its execution dealt is counted.
//!
//! **Theorem.** A thread that adds up what was executed, and *then* what was dealt, and gets the
//! same, knows that at the moment between the two everything that had been dealt was executed.
//! Proof: let E(t) and D(t) be the true sums. An item is dealt before it is executed, so E(t) <=
//! D(t) at all times. At the moment t between the two collections, what was collected before is at
//! most E(t), and what was collected after is at least D(t), as the counts grow. So if they are
//! equal, E(t) = D(t). On a machine without a moment t the same holds of what happened before the
//! collections: a thread that sees an execution counted [T2] sees the item counted, and what it
//! dealt [T1].
//!
//! A worker ends when the pool is closed, so that there are no tasks left which could deal, and
//! this says yes. Until then an item may be in a buffer whose consumer has ended: those who are
//! left fetch it.
//!
//! To sleep is another matter: whether an item is *in sight* is asked after the barrier of `sleep`,
//! pair of workers by pair. An item is dealt, counted and linked before its producer passes its
//! half of the barrier; so the worker that goes to sleep sees it, or is seen.
//!
//! | tag | operation | ordering | pairs with | why not weaker | test |
//! |---|---|---|---|---|---|
//! | T1 | dealt: store of the count | Relaxed | T2 | it is stored before the item is linked (Release) and before the execution that dealt is counted | `dealing::models::what_is_settled_is_done` |
//! | T2 | executed: store; load by the collector | Release; Acquire | each other | one would see the execution, and not what was dealt in it | `dealing::models::what_is_settled_is_done` |
//! | T3 | taken: store, with the consumer's lock | Relaxed | - | a hint for others; the lock orders the writers | |

use std::sync::{Arc, OnceLock};

use crossbeam_utils::CachePadded;
use locksley_policy::{DealMode, Dealing};
use locksley_queue::pcb::{self, Process};

use super::biased::RemoteLock;
use super::inbox::Inbox;
use crate::Job;
use crate::sync::{AtomicBool, AtomicU64, AtomicUsize, Mutex, Ordering, lock};

/// The most workers that are dealt to: their buffers are 2 MB then. Those beyond are stolen from.
pub(super) const MOST: usize = 128;

/// The buffers between all workers of a pool, and counts of what is in them.
pub struct Matrix<J: Job> {
    /// The processes of workers that have not started yet.
    processes: Mutex<Vec<Option<Process<J>>>>,
    /// The workers that are dealt to, by index. Each is registered when it starts.
    states: Box<[OnceLock<Arc<PeerState<J>>>]>,
    /// What each of them has dealt and taken.
    rows: Box<[CachePadded<Row>]>,
    /// How much each worker has executed of what was dealt, spares included. Each one's own.
    executed: Box<[CachePadded<AtomicU64>]>,
}

/// What one worker has dealt to each, and what was taken that each had dealt to it.
struct Row {
    /// Written by the worker.
    dealt: Box<[AtomicU64]>,
    /// Those of them that had better run there. Written by the worker.
    near: Box<[AtomicU64]>,
    /// Written with the worker's lock.
    taken: Box<[AtomicU64]>,
    /// Those of them that had better run here. As `taken`.
    arrived: Box<[AtomicU64]>,
}

/// A worker as the others see it.
pub(super) struct PeerState<J: Job> {
    /// How many jobs are on the worker's stack. Written with its lock.
    stacked: CachePadded<AtomicUsize>,
    /// How many of those had better run on this worker. As `stacked`.
    near: AtomicUsize,
    /// The worker that has asked this one for a job, plus one; 0 if there is none. Written by
    /// those, and by the worker.
    asked: CachePadded<AtomicUsize>,
    /// Set while the worker has nothing to do. Written by it.
    idle: AtomicBool,
    pub(super) inbox: RemoteLock<Inbox<J>>,
}

impl<J: Job> PeerState<J> {
    pub(super) fn new(inbox: RemoteLock<Inbox<J>>) -> PeerState<J> {
        PeerState {
            stacked: CachePadded::new(AtomicUsize::new(0)),
            near: AtomicUsize::new(0),
            asked: CachePadded::new(AtomicUsize::new(0)),
            idle: AtomicBool::new(false),
            inbox,
        }
    }

    /// How many jobs seem to be on the worker's stack.
    pub(super) fn stacked(&self) -> usize {
        self.stacked.load(Ordering::Relaxed)
    }

    /// Notes how many jobs are on the stack. With the lock.
    #[inline]
    pub(super) fn set_stacked(&self, jobs: usize) {
        self.stacked.store(jobs, Ordering::Relaxed);
    }

    /// How many of those had better run on the worker.
    pub(super) fn near(&self) -> usize {
        self.near.load(Ordering::Relaxed)
    }

    /// Notes how many of those there are. With the lock.
    #[inline]
    pub(super) fn set_near(&self, jobs: usize) {
        self.near.store(jobs, Ordering::Relaxed);
    }

    /// Asks the worker for a job, on behalf of `asker`. Of two that ask at once, one is forgotten.
    pub(super) fn ask(&self, asker: usize) {
        self.asked.store(asker + 1, Ordering::Relaxed);
    }

    /// Returns `true` if another worker has asked for a job. For the worker.
    #[inline]
    pub(super) fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed) != 0
    }

    /// For the worker: takes the index of the one that has asked last.
    pub(super) fn take_asker(&self) -> Option<usize> {
        let asker = self.asked.load(Ordering::Relaxed);
        self.asked.store(0, Ordering::Relaxed);
        asker.checked_sub(1)
    }

    pub(super) fn is_idle(&self) -> bool {
        self.idle.load(Ordering::Relaxed)
    }

    /// For the worker.
    pub(super) fn set_idle(&self, idle: bool) {
        self.idle.store(idle, Ordering::Relaxed);
    }
}

impl<J: Job> Matrix<J> {
    /// Creates the matrix of a pool of so many workers and spares.
    pub fn new(workers: usize, spares: usize, policy: Dealing) -> Matrix<J> {
        let members = workers.min(MOST);
        let granularity = if cfg!(loom) { 1 } else { pcb::GRANULARITY };
        let processes = match policy.mode {
            DealMode::Hybrid => pcb::matrix(members, granularity),
            DealMode::Dedicated { lists } => {
                pcb::bounded_matrix(members, granularity, lists as usize)
            }
        };
        let counts = || (0..members).map(|_| AtomicU64::new(0)).collect();
        Matrix {
            processes: Mutex::new(processes.into_iter().map(Some).collect()),
            states: (0..members).map(|_| OnceLock::new()).collect(),
            rows: (0..members)
                .map(|_| Row {
                    dealt: counts(),
                    near: counts(),
                    taken: counts(),
                    arrived: counts(),
                })
                .map(CachePadded::new)
                .collect(),
            executed: (0..workers + spares)
                .map(|_| CachePadded::new(AtomicU64::new(0)))
                .collect(),
        }
    }

    /// How many workers are dealt to.
    pub fn members(&self) -> usize {
        self.rows.len()
    }

    /// Takes the process of a worker that starts; none for one that is not dealt to.
    pub(super) fn process(&self, index: usize) -> Option<Process<J>> {
        lock(&self.processes).get_mut(index)?.take()
    }

    /// Registers a worker that starts, if it is one that is dealt to.
    pub(super) fn register(&self, index: usize, state: Arc<PeerState<J>>) {
        if let Some(place) = self.states.get(index) {
            // A place gets its worker once.
            let _ = place.set(state);
        }
    }

    /// A worker that is dealt to, once it has started.
    pub(super) fn state(&self, index: usize) -> Option<&PeerState<J>> {
        Some(self.states.get(index)?.get()?)
    }

    /// Notes that `from` is about to deal an item to `to`; `near` if it prefers that worker. For
    /// `from`.
    #[inline]
    pub(super) fn count_dealt(&self, from: usize, to: usize, near: bool) {
        let row = &self.rows[from];
        if near {
            bump(&row.near[to], Ordering::Relaxed); // [T1]
        }
        bump(&row.dealt[to], Ordering::Relaxed); // [T1]
    }

    /// Notes that an item was taken that `from` dealt to `to`. With the lock of `to`.
    #[inline]
    pub(super) fn count_taken(&self, to: usize, from: usize, near: bool) {
        let row = &self.rows[to];
        if near {
            bump(&row.arrived[from], Ordering::Relaxed); // [T3]
        }
        bump(&row.taken[from], Ordering::Relaxed); // [T3]
    }

    /// This worker has executed an item that was dealt, or will not. For the worker.
    #[inline]
    pub(super) fn count_executed(&self, worker: usize) {
        bump(&self.executed[worker], Ordering::Release); // [T2]
    }

    /// How much of what was dealt this worker seems to have executed.
    pub(super) fn executed(&self, worker: usize) -> u64 {
        self.executed[worker].load(Ordering::Relaxed)
    }

    /// How many workers and spares there may be.
    pub(super) fn places(&self) -> usize {
        self.executed.len()
    }

    /// How many items seem to be in the buffer from `from` to `to`.
    #[inline]
    pub(super) fn pending(&self, from: usize, to: usize) -> usize {
        // What was taken was dealt before; looked at in this order, the difference is seldom too
        // small.
        let taken = self.rows[to].taken[from].load(Ordering::Relaxed);
        let dealt = self.rows[from].dealt[to].load(Ordering::Relaxed);
        dealt.saturating_sub(taken) as usize
    }

    /// How many items seem to be in the buffers to this worker.
    pub(super) fn pending_for(&self, to: usize) -> usize {
        self.sum_from_others(to, |from| self.pending(from, to))
    }

    /// Adds up a count of items over the buffers to this worker, if it is dealt to. What it dealt
    /// to itself is on its stack.
    fn sum_from_others(&self, to: usize, count: impl Fn(usize) -> usize) -> usize {
        if to >= self.members() {
            return 0;
        }
        let others = (0..self.members()).filter(|&from| from != to);
        others.map(count).sum()
    }

    /// How many of those had better run there.
    pub(super) fn near(&self, from: usize, to: usize) -> usize {
        let taken = self.rows[to].arrived[from].load(Ordering::Relaxed);
        let dealt = self.rows[from].near[to].load(Ordering::Relaxed);
        dealt.saturating_sub(taken) as usize
    }

    /// How many items in the buffers to this worker had better run there.
    pub(super) fn near_for(&self, to: usize) -> usize {
        self.sum_from_others(to, |from| self.near(from, to))
    }

    /// A number that grows while this worker gets on with what it was dealt.
    pub(super) fn progress(&self, worker: usize) -> u64 {
        let taken = self.rows[worker].taken.iter();
        let executed = std::iter::once(&*self.executed[worker]);
        let counts = taken.chain(executed);
        counts.map(|count| count.load(Ordering::Relaxed)).sum()
    }

    /// Returns `true` if everything has been executed that was dealt. If no worker can deal any
    /// more, the answer stands.
    pub(super) fn is_settled(&self) -> bool {
        let executed = self.executed.iter();
        let executed: u64 = executed.map(|count| count.load(Ordering::Acquire)).sum(); // [T2]
        let dealt = self.rows.iter().flat_map(|row| &row.dealt);
        let dealt: u64 = dealt.map(|count| count.load(Ordering::Relaxed)).sum(); // [T1]
        executed == dealt
    }
}

/// Adds one to a count that the caller alone writes.
#[inline]
fn bump(count: &AtomicU64, ordering: Ordering) {
    let sum = count.load(Ordering::Relaxed) + 1;
    count.store(sum, ordering);
}
