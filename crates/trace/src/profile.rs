//! The parallelism of a program: work, span, and the bounds on the speed-up that follow.
//!
//! A recorded run is a graph of strands ([`recording`](crate::recording)). Its *work* `T1` is the
//! time of all strands, which one worker would need; its *span* `Tinf` is the time of a longest
//! path, which is needed on any number of workers. Then on `P` workers
//!
//! ```text
//!   T_P >= T1 / P                            the work law
//!   T_P >= Tinf                              the span law
//!   T_P <= (T1 - Tinf) / P + Tinf            for a greedy scheduler (Graham; Brent)
//!   T_P <= T1 / P + c Tburdened              expected of work stealing
//! ```
//!
//! The *burdened* span is the span of the same graph in which every forked or spawned task is
//! charged for its way to another worker and back, as in Cilkview (He, Leiserson, Leiserson, "The
//! Cilkview scalability analyzer"): on a path through many short tasks, steals take most of the
//! time.

use std::fmt;
use std::time::Duration;

use crate::recording::{Node, Recording};

/// The constant c of the last bound: the largest that the simulator's check of the bound has found
/// for lock-free work stealing, over all computations it tries (`locksley theory`). The proven
/// constant is 32 (Rito, "Scheduling computations").
const SPAN_COEFFICIENT: f64 = 1.44;

/// The parallelism of a run. Created by `Pool::profile` of the runtime.
///
/// **Accuracy.** The structure, and so [`spawns`](Profile::spawns) and
/// [`strands`](Profile::strands), is exact. Times are those of a run in which the clock is read
/// whenever a strand begins or ends. This overhead is measured just before the run, on empty
/// strands, and subtracted from each strand: some 45 nanoseconds, of which 5 to 10 remain. For
/// balanced trees of joins, with one worker and with two, the work came out within 6% of that of
/// the serial program where the leaves take 1.5 microseconds or more, and within 16% at 150
/// nanoseconds. Below that, work and span are upper bounds.
///
/// The span is that of the path which took longest in this run. If the operating system interrupts
/// a strand for some tens of microseconds, the span may include that time; so it says little about
/// runs whose span is not much longer. In the same way, the time in which a strand waits for a lock
/// counts as its work. Use no more workers than processors, and run nothing else. Strands that run
/// at the same time share caches and memory, as they do without a profile; a profile with one
/// worker leaves out that effect.
///
/// **Coverage.** A profile covers joins and scopes; tasks on their own (`spawn` and its variants)
/// whose handles the closure waits for; the tasks of a flow, each after those that it needs; the
/// nodes of a graph without conditions; and loops, split as far as they would be if all workers
/// were idle. Tasks that the closure starts and does not wait for, and graphs with conditions, are
/// counted in [`unordered`](Profile::unordered).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Profile {
    /// Total time of all strands: T1.
    pub work: Duration,
    /// Time of the longest path: Tinf.
    pub span: Duration,
    /// Time of the longest path if every task that is forked on it goes to another worker and back.
    pub burdened_span: Duration,
    /// Time of one such way to another worker and back, on which the burdened span is based.
    pub burden: Duration,
    /// Number of strands between forks and joins.
    pub strands: usize,
    /// Number of forks: joins, spawned tasks, tasks of flows that are ready together.
    pub spawns: usize,
    /// Number of tasks that are not in the profile, because the closure did not wait for them, or
    /// because their order is not known. If there are any, span and bounds say nothing about the
    /// program, and are not printed.
    pub unordered: usize,
}

/// Bounds on the speed-up on a number of workers, from a [`Profile`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Number of workers.
    pub workers: usize,
    /// Upper bound for every scheduler: the work law and the span law.
    pub most: f64,
    /// Lower bound for a greedy scheduler without overhead.
    pub greedy: f64,
    /// Expected lower bound for work stealing, where every steal takes time.
    pub burdened: f64,
}

