//! What the workers of a pool share: their places, the injector, who sleeps, who waits.
//!
//! # Sleeping
//!
//! A worker that wants to sleep says so, sets the `wanted` flag of every worker, passes the heavy
//! barrier, and looks at every pile once more. A worker that pushes passes the light barrier
//! and looks at its flag. So either the pusher sees the flag and wakes somebody, or the sleeper sees
//! the job and stays up: the barrier pair's promise (`locksley_queue::barrier`). The pusher
//! clears its flag and sets it again while others still sleep.
//!
//! # Spare workers
//!
//! A pool has as many spare places as workers. A worker that blocks in a wait counts itself as
//! blocked; while more are blocked than spares are up, whoever offers work may call up a spare.
//! A spare that has finished a job and finds more spares up than workers blocked, or no work, lies
//! down again. So at most as many threads look for work as the pool has workers, and a
//! waiter that resumes does not wait for its spare: for the rest of the spare's job there is one
//! more.

use std::sync::{Arc, Weak, mpsc};
use std::thread;
use std::time::Duration;

use crossbeam_utils::CachePadded;
use locksley_queue::barrier;

use crate::error::BuildError;
use crate::injector::{Injected, Injector};
use crate::job::{Payload, catch};
use crate::latch::Latch;
use crate::neighbours;
use crate::pool::Config;
use crate::stats::{Counters, Event};
use crate::strategy::{Strategy, Waiting};
use crate::sync::{AtomicBool, AtomicUsize, Mutex, Ordering, fence, lock};
use crate::worker::Worker;

/// How long a worker naps when all it can see is private work.
const NAP: Duration = Duration::from_micros(500);

/// How long a blocked waiter sleeps at most. Where every spare is blocked too, a task of its own may
/// lie in the pool's queue, and nobody else be free to run it.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

pub(crate) struct Registry {
    me: Weak<Registry>,
    /// The workers, and behind them the spares.
    places: Box<[CachePadded<Worker>]>,
    size: usize,
    pub(crate) injector: Injector,
    pub(crate) config: Config,
    /// How many workers sleep.
    asleep: CachePadded<AtomicUsize>,
    /// How many workers are blocked in a wait.
    blocked: CachePadded<AtomicUsize>,
    /// How many spares are up.
    spares_up: AtomicUsize,
    /// The highest number of places ever taken.
    taken: AtomicUsize,
    /// Spawned tasks that are not done.
    outstanding: AtomicUsize,
    closing: AtomicBool,
    threads: Mutex<Vec<thread::JoinHandle<()>>>,
    /// What threads outside of the pool did to it.
    outside: Counters,
}

// SAFETY: of another thread's worker only atomics, locks and things that are set before the
// threads start are touched; the owner's fields only by the thread that is the worker.
unsafe impl Send for Registry {}
// SAFETY: as above.
unsafe impl Sync for Registry {}

impl Registry {
    pub(crate) fn new(config: Config) -> Arc<Registry> {
        let size = config.workers;
        let places = (0..size + config.spares())
            .map(|index| CachePadded::new(Worker::new(index, config.strategy, config.seed)))
            .collect();
        let registry = Arc::new_cyclic(|me| Registry {
            me: me.clone(),
            places,
            size,
            injector: Injector::new(),
            config,
            asleep: CachePadded::new(AtomicUsize::new(0)),
            blocked: CachePadded::new(AtomicUsize::new(0)),
            spares_up: AtomicUsize::new(0),
            taken: AtomicUsize::new(size),
            outstanding: AtomicUsize::new(0),
            closing: AtomicBool::new(false),
            threads: Mutex::new(Vec::new()),
            outside: Counters::default(),
        });
        for worker in &registry.places {
            worker.set_registry(Arc::as_ptr(&registry));
        }
        neighbours::settle(&registry);
        registry
    }

    /// Another owner of this registry.
    pub(crate) fn shared(&self) -> Arc<Registry> {
        self.me
            .upgrade()
            .expect("whoever borrows a registry keeps it alive")
    }

    /// How many workers the pool has, without spares.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// How many places have ever been taken, spares included.
    pub(crate) fn workers(&self) -> usize {
        self.taken.load(Ordering::Acquire)
    }

    /// A worker, for what others may do with it.
    pub(crate) fn worker(&self, index: usize) -> &Worker {
        &self.places[index]
    }

    pub(crate) fn unpark(&self, index: usize) {
        self.places[index].unpark();
    }

    /// Counts an event of the calling thread, whether or not it is a worker of this pool.
    fn count(&self, event: Event) {
        if !Counters::ON {
            return;
        }
        match Worker::current() {
            Some(worker) if std::ptr::eq(worker.registry(), self) => worker.counters.count(event),
            _ => self.outside.count_shared(event),
        }
    }

    /// What has been counted so far.
    #[cfg(all(feature = "stats", not(loom)))]
    pub(crate) fn stats(&self) -> crate::stats::Stats {
        if let Some(worker) = Worker::current()
            && std::ptr::eq(worker.registry(), self)
        {
            worker.publish_counts();
        }
        let places = &self.places[..self.workers()];
        let snapshots = places.iter().map(|worker| worker.counters.snapshot());
        crate::stats::Stats::new(self.size, snapshots.collect(), self.outside.snapshot())
    }

