//! The state that the workers of a pool under `dealing` share: the matrix of buffers, how much each
//! worker has dealt to each other, which of them are idle, and whether all dealt jobs are done.
//!
//! # Termination
//!
//! The paper does not specify it: "after traversing and finding all of its n work-queue PCBs empty,
//! a process becomes idle and initiates a termination detection protocol". Here each worker counts
//! the items that it has dealt, and the dealt items that it has executed; each count has one writer
//! and only grows. An item is counted as dealt before it can be seen, and as executed when all
//! items that its execution dealt are counted.
//!
//! **Theorem.** A thread that adds up the executed items, and *then* the dealt ones, and gets equal
//! sums, knows that at the moment between the two all items dealt by then were executed.
//! Proof: let E(t) and D(t) be the true sums. An item is dealt before it is executed, so E(t) <=
//! D(t) at all times. At the moment t between the two collections, the sum collected before is at
//! most E(t), and the sum collected after is at least D(t), as the counts grow. So if they are
//! equal, E(t) = D(t). On a machine without a global time the same holds of what happened before
//! the collections: a thread that sees an execution counted [T2] sees that the item was counted,
//! and the items that it dealt [T1].
//!
//! A worker ends when the pool is closed, so that no task is left that could deal, and
//! [`is_settled`](Matrix::is_settled) returns `true`. Until then an item may be in a buffer whose
//! consumer has ended: the remaining workers fetch it.
//!
//! Going to sleep is different: whether an item is *in sight* is checked after the barrier of
//! `sleep`, for each pair of workers. An item is dealt, counted and linked before its producer
//! passes its half of the barrier; so the worker that goes to sleep sees the item, or the producer
//! sees the sleeper.
//!
//! | tag | operation | ordering | pairs with | why not weaker | test |
//! |---|---|---|---|---|---|
//! | T1 | dealt: store of the count | Relaxed | T2 | it is stored before the item is linked (Release) and before the execution that dealt is counted | `dealing::models::what_is_settled_is_done` |
//! | T2 | executed: store; load by the collector | Release; Acquire | each other | the collector would see the execution, and not what was dealt in it | `dealing::models::what_is_settled_is_done` |
//! | T3 | taken: store, with the consumer's lock | Relaxed | - | a hint for others; the lock orders the writers | |

use std::sync::{Arc, OnceLock};

use crossbeam_utils::CachePadded;
use locksley_policy::{DealMode, Dealing};
use locksley_queue::pcb::{self, Process};

use super::biased::RemoteLock;
use super::inbox::Inbox;
use crate::Job;
use crate::sync::{AtomicBool, AtomicU64, AtomicUsize, Mutex, Ordering, lock};

/// The largest number of workers that are dealt to: their buffers take 2 MB then. Jobs of further
/// workers are stolen.
pub(super) const MOST: usize = 128;

/// The buffers between all workers of a pool, and counts of what is in them.
pub struct Matrix<J: Job> {
    /// The processes of workers that have not started yet.
    processes: Mutex<Vec<Option<Process<J>>>>,
    /// The workers that are dealt to, by index. Each is registered when it starts.
    states: Box<[OnceLock<Arc<PeerState<J>>>]>,
    /// The counts of jobs that each of them has dealt and taken.
    rows: Box<[CachePadded<Row>]>,
    /// Number of dealt jobs that each worker, spares included, has executed. Written by that
    /// worker.
    executed: Box<[CachePadded<AtomicU64>]>,
}

/// Counts of the jobs that a worker has dealt to each worker, and of those that were taken out of
/// its buffer from each.
struct Row {
    /// Jobs dealt to each worker. Written by the worker.
    dealt: Box<[AtomicU64]>,
    /// Those of `dealt` that prefer that worker. Written by the worker.
    near: Box<[AtomicU64]>,
    /// Jobs taken out of the buffer from each worker. Written with the worker's lock.
    taken: Box<[AtomicU64]>,
    /// Those of `taken` that prefer this worker. Written with the worker's lock.
    arrived: Box<[AtomicU64]>,
}

/// A worker as the others see it.
pub(super) struct PeerState<J: Job> {
    /// Number of jobs on the worker's stack. Written with its lock.
    stacked: CachePadded<AtomicUsize>,
    /// Number of those jobs that prefer this worker. Written with its lock.
    near: AtomicUsize,
    /// The worker that has asked this one for a job, plus one; 0 if there is none. Written by other
    /// workers, and by this one.
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

    /// Returns an estimate of the number of jobs on the worker's stack.
    pub(super) fn stacked(&self) -> usize {
        self.stacked.load(Ordering::Relaxed)
    }

    /// Sets the number of jobs on the stack. Called with the lock.
    #[inline]
    pub(super) fn set_stacked(&self, jobs: usize) {
        self.stacked.store(jobs, Ordering::Relaxed);
    }

    /// Returns an estimate of the number of those jobs that prefer the worker.
    pub(super) fn near(&self) -> usize {
        self.near.load(Ordering::Relaxed)
    }

    /// Sets the number of jobs on the stack that prefer the worker. Called with the lock.
    #[inline]
    pub(super) fn set_near(&self, jobs: usize) {
        self.near.store(jobs, Ordering::Relaxed);
    }

    /// Asks the worker for a job, on behalf of `asker`. If two workers ask at once, one request is
    /// lost.
    pub(super) fn ask(&self, asker: usize) {
        self.asked.store(asker + 1, Ordering::Relaxed);
    }