impl Profile {
    /// The default time to get a task to another worker and its result back: a thief needs one to
    /// four microseconds for a steal under the default strategy, and both sides have cache misses
    /// afterwards.
    pub const BURDEN: Duration = Duration::from_micros(5);

    /// Returns the profile as JSON of the format `locksley-profile/1`: times in nanoseconds, and
    /// the bounds on the speed-up on 2 to 128 workers, unless there are
    /// [unordered](Profile::unordered) tasks.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut bounds = String::new();
        for workers in [2, 4, 8, 16, 32, 64, 128] {
            if self.unordered > 0 {
                break;
            }
            let bound = self.bounds(workers);
            let comma = if workers == 2 { "" } else { ",\n" };
            bounds += &format!(
                "{comma}  {{\"workers\": {workers}, \"most\": {}, \"greedy\": {}, \"burdened\": \
                 {}}}",
                rounded(bound.most),
                rounded(bound.greedy),
                rounded(bound.burdened)
            );
        }
        format!(
            "{{\"format\": \"locksley-profile/1\", \"work_ns\": {}, \"span_ns\": {}, \
             \"burdened_span_ns\": {}, \"burden_ns\": {}, \"strands\": {}, \"spawns\": {}, \
             \"unordered\": {}, \"parallelism\": {}, \"burdened_parallelism\": {}, \
             \"bounds\": [\n{}\n]}}\n",
            nanoseconds(self.work),
            nanoseconds(self.span),
            nanoseconds(self.burdened_span),
            nanoseconds(self.burden),
            self.strands,
            self.spawns,
            self.unordered,
            rounded(self.parallelism()),
            rounded(self.burdened_parallelism()),
            bounds
        )
    }

    /// Returns work over span: the number of workers that the program could keep busy on average.
    #[must_use]
    pub fn parallelism(&self) -> f64 {
        ratio(self.work, self.span).max(1.0)
    }

    /// Returns work over burdened span: the number of workers that the program could keep busy if
    /// every forked task was stolen.
    #[must_use]
    pub fn burdened_parallelism(&self) -> f64 {
        ratio(self.work, self.burdened_span)
    }

    /// Returns the bounds on the speed-up on `workers` workers; 0 counts as 1.
    #[must_use]
    pub fn bounds(&self, workers: usize) -> Bounds {
        let workers = workers.max(1);
        let count = workers as f64;
        let [work, span, burdened] =
            [self.work, self.span, self.burdened_span].map(|time| time.as_secs_f64());
        let over = |time: f64| if time > 0.0 { work / time } else { 1.0 };
        let most = count.min(self.parallelism());
        // A single worker does not steal.
        let (greedy, stealing) = if workers == 1 {
            (1.0, 1.0)
        } else {
            (
                over((work - span).max(0.0) / count + span),
                over(work / count + SPAN_COEFFICIENT * burdened),
            )
        };
        Bounds {
            workers,
            most,
            greedy: greedy.min(most),
            burdened: stealing.min(greedy).min(most),
        }
    }
}

