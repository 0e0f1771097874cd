//! How a worker that is out of work finds a victim.
//!
//! A *search* tries every other worker once, in the order of [`Order`]: so a worker that finds
//! nothing knows that it has tried all others. A policy may choose the first victim: one of
//! [`Victims`], or a user-defined [`Balancer`]. It may also skip the search. This is the thesis's
//! CFLFWS (Rito, "Scheduling computations", Algorithm 2): with probability 1 - theta_r the first
//! attempt is at a random victim, whatever the policy.
//!
//! A strategy's queue may steal in its own way, and may balance now and then while its owner still
//! has work (`steal_half`).
//!
//! A thief leaves its index at its victim (`lastThief`, Algorithm 10) only if a policy uses it:
//! that costs a store to another worker's cache line.

use std::cell::{Cell, RefCell};

use locksley_policy::{Actor, Balancer, Memory, Order, Random, Source, Victims, View, other};
use locksley_queue::Steal;
use locksley_strategy::outcome;
use locksley_trace::Arrow;

use crate::observe::stats::Event;
use crate::pool::config::Config;
use crate::scheduler::injector::{QueuedJob, UNKNOWN_OWNER};
use crate::scheduler::own_policy::OwnPolicy;
use crate::scheduler::registry::Registry;
use crate::scheduler::worker::Worker;
use crate::sync::{AtomicUsize, Ordering};
use crate::task::job::{Job, JobRef};

/// State with which a worker chooses its victims.
pub(crate) struct VictimSelector {
    /// Accessed by the owner only.
    random: Cell<Random>,
    /// The order in which to try victims. Accessed by the owner only, once its thread runs.
    order: RefCell<Order>,
    /// The policy that chooses the first victim, if there is one.
    guide: OwnPolicy<dyn Balancer + Send>,
    /// The worker from which the owner last stole. Accessed by the owner only.
    last_victim: Cell<Option<usize>>,
    /// The last thief that stole from the owner, plus one; 0 if there is none. Written by thieves.
    last_thief: AtomicUsize,
    /// Set if a policy uses the last thief, so that thieves leave their index.
    tells: bool,
}

/// How a search begins.
enum First {
    InOrder,
    With(usize),
    /// The search is skipped.
    Skip,
}

impl VictimSelector {
    pub(crate) fn new(index: usize, config: &Config) -> VictimSelector {
        // The two that are left out are set as orders.
        let victims = config.victims().filter(|victims| {
            config.balancer.is_none()
                && !matches!(victims, Victims::Uniform | Victims::Nearest { .. })
        });
        let is_guided = config.balancer.is_some() || victims.is_some();
        let make = is_guided.then_some(|| match (&config.balancer, victims) {
            (Some(make), _) => make(index),
            (None, victims) => Box::new(victims.unwrap_or_default()),
        });
        VictimSelector {
            random: Cell::new(Random::new(config.seed, index as u64)),
            order: RefCell::new(Order::uniform(index)),
            tells: config.balancer.is_some() || matches!(victims, Some(Victims::StealBack { .. })),
            guide: OwnPolicy::new(config, make),
            last_victim: Cell::new(None),
            last_thief: AtomicUsize::new(0),
        }
    }

    /// Sets the order in which to try victims. For the owner, or before its thread starts.
    pub(crate) fn set_order(&self, order: Order) {
        // A search under way goes on in the old order: a user's balancer that it asks may wait for
        // something, and so come here.
        if let Ok(mut current) = self.order.try_borrow_mut() {
            *current = order;
        }
    }

    fn memory(&self) -> Memory {
        let last_thief = self.last_thief.load(Ordering::Relaxed).checked_sub(1);
        Memory::new(last_thief, self.last_victim.get())
    }

    /// Notes a steal from the owner. For thieves.
    fn note_thief(&self, thief: usize) {
        self.last_thief.store(thief + 1, Ordering::Relaxed);
    }
}

