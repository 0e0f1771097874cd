//! Counters of what the workers of a pool have done: snapshots, their differences and sums, and the
//! table that prints them.

use std::fmt;
use std::ops::{Add, Sub};

macro_rules! worker_stats {
    ($($(#[doc = $doc:literal])* $event:ident, $field:ident, $head:literal;)*) => {
        /// An event that is counted.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Event {
            $($(#[doc = $doc])* $event,)*
        }

        /// What one worker has done since the pool was built, or between two snapshots.
        ///
        /// Attempts to steal add up: `steal_attempts == steals + empty + retried + private`, except
        /// for attempts under way.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct WorkerStats {
            $($(#[doc = $doc])* pub $field: u64,)*
            /// Number of jobs of other workers that are nested on the worker's stack at the moment,
            /// because it took each of them while it waited. This is not a counter: a difference
            /// has the later value, a total the highest.
            pub depth: u64,
            /// The highest depth so far; never above `Builder::depth_limit`. A difference has the
            /// later value, a total the highest.
            pub deepest: u64,
        }

        /// Number of events.
        pub const EVENTS: usize = [$(Event::$event),*].len();

        /// Headings of the table's columns.
        const HEADS: [&str; EVENTS + 2] = [$($head,)* "depth", "deepest"];

        impl WorkerStats {
            /// Creates the statistics from the count of each event.
            pub fn new(count: impl Fn(Event) -> u64, depth: u64, deepest: u64) -> Self {
                WorkerStats { $($field: count(Event::$event),)* depth, deepest }
            }

            fn columns(&self) -> [u64; EVENTS + 2] {
                [$(self.$field,)* self.depth, self.deepest]
            }

            /// Returns all fields with their names, for output.
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

            /// Returns what was done since an earlier snapshot. A counter that is lower than in
            /// `earlier`, as between two pools, becomes 0.
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

worker_stats! {
    /// Jobs run by the worker's main loop, or while it waited. Jobs that a join takes back and runs
    /// itself are not counted.
    Task, tasks, "tasks";
    /// Attempts to steal.
    Attempt, steal_attempts, "attempts";
    /// Searches in which the thief tried a victim that a policy had chosen first. Contained in
    /// `steal_attempts`.
    Chosen, chosen, "chosen";
    /// Searches that a policy skipped.
    Skipped, skipped, "skipped";
    /// Attempts that got a job.
    Stolen, steals, "steals";
    /// Attempts that found nothing.
    Empty, empty, "empty";
    /// Attempts that failed because another thief or the owner interfered.
    Retried, retried, "retried";
    /// Attempts that found only private work (strategy `semi-private`), or after which the victim
    /// was asked to deal (strategy `dealing`).
    Private, private, "private";
    /// Jobs stolen while waiting that descend from the job that was waited for. Contained in
    /// `steals`.
    Leapfrogged, leapfrogged, "leapfrog";
    /// Attempts made by a worker that had work, to even out the queues (strategy `steal-half`).
    /// Contained in `steal_attempts`.
    Balanced, balanced, "balanced";
    /// Jobs moved from another worker's queue into the worker's own: along with a stolen one, or by
    /// balancing (strategy `steal-half`).
    BatchStolen, batch_stolen, "batch";
    /// Jobs offered to an idle worker (strategy `sharing`).
    Offered, offered, "offered";
    /// Attempts to offer a job that found no idle worker (strategy `sharing`).
    Refused, refused, "refused";
    /// Jobs whose offer was left in another worker's mailbox (strategy `sharing`).
    Mailed, mailed, "mailed";
    /// Offers of other workers that the worker accepted: each is a job (strategy `sharing`).
    Accepted, accepted, "accepted";
    /// Offers of other workers whose job had been taken before the worker accepted (strategy
    /// `sharing`).
    Late, late, "late";
    /// Ghosts that were taken from the worker's queue: pointers to jobs that other workers had
    /// accepted (strategy `sharing`).
    Ghost, ghosts, "ghosts";
    /// Jobs dealt to other workers (strategy `dealing`).
    Dealt, dealt, "dealt";
    /// Spawned jobs that the worker dealt to itself (strategy `dealing`).
    Kept, kept, "kept";
    /// Jobs of other workers that the worker took from its buffers (strategy `dealing`).
    Collected, collected, "collected";
    /// Jobs that the worker had dealt to others and took back, because it waited for them (strategy
    /// `dealing`).
    Recalled, recalled, "recalled";
    /// Jobs that the worker spawned with an affinity, as by `spawn_near` (strategy `dealing`).
    Near, near, "near";
    /// Jobs that the worker executed and that had been spawned with affinity to it and dealt to it
    /// (strategy `dealing`).
    Hit, hits, "hits";
    /// Jobs handed to the pool's queue.
    Handed, handed, "handed";
    /// Jobs made public on demand (strategy `semi-private`).
    Exposed, exposed, "exposed";
    /// Sequentially consistent fences in the queues.
    Fence, fences, "fences";
    /// Atomic read-modify-writes in the queues: compare-and-swap, swap, fetch-and-add.
    Rmw, rmws, "rmws";
    /// `membarrier` system calls: of steals, and before sleeping.
    Membarrier, membarriers, "membarriers";
    /// Times that the worker blocked: out of work, or waiting for another worker.
    Park, parks, "parks";
    /// Sleeping workers that this one woke.
    Woken, woken, "woken";
    /// Exposures that this worker forced on a victim that did not answer.
    Forced, forced, "forced";
    /// Waits in which this worker took any work, because no spare could replace it.
    NoSpare, no_spare, "no spare";
    /// Spare workers that this one activated.
    Spare, spares, "spares";
}

/// What the workers of a pool have done: a snapshot made by `Pool::stats` of the runtime, or the
/// difference of two.
///
/// It prints as a table with a line for each worker and each spare (which replaces a waiting
/// worker), one for the threads outside of the pool, which hand over jobs and wake workers, and one
/// for the total. Columns in which all values are 0 are left out:
///
/// | column | field of [`WorkerStats`] |
/// |---|---|
/// | `tasks` | jobs run by the main loop, or while waiting |
/// | `attempts` | attempts to steal |
/// | `chosen`, `skipped` | searches in which a policy chose the first victim, or that it skipped (strategy `flexible`) |
/// | `steals`, `empty`, `retried`, `private` | outcomes of the attempts |
/// | `leapfrog` | jobs stolen while waiting that descend from the job that was waited for |
/// | `balanced`, `batch` | attempts to balance while there was work; jobs moved from queue to queue (strategy `steal-half`) |
/// | `offered`, `refused`, `mailed` | jobs offered to others; attempts that found no idle worker; offers left in mailboxes (strategy `sharing`) |
/// | `accepted`, `late`, `ghosts` | offers accepted; offers that came too late; ghosts of accepted jobs in the donor's queue (strategy `sharing`) |
/// | `dealt`, `kept`, `collected`, `recalled` | jobs dealt to other workers; to itself; taken from its buffers; taken back from other workers' buffers (strategy `dealing`) |
/// | `near`, `hits` | jobs spawned with an affinity; jobs executed where they had affinity (strategy `dealing`) |
/// | `handed` | jobs handed to the pool's queue |
/// | `exposed` | jobs made public on demand (strategy `semi-private`) |
/// | `fences`, `rmws`, `membarriers` | expensive operations; `rmws` are read-modify-writes |
/// | `parks`, `woken` | times that the worker blocked; sleepers that it woke |
/// | `forced` | exposures forced on a victim that did not answer |
/// | `no spare` | waits in which a worker took any work, because no spare could replace it |
/// | `spares` | spare workers activated |
/// | `depth`, `deepest` | jobs of other workers nested by waits, now and at most |
///
/// ```
/// use locksley_trace::stats::{Event, Stats, WorkerStats};
///
/// let worker = |jobs| WorkerStats::new(|event| u64::from(event == Event::Task) * jobs, 0, 0);
/// let before = Stats::new(2, vec![worker(3), worker(0)], worker(0));
/// let after = Stats::new(2, vec![worker(5), worker(4)], worker(0));
/// let during = after - before;
/// assert_eq!(during.total().tasks, 6);
/// assert!(during.total().counts().contains(&("tasks", 6)));
/// println!("{during}");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    size: usize,
    slots: Vec<WorkerStats>,
    outside: WorkerStats,
}

impl Stats {
    /// Creates a snapshot of a pool of `size` workers. `slots` has the workers, then the spares.
    pub fn new(size: usize, slots: Vec<WorkerStats>, outside: WorkerStats) -> Stats {
        Stats {
            size,
            slots,
            outside,
        }
    }

    /// Returns the statistics of each worker, by index, followed by those of the spares that have
    /// been activated so far.
    #[must_use]
    pub fn workers(&self) -> &[WorkerStats] {
        &self.slots
    }

    /// Returns the statistics of threads outside of the pool, which `install`, `spawn` and wait.
    #[must_use]
    pub fn outside(&self) -> WorkerStats {
        self.outside
    }

    /// Returns the sum over all workers, spares and threads outside.
    #[inline(never)]
    #[must_use]
    pub fn total(&self) -> WorkerStats {
        self.slots.iter().fold(self.outside, |sum, &one| sum + one)
    }
}

impl Sub for Stats {
    type Output = Stats;

    /// Returns what was done since an earlier snapshot of the same pool.
    fn sub(mut self, earlier: Stats) -> Stats {
        for (now, then) in self.slots.iter_mut().zip(earlier.slots) {
            *now = *now - then;
        }
        self.outside = self.outside - earlier.outside;
        self
    }
}

impl fmt::Display for Stats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let heads: Vec<String> = HEADS.iter().map(|&head| head.to_owned()).collect();
        let mut rows = vec![("worker".to_owned(), heads)];
        for (index, one) in self.slots.iter().enumerate() {
            let spare = if index < self.size { "" } else { "spare " };
            rows.push((format!("{spare}{index}"), texts(one)));
        }
        rows.push(("outside".to_owned(), texts(&self.outside)));
        let total = self.total();
        rows.push(("total".to_owned(), texts(&total)));
        let total = total.columns();
        // A total is 0 only if its whole column is. The first column is always shown.
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

/// Returns a row of the table. A vector, not an array: loops over arrays are unrolled.
#[inline(never)]
fn texts(one: &WorkerStats) -> Vec<String> {
    one.columns().iter().map(|&count| text(count)).collect()
}

/// Returns a count as the table shows it: zeros are dots, which are easier to overlook.
fn text(count: u64) -> String {
    match count {
        0 => ".".to_owned(),
        _ => count.to_string(),
    }
}

#[cfg(test)]
#[path = "../tests/unit/stats.rs"]
mod tests;