    /// Hands a job to the pool.
    pub(crate) fn inject(&self, injected: Injected) {
        self.count(Event::Handed);
        self.injector.push(injected);
        fence(Ordering::SeqCst);
        self.wake_one();
    }

    /// Wakes a sleeping worker, or calls up a spare. Would another one like to be woken?
    pub(crate) fn wake_one(&self) -> bool {
        fence(Ordering::Acquire);
        if self.asleep.load(Ordering::Relaxed) == 0 {
            self.call_spare();
            return self.spare_wanted();
        }
        let sleeper = self.places[..self.size].iter().find(|worker| {
            worker.sleeping.load(Ordering::Relaxed) && worker.sleeping.swap(false, Ordering::AcqRel)
        });
        if let Some(worker) = sleeper {
            self.asleep.fetch_sub(1, Ordering::Relaxed);
            self.count(Event::Woke);
            worker.unpark();
        }
        self.asleep.load(Ordering::Relaxed) > 0 || self.spare_wanted()
    }

    fn spare_wanted(&self) -> bool {
        let up = self.spares_up.load(Ordering::Relaxed);
        up < self.blocked.load(Ordering::Relaxed) && up < self.places.len() - self.size
    }

    /// Is there anything that a worker could take?
    fn work_in_sight(&self) -> bool {
        !self.injector.is_empty()
            || self.places[..self.workers()]
                .iter()
                .any(|worker| !worker.seems_empty())
    }

    /// Asks everybody for work: sets the flags and passes the barrier. Is there work already?
    fn call_for_work(&self) -> bool {
        for worker in &self.places[..self.workers()] {
            worker.wanted.store(true, Ordering::Relaxed);
        }
        !barrier::heavy() || self.work_in_sight()
    }

    /// Puts an idle worker to sleep, unless there is something to do after all.
    pub(crate) fn sleep(&self, worker: &Worker) {
        self.asleep.fetch_add(1, Ordering::Relaxed);
        worker.sleeping.store(true, Ordering::Release);
        let stay_up = self.call_for_work() || self.closed();
        if stay_up {
            if worker.sleeping.swap(false, Ordering::AcqRel) {
                self.asleep.fetch_sub(1, Ordering::Relaxed);
            }
            if self.config.strategy == Strategy::SemiPrivate {
                // What is in sight may be private, and its owner busy.
                worker.counters.count(Event::Park);
                thread::park_timeout(NAP);
            }
            return;
        }
        worker.counters.count(Event::Park);
        worker.publish_counts();
        neighbours::look_around(self, worker);
        while worker.sleeping.load(Ordering::Acquire) {
            thread::park();
        }
        neighbours::look_where(self, worker);
    }

    /// Blocks a worker until a latch is set, or for a while: then it looks again whether there is
    /// something that it must do itself. A spare takes its place if there is work for it.
    pub(crate) fn block(&self, latch: &Latch) {
        self.blocking(|| latch.park_once(|| thread::park_timeout(LOOK_AGAIN)));
    }

    /// Runs something that blocks the calling worker. A spare takes its place meanwhile.
    pub(crate) fn blocking(&self, wait: impl FnOnce()) {
        self.blocked.fetch_add(1, Ordering::SeqCst);
        if self.call_for_work() {
            self.call_spare();
        }
        self.count(Event::Park);
        wait();
        self.blocked.fetch_sub(1, Ordering::Relaxed);
    }

    /// Calls up a spare if one is wanted.
    fn call_spare(&self) {
        while self.spare_wanted() {
            let up = self.spares_up.load(Ordering::Relaxed);
            let race =
                self.spares_up
                    .compare_exchange(up, up + 1, Ordering::AcqRel, Ordering::Relaxed);
            if race.is_ok() {
                self.rouse_spare();
                return;
            }
        }
    }

    /// Wakes a spare that lies down, or starts a new one. One is counted as up already.
    #[cold]
    fn rouse_spare(&self) {
        self.count(Event::Spare);
        let taken = self.workers();
        let lying = self.places[self.size..taken].iter().find(|worker| {
            worker.sleeping.load(Ordering::Relaxed) && worker.sleeping.swap(false, Ordering::AcqRel)
        });
        if let Some(worker) = lying {
            worker.unpark();
        } else if !self.start_spare() {
            self.spares_up.fetch_sub(1, Ordering::AcqRel);
        }
    }

    fn start_spare(&self) -> bool {
        let mut threads = lock(&self.threads);
        let index = self.workers();
        if index >= self.places.len() || self.closing.load(Ordering::Acquire) {
            return false;
        }
        match start_thread(self.shared(), index, None) {
            Ok(handle) => {
                threads.push(handle);
                self.taken.store(index + 1, Ordering::Release);
                true
            }
            Err(_) => false,
        }
    }