/// A worker's view of the others.
struct Sight<'a> {
    registry: &'a Registry,
    order: &'a Order,
    count: usize,
}

impl View for Sight<'_> {
    fn count(&self) -> usize {
        self.count
    }

    fn load(&self, processor: usize) -> usize {
        if processor < self.count {
            self.registry.worker(processor).load()
        } else {
            0
        }
    }

    fn is_idle(&self, processor: usize) -> bool {
        self.load(processor) == 0
            && (processor >= self.count || self.registry.worker(processor).task_stack.depth() == 0)
    }

    fn rings(&self, _: usize) -> usize {
        self.order.neighbourhood()
    }

    fn neighbour(&self, _: usize, ring: usize, random: &mut dyn Source) -> Option<usize> {
        self.order.neighbour(ring, self.count, random)
    }
}

impl Worker {
    /// Looks for a job in the pool's queue and at other workers.
    pub(crate) fn find_work_abroad(&self) -> Option<QueuedJob> {
        let registry = self.registry();
        if let Some(queued) = registry.injector.pop() {
            return Some(queued);
        }
        if registry.workers() == 1 {
            return None;
        }
        self.begin_search();
        let first = match self.first_victim() {
            First::InOrder => None,
            First::With(victim) => {
                self.counters.count(Event::Chosen);
                if let Some(queued) = self.search(victim) {
                    return Some(queued);
                }
                Some(victim)
            }
            First::Skip => {
                self.counters.count(Event::Skipped);
                return None;
            }
        };
        let mut random = self.selector.random.get();
        let order = self.selector.order.borrow();
        let found = order.search(registry.workers(), &mut random, |victim| match first {
            Some(tried) if tried == victim => None,
            _ => self.search(victim),
        });
        self.selector.random.set(random);
        found
    }

    fn first_victim(&self) -> First {
        // SAFETY: the queue does not call back into the worker.
        if unsafe { self.local_queue() }.is_some_and(|queue| queue.skips_search()) {
            self.pass_on_request();
            return First::Skip;
        }
        if self.selector.guide.is_set() {
            self.ask_guide()
        } else {
            First::InOrder
        }
    }

    /// Calls `f` with what the worker sees of the others, and its random numbers.
    pub(crate) fn with_sight<R>(&self, f: impl FnOnce(&dyn View, &mut dyn Source) -> R) -> R {
        let registry = self.registry();
        let mut random = self.selector.random.get();
        let sight = Sight {
            registry,
            order: &self.selector.order.borrow(),
            count: registry.workers(),
        };
        let result = f(&sight, &mut random);
        self.selector.random.set(random);
        result
    }

    #[cold]
    fn ask_guide(&self) -> First {
        let (me, memory) = (self.index(), self.selector.memory());
        let chosen = self.selector.guide.ask(&self.registry().config, |guide| {
            self.with_sight(|sight, random| guide.choose(Actor { me, memory }, sight, random))
        });
        match chosen {
            Some(Some(victim)) => First::With(victim),
            Some(None) => First::Skip,
            None => First::InOrder,
        }
    }

    /// Tries to steal from a worker, as part of a search.
    fn search(&self, victim: usize) -> Option<QueuedJob> {
        if self.registry().worker(victim).is_asleep_empty() {
            let nothing = Steal::<QueuedJob>::Empty;
            self.count_attempt(victim, &nothing, false);
            self.tell_guide(victim, &nothing);
            return None;
        }
        let answer = match self.steal_batch_from(victim) {
            Some(answer @ Steal::Success(_)) => answer,
            asked => self.steal_forks(victim).unwrap_or_else(|| {
                let stolen = match asked {
                    // The strategy has already decided about its own queue.
                    Some(_) => {
                        let forked = self.steal_public(self.registry().worker(victim));
                        self.counted(victim, forked)
                    }
                    None => self.steal_from(victim),
                };
                stolen.map(|job| QueuedJob { job, owner: victim })
            }),
        };
        self.tell_guide(victim, &answer);
        answer.success()
    }

