//! How parallel a program is: work, span, and what they say about the speed-up.
//!
//! The recorded run is a graph of strands (`record`). Its *work* `T1` is the time of all strands,
//! which one worker would need; its *span* `Tinf` that of a longest path, which no number of
//! workers can do without. Then on `P` workers
//!
//! ```text
//!   T_P >= T1 / P                            the work law
//!   T_P >= Tinf                              the span law
//!   T_P <= (T1 - Tinf) / P + Tinf            for a greedy scheduler (Graham; Brent)
//!   T_P <= T1 / P + c Tburdened              expected of work stealing
//! ```
//!
//! The *burdened* span is that of the same graph in which whatever was forked or spawned pays for
//! its way to another worker and back, as in Cilkview (He, Leiserson, Leiserson, "The Cilkview
//! scalability analyzer"): on a path that goes through many short tasks, the steals take the time.

use std::fmt;
use std::time::Duration;

use crate::recording::{Node, Recording};

/// The constant of the last bound: the largest that the simulator's check of it has found for
/// lock-free work stealing, over all computations it tries (`locksley theory`). What is proven is
/// 32 (Rito, "Scheduling computations").
const SPAN_COEFFICIENT: f64 = 1.44;

/// How parallel a run was. Made by `Pool::profile` of the runtime.
///
/// **How accurate it is.** The structure, and so [`spawns`](Profile::spawns) and
/// [`strands`](Profile::strands), is exact. Times are those of a run in which the clock is read
/// whenever a strand begins or ends. What that adds is measured just before, on strands in which
/// nothing happens, and taken off each: some 45 nanoseconds, of which 5 to 10 remain. For balanced
/// trees of joins, with one worker and with two, the work came out within 6% of that of the serial
/// program where the leaves take 1.5 microseconds or more, and within 16% at 150 nanoseconds. Below
/// that take work and span as upper bounds.
///
/// The span is that of the path which took longest this time. If the operating system interrupts a
/// strand for some tens of microseconds, that is on it; so it says little about runs whose span is
/// not much longer. In the same way the time in which a strand waits for a lock counts as its work.
/// Have no more workers than processors, and nothing else running. Strands that run at the same
/// time share caches and memory, as they will without a profile; a profile with one worker does
/// without.
///
/// **What it is of.** Joins and scopes; tasks on their own (`spawn` and its kin) whose handles the
/// closure waits for; the tasks of a flow, each after those that it needs; the nodes of a graph
/// without conditions; loops, split as far as they would be if all workers were idle. What the
/// closure starts and does not wait for, and graphs with conditions, are counted in
/// [`unordered`](Profile::unordered).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Profile {
    /// How long all strands took together: T1.
    pub work: Duration,
    /// How long the longest path took: Tinf.
    pub span: Duration,
    /// How long the longest path takes if all that was forked on it goes to another worker and
    /// back.
    pub burdened_span: Duration,
    /// What such a way takes, on which the burdened span is based.
    pub burden: Duration,
    /// How many strands there were between forks and joins.
    pub strands: usize,
    /// How many forks there were: joins, spawned tasks, tasks of flows that are ready together.
    pub spawns: usize,
    /// How many tasks are not in the profile, because the closure did not wait for them, or because
    /// their order is not known. If there are any, span and bounds say nothing about the program,
    /// and are not printed.
    pub unordered: usize,
}

/// What a [`Profile`] says about the speed-up on a number of workers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// On so many workers.
    pub workers: usize,
    /// No scheduler gets more: the work law and the span law.
    pub most: f64,
    /// A greedy scheduler that needs no time for itself gets at least this.
    pub greedy: f64,
    /// What work stealing can be expected to get at least, where every steal takes its time.
    pub burdened: f64,
}

impl Profile {
    /// The usual time to get a task to another worker and its result back: a thief needs one to
    /// four microseconds for a steal under the default strategy, and both sides miss their caches
    /// afterwards.
    pub const BURDEN: Duration = Duration::from_micros(5);

    /// The profile as JSON of the format `locksley-profile/1`: times in nanoseconds, and what they
    /// say about the speed-up on 2 to 128 workers, unless there are [unordered](Profile::unordered)
    /// tasks.
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

    /// Work over span: how many workers it could keep busy on average.
    #[must_use]
    pub fn parallelism(&self) -> f64 {
        ratio(self.work, self.span).max(1.0)
    }

    /// Work over burdened span: how many workers it could keep busy if every fork was stolen.
    #[must_use]
    pub fn burdened_parallelism(&self) -> f64 {
        ratio(self.work, self.burdened_span)
    }

    /// The speed-up on so many workers, at least one.
    #[must_use]
    pub fn bounds(&self, workers: usize) -> Bounds {
        let workers = workers.max(1);
        let count = workers as f64;
        let [work, span, burdened] =
            [self.work, self.span, self.burdened_span].map(|time| time.as_secs_f64());
        let over = |time: f64| if time > 0.0 { work / time } else { 1.0 };
        let most = count.min(self.parallelism());
        // A single worker steals nothing.
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
    /// Work, span and what follows from them, given what it takes to get a task to another worker
    /// and its result back (usually [`Profile::BURDEN`]), and what is to be taken
    /// off each strand for having been recorded.
    ///
    /// Several runs follow each other.
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

/// How long a longest path from the first node takes, if each way to what was forked takes so long.
fn longest_path(nodes: &[Node], times: &[u64], burden: u64) -> u64 {
    let mut missing = vec![0_u32; nodes.len()];
    for next in nodes.iter().flat_map(|node| node.next).flatten() {
        missing[next] += 1;
    }
    // When each node can begin; and those of which all before them are done.
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

/// A positive number to four decimal places, without what the standard library has for more: that
/// is 20 KB in a program that prints no other.
#[inline(never)]
fn rounded(number: f64) -> String {
    let parts = (number * 1e4).round() as u64;
    format!("{}.{:04}", parts / 10_000, parts % 10_000)
}

/// A time as a number that is not written by the code for 128 bits.
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

/// A table for people, up to 128 workers.
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
    /// What is printed where the order of some tasks is not known.
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