impl Recording {
    /// Computes work, span and the bounds that follow. `burden` is the time to get a task to
    /// another worker and its result back (usually [`Profile::BURDEN`]); `cost` is subtracted from
    /// each strand, as the overhead of recording it.
    ///
    /// Several runs count as executed one after the other.
    #[must_use]
    pub fn profile(&self, burden: Duration, cost: Duration) -> Profile {
        let graph = self.graph();
        let nodes = &graph.nodes;
        let [burden, cost] =
            [burden, cost].map(|time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
        let times = || {
            nodes
                .iter()
                .map(|node| node.nanoseconds.saturating_sub(cost))
        };
        let span = |burden| longest_path(nodes, &times().collect::<Vec<_>>(), burden);
        Profile {
            work: Duration::from_nanos(times().fold(0, u64::saturating_add)),
            span: Duration::from_nanos(span(0)),
            burdened_span: Duration::from_nanos(span(burden)),
            burden: Duration::from_nanos(burden),
            strands: nodes.len(),
            spawns: graph.forks(),
            unordered: graph.unordered,
        }
    }
}

/// Returns the time of a longest path from the first node, if each edge to a forked task takes
/// `burden`.
fn longest_path(nodes: &[Node], times: &[u64], burden: u64) -> u64 {
    let mut missing = vec![0_u32; nodes.len()];
    for next in nodes.iter().flat_map(|node| node.next).flatten() {
        missing[next] += 1;
    }
    // The earliest time at which each node can begin; and the nodes whose predecessors are all
    // done.
    let (mut begin, mut ready) = (vec![0_u64; nodes.len()], vec![0]);
    let mut longest = 0;
    while let Some(at) = ready.pop() {
        let end = begin[at].saturating_add(times[at]);
        longest = longest.max(end);
        for (next, way) in nodes[at].next.into_iter().zip([0, burden]) {
            let Some(next) = next else { continue };
            begin[next] = begin[next].max(end.saturating_add(way));
            missing[next] -= 1;
            if missing[next] == 0 {
                ready.push(next);
            }
        }
    }
    longest
}

/// Formats a positive number to four decimal places, without the standard library's code for
/// floats, which is 20 KB in a program that formats no other float.
#[inline(never)]
fn rounded(number: f64) -> String {
    let parts = (number * 1e4).round() as u64;
    format!("{}.{:04}", parts / 10_000, parts % 10_000)
}

/// Returns a time as a `u64`, so that it is not formatted by the code for 128 bits.
fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn ratio(work: Duration, time: Duration) -> f64 {
    if time.is_zero() {
        1.0
    } else {
        work.as_secs_f64() / time.as_secs_f64()
    }
}

/// Prints a table with bounds for up to 128 workers.
impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = |f: &mut fmt::Formatter<'_>, name: &str, time: Duration, parallelism: f64| {
            writeln!(
                f,
                "{name:<14} {:>12}   parallelism {parallelism:.1}",
                format!("{time:.1?}")
            )
        };
        writeln!(f, "{:<14} {:>12}", "work", format!("{:.1?}", self.work))?;
        if self.unordered > 0 {
            return self.write_without_bounds(f);
        }
        line(f, "span", self.span, self.parallelism())?;
        line(
            f,
            "burdened span",
            self.burdened_span,
            self.burdened_parallelism(),
        )?;
        let each = self.work / u32::try_from(self.strands).unwrap_or(u32::MAX).max(1);
        writeln!(
            f,
            "{:<14} {:>12}   of {each:.1?} on average",
            "strands", self.strands
        )?;
        writeln!(
            f,
            "{:<14} {:>12}   burden {:?} each",
            "spawns", self.spawns, self.burden
        )?;
        writeln!(f, "\nspeed-up\n  workers  at most  at least")?;
        for doublings in 0..8 {
            let bounds = self.bounds(1 << doublings);
            let (workers, most, least) = (bounds.workers, bounds.most, bounds.burdened);
            writeln!(f, "  {workers:>7}  {most:>7.2}  {least:>8.2}")?;
        }
        writeln!(
            f,
            "  at most: no scheduler can do better; at least: a greedy one that pays for every \
             steal"
        )
    }
}

impl Profile {
    /// Prints what is known if the order of some tasks is not.
    fn write_without_bounds(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<14} {:>12}", "spawns", self.spawns)?;
        writeln!(
            f,
            "\nno span and no bounds: {} started that the closure did not wait for, or whose \
             order\n\
             is not known; wait for the handles of spawned tasks, or spawn into a scope",
            match self.unordered {
                1 => "a task was".to_owned(),
                several => format!("{several} tasks were"),
            }
        )
    }
}

#[cfg(test)]
#[path = "../tests/unit/profile.rs"]
mod tests;