    /// Tells the policy that chooses victims the outcome of an attempt.
    fn tell_guide<T>(&self, victim: usize, answer: &Steal<T>) {
        let (selector, outcome) = (&self.selector, outcome(answer));
        if selector.guide.is_set() {
            let mut memory = selector.memory();
            memory.tried(victim, outcome);
            selector.last_victim.set(memory.last_victim());
            let config = &self.registry().config;
            selector
                .guide
                .ask(config, |guide| guide.tried(victim, outcome));
        }
    }

    /// Leaves a call at the worker that the strategy asks to share, which sees it at its next fork.
    fn pass_on_request(&self) {
        // SAFETY: the queue does not call back into the worker.
        let asked = unsafe { self.local_queue() }.and_then(|queue| queue.asked_to_share());
        // A spare that is being started is called anyway.
        if let Some(asked) = asked.and_then(|asked| self.registry().try_worker(asked)) {
            asked.deque.request_attention();
        }
    }

    /// Tries to steal in the way of the strategy's queue. Returns `None` if the queue has none of
    /// its own.
    fn steal_batch_from(&self, victim: usize) -> Option<Steal<QueuedJob>> {
        // SAFETY: the queue does not call back into the worker.
        let queue = unsafe { self.local_queue() }?;
        let answer = queue.steal_batch(self.registry().worker(victim).stealer()?)?;
        self.pass_on_request();
        let ghost = matches!(&answer, Steal::Success(batch) if is_ghost(batch.job));
        self.count_attempt(victim, &answer, ghost);
        Some(answer.map(|batch| {
            self.note_batch(batch.more);
            let owner = if batch.moved { UNKNOWN_OWNER } else { victim };
            let job = batch.job;
            QueuedJob { job, owner }
        }))
    }

    /// Counts jobs that have come into this worker's queue from another one. As after a push, a
    /// sleeper may have to be woken.
    pub(crate) fn note_batch(&self, jobs: usize) {
        if jobs > 0 {
            self.counters.add(Event::BatchStolen, jobs);
            self.notify_push();
        }
    }

    /// Takes a job out of this worker's queue that another worker had pushed.
    pub(crate) fn pop_received(&self) -> Option<QueuedJob> {
        // SAFETY: the queue does not call back into the worker.
        let moved = unsafe { self.local_queue() }?.pop_received()?;
        if moved.owner != UNKNOWN_OWNER {
            self.trace_move(Arrow::Dealing, moved.owner);
        }
        Some(moved)
    }

    /// Takes a job that another worker has offered to this one. For the main loop, since the job
    /// may be any.
    pub(crate) fn receive(&self) -> Option<QueuedJob> {
        // SAFETY: the queue does not call back into the worker, nor does a steal.
        let queue = unsafe { self.local_queue() }?;
        let received = match queue.take_invitation() {
            Some(donor) => {
                self.begin_search();
                let stolen = self.steal_one(self.registry().worker(donor)).success();
                queue.answered(stolen.is_some());
                stolen.map(|job| QueuedJob { job, owner: donor })
            }
            None => None,
        };
        let received = received.or_else(|| queue.receive())?;
        self.trace_move(Arrow::Donation, received.owner);
        Some(received)
    }

    /// Opens the worker, which has nothing to do, to offers of other workers, if the strategy has
    /// offers.
    pub(crate) fn open_to_offers(&self) {
        if self.open.get() {
            return;
        }
        // SAFETY: the queue does not call back into the worker.
        if let Some(queue) = unsafe { self.local_queue() } {
            self.open.set(queue.open_to_offers());
        }
    }

    /// Returns `true` if another worker has made this one an offer.
    #[inline]
    pub(crate) fn has_offer(&self) -> bool {
        // SAFETY: the queue does not call back into the worker.
        self.open.get() && unsafe { self.local_queue() }.is_some_and(|queue| queue.has_offer())
    }