    /// Starts the workers' threads. On failure none is left.
    pub(crate) fn start(self: &Arc<Self>) -> Result<(), BuildError> {
        let (report, reports) = mpsc::channel();
        for index in 0..self.size {
            match start_thread(self.clone(), index, Some(report.clone())) {
                Ok(handle) => lock(&self.threads).push(handle),
                Err(source) => {
                    self.close();
                    return Err(BuildError::Thread {
                        started: index,
                        source,
                    });
                }
            }
        }
        drop(report);
        if self.config.homes.is_empty() {
            return Ok(());
        }
        match reports.iter().find_map(Result::err) {
            None => Ok(()),
            Some(error) => {
                self.close();
                Err(error)
            }
        }
    }

    /// The main loop of a worker, or of a spare.
    fn main_loop(&self, worker: &Worker) {
        let spare = worker.index() >= self.size;
        let mut idle = 0;
        loop {
            if let Some(injected) = worker.find_work() {
                worker.run_job(injected);
                idle = 0;
                if spare
                    && self.spares_up.load(Ordering::Relaxed) > self.blocked.load(Ordering::Relaxed)
                {
                    self.lie_down(worker);
                }
            } else if self.closed() {
                return;
            } else if self.rest(&mut idle) {
                if spare {
                    self.lie_down(worker);
                } else {
                    self.sleep(worker);
                }
                idle = 0;
            }
        }
    }

    /// One step of idling. Is it time to sleep?
    pub(crate) fn rest(&self, idle: &mut u32) -> bool {
        let rule = self.config.idle;
        *idle += 1;
        if *idle <= rule.spins {
            for _ in 0..1 << (*idle).min(5) {
                std::hint::spin_loop();
            }
        } else if *idle <= rule.spins + rule.yields {
            thread::yield_now();
        } else {
            return true;
        }
        false
    }

    /// A spare waits until it is called up again.
    fn lie_down(&self, worker: &Worker) {
        worker.sleeping.store(true, Ordering::Release);
        self.spares_up.fetch_sub(1, Ordering::SeqCst);
        // Whoever offered work before it saw this must not have done so in vain.
        if self.spare_wanted() && self.call_for_work() {
            self.call_spare();
        }
        worker.counters.count(Event::Park);
        worker.publish_counts();
        while worker.sleeping.load(Ordering::Acquire) {
            if self.closed() {
                return;
            }
            thread::park();
        }
    }

    /// Counts a spawned task.
    pub(crate) fn task_spawned(&self) {
        self.outstanding.fetch_add(1, Ordering::Relaxed);
    }

    /// A spawned task is done, or panicked.
    pub(crate) fn task_done(&self, panic: Option<Payload>) {
        if let Some(payload) = panic {
            self.config.handle_panic(payload);
        }
        if self.outstanding.fetch_sub(1, Ordering::AcqRel) == 1
            && self.closing.load(Ordering::SeqCst)
        {
            self.wake_all();
        }
    }

    fn closed(&self) -> bool {
        self.closing.load(Ordering::SeqCst) && self.outstanding.load(Ordering::Acquire) == 0
    }

    fn wake_all(&self) {
        for worker in &self.places {
            if worker.sleeping.swap(false, Ordering::AcqRel) && worker.index() < self.size {
                self.asleep.fetch_sub(1, Ordering::Relaxed);
            }
            worker.unpark();
        }
    }

    /// Lets the workers finish what was spawned, and waits for them to end.
    pub(crate) fn close(&self) {
        self.closing.store(true, Ordering::SeqCst);
        self.wake_all();
        if Worker::current().is_some_and(|worker| std::ptr::eq(worker.registry(), self)) {
            // The pool is dropped by one of its own tasks: the threads end by themselves.
            return;
        }
        loop {
            let threads = std::mem::take(&mut *lock(&self.threads));
            if threads.is_empty() {
                return;
            }
            for handle in threads {
                // A worker's thread does not panic: handlers that do are caught.
                let _ = handle.join();
            }
        }
    }

    pub(crate) fn takes_any(&self) -> bool {
        self.config.waiting == Waiting::TakeAny
    }
}

/// Starts the thread of a place. It reports whether it could be pinned.
fn start_thread(
    registry: Arc<Registry>,
    index: usize,
    report: Option<mpsc::Sender<Result<(), BuildError>>>,
) -> std::io::Result<thread::JoinHandle<()>> {
    let mut builder = thread::Builder::new().name(registry.config.thread_name(index));
    if let Some(size) = registry.config.stack_size {
        builder = builder.stack_size(size);
    }
    builder.spawn(move || {
        let pinned = neighbours::pin(&registry, index);
        if let Some(report) = report {
            // Nobody listens if nobody is to be pinned, or another one could not be.
            let _ = report.send(pinned);
        }
        registry.worker(index).be(|worker| {
            let started = catch(|| registry.config.run_start_handler(index));
            if let Err(payload) = started {
                registry.config.handle_panic(payload);
            }
            registry.main_loop(worker);
        });
        if let Err(payload) = catch(|| registry.config.run_exit_handler(index)) {
            registry.config.handle_panic(payload);
        }
    })
}
