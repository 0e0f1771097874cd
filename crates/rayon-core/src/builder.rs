//! The builder of pools.

use std::any::Any;
use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process;

use locksley::{Idle, Pool, Waiting};

use crate::environment;
use crate::error::ThreadPoolBuildError;
use crate::global;
use crate::pool::{ThreadPool, max_num_threads};
use crate::threads::{CustomSpawn, DefaultSpawn, ThreadBuilder, ThreadSpawn};

type NameMaker = Box<dyn FnMut(usize) -> String>;
type PanicHandler = Box<dyn Fn(Box<dyn Any + Send>) + Send + Sync>;
type IndexHandler = Box<dyn Fn(usize) + Send + Sync>;

/// How idle threads wait for work before they sleep. They mostly yield, because a caller outside of
/// the pool that runs many short loops may need the processor. Measured on 2 processors with 5000
/// loops of 64 items while another program used one processor: half of rayon's time, where spinning
/// for as long would take three times rayon's.
const IDLE: Idle = Idle {
    spins: 4,
    yields: 64,
};

/// Builds a [`ThreadPool`], or the global one.
///
/// ```
/// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
/// assert_eq!(pool.current_num_threads(), 3);
/// ```
pub struct ThreadPoolBuilder<S = DefaultSpawn> {
    settings: Settings,
    spawn_handler: S,
}

/// The settings that do not depend on how threads are started, so that the code that builds a pool
/// is not generic.
#[derive(Default)]
struct Settings {
    num_threads: usize,
    use_current_thread: bool,
    panic_handler: Option<PanicHandler>,
    thread_name: Option<NameMaker>,
    stack_size: Option<usize>,
    start_handler: Option<IndexHandler>,
    exit_handler: Option<IndexHandler>,
    breadth_first: bool,
}

impl Default for ThreadPoolBuilder {
    fn default() -> Self {
        ThreadPoolBuilder {
            settings: Settings::default(),
            spawn_handler: DefaultSpawn,
        }
    }
}

impl ThreadPoolBuilder {
    /// Returns a builder with default settings.
    pub fn new() -> Self {
        Self::default()
    }

    /// Builds a pool of scoped threads, calls `with_pool` with it, and returns when all threads
    /// have ended. Each thread calls `wrapper`, which can borrow from the caller, and which should
    /// [run](ThreadBuilder::run) its argument.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    ///
    /// let started = AtomicUsize::new(0);
    /// let result = rayon_core::ThreadPoolBuilder::new().num_threads(2).build_scoped(
    ///     |thread| {
    ///         started.fetch_add(1, Ordering::Relaxed);
    ///         thread.run();
    ///     },
    ///     |pool| pool.install(|| 7),
    /// );
    /// assert_eq!((result.unwrap(), started.into_inner()), (7, 2));
    /// ```
    pub fn build_scoped<W, F, R>(self, wrapper: W, with_pool: F) -> Result<R, ThreadPoolBuildError>
    where
        W: Fn(ThreadBuilder) + Sync,
        F: FnOnce(&ThreadPool) -> R,
    {
        let wrapper = &wrapper;
        std::thread::scope(|scope| {
            let start = |thread: ThreadBuilder| {
                let mut builder = std::thread::Builder::new();
                if let Some(name) = thread.name() {
                    builder = builder.name(name.to_owned());
                }
                if let Some(size) = thread.stack_size() {
                    builder = builder.stack_size(size);
                }
                builder
                    .spawn_scoped(scope, move || wrapper(thread))
                    .map(drop)
            };
            let pool = self.spawn_handler(start).build()?;
            Ok(with_pool(&pool))
        })
    }
}

impl<S> ThreadPoolBuilder<S>
where
    S: ThreadSpawn,
{
    /// Builds a pool.
    ///
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new().build().unwrap();
    /// assert!(pool.current_num_threads() >= 1);
    /// ```
    pub fn build(self) -> Result<ThreadPool, ThreadPoolBuildError> {
        let mut handler = self.spawn_handler;
        self.settings.build(&mut |thread| handler.spawn(thread))
    }

    /// Builds the global pool. Returns an error if it exists already, from an earlier call or from
    /// first use.
    ///
    /// ```
    /// rayon_core::ThreadPoolBuilder::new().num_threads(3).build_global().unwrap();
    /// assert_eq!(rayon_core::current_num_threads(), 3);
    /// ```
    pub fn build_global(self) -> Result<(), ThreadPoolBuildError> {
        global::set_global(|| self.build())
    }
}

