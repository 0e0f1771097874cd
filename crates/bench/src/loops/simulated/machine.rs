//! Simulates, event by event, a machine of many processors that runs one loop.
//!
//! The costs of items are recorded ones. The rules for splitting are those of the two libraries.
//! The costs of a fork, of a failed attempt and of a steal are the same for both, so that only the
//! rules differ.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

/// Cost of a fork, in nanoseconds.
const FORK: u64 = 20;

/// Cost of a failed attempt to steal, in nanoseconds.
const LOOK: u64 = 100;

/// Cost of stealing a piece and starting it, in nanoseconds.
const STEAL: u64 = 500;

/// Target duration of a block, and smallest duration of the remaining items for a split, in
/// nanoseconds, as in `locksley::par`.
const BLOCK: u64 = 1_200;
const WORTH_STEALING: u64 = 4_600;

/// Largest ratio of the lengths of a block and the one before it.
const GROWTH: usize = 32;

/// Largest number of items in the first block.
const FIRST: usize = 8;

/// The costs of the items of a loop.
#[derive(Debug)]
pub(super) struct Costs {
    /// Prefix sums of the costs in nanoseconds, beginning with 0.
    pub(super) sums: Vec<u64>,
}

/// The rule by which a loop is split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// When another processor is out of work: `locksley::par`.
    OnRequest,
    /// In advance, as often as there are processors, and again after a steal: rayon.
    InAdvance,
}

/// The result of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Run {
    pub(super) forks: u64,
    pub(super) steals: u64,
    /// The time until the last item was done, in nanoseconds.
    pub(super) time: u64,
    /// The items' costs, divided by the time of all processors.
    pub(super) efficiency: f64,
}

/// A range of items to run.
#[derive(Clone, Debug)]
struct Piece {
    items: Range<usize>,
    /// Number of further splits in advance.
    splits: usize,
    /// Number of splits on request before the piece begins.
    planned: usize,
    /// Size of the next block.
    block: usize,
}

impl Piece {
    /// Splits off the right half.
    fn split(&mut self) -> Piece {
        let mid = self.items.start + self.items.len() / 2;
        let mut right = self.clone();
        (self.items.end, right.items.start) = (mid, mid);
        right
    }
}

#[derive(Clone, Debug, Default)]
struct Processor {
    current: Option<Piece>,
    is_idle: bool,
    /// Oldest first.
    queue: Vec<Piece>,
}

struct Machine<'c> {
    rule: Rule,
    /// Prefix sums of the costs, beginning with 0.
    sums: &'c [u64],
    processors: Vec<Processor>,
    /// Time of the next event of each processor.
    events: BinaryHeap<Reverse<(u64, usize)>>,
    /// Number of processors without work.
    idle: usize,
    left: usize,
    random: u64,
    run: Run,
}

/// Simulates a loop on `processors` processors.
pub(super) fn simulate(rule: Rule, costs: &Costs, processors: usize, seed: u64) -> Run {
    let len = costs.sums.len() - 1;
    let mut machine = Machine {
        rule,
        sums: &costs.sums,
        processors: vec![Processor::default(); processors],
        events: (0..processors).map(|p| Reverse((0, p))).collect(),
        idle: 0,
        left: len,
        random: seed | 1,
        run: Run {
            forks: 0,
            steals: 0,
            time: 0,
            efficiency: 0.0,
        },
    };
    let first = Piece {
        items: 0..len,
        splits: processors,
        planned: 0,
        block: (len / (32 * processors) + 1).min(FIRST),
    };
    machine.processors[0].current = Some(first);
    machine.go()
}

