//! The threads of a pool: how a thread becomes a worker, and how the pool knows that all threads
//! have left.
//!
//! Each worker slot that is to be used gets a [`ThreadBuilder`]. Its holder runs it in a thread:
//! the pool itself, or a caller of [`Builder::build_with`](crate::Builder::build_with) in a thread
//! of its own. The pool counts the builders that exist; when it ends, it waits until the last one
//! is gone, run or not.
//!
//! A thread can also be *adopted*: the thread that builds the pool becomes its first worker
//! ([`Builder::use_current_thread`](crate::Builder::use_current_thread)). It never runs the main
//! loop, and works for the pool only while it waits or yields. It keeps the pool's memory until it
//! ends, because code that runs on it may hold a reference to the worker.

use std::cell::RefCell;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::thread::{self, Thread};

use crate::error::BuildError;
use crate::scheduler::neighbours;
use crate::scheduler::registry::Registry;
use crate::scheduler::worker::Worker;
use crate::sync::{AtomicUsize, Mutex, Ordering, lock};

/// Reports of a pool's threads on whether they could be pinned.
pub(crate) struct Reports {
    /// The thread that builds the pool.
    builder: Thread,
    /// Number of threads that have not reported, and the first error.
    state: Mutex<(usize, Option<BuildError>)>,
}

impl Reports {
    /// Creates reports for which the calling thread will wait.
    pub(crate) fn new() -> Arc<Reports> {
        Arc::new(Reports {
            builder: thread::current(),
            state: Mutex::new((0, None)),
        })
    }

    /// Waits until a thread has reported an error, which is returned, or until all threads have
    /// reported.
    pub(crate) fn wait(&self) -> Option<BuildError> {
        loop {
            if let (0, error) | (_, error @ Some(_)) = &mut *lock(&self.state) {
                return error.take();
            }
            thread::park();
        }
    }
}

/// The report of one thread. Dropping it counts the thread as having reported.
pub(crate) struct Report(Arc<Reports>);

impl Report {
    pub(crate) fn new(reports: &Arc<Reports>) -> Report {
        lock(&reports.state).0 += 1;
        Report(reports.clone())
    }

    fn send(self, result: Result<(), BuildError>) {
        if let Err(error) = result {
            lock(&self.0.state).1.get_or_insert(error);
        }
    }
}

impl Drop for Report {
    fn drop(&mut self) {
        lock(&self.0.state).0 -= 1;
        self.0.builder.unpark();
    }
}

/// Counts the threads of a pool that have not left, those to come included.
#[derive(Default)]
pub(crate) struct ThreadCounts {
    /// Number of threads, and the threads that wait for the last of them to leave.
    present: Mutex<(usize, Vec<Thread>)>,
    /// Number of users that can add to the pool's tasks or run them: these threads, an adopted one,
    /// the `Pool`.
    users: AtomicUsize,
}

impl ThreadCounts {
    pub(crate) fn add_user(&self) {
        self.users.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a user as gone. Returns `true` if it was the last one.
    pub(crate) fn remove_user(&self) -> bool {
        // AcqRel: the last one sees what all others have spawned.
        self.users.fetch_sub(1, Ordering::AcqRel) == 1
    }

    /// Returns `true` if no thread is left that could run a task.
    pub(crate) fn has_no_users(&self) -> bool {
        self.users.load(Ordering::Acquire) == 0
    }

    pub(crate) fn is_empty(&self) -> bool {
        lock(&self.present).0 == 0
    }

    /// Returns `true` if all threads have left. If not, the last one to leave unparks the calling
    /// thread.
    pub(crate) fn is_empty_or_await(&self) -> bool {
        let (count, waiters) = &mut *lock(&self.present);
        if *count > 0 {
            let me = thread::current();
            if !waiters.iter().any(|waiter| waiter.id() == me.id()) {
                waiters.push(me);
            }
        }
        *count == 0
    }

    fn enter(&self) {
        lock(&self.present).0 += 1;
    }

    fn leave(&self) {
        let (count, waiters) = &mut *lock(&self.present);
        *count -= 1;
        if *count == 0 {
            waiters.drain(..).for_each(|waiter| waiter.unpark());
        }
    }
}

/// The function that starts the threads of a pool.
pub(crate) type SpawnThread<'s> = &'s mut dyn FnMut(ThreadBuilder) -> io::Result<()>;

/// A worker that waits for its thread: see [`Builder::build_with`](crate::Builder::build_with).
pub struct ThreadBuilder {
    registry: Arc<Registry>,
    index: usize,
    report: Option<Report>,
    /// Set until the start handler has run. The other workers do not leave before.
    handler_pending: bool,
}

impl ThreadBuilder {
    pub(crate) fn new(registry: Arc<Registry>, index: usize, report: Option<Report>) -> Self {
        registry.thread_counts.enter();
        registry.thread_counts.add_user();
        let handler_pending = registry.config.start.is_some();
        if handler_pending {
            registry.count_start_handler();
        }
        ThreadBuilder {
            registry,
            index,
            report,
            handler_pending,
        }
    }