impl Settings {
    /// Builds a pool whose threads are started by `spawn`.
    fn build(
        mut self,
        spawn: &mut dyn FnMut(ThreadBuilder) -> io::Result<()>,
    ) -> Result<ThreadPool, ThreadPoolBuildError> {
        let mut builder = self.configure();
        if let Some(handler) = self.start_handler.take() {
            builder = builder.start_handler(handler);
        }
        if let Some(handler) = self.exit_handler.take() {
            builder = builder.exit_handler(handler);
        }
        let pool = builder.build_with(|thread| {
            let name = self.thread_name.as_mut().map(|name| name(thread.index()));
            spawn(ThreadBuilder::new(thread, name))
        })?;
        Ok(ThreadPool::over(pool))
    }

    /// Returns Locksley's builder for a pool that behaves like rayon's.
    fn configure(&mut self) -> locksley::Builder {
        let wanted = match self.num_threads {
            0 => environment::num_threads(),
            wanted => wanted,
        };
        let waiting = environment::waiting();
        let most = environment::read_reproducible();
        let mut builder = Pool::builder()
            .workers(wanted.min(max_num_threads()).min(most))
            .waiting(waiting)
            .idle(IDLE)
            .breadth_first(self.breadth_first)
            .panic_handler(last_resort(self.panic_handler.take()));
        if waiting == Waiting::TakeAny {
            // No spare takes the place of a waiting worker, so it must be free to run any task.
            builder = builder.depth_limit(usize::MAX);
        }
        if let Some(size) = self.stack_size {
            builder = builder.stack_size(size);
        }
        if self.use_current_thread {
            builder = builder.use_current_thread();
        }
        builder
    }
}

impl<S> ThreadPoolBuilder<S> {
    /// Sets a closure that starts threads: each must [run](ThreadBuilder::run) the `ThreadBuilder`
    /// that the closure receives.
    ///
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new()
    ///     .spawn_handler(|thread| {
    ///         std::thread::spawn(|| thread.run());
    ///         Ok(())
    ///     })
    ///     .build()
    ///     .unwrap();
    /// assert_eq!(pool.install(|| 7), 7);
    /// ```
    pub fn spawn_handler<F>(self, spawn: F) -> ThreadPoolBuilder<CustomSpawn<F>>
    where
        F: FnMut(ThreadBuilder) -> io::Result<()>,
    {
        ThreadPoolBuilder {
            settings: self.settings,
            spawn_handler: CustomSpawn(spawn),
        }
    }

    /// Sets a closure that names the threads by index. By default they have no names.
    ///
    /// ```
    /// let name = |index| format!("crew {index}");
    /// let builder = rayon_core::ThreadPoolBuilder::new().thread_name(name);
    /// let pool = builder.num_threads(1).build().unwrap();
    /// assert_eq!(pool.install(|| std::thread::current().name() == Some("crew 0")), true);
    /// ```
    pub fn thread_name<F>(mut self, closure: F) -> Self
    where
        F: FnMut(usize) -> String + 'static,
    {
        self.settings.thread_name = Some(Box::new(closure));
        self
    }

    /// Sets the number of threads, at most [`max_num_threads`]. With 0, the default, it is that of
    /// `RAYON_NUM_THREADS`, or else one for each CPU that the process may use.
    ///
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    /// assert_eq!(pool.current_num_threads(), 2);
    /// ```
    pub fn num_threads(mut self, num_threads: usize) -> Self {
        self.settings.num_threads = num_threads;
        self
    }

    /// Makes the calling thread the pool's first, with index 0, until it ends. Start and exit
    /// handlers do not run for it, and it runs tasks only while it waits or yields.
    ///
    /// ```
    /// std::thread::spawn(|| {
    ///     let builder = rayon_core::ThreadPoolBuilder::new().num_threads(2).use_current_thread();
    ///     let pool = builder.build().unwrap();
    ///     assert_eq!(rayon_core::current_thread_index(), Some(0));
    ///     assert_eq!(pool.install(rayon_core::current_thread_index), Some(0));
    /// })
    /// .join()
    /// .unwrap();
    /// ```
    pub fn use_current_thread(mut self) -> Self {
        self.settings.use_current_thread = true;
        self
    }

