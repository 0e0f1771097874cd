//! The global pool, which runs calls from outside of any pool.

use locksley::{PerProcess, Worker, report};

use crate::builder::ThreadPoolBuilder;
use crate::error::ThreadPoolBuildError;
use crate::pool::ThreadPool;

static GLOBAL: PerProcess<ThreadPool> = PerProcess::new();

/// Returns the global pool, and starts it on first use.
pub(crate) fn global() -> &'static ThreadPool {
    GLOBAL.get_or_init(|| {
        let pool = ThreadPoolBuilder::new().build();
        let pool = pool.or_else(|error| {
            report(format_args!(
                "{error}; the global pool has the calling thread only"
            ));
            let alone = ThreadPoolBuilder::new().num_threads(1);
            alone.use_current_thread().build()
        });
        pool.expect("a pool of the calling thread alone needs nothing")
    })
}

/// Builds the global pool with `build`, unless there is one.
pub(crate) fn set_global(
    build: impl FnOnce() -> Result<ThreadPool, ThreadPoolBuildError>,
) -> Result<(), ThreadPoolBuildError> {
    if GLOBAL.get().is_some() {
        return Err(ThreadPoolBuildError::GLOBAL_EXISTS);
    }
    // Not under a lock, since the closure that starts the threads may call into this crate. If two
    // calls race, one pool is built in vain.
    let mut pool = Some(build()?);
    GLOBAL.get_or_init(|| pool.take().expect("it is taken once"));
    match pool {
        None => Ok(()),
        Some(_) => Err(ThreadPoolBuildError::GLOBAL_EXISTS),
    }
}

/// Shuts down the global pool: waits until everything that was spawned is done and its threads have
/// ended. The next use starts a new one. The original rayon-core has no such function; it is for a
/// library that is about to be unloaded, whose code must not run in any thread.
///
/// No other thread may use the global pool meanwhile: tasks that it submits to a pool that has
/// ended do not run. Threads that a `spawn_handler` started are awaited until they have left the
/// pool.
///
/// ```
/// assert_eq!(rayon_core::join(|| 1, || 2), (1, 2));
/// rayon_core::shutdown_global();
/// // Another one.
/// assert_eq!(rayon_core::join(|| 1, || 2), (1, 2));
/// ```
pub fn shutdown_global() {
    if let Some(pool) = GLOBAL.remove() {
        pool.inner().shutdown_static();
    }
}

/// Calls `f` with the calling thread's worker if its pool has no spares, so that all indices are
/// below the number of threads, as rayon promises. Otherwise calls `f` with `None`.
#[inline]
pub(crate) fn with_worker<R>(f: impl FnOnce(Option<&Worker>) -> R) -> R {
    Worker::with_current(|worker| f(worker.filter(|worker| worker.num_spares() == 0)))
}

/// Returns `true` if [`with_worker`] finds a worker.
#[inline]
pub(crate) fn inside() -> bool {
    with_worker(|worker| worker.is_some())
}
