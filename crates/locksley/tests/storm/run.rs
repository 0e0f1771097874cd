//! Runs a program, and counts its leaves.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::thread;
use std::time::Duration;

use locksley::{BroadcastContext, Idle, JoinHandle, Pool, Scope, ScopeFifo, Yield, block_on};

use crate::plan::{
    BroadcastBody, Call, Ending, Joining, Meeting, Node, Panic, PoolPlan, Program, Spawning, Tree,
    Work,
};
use crate::watchdog;
use crate::{Feature, is_left_out};

/// A running program. Every spawned task shares its ownership, and `run` waits until they have let
/// go of it, so that the pools are dropped where the program says, not by the last task.
pub(crate) struct RunState {
    program: Arc<Program>,
    pub(crate) pools: Vec<Pool>,
    faults: Faults,
    /// Number of leaves that have run.
    ran: AtomicU64,
    /// Number of leaves of tasks that were cancelled before they started.
    skipped: AtomicU64,
    /// Number of leaves that have seen a panic of another task.
    unwinding: AtomicU64,
    /// Set while a task waits on a channel.
    channel: AtomicBool,
    /// Held while tasks wait.
    long: Mutex<()>,
    /// Held for a moment.
    short: Mutex<()>,
}

/// Descriptions of the faults that were found.
type Faults = Arc<Mutex<Vec<String>>>;

/// The payload of the panics that programs contain.
struct Planned;