    /// Sets a handler for the payload of a panic that reaches no caller: that of a spawned task, or
    /// of a start or exit handler. Without a handler such a panic aborts the process, and so does a
    /// panic of the handler.
    ///
    /// ```
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// let pool = rayon_core::ThreadPoolBuilder::new()
    ///     .panic_handler(move |payload| sender.send(payload).unwrap())
    ///     .build()
    ///     .unwrap();
    /// pool.spawn(|| panic!("lost"));
    /// let payload = receiver.recv().unwrap();
    /// assert_eq!(payload.downcast_ref(), Some(&"lost"));
    /// ```
    pub fn panic_handler<H>(mut self, panic_handler: H) -> Self
    where
        H: Fn(Box<dyn Any + Send>) + Send + Sync + 'static,
    {
        self.settings.panic_handler = Some(Box::new(panic_handler));
        self
    }

    /// Sets the size of the threads' stacks, in bytes.
    ///
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new().stack_size(8 << 20).build().unwrap();
    /// assert_eq!(pool.install(|| 7), 7);
    /// ```
    pub fn stack_size(mut self, stack_size: usize) -> Self {
        self.settings.stack_size = Some(stack_size);
        self
    }

    /// Makes each thread take the oldest of its own tasks first.
    ///
    /// ```
    /// # #![allow(deprecated)]
    /// let pool = rayon_core::ThreadPoolBuilder::new().breadth_first().build().unwrap();
    /// assert_eq!(pool.install(|| 7), 7);
    /// ```
    #[deprecated(note = "use `scope_fifo` and `spawn_fifo` for similar effect")]
    pub fn breadth_first(mut self) -> Self {
        self.settings.breadth_first = true;
        self
    }

    /// Sets a closure that runs in each thread when it starts, with the thread's index.
    ///
    /// ```
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// let pool = rayon_core::ThreadPoolBuilder::new()
    ///     .num_threads(2)
    ///     .start_handler(move |index| sender.send(index).unwrap())
    ///     .build()
    ///     .unwrap();
    /// assert_eq!(receiver.iter().take(2).sum::<usize>(), 0 + 1);
    /// ```
    pub fn start_handler<H>(mut self, start_handler: H) -> Self
    where
        H: Fn(usize) + Send + Sync + 'static,
    {
        self.settings.start_handler = Some(Box::new(start_handler));
        self
    }

    /// Sets a closure that runs in each thread before it ends, with the thread's index.
    ///
    /// ```
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// let pool = rayon_core::ThreadPoolBuilder::new()
    ///     .num_threads(2)
    ///     .exit_handler(move |index| sender.send(index).unwrap())
    ///     .build()
    ///     .unwrap();
    /// drop(pool);
    /// assert_eq!(receiver.iter().sum::<usize>(), 0 + 1);
    /// ```
    pub fn exit_handler<H>(mut self, exit_handler: H) -> Self
    where
        H: Fn(usize) + Send + Sync + 'static,
    {
        self.settings.exit_handler = Some(Box::new(exit_handler));
        self
    }
}

/// Returns the handler of panics that reach no caller: `handler`, or else an abort.
fn last_resort(handler: Option<PanicHandler>) -> impl Fn(Box<dyn Any + Send>) + Send + Sync {
    move |payload| {
        let why = match &handler {
            None => "a task panicked, and the pool has no panic handler",
            Some(handler) => match catch_unwind(AssertUnwindSafe(|| handler(payload))) {
                Ok(()) => return,
                Err(_) => "the panic handler panicked",
            },
        };
        locksley::report(format_args!("{why}; aborting"));
        process::abort();
    }
}

/// Placeholder for a closure in `Debug`.
struct Closure;

impl fmt::Debug for Closure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<closure>")
    }
}

impl<S> fmt::Debug for ThreadPoolBuilder<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let settings = &self.settings;
        f.debug_struct("ThreadPoolBuilder")
            .field("num_threads", &settings.num_threads)
            .field("use_current_thread", &settings.use_current_thread)
            .field(
                "thread_name",
                &settings.thread_name.as_ref().map(|_| Closure),
            )
            .field(
                "panic_handler",
                &settings.panic_handler.as_ref().map(|_| Closure),
            )
            .field("stack_size", &settings.stack_size)
            .field(
                "start_handler",
                &settings.start_handler.as_ref().map(|_| Closure),
            )
            .field(
                "exit_handler",
                &settings.exit_handler.as_ref().map(|_| Closure),
            )
            .field("breadth_first", &settings.breadth_first)
            .finish_non_exhaustive()
    }
}