impl Machine<'_> {
    fn go(mut self) -> Run {
        while self.left > 0 {
            let Some(Reverse((now, processor))) = self.events.pop() else {
                break;
            };
            let next = match self.rule {
                Rule::OnRequest => self.block(now, processor),
                Rule::InAdvance => self.piece(now, processor),
            };
            let next = next.unwrap_or_else(|| self.look_for_work(now, processor));
            self.events.push(Reverse((next, processor)));
        }
        let work = self.sums[self.sums.len() - 1];
        let all = self.run.time as f64 * self.processors.len() as f64;
        self.run.efficiency = work as f64 / all;
        self.run
    }

    /// Runs items, and returns the time at which they are done.
    fn execute(&mut self, now: u64, items: Range<usize>) -> u64 {
        let end = now + self.sums[items.end] - self.sums[items.start];
        self.left -= items.len();
        self.run.time = self.run.time.max(end);
        end
    }

    /// Runs a block of the processor's piece, after a split if another processor is out of work.
    /// Returns the time at which it is done, or `None` if there is no piece.
    fn block(&mut self, mut now: u64, processor: usize) -> Option<u64> {
        let wanted = match self.idle {
            0 => 0,
            idle => idle.ilog2() as usize + 1,
        };
        let sums = self.sums;
        let cost = |items: &Range<usize>| sums[items.end] - sums[items.start];
        let me = &mut self.processors[processor];
        let mut piece = me.current.take().or_else(|| me.queue.pop())?;
        if piece.planned == 0 && me.queue.is_empty() && now > 0 {
            piece.planned = wanted;
        }
        while piece.planned > 0 && piece.items.len() > 1 && cost(&piece.items) >= WORTH_STEALING {
            piece.planned -= 1;
            piece.block = piece.block / 4 + 1;
            let right = piece.split();
            me.queue.push(right);
            self.run.forks += 1;
            now += FORK;
        }
        piece.planned = 0;
        let len = piece.block.min(piece.items.len());
        let start = piece.items.start;
        piece.items.start += len;
        let end = self.execute(now, start..start + len);
        let time = (end - now).max(1);
        let most = piece.block.saturating_mul(GROWTH);
        let is_short = (piece.items.len() as u64 * time) < WORTH_STEALING * len as u64;
        let wanted = (BLOCK as f64 * len as f64 / time as f64) as usize;
        piece.block = if is_short {
            most
        } else {
            wanted.clamp(1, most)
        };
        if !piece.items.is_empty() {
            self.processors[processor].current = Some(piece);
        }
        Some(end)
    }

    /// Splits the processor's piece according to the rule, and runs the rest of it.
    fn piece(&mut self, mut now: u64, processor: usize) -> Option<u64> {
        let me = &mut self.processors[processor];
        let mut piece = me.current.take().or_else(|| me.queue.pop())?;
        while piece.splits > 0 && piece.items.len() > 1 {
            piece.splits /= 2;
            let right = piece.split();
            me.queue.push(right);
            self.run.forks += 1;
            now += FORK;
        }
        Some(self.execute(now, piece.items))
    }

    /// Tries to steal from a random victim. Returns the time of the processor's next event.
    fn look_for_work(&mut self, now: u64, processor: usize) -> u64 {
        let count = self.processors.len();
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        let victim = (self.random >> 11) as usize % count;
        if !self.processors[processor].is_idle {
            self.processors[processor].is_idle = true;
            self.idle += 1;
        }
        if victim == processor || self.processors[victim].queue.is_empty() {
            return now + LOOK;
        }
        let mut piece = self.processors[victim].queue.remove(0);
        // rayon's rule for a piece that has migrated.
        piece.splits = count.max(piece.splits / 2);
        self.processors[processor].current = Some(piece);
        self.processors[processor].is_idle = false;
        self.idle -= 1;
        self.run.steals += 1;
        now + STEAL
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn costs(costs: impl Iterator<Item = u64>) -> Costs {
        let mut sum = 0;
        let add = |cost| {
            sum += cost;
            sum
        };
        let sums = std::iter::once(0).chain(costs.map(add)).collect();
        Costs { sums }
    }

    #[test]
    fn a_single_processor_forks_nothing_on_request() {
        let costs = costs((0..1000).map(|n| n * 10));
        let run = simulate(Rule::OnRequest, &costs, 1, 7);
        assert_eq!((run.forks, run.steals, run.time), (0, 0, costs.sums[1000]));
        let run = simulate(Rule::InAdvance, &costs, 1, 7);
        assert_eq!((run.forks, run.steals), (1, 0));
    }

    #[test]
    fn all_processors_are_used_and_none_is_more_than_perfect() {
        let costs = costs((0..20_000).map(|n| 200 + n % 7));
        for rule in [Rule::OnRequest, Rule::InAdvance] {
            for processors in [2, 4, 16, 64] {
                let run = simulate(rule, &costs, processors, 3);
                assert!(run.steals >= processors as u64 - 1, "{rule:?} {run:?}");
                assert!(run.forks >= run.steals, "{rule:?} {run:?}");
                assert!(
                    run.efficiency > 0.5 && run.efficiency <= 1.0,
                    "{rule:?} {run:?}"
                );
            }
        }
    }
}