    /// The worker's index.
    pub fn index(&self) -> usize {
        self.index
    }

    /// The name that the worker's thread should have: see
    /// [`Builder::thread_name`](crate::Builder::thread_name).
    pub fn name(&self) -> String {
        self.registry.config.thread_name(self.index)
    }

    /// The size that the stack of the worker's thread should have: see
    /// [`Builder::stack_size`](crate::Builder::stack_size).
    pub fn stack_size(&self) -> Option<usize> {
        self.registry.config.stack_size
    }

    /// Makes the calling thread the worker. Returns when the pool has ended.
    pub fn run(mut self) {
        let (registry, index) = (&*self.registry, self.index);
        let pinned = neighbours::pin(registry, index);
        if let Some(report) = self.report.take() {
            report.send(pinned);
        }
        registry.worker(index).run_as_current(|worker| {
            let config = &registry.config;
            config.run_handler(config.start.as_ref(), index);
            if std::mem::take(&mut self.handler_pending) {
                registry.start_handler_done();
            }
            registry.main_loop(worker);
            config.run_handler(config.exit.as_ref(), index);
            if !registry.is_drained() {
                // The exit handler has spawned a task, and this may be the last worker.
                registry.main_loop(worker);
            }
        });
    }

    /// Starts a thread with the worker's [name](ThreadBuilder::name) and [stack
    /// size](ThreadBuilder::stack_size), and runs the worker in it, as
    /// [`Builder::build`](crate::Builder::build) does.
    ///
    /// # Errors
    ///
    /// If the operating system refuses the thread.
    pub fn spawn(self) -> io::Result<()> {
        let builder = self.thread_builder();
        self.spawn_by(builder)
    }

    /// Starts a thread with `builder`, and runs the worker in it. Ending the pool joins the thread.
    ///
    /// # Errors
    ///
    /// If the operating system refuses the thread.
    pub fn spawn_by(self, builder: thread::Builder) -> io::Result<()> {
        let registry = self.registry.clone();
        let handle = self.start_by(builder)?;
        lock(&registry.threads).push(handle);
        Ok(())
    }

    /// Returns a builder of a thread with the worker's name and stack size.
    fn thread_builder(&self) -> thread::Builder {
        let builder = thread::Builder::new().name(self.name());
        match self.stack_size() {
            Some(size) => builder.stack_size(size),
            None => builder,
        }
    }

    pub(crate) fn start(self) -> io::Result<thread::JoinHandle<()>> {
        let builder = self.thread_builder();
        self.start_by(builder)
    }

    /// Starts a thread. Only this function does, because each such call makes a program two
    /// kilobytes larger.
    #[inline(never)]
    fn start_by(self, builder: thread::Builder) -> io::Result<thread::JoinHandle<()>> {
        builder.spawn(move || self.run())
    }
}

impl Drop for ThreadBuilder {
    fn drop(&mut self) {
        if self.handler_pending {
            self.registry.start_handler_done();
        }
        self.registry.user_leaves();
        self.registry.thread_counts.leave();
    }
}

impl fmt::Debug for ThreadBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadBuilder")
            .field("index", &self.index)
            .field("name", &self.name())
            .field("stack_size", &self.stack_size())
            .finish_non_exhaustive()
    }
}

struct Adopter(Arc<Registry>);

impl Drop for Adopter {
    /// The thread ends, and from here on the worker may be gone.
    fn drop(&mut self) {
        self.0.adopted_ends(self.0.worker(0));
        Worker::forget_current();
        self.0.user_leaves();
    }
}

thread_local! {
    static ADOPTER: RefCell<Option<Adopter>> = const { RefCell::new(None) };
}

/// Makes the calling thread, which is not a worker, the pool's first worker until the thread ends.
pub(crate) fn adopt(registry: &Arc<Registry>) {
    registry.thread_counts.add_user();
    ADOPTER.set(Some(Adopter(registry.clone())));
    registry.worker(0).become_current();
}

/// Returns `true` if the calling thread was adopted by this pool.
pub(crate) fn is_adopted_by(registry: &Registry) -> bool {
    let here = ADOPTER.try_with(|adopter| {
        let adopter = adopter.borrow();
        matches!(&*adopter, Some(Adopter(by)) if std::ptr::eq(&**by, registry))
    });
    here.unwrap_or(false)
}
