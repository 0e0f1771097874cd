//! The pool that calls from outside of any pool go to, and who is inside of one.

use locksley::{PerProcess, Worker, report};

use crate::builder::ThreadPoolBuilder;
use crate::error::ThreadPoolBuildError;
use crate::pool::ThreadPool;

static GLOBAL: PerProcess<ThreadPool> = PerProcess::new();

/// The global pool, started now if it was not.
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

/// Makes what `build` builds the global pool, unless there is one.
pub(crate) fn set_global(
    build: impl FnOnce() -> Result<ThreadPool, ThreadPoolBuildError>,
) -> Result<(), ThreadPoolBuildError> {
    if GLOBAL.get().is_some() {
        return Err(ThreadPoolBuildError::GLOBAL_EXISTS);
    }
    // Not under a lock: what starts the threads may call back. Of two that race, one is in vain.
    let mut pool = Some(build()?);
    GLOBAL.get_or_init(|| pool.take().expect("it is taken once"));
    match pool {
        None => Ok(()),
        Some(_) => Err(ThreadPoolBuildError::GLOBAL_EXISTS),
    }
}

/// Ends the global pool: waits until everything that was spawned is done and its threads have
/// ended. The next use of it starts another one. rayon-core has no such function: it is for a
/// library that is about to be unloaded, whose code must run in no thread.
///
/// No other thread may use the global pool meanwhile: what it hands to a pool that has ended does
/// not run. Threads that a `spawn_handler` started are waited for until they have left the pool.
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

/// Calls `f` with the worker that the calling thread is, if rayon's rules hold in its pool: all
/// indices are below the number of threads.
#[inline]
pub(crate) fn with_worker<R>(f: impl FnOnce(Option<&Worker>) -> R) -> R {
    Worker::with_current(|worker| f(worker.filter(|worker| worker.num_spares() == 0)))
}

/// Returns `true` if the calling thread is such a worker.
#[inline]
pub(crate) fn inside() -> bool {
    with_worker(|worker| worker.is_some())
}