    /// Returns `true` if another worker has asked for a job. For the worker.
    #[inline]
    pub(super) fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed) != 0
    }

    /// For the worker: takes the index of the worker that has asked last.
    pub(super) fn take_asker(&self) -> Option<usize> {
        let asker = self.asked.load(Ordering::Relaxed);
        self.asked.store(0, Ordering::Relaxed);
        asker.checked_sub(1)
    }

    /// Returns `true` if the worker has nothing to do.
    pub(super) fn is_idle(&self) -> bool {
        self.idle.load(Ordering::Relaxed)
    }

    /// For the worker: notes whether it has nothing to do.
    pub(super) fn set_idle(&self, idle: bool) {
        self.idle.store(idle, Ordering::Relaxed);
    }
}

impl<J: Job> Matrix<J> {
    /// Creates the matrix of a pool with this number of workers and spares.
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

    /// Returns the number of workers that are dealt to.
    pub fn members(&self) -> usize {
        self.rows.len()
    }

    /// Takes the process of a worker that starts. Returns `None` if the worker is not dealt to.
    pub(super) fn process(&self, index: usize) -> Option<Process<J>> {
        lock(&self.processes).get_mut(index)?.take()
    }

    /// Registers a worker that starts, if it is dealt to.
    pub(super) fn register(&self, index: usize, state: Arc<PeerState<J>>) {
        if let Some(place) = self.states.get(index) {
            // Each index is registered once.
            let _ = place.set(state);
        }
    }

    /// Returns the state of a worker that is dealt to and has started.
    pub(super) fn state(&self, index: usize) -> Option<&PeerState<J>> {
        Some(self.states.get(index)?.get()?)
    }

    /// Counts an item that `from` is about to deal to `to`; `near` if it prefers that worker.
    /// Called by `from`.
    #[inline]
    pub(super) fn count_dealt(&self, from: usize, to: usize, near: bool) {
        let row = &self.rows[from];
        if near {
            bump(&row.near[to], Ordering::Relaxed); // [T1]
        }
        bump(&row.dealt[to], Ordering::Relaxed); // [T1]
    }

    /// Counts an item that was taken, and that `from` dealt to `to`. Called with the lock of `to`.
    #[inline]
    pub(super) fn count_taken(&self, to: usize, from: usize, near: bool) {
        let row = &self.rows[to];
        if near {
            bump(&row.arrived[from], Ordering::Relaxed); // [T3]
        }
        bump(&row.taken[from], Ordering::Relaxed); // [T3]
    }

    /// Counts a dealt item that `worker` has executed, or that need not be executed. Called by that
    /// worker.
    #[inline]
    pub(super) fn count_executed(&self, worker: usize) {
        bump(&self.executed[worker], Ordering::Release); // [T2]
    }

    /// Returns an estimate of the number of dealt jobs that this worker has executed.
    pub(super) fn executed(&self, worker: usize) -> u64 {
        self.executed[worker].load(Ordering::Relaxed)
    }

    /// Returns the largest number of workers and spares.
    pub(super) fn max_workers(&self) -> usize {
        self.executed.len()
    }

    /// Returns an estimate of the number of items in the buffer from `from` to `to`.
    #[inline]
    pub(super) fn pending(&self, from: usize, to: usize) -> usize {
        // An item is dealt before it is taken. Loaded in this order, the difference is seldom too
        // small.
        let taken = self.rows[to].taken[from].load(Ordering::Relaxed);
        let dealt = self.rows[from].dealt[to].load(Ordering::Relaxed);
        dealt.saturating_sub(taken) as usize
    }

    /// Returns an estimate of the number of items in the buffers to this worker.
    pub(super) fn pending_for(&self, to: usize) -> usize {
        self.sum_from_others(to, |from| self.pending(from, to))
    }

    /// Adds up a count of items over the buffers to this worker, if it is dealt to. The jobs that
    /// it dealt to itself are on its stack.
    fn sum_from_others(&self, to: usize, count: impl Fn(usize) -> usize) -> usize {
        if to >= self.members() {
            return 0;
        }
        let others = (0..self.members()).filter(|&from| from != to);
        others.map(count).sum()
    }

    /// Returns an estimate of the number of items in the buffer from `from` to `to` that prefer
    /// `to`.
    pub(super) fn near(&self, from: usize, to: usize) -> usize {
        let taken = self.rows[to].arrived[from].load(Ordering::Relaxed);
        let dealt = self.rows[from].near[to].load(Ordering::Relaxed);
        dealt.saturating_sub(taken) as usize
    }

    /// Returns an estimate of the number of items in the buffers to this worker that prefer it.
    pub(super) fn near_for(&self, to: usize) -> usize {
        self.sum_from_others(to, |from| self.near(from, to))
    }

    /// Returns a number that grows while this worker takes or executes the jobs that it was dealt.
    pub(super) fn progress(&self, worker: usize) -> u64 {
        let taken = self.rows[worker].taken.iter();
        let executed = std::iter::once(&*self.executed[worker]);
        let counts = taken.chain(executed);
        counts.map(|count| count.load(Ordering::Relaxed)).sum()
    }

    /// Returns `true` if all dealt jobs have been executed. If no worker can deal any more, the
    /// result is final.
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