fn panic_as_planned() {
    resume_unwind(Box::new(Planned));
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs a program once. Returns the number of leaves that have run, or a description of the fault.
pub(crate) fn run(program: &Arc<Program>) -> Result<u64, String> {
    let faults = Faults::default();
    let mut pools = Vec::new();
    for (number, plan) in program.pools.iter().enumerate() {
        pools.push(build(plan, format!("p{number}"), &faults)?);
    }
    let run_state = Arc::new(RunState {
        program: program.clone(),
        pools,
        faults: faults.clone(),
        ran: AtomicU64::new(0),
        skipped: AtomicU64::new(0),
        unwinding: AtomicU64::new(0),
        channel: AtomicBool::new(false),
        long: Mutex::new(()),
        short: Mutex::new(()),
    });
    watchdog::watch(&run_state);
    if let [tree] = &program.threads[..] {
        outside(&run_state, tree);
    } else {
        thread::scope(|threads| {
            for tree in &program.threads {
                threads.spawn(|| outside(&run_state, tree));
            }
        });
    }
    let run_state = into_unshared(run_state);
    let ran = run_state.end()?;
    match lock(&faults).first() {
        Some(fault) => Err(fault.clone()),
        None => Ok(ran),
    }
}

/// Runs the tree of a thread outside of the pools.
fn outside(run_state: &Arc<RunState>, tree: &Tree) {
    for _ in 0..run_state.program.rounds {
        if catch_unwind(AssertUnwindSafe(|| run_state.run(tree))).is_err() {
            run_state.fault("a panic came out of the program");
        }
    }
}

/// Waits until no other task shares its ownership.
fn into_unshared(mut run_state: Arc<RunState>) -> RunState {
    loop {
        match Arc::try_unwrap(run_state) {
            Ok(run_state) => return run_state,
            Err(shared) => run_state = shared,
        }
        thread::sleep(Duration::from_micros(20));
    }
}

fn build(plan: &PoolPlan, name: String, faults: &Faults) -> Result<Pool, String> {
    let faults = faults.clone();
    let mut builder = Pool::builder()
        .workers(plan.workers)
        .processors(2)
        .strategy(plan.strategy)
        .waiting(plan.waiting)
        .depth_limit(plan.depth_limit)
        .breadth_first(plan.breadth_first)
        .thread_name(move |index| format!("{name}-{index}"))
        .panic_handler(move |_| lock(&faults).push("a panic that no caller waits for".into()));
    if let Some(spares) = plan.spares {
        builder = builder.spares(spares);
    }
    if plan.sleepy {
        builder = builder.idle(Idle {
            spins: 0,
            yields: 0,
        });
    }
    builder.build().map_err(|error| error.to_string())
}

/// Counts the leaves of a task as skipped if the task is dropped before it starts.
struct Ticket {
    run_state: Arc<RunState>,
    leaves: u64,
}

impl Ticket {
    fn new(run_state: &Arc<RunState>, trees: &[Tree]) -> Ticket {
        let here = locksley::current_num_workers();
        let pools = &run_state.program.pools;
        Ticket {
            run_state: run_state.clone(),
            leaves: trees.iter().map(|tree| tree.leaves(pools, here)).sum(),
        }
    }

    /// Notes that the task has started.
    fn consume(mut self) {
        self.leaves = 0;
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.run_state
            .skipped
            .fetch_add(self.leaves, Ordering::Relaxed);
    }
}

/// A message that can be waited for in `block_on`.
#[derive(Default)]
struct Promise {
    kept: bool,
    waker: Option<Waker>,
}

impl Promise {
    fn keep(promise: &Mutex<Promise>) {
        let mut promise = lock(promise);
        promise.kept = true;
        let waker = promise.waker.take();
        drop(promise);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn wait(promise: &Mutex<Promise>) {
        block_on(poll_fn(|context| {
            let mut promise = lock(promise);
            if promise.kept {
                return Poll::Ready(());
            }
            promise.waker = Some(context.waker().clone());
            Poll::Pending
        }));
    }
}

impl RunState {
    fn fault(&self, text: &str) {
        lock(&self.faults).push(text.into());
    }

    /// Ends the pools, each on a worker of the next one, and compares the counts.
    fn end(self) -> Result<u64, String> {
        let RunState { mut pools, .. } = self;
        while let Some(pool) = pools.pop() {
            match pools.last() {
                Some(next) if self.program.nested_end => next.install(|| drop(pool)),
                _ => drop(pool),
            }
        }
        let (ran, skipped) = (self.ran.into_inner(), self.skipped.into_inner());
        let expected = self.program.leaves();
        if ran + skipped != expected {
            return Err(format!(
                "{ran} leaves ran and {skipped} were cancelled, of {expected}"
            ));
        }
        match self.unwinding.into_inner() {
            0 => Ok(ran),
            _ if is_left_out(Feature::Unwinding) => Ok(ran),
            count => Err(format!("{count} leaves saw a panic of another task")),
        }
    }

    fn leaf(&self, work: Work) {
        match work {
            Work::Nothing => {}
            Work::Spin(turns) => (0..turns).for_each(|_| std::hint::spin_loop()),
            Work::Sleep => thread::sleep(Duration::from_micros(10)),
            Work::Give => thread::yield_now(),
            Work::Lock => {
                let _guard = lock(&self.short);
                (0..200).for_each(|_| std::hint::spin_loop());
            }
        }
        if thread::panicking() {
            self.unwinding.fetch_add(1, Ordering::Relaxed);
        }
        self.ran.fetch_add(1, Ordering::Relaxed);
        watchdog::progress();
    }

    fn run(self: &Arc<Self>, tree: &Tree) {
        match &**tree {
            Node::Leaf(work) => self.leaf(*work),
            Node::Row(trees) => trees.iter().for_each(|tree| self.run(tree)),
            Node::Join(a, b) => {
                locksley::join(|| self.run(a), || self.run(b));
            }
            Node::Scope {
                fifo: false,
                chained,
                cancel,
                tasks,
            } => locksley::scope(|s| self.scope(s, *chained, *cancel, tasks)),
            Node::Scope {
                chained,
                cancel,
                tasks,
                ..
            } => locksley::scope_fifo(|s| self.scope_fifo(s, *chained, *cancel, tasks)),
            Node::Spawn {
                spawning,
                joining,
                tasks,
            } => self.spawn_all(*spawning, *joining, tasks),
            Node::Meet {
                meeting,
                first_waits,
                waiter,
                sender,
            } => self.meet(*meeting, *first_waits, waiter, sender),
            Node::Elsewhere { task, first } => {
                let handle = locksley::spawn(self.task(task));
                locksley::join(|| self.run(first), || handle.join());
            }
            Node::Flow { chain, free } => self.flow(chain, free),
            Node::Yield { local: true } => drop(locksley::yield_local()),
            Node::Yield { local: false } => drop(locksley::yield_now()),
            Node::Broadcast {
                pool,
                body,
                detached,
            } => self.broadcast(*pool, *body, *detached),
            Node::Call { pool, call, task } => self.call(&self.pools[*pool], *call, task),
            Node::Caught(panic, task) => self.caught(*panic, task),
            Node::Locked(task) => {
                let _guard = lock(&self.long);
                self.run(task);
            }
            Node::Fresh { plan, ending, task } => self.fresh(plan, *ending, task),
        }
    }

    /// Returns the closure of a spawned task that runs a tree.
    fn task(self: &Arc<Self>, tree: &Tree) -> impl FnOnce() + Send + 'static {
        let (run_state, tree) = (self.clone(), tree.clone());
        move || run_state.run(&tree)
    }

    fn scope<'s>(
        self: &'s Arc<Self>,
        s: &Scope<'s>,
        chained: bool,
        cancel: Option<usize>,
        tasks: &'s [Tree],
    ) {
        if cancel == Some(0) {
            s.cancel();
        }
        let Some((first, rest)) = tasks.split_first() else {
            return;
        };
        let cancel = cancel.and_then(|after| after.checked_sub(1));
        let ticket = Ticket::new(self, if chained { tasks } else { &tasks[..1] });
        s.spawn(move |s| {
            ticket.consume();
            if chained {
                self.scope(s, true, cancel, rest);
            }
            self.run(first);
        });
        if !chained {
            self.scope(s, false, cancel, rest);
        }
    }

    fn scope_fifo<'s>(
        self: &'s Arc<Self>,
        s: &ScopeFifo<'s>,
        chained: bool,
        cancel: Option<usize>,
        tasks: &'s [Tree],
    ) {
        if cancel == Some(0) {
            s.cancel();
        }
        let Some((first, rest)) = tasks.split_first() else {
            return;
        };
        let cancel = cancel.and_then(|after| after.checked_sub(1));
        let ticket = Ticket::new(self, if chained { tasks } else { &tasks[..1] });
        s.spawn_fifo(move |s| {
            ticket.consume();
            if chained {
                self.scope_fifo(s, true, cancel, rest);
            }
            self.run(first);
        });
        if !chained {
            self.scope_fifo(s, false, cancel, rest);
        }
    }

    fn spawn_all(self: &Arc<Self>, spawning: Spawning, joining: Joining, tasks: &[Tree]) {
        if let Joining::Detached = joining {
            for (number, tree) in tasks.iter().enumerate() {
                let task = self.task(tree);
                match spawning {
                    Spawning::Plain => locksley::spawn_detached(task),
                    Spawning::Fifo => locksley::spawn_fifo_detached(task),
                    Spawning::Near => drop(locksley::spawn_near(number, task)),
                }
            }
            return;
        }
        let spawn = |(number, tree)| match spawning {
            Spawning::Plain => locksley::spawn(self.task(tree)),
            Spawning::Fifo => locksley::spawn_fifo(self.task(tree)),
            Spawning::Near => locksley::spawn_near(number, self.task(tree)),
        };
        let handles: Vec<JoinHandle<()>> = tasks.iter().enumerate().map(spawn).collect();
        match joining {
            Joining::Backwards => handles.into_iter().rev().for_each(JoinHandle::join),
            Joining::Await => handles.into_iter().for_each(block_on),
            Joining::AwaitAll => block_on(async {
                for handle in handles {
                    handle.await;
                }
            }),
            Joining::InOrder | Joining::Detached => handles.into_iter().for_each(JoinHandle::join),
        }
    }

    fn meet(self: &Arc<Self>, meeting: Meeting, first_waits: bool, waiter: &Tree, sender: &Tree) {
        match meeting {
            Meeting::Channel => {
                let (send, receive) = channel();
                let wait = move || {
                    if !self.channel.swap(true, Ordering::AcqRel) {
                        if receive.recv().is_err() {
                            self.fault("a sender was dropped before it has sent");
                        }
                        self.channel.store(false, Ordering::Release);
                    }
                    self.run(waiter);
                };
                // The receiver may be dropped already.
                let tell = move || {
                    let _ = send.send(());
                    self.run(sender);
                };
                join_either_way(first_waits, wait, tell);
            }
            Meeting::Future => {
                let promise = Mutex::new(Promise::default());
                let wait = || {
                    Promise::wait(&promise);
                    self.run(waiter);
                };
                let tell = || {
                    Promise::keep(&promise);
                    self.run(sender);
                };
                join_either_way(first_waits, wait, tell);
            }
            Meeting::Yielding => {
                let flag = AtomicBool::new(false);
                let wait = || {
                    while !flag.load(Ordering::Acquire) {
                        if locksley::yield_now() == Some(Yield::Idle) {
                            thread::yield_now();
                        }
                    }
                    self.run(waiter);
                };
                let tell = || {
                    flag.store(true, Ordering::Release);
                    self.run(sender);
                };
                join_either_way(first_waits, wait, tell);
            }
        }
    }

    fn flow(self: &Arc<Self>, chain: &[Tree], free: &[Tree]) {
        let mut steps = 0;
        locksley::flow(|f| {
            let steps = f.object(&mut steps);
            for (number, tree) in chain.iter().enumerate() {
                f.fork(steps.update(), move |steps| {
                    if *steps != number {
                        self.fault("tasks of a flow ran in the wrong order");
                    }
                    self.run(tree);
                    *steps += 1;
                });
            }
            f.fork_nested((), |f, ()| {
                for tree in free {
                    f.fork((), move |()| self.run(tree));
                }
            });
        });
        if steps != chain.len() {
            self.fault("a task of a flow was left out");
        }
    }

    fn broadcast(self: &Arc<Self>, pool: Option<usize>, body: BroadcastBody, detached: bool) {
        let pool = pool.map(|pool| &self.pools[pool]);
        let workers = pool.map_or_else(locksley::current_num_workers, Pool::workers);
        let (run_state, all_here) = (self.clone(), Barrier::new(workers));
        let run = move |_: BroadcastContext<'_>| match body {
            BroadcastBody::Leaf => run_state.leaf(Work::Nothing),
            BroadcastBody::Fork => {
                let leaf = || run_state.leaf(Work::Nothing);
                locksley::join(leaf, leaf);
            }
            BroadcastBody::Nested => {
                locksley::broadcast(|_| run_state.leaf(Work::Nothing));
            }
            BroadcastBody::Barrier => {
                all_here.wait();
                run_state.leaf(Work::Nothing);
            }
        };
        match (pool, detached) {
            (Some(pool), true) => pool.spawn_broadcast(run),
            (Some(pool), false) => drop(pool.broadcast(run)),
            (None, true) => locksley::spawn_broadcast(run),
            (None, false) => drop(locksley::broadcast(run)),
        }
    }

    fn call(self: &Arc<Self>, pool: &Pool, call: Call, tree: &Tree) {
        match call {
            Call::Install => pool.install(|| self.run(tree)),
            Call::InPlaceScope => pool.in_place_scope(|s| s.spawn(|_| self.run(tree))),
            Call::SpawnJoin => pool.spawn(self.task(tree)).join(),
            Call::SpawnFifoJoin => pool.spawn_fifo(self.task(tree)).join(),
            Call::SpawnAwait => block_on(pool.spawn(self.task(tree))),
            Call::Detached => pool.spawn_detached(self.task(tree)),
        }
    }

    /// Runs the tree beside a panic, and catches it.
    fn caught(self: &Arc<Self>, panic: Panic, tree: &Tree) {
        let run = || self.run(tree);
        let panics = || match panic {
            Panic::First => drop(locksley::join(panic_as_planned, run)),
            Panic::Second => drop(locksley::join(run, panic_as_planned)),
            Panic::ScopeBody => locksley::scope(|s| {
                s.spawn(|_| run());
                panic_as_planned();
            }),
            Panic::ScopeTask => locksley::scope(|s| {
                s.spawn(|_| panic_as_planned());
                s.spawn(|_| run());
            }),
            Panic::Handle => {
                let task = self.task(tree);
                let panics = move || {
                    task();
                    panic_as_planned();
                };
                locksley::spawn(panics).join();
            }
            Panic::Broadcast => {
                run();
                locksley::broadcast(|context| {
                    self.leaf(Work::Nothing);
                    if context.index() == 0 {
                        panic_as_planned();
                    }
                });
            }
        };
        match catch_unwind(AssertUnwindSafe(panics)) {
            Ok(()) => self.fault("a panic was lost"),
            Err(payload) if payload.is::<Planned>() => {}
            Err(_) => self.fault("another panic came than was planned"),
        }
    }

    fn fresh(self: &Arc<Self>, plan: &PoolPlan, ending: Ending, tree: &Tree) {
        let pool = match build(plan, "new".into(), &self.faults) {
            Ok(pool) => pool,
            Err(error) => return self.fault(&error),
        };
        match ending {
            Ending::Idle => pool.install(|| self.run(tree)),
            Ending::Busy => pool.spawn_detached(self.task(tree)),
            Ending::Retired => {
                pool.spawn_detached(self.task(tree));
                pool.shutdown_background();
            }
            Ending::ByItself => {
                let (task, pool) = (self.task(tree), Arc::new(pool));
                let own = pool.clone();
                pool.spawn_detached(move || {
                    task();
                    drop(own);
                });
            }
        }
    }
}

/// Joins two siblings, of which the first or the second waits.
fn join_either_way(first_waits: bool, wait: impl FnOnce() + Send, tell: impl FnOnce() + Send) {
    if first_waits {
        locksley::join(wait, tell);
    } else {
        locksley::join(tell, wait);
    }
}