    /// Closes the worker to offers, because it has something to do or goes to sleep. Jobs that have
    /// been offered to it meanwhile are in the donor's queue.
    #[inline]
    pub(crate) fn close_to_offers(&self) {
        if !self.open.replace(false) {
            return;
        }
        // SAFETY: the queue does not call back into the worker.
        if let Some(queue) = unsafe { self.local_queue() } {
            queue.close_to_offers();
        }
    }

    /// Counts a push or a pop. Some queues balance after a number of them.
    #[inline]
    pub(crate) fn count_down(&self) {
        match self.countdown.get() {
            0 => {}
            1 => self.balance_if_due(),
            left => self.countdown.set(left - 1),
        }
    }

    /// Asks the queue whether to balance, after a number of pushes and pops, and does so: the
    /// steal-initiation code of Hendler and Shavit's Figure 2.
    #[cold]
    #[inline(never)]
    fn balance_if_due(&self) {
        // SAFETY: the queue does not call back into the worker, and its last use is before
        // `note_batch`.
        let Some(queue) = (unsafe { self.local_queue() }) else {
            return;
        };
        self.countdown.set(queue.balances_every().unwrap_or(0));
        let registry = self.registry();
        let mut random = self.selector.random.get();
        let victim = if queue.should_balance(&mut random) {
            other(self.index(), registry.workers(), &mut random)
        } else {
            None
        };
        self.selector.random.set(random);
        let Some(victim) = victim else { return };
        if let Some(stealer) = registry.worker(victim).stealer() {
            let answer = queue.balance(stealer);
            self.counters.count(Event::Balanced);
            self.count_attempt(victim, &answer, false);
            let moved = answer.success().unwrap_or(0) + self.balance_forks(victim);
            self.note_batch(moved);
        }
    }

    /// Tries to steal a job that `victim` has pushed itself, and counts the attempt.
    pub(crate) fn steal_from(&self, victim: usize) -> Steal<JobRef> {
        self.counted(victim, self.steal_one(self.registry().worker(victim)))
    }

    fn counted(&self, victim: usize, answer: Steal<JobRef>) -> Steal<JobRef> {
        let ghost = matches!(&answer, Steal::Success(job) if is_ghost(*job));
        self.count_attempt(victim, &answer, ghost);
        if answer.is_success() {
            let (victim, now) = (self.registry().worker(victim), self.registry().now());
            let others = victim.deque.public_len() + victim.stealer().map_or(0, |own| own.len());
            let since = self.search_time.get();
            self.tiny_work.note_steal(since, now, others == 0);
        }
        answer
    }

    /// Counts the outcome of an attempt to steal, and leaves the thief's index at the victim if a
    /// policy uses it. A ghost counts as nothing.
    pub(crate) fn count_attempt<T>(&self, victim: usize, answer: &Steal<T>, ghost: bool) {
        self.counters.count(Event::Attempt);
        self.counters.count(match answer {
            Steal::Success(_) if !ghost => Event::Stolen,
            Steal::Success(_) | Steal::Empty => Event::Empty,
            Steal::Retry => Event::Retried,
            Steal::Private => Event::Private,
        });
        if ghost || !answer.is_success() {
            return;
        }
        self.trace_move(Arrow::Steal, victim);
        if self.selector.tells {
            let victim = self.registry().worker(victim);
            victim.selector.note_thief(self.index());
        }
        // SAFETY: the queue does not call back into the worker.
        if let Some(queue) = unsafe { self.local_queue() } {
            queue.stole_from(victim);
        }
    }
}

/// Returns `true` if a job that was just stolen is a ghost: its task has been run elsewhere.
fn is_ghost(job: JobRef) -> bool {
    // SAFETY: the job was taken from a queue, and has not been executed.
    unsafe { job.is_ghost() }
}
