//! The public face of the counters: snapshots, their differences and sums, and the table.

use std::fmt;
use std::ops::{Add, Sub};
use std::sync::Arc;

use locksley_trace::Trace;
use locksley_trace::recording::Recording;

use super::{Event, with_events};
use crate::scheduler::registry::Registry;
use crate::scheduler::worker::Worker;

macro_rules! worker_stats {
    ($($(#[doc = $doc:literal])* $event:ident, $field:ident, $head:literal;)*) => {
        /// What one worker has done since the pool was built, or between two snapshots.
        ///
        /// Attempts to steal add up: `tried == got + empty + retried + private`, but for those
        /// under way.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct WorkerStats {
            $($(#[doc = $doc])* pub $field: u64,)*
            /// Jobs of others that are stacked on the worker's stack now, because it took each of
            /// them while it waited. Not a count: a difference has the later value, a total the
            /// highest.
            pub depth: u64,
            /// The highest depth so far; never above
            /// [`Builder::depth_limit`](crate::Builder::depth_limit). A difference has the later
            /// value, a total the highest.
            pub deepest: u64,
        }

        /// How many events there are.
        pub(super) const EVENTS: usize = [$(Event::$event),*].len();

        /// What stands above the columns.
        const HEADS: [&str; EVENTS + 2] = [$($head,)* "depth", "deepest"];

        impl WorkerStats {
            pub(super) fn new(count: impl Fn(Event) -> u64, depth: u64, deepest: u64) -> Self {
                WorkerStats { $($field: count(Event::$event),)* depth, deepest }
            }

            fn columns(&self) -> [u64; EVENTS + 2] {
                [$(self.$field,)* self.depth, self.deepest]
            }

            /// All fields, by their names, for output.
            ///
            /// ```
            /// let pool = locksley::Pool::builder().workers(2).build().unwrap();
            /// pool.install(|| ());
            /// let counts = pool.stats().total().counts();
            /// assert!(counts.contains(&("tasks", 1)));
            /// ```
            #[must_use]
            pub fn counts(&self) -> Vec<(&'static str, u64)> {
                vec![
                    $((stringify!($field), self.$field),)*
                    ("depth", self.depth),
                    ("deepest", self.deepest),
                ]
            }
        }

        impl Sub for WorkerStats {
            type Output = WorkerStats;

            /// What was done since an earlier snapshot. A counter that went back, as between two
            /// pools, is 0.
            fn sub(self, earlier: WorkerStats) -> WorkerStats {
                WorkerStats {
                    $($field: self.$field.saturating_sub(earlier.$field),)*
                    depth: self.depth,
                    deepest: self.deepest,
                }
            }
        }

        impl Add for WorkerStats {
            type Output = WorkerStats;

            fn add(self, other: WorkerStats) -> WorkerStats {
                WorkerStats {
                    $($field: self.$field + other.$field,)*
                    depth: self.depth.max(other.depth),
                    deepest: self.deepest.max(other.deepest),
                }
            }
        }
    };
}

with_events!(worker_stats);

/// What the workers of a pool have done: a snapshot made by [`Pool::stats`](crate::Pool::stats), or
/// the difference of two.
///
/// Printed, it is a table with a line for each worker and each spare (which stands in for a waiting
/// worker), one for the threads outside, which hand jobs over and wake workers, and the total.
/// Columns in which all is 0 are left out:
///
/// | column | field of [`WorkerStats`] |
/// |---|---|
/// | `tasks` | jobs run by the main loop, or while waiting |
/// | `attempts` | attempts to steal |
/// | `chosen`, `skipped` | searches in which a policy chose whom to try first, or that it skipped (strategy `flexible`) |
/// | `steals`, `empty`, `retried`, `private` | what came of them |
/// | `leapfrog` | jobs stolen while waiting that descend from what was waited for |
/// | `balanced`, `batch` | attempts to balance while there was work; jobs that went from queue to queue (strategy `steal-half`) |
/// | `offered`, `refused`, `mailed` | jobs offered to others; attempts that found no idle worker; offers left in mailboxes (strategy `sharing`) |
/// | `accepted`, `late`, `ghosts` | offers taken up; offers that came too late; what accepted jobs left in the donor's queue (strategy `sharing`) |
/// | `dealt`, `kept`, `collected`, `recalled` | jobs dealt to others; to itself; taken from its buffers; taken back from those of others (strategy `dealing`) |
/// | `near`, `hits` | jobs spawned near some worker; those of them that were executed there (strategy `dealing`) |
/// | `handed` | jobs handed to the pool's queue |
/// | `exposed` | jobs made public on demand (strategy `semi-private`) |
/// | `fences`, `rmws`, `membarriers` | expensive operations; `rmws` are read-modify-writes |
/// | `parks`, `woken` | how often it blocked; how many sleepers it woke |
/// | `spares` | spare workers called up |
/// | `depth`, `deepest` | jobs of others stacked up by waits, now and at most |
///
/// ```
/// let pool = locksley::Pool::builder().workers(2).build().unwrap();
/// let before = pool.stats();
/// pool.install(|| locksley::join(|| 1, || 2));
/// let during = pool.stats() - before;
/// assert!(during.total().tasks >= 1);
/// assert_eq!(during.outside().handed, 1); // `install` hands its closure over
/// println!("{during}");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    size: usize,
    places: Vec<WorkerStats>,
    outside: WorkerStats,
}

impl Stats {
    pub(crate) fn new(size: usize, places: Vec<WorkerStats>, outside: WorkerStats) -> Stats {
        Stats {
            size,
            places,
            outside,
        }
    }

    /// Each worker, by index; behind them the spares that have been called up so far.
    #[must_use]
    pub fn workers(&self) -> &[WorkerStats] {
        &self.places
    }

    /// Threads outside of the pool: those that `install`, `spawn` and wait.
    #[must_use]
    pub fn outside(&self) -> WorkerStats {
        self.outside
    }

    /// All of them together.
    #[must_use]
    pub fn total(&self) -> WorkerStats {
        self.places.iter().fold(self.outside, |sum, &one| sum + one)
    }
}

impl Sub for Stats {
    type Output = Stats;

    /// What was done since an earlier snapshot of the same pool.
    fn sub(mut self, earlier: Stats) -> Stats {
        for (now, then) in self.places.iter_mut().zip(earlier.places) {
            *now = *now - then;
        }
        self.outside = self.outside - earlier.outside;
        self
    }
}

/// Shows a pool's statistics, after it has ended too: see
/// [`Pool::observer`](crate::Pool::observer).
///
/// ```
/// let pool = locksley::Pool::builder().workers(2).build().unwrap();
/// let observer = pool.observer();
/// pool.install(|| ());
/// drop(pool);
/// println!("{}", observer.stats());
/// ```
#[derive(Clone)]
pub struct Observer {
    registry: Arc<Registry>,
}

impl Observer {
    pub(crate) fn new(registry: Arc<Registry>) -> Observer {
        Observer { registry }
    }

    /// What the workers have done so far: [`Pool::stats`](crate::Pool::stats).
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
    /// Called on a worker of the pool, it has what that worker has run so far too: a program may
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

impl fmt::Display for Stats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let heads: Vec<String> = HEADS.iter().map(|&head| head.to_owned()).collect();
        let mut rows = vec![("worker".to_owned(), heads)];
        for (index, one) in self.places.iter().enumerate() {
            let spare = if index < self.size { "" } else { "spare " };
            rows.push((format!("{spare}{index}"), texts(one)));
        }
        rows.push(("outside".to_owned(), texts(&self.outside)));
        rows.push(("total".to_owned(), texts(&self.total())));
        let total = self.total().columns();
        // A total is 0 only if all of its column is. The first column is there in any case.
        let shown = (0..HEADS.len()).filter(|&column| column == 0 || total[column] > 0);
        let width = |column: usize| rows.iter().map(|(_, row)| row[column].len()).max();
        let shown: Vec<(usize, usize)> = shown
            .map(|column| (column, width(column).unwrap_or(0)))
            .collect();
        for (line, (name, row)) in rows.iter().enumerate() {
            write!(f, "{name:>8}")?;
            for &(column, width) in &shown {
                write!(f, "  {:>width$}", row[column])?;
            }
            if line + 1 < rows.len() {
                writeln!(f)?;
            }
        }
        Ok(())
    }
}

/// A row of the table. Vectors, not arrays: the loops over those are unrolled.
#[inline(never)]
fn texts(one: &WorkerStats) -> Vec<String> {
    one.columns().iter().map(|&count| text(count)).collect()
}

/// A count as the table shows it: a nothing is easier to overlook than a zero.
fn text(count: u64) -> String {
    match count {
        0 => ".".to_owned(),
        _ => count.to_string(),
    }
}

#[cfg(test)]
#[path = "../../../tests/unit/observe/stats/report.rs"]
mod tests;
