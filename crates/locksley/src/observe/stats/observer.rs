//! A handle for what a pool has counted and noted.

use std::fmt;
use std::sync::Arc;

use locksley_trace::Trace;
use locksley_trace::recording::Recording;
use locksley_trace::stats::Stats;

use crate::scheduler::registry::Registry;
use crate::scheduler::worker::Worker;

/// Shows a pool's statistics, after it has ended too: see
/// [`Pool::observer`](crate::Pool::observer).
#[derive(Clone)]
pub struct Observer {
    registry: Arc<Registry>,
}

impl Observer {
    pub(crate) fn new(registry: Arc<Registry>) -> Observer {
        Observer { registry }
    }

    /// Returns what the workers have done so far: see [`Pool::stats`](crate::Pool::stats).
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.registry.stats()
    }

    /// [`Pool::take_trace`](crate::Pool::take_trace).
    #[must_use]
    pub fn take_trace(&self) -> Trace {
        self.registry.take_trace()
    }

    /// [`Pool::take_recording`](crate::Pool::take_recording).
    ///
    /// Called on a worker of the pool, it includes what that worker has run so far: a program may
    /// exit inside of [`Pool::install`](crate::Pool::install).
    #[must_use]
    pub fn take_recording(&self) -> Option<Recording> {
        let here = Worker::current_in(&self.registry);
        if let (Some(worker), Some(recorder)) = (here, &self.registry.config.recorder) {
            recorder.split_run(worker);
        }
        self.registry.take_recording()
    }
}

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Observer").finish_non_exhaustive()
    }
}
