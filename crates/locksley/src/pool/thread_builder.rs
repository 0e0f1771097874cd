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
use std::thread;

use crate::error::BuildError;
use crate::scheduler::neighbours;
use crate::scheduler::registry::Registry;
use crate::sync::{AtomicUsize, Condvar, Mutex, Ordering, lock, wait_while};

/// Reports of a pool's threads on whether they could be pinned.
pub(crate) struct Reports {
    state: Mutex<Pending>,
    changed: Condvar,
}

struct Pending {
    /// Number of threads that have not reported.
    missing: usize,
    error: Option<BuildError>,
}

impl Reports {
    pub(crate) fn new() -> Arc<Reports> {
        Arc::new(Reports {
            state: Mutex::new(Pending {
                missing: 0,
                error: None,
            }),
            changed: Condvar::new(),
        })
    }

    /// Waits until a thread has reported an error, which is returned, or until all threads have
    /// reported.
    pub(crate) fn wait(&self) -> Option<BuildError> {
        let waits = |state: &Pending| state.error.is_none() && state.missing > 0;
        wait_while(&self.changed, lock(&self.state), waits)
            .error
            .take()
    }
}

/// The report of one thread. Dropping it counts the thread as having reported.
pub(crate) struct Report(Arc<Reports>);

impl Report {
    pub(crate) fn new(reports: &Arc<Reports>) -> Report {
        lock(&reports.state).missing += 1;
        Report(reports.clone())
    }

    fn send(self, result: Result<(), BuildError>) {
        if let Err(error) = result {
            lock(&self.0.state).error.get_or_insert(error);
        }
    }
}

impl Drop for Report {
    fn drop(&mut self) {
        lock(&self.0.state).missing -= 1;
        self.0.changed.notify_all();
    }
}

/// Counts the threads of a pool that have not left, those to come included.
pub(crate) struct Roll {
    count: Mutex<usize>,
    /// Number of users that can add to the pool's tasks or run them: these threads, an adopted one,
    /// the `Pool`.
    users: AtomicUsize,
    changed: Condvar,
    /// Workers of other pools that wait for the last to leave.
    waiters: Mutex<Vec<thread::Thread>>,
}

impl Roll {
    pub(crate) fn new() -> Roll {
        Roll {
            count: Mutex::new(0),
            users: AtomicUsize::new(0),
            changed: Condvar::new(),
            waiters: Mutex::new(Vec::new()),
        }
    }

    /// Counts a user of the pool.
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
        *lock(&self.count) == 0
    }

    /// Returns `true` if all threads have left. If not, the last one to leave unparks the calling
    /// thread.
    pub(crate) fn is_empty_or_unpark(&self) -> bool {
        let (count, me) = (lock(&self.count), thread::current());
        if *count > 0 {
            let mut waiters = lock(&self.waiters);
            if !waiters.iter().any(|waiter| waiter.id() == me.id()) {
                waiters.push(me);
            }
        }
        *count == 0
    }

    fn enter(&self) {
        *lock(&self.count) += 1;
    }

    fn leave(&self) {
        let mut count = lock(&self.count);
        *count -= 1;
        if *count == 0 {
            self.changed.notify_all();
            for waiter in lock(&self.waiters).drain(..) {
                waiter.unpark();
            }
        }
    }

    /// Blocks until no thread is left.
    pub(crate) fn wait_until_empty(&self) {
        drop(wait_while(&self.changed, lock(&self.count), |count| {
            *count > 0
        }));
    }
}

/// The function that starts the threads of a pool.
pub(crate) type SpawnThread<'s> = &'s mut dyn FnMut(ThreadBuilder) -> io::Result<()>;

/// A worker that waits for its thread: see [`Builder::build_with`](crate::Builder::build_with).
pub struct ThreadBuilder {
    registry: Arc<Registry>,
    index: usize,
    report: Option<Report>,
    /// Set until the start handler has run. It counts as a task meanwhile: it may use the pool, so
    /// the other workers must not leave.
    handler_pending: bool,
}

impl ThreadBuilder {
    pub(crate) fn new(registry: Arc<Registry>, index: usize, report: Option<Report>) -> Self {
        registry.roll.enter();
        registry.roll.add_user();
        let handler_pending = registry.config.start.is_some();
        if handler_pending {
            registry.count_task_outside();
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
        registry.worker(index).be(|worker| {
            let config = &registry.config;
            config.run_handler(config.start.as_ref(), index);
            if std::mem::take(&mut self.handler_pending) {
                registry.start_handler_done();
            }
            registry.main_loop(worker);
            config.run_handler(config.exit.as_ref(), index);
            if !registry.closed() {
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
        self.registry.roll.leave();
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

/// The pool that has adopted the calling thread.
struct Adopter(Arc<Registry>);

impl Drop for Adopter {
    /// The thread ends, and from here on the worker may be gone.
    fn drop(&mut self) {
        let worker = self.0.worker(0);
        self.0.adopted_ends(worker);
        worker.cease();
        self.0.user_leaves();
    }
}

thread_local! {
    static ADOPTER: RefCell<Option<Adopter>> = const { RefCell::new(None) };
}

/// Makes the calling thread, which is not a worker, the pool's first worker until the thread ends.
pub(crate) fn adopt(registry: &Arc<Registry>) {
    registry.roll.add_user();
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
