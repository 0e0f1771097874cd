//! What the workers of a pool have done, counted: snapshots, their differences and sums, and the
//! table.

use std::fmt;
use std::ops::{Add, Sub};

macro_rules! worker_stats {
    ($($(#[doc = $doc:literal])* $event:ident, $field:ident, $head:literal;)*) => {
        /// Something that is counted.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Event {
            $($(#[doc = $doc])* $event,)*
        }

        /// What one worker has done since the pool was built, or between two snapshots.
        ///
        /// Attempts to steal add up: `steal_attempts == steals + empty + retried + private`, but for
        /// those under way.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct WorkerStats {
            $($(#[doc = $doc])* pub $field: u64,)*
            /// Jobs of others that are stacked on the worker's stack now, because it took each of
            /// them while it waited. Not a count: a difference has the later value, a total the
            /// highest.
            pub depth: u64,
            /// The highest depth so far; never above `Builder::depth_limit`. A difference has the
            /// later value, a total the highest.
            pub deepest: u64,
        }

        /// How many events there are.
        pub const EVENTS: usize = [$(Event::$event),*].len();

        /// What stands above the columns.
        const HEADS: [&str; EVENTS + 2] = [$($head,)* "depth", "deepest"];

        impl WorkerStats {
            /// Creates it from the count of each event.
            pub fn new(count: impl Fn(Event) -> u64, depth: u64, deepest: u64) -> Self {
                WorkerStats { $($field: count(Event::$event),)* depth, deepest }
            }

            fn columns(&self) -> [u64; EVENTS + 2] {
                [$(self.$field,)* self.depth, self.deepest]
            }

            /// All fields, by their names, for output.
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

worker_stats! {
    /// Jobs run by the worker's main loop, or while it waited. What a join takes back and runs
    /// itself is not counted.
    Task, tasks, "tasks";
    /// Attempts to steal.
    Attempt, steal_attempts, "attempts";
    /// Searches in which a policy chose whom to try first, and it was tried. Contained in
    /// `steal_attempts`.
    Chosen, chosen, "chosen";
    /// Searches that a policy skipped.
    Skipped, skipped, "skipped";
    /// Attempts that got a job.
    Stolen, steals, "steals";
    /// Attempts that found nothing.
    Empty, empty, "empty";
    /// Attempts that another thief, or the owner, got in the way of.
    Retried, retried, "retried";
    /// Attempts that found only private work (strategy `semi-private`), or after which the victim
    /// was asked to deal (strategy `dealing`).
    Private, private, "private";
    /// Jobs got while waiting that descend from what was waited for. Contained in `steals`.
    Leapfrogged, leapfrogged, "leapfrog";
    /// Attempts made by a worker that had work, to even the queues out (strategy `steal-half`).
    /// Contained in `steal_attempts`.
    Balanced, balanced, "balanced";
    /// Jobs that came from another's queue into the worker's own: with a stolen one, or by
    /// balancing (strategy `steal-half`).
    BatchStolen, batch_stolen, "batch";
    /// Jobs offered to an idle worker (strategy `sharing`).
    Offered, offered, "offered";
    /// Attempts to offer a job that found no idle worker (strategy `sharing`).
    Refused, refused, "refused";
    /// Jobs whose offer was left in another worker's mailbox (strategy `sharing`).
    Mailed, mailed, "mailed";
    /// Offers of others that the worker took up: each is a job (strategy `sharing`).
    Accepted, accepted, "accepted";
    /// Offers of others whose job had been taken meanwhile (strategy `sharing`).
    Late, late, "late";
    /// Pointers in the worker's queue to jobs that others had accepted, when a worker took them
    /// (strategy `sharing`).
    Ghost, ghosts, "ghosts";
    /// Jobs dealt to other workers (strategy `dealing`).
    Dealt, dealt, "dealt";
    /// Spawned jobs that the worker dealt to itself (strategy `dealing`).
    Kept, kept, "kept";
    /// Jobs of others that the worker took from its buffers (strategy `dealing`).
    Collected, collected, "collected";
    /// Jobs that the worker had dealt to others and took back, because it waited for them (strategy
    /// `dealing`).
    Recalled, recalled, "recalled";
    /// Jobs that the worker spawned near some worker (strategy `dealing`).
    Near, near, "near";
    /// Jobs that the worker executed which had been spawned near it, and dealt to it (strategy
    /// `dealing`).
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
    /// Times that the worker blocked: out of work, or waiting for what another one does.
    Park, parks, "parks";
    /// Sleeping workers that this one woke.
    Woken, woken, "woken";
    /// Exposures that this worker forced on a victim which did not answer.
    Forced, forced, "forced";
    /// Waits in which this worker took any work, because no spare could take its place.
    NoSpare, no_spare, "no spare";
    /// Spare workers that this one called up.
    Spare, spares, "spares";
}

/// What the workers of a pool have done: a snapshot made by `Pool::stats` of the runtime, or
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
    places: Vec<WorkerStats>,
    outside: WorkerStats,
}

impl Stats {
    /// Creates a snapshot of a pool of `size` workers, the spares behind them.
    pub fn new(size: usize, places: Vec<WorkerStats>, outside: WorkerStats) -> Stats {
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
    #[inline(never)]
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

impl fmt::Display for Stats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let heads: Vec<String> = HEADS.iter().map(|&head| head.to_owned()).collect();
        let mut rows = vec![("worker".to_owned(), heads)];
        for (index, one) in self.places.iter().enumerate() {
            let spare = if index < self.size { "" } else { "spare " };
            rows.push((format!("{spare}{index}"), texts(one)));
        }
        rows.push(("outside".to_owned(), texts(&self.outside)));
        let total = self.total();
        rows.push(("total".to_owned(), texts(&total)));
        let total = total.columns();
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
#[path = "../tests/unit/stats.rs"]
mod tests;
