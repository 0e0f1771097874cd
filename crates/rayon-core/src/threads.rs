//! How a pool's threads are started.

use std::cell::Cell;
use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::thread;

/// A thread of a pool that is to be started. See
/// [`ThreadPoolBuilder::spawn_handler`](crate::ThreadPoolBuilder::spawn_handler).
///
/// ```
/// let pool = rayon_core::ThreadPoolBuilder::new()
///     .num_threads(2)
///     .thread_name(|index| format!("crew {index}"))
///     .stack_size(1 << 20)
///     .spawn_handler(|thread| {
///         assert!(thread.index() < 2);
///         assert_eq!(thread.name().unwrap(), format!("crew {}", thread.index()));
///         assert_eq!(thread.stack_size(), Some(1 << 20));
///         std::thread::spawn(|| thread.run());
///         Ok(())
///     })
///     .build()
///     .unwrap();
/// assert_eq!(pool.install(|| 7), 7);
/// ```
pub struct ThreadBuilder {
    inner: locksley::ThreadBuilder,
    name: Option<String>,
    /// Makes the type `!Sync`; it can be sent to the new thread.
    unshared: PhantomData<Cell<()>>,
}

impl ThreadBuilder {
    pub(crate) fn new(inner: locksley::ThreadBuilder, name: Option<String>) -> ThreadBuilder {
        ThreadBuilder {
            inner,
            name,
            unshared: PhantomData,
        }
    }

    /// Returns the thread's index in its pool.
    pub fn index(&self) -> usize {
        self.inner.index()
    }

    /// Returns the thread's name, if the pool's builder sets one.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Returns the thread's stack size, if the pool's builder sets one.
    pub fn stack_size(&self) -> Option<usize> {
        self.inner.stack_size()
    }

    /// Runs the thread of the pool on the calling thread. Returns when the pool has ended.
    pub fn run(self) {
        self.inner.run();
    }
}

impl fmt::Debug for ThreadBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadBuilder")
            .field("index", &self.index())
            .field("name", &self.name())
            .field("stack_size", &self.stack_size())
            .finish_non_exhaustive()
    }
}

/// A way to start threads. The trait is private: other crates can neither name nor implement it.
pub trait ThreadSpawn {
    /// Starts a thread that runs `thread`.
    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()>;
}

/// Starts threads by `std::thread::Builder`.
#[derive(Debug, Default)]
pub struct DefaultSpawn;

impl ThreadSpawn for DefaultSpawn {
    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()> {
        let mut builder = thread::Builder::new();
        if let Some(name) = thread.name() {
            builder = builder.name(name.to_owned());
        }
        if let Some(size) = thread.stack_size() {
            builder = builder.stack_size(size);
        }
        thread.inner.spawn_by(builder)
    }
}

/// Starts threads by a closure.
#[derive(Debug)]
pub struct CustomSpawn<F>(pub(crate) F);

impl<F> ThreadSpawn for CustomSpawn<F>
where
    F: FnMut(ThreadBuilder) -> io::Result<()>,
{
    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()> {
        (self.0)(thread)
    }
}
