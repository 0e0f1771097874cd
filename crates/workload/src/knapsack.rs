//! The 0-1 knapsack by branch and bound: speculative, since a value that one worker finds saves
//! others work.
//!
//! The items are sorted by value per weight. At each item the search forks: with it, and without
//! it. A branch whose bound is not above the best value found so far is abandoned; the bound fills
//! the remaining room with the next item, in fractions and without limit. So the amount of
//! searching depends on the order in which branches run, but the result does not.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::fork::{Fork, Task};
use crate::program::{Mismatch, Program, expect};
use crate::random::below;

/// An item to pack.
#[derive(Clone, Copy, Debug)]
struct Item {
    weight: u64,
    value: u64,
}

/// Solves a knapsack problem. An operation is a branch of the serial search; a parallel search may
/// have more or fewer of them.
///
/// ```
/// use locksley_workload::{Knapsack, Program, Serial, Task};
///
/// let mut knapsack = Knapsack::new(20, 7);
/// let value = knapsack.task().run(Serial);
/// assert_eq!(knapsack.check(value), Ok(()));
/// ```
#[derive(Debug)]
pub struct Knapsack {
    /// The items, sorted by value per weight, the best first.
    items: Vec<Item>,
    room: u64,
    /// The best value found in this run so far.
    best: AtomicU64,
    expected: u64,
    branches: u64,
}

impl Knapsack {
    /// Creates a problem with `items` items, which depend on `seed`. The room is half of the total
    /// weight.
    pub fn new(items: usize, seed: u64) -> Knapsack {
        let (knapsack, _) = Knapsack::limited(items, seed, u64::MAX);
        knapsack
    }

    /// Like [`new`](Knapsack::new); also returns `true` if the serial search has at most `most`
    /// branches. If not, they are counted only up to there.
    ///
    /// ```
    /// let (knapsack, small) = locksley_workload::Knapsack::limited(30, 7, 10);
    /// assert!(!small);
    /// ```
    pub fn limited(items: usize, seed: u64, most: u64) -> (Knapsack, bool) {
        let items = generate(items, seed);
        let room = items.iter().map(|item| item.weight).sum::<u64>() / 2;
        let branches = count(&items, room, most);
        let knapsack = Knapsack {
            best: AtomicU64::new(0),
            expected: optimum(&items, room),
            branches,
            room,
            items,
        };
        (knapsack, branches <= most)
    }
}

/// Generates items whose values are about their weights plus a constant, so that the bound prunes
/// little.
fn generate(items: usize, seed: u64) -> Vec<Item> {
    let mut state = seed;
    let mut items: Vec<Item> = (0..items)
        .map(|_| {
            let weight = 100 + below(1000, &mut state);
            let value = weight + 90 + below(20, &mut state);
            Item { weight, value }
        })
        .collect();
    // a.value / a.weight > b.value / b.weight, without division.
    items.sort_by(|a, b| (b.value * a.weight).cmp(&(a.value * b.weight)));
    items
}

/// Returns the greatest value, by dynamic programming over the used room.
fn optimum(items: &[Item], room: u64) -> u64 {
    let mut best = vec![0; room as usize + 1];
    for item in items {
        let weight = item.weight as usize;
        for used in (weight..best.len()).rev() {
            best[used] = best[used].max(best[used - weight] + item.value);
        }
    }
    best.last().copied().unwrap_or(0)
}

/// Returns the number of branches of the serial search, counted up to one more than `most`.
fn count(items: &[Item], room: u64, most: u64) -> u64 {
    let (mut best, mut branches) = (0, 0);
    let mut stack = vec![(0, room, 0)];
    while let Some((next, room, value)) = stack.pop() {
        branches += 1;
        if branches > most {
            break;
        }
        best = best.max(value);
        if bound(&items[next..], room, value) <= best {
            continue;
        }
        let item = items[next];
        stack.push((next + 1, room, value));
        if item.weight <= room {
            stack.push((next + 1, room - item.weight, value + item.value));
        }
    }
    branches
}

/// Returns an upper bound on the value of any packing of these items: none has more value per
/// weight than the first one. It equals `value` if there are no items.
#[inline]
fn bound(items: &[Item], room: u64, value: u64) -> u64 {
    let more = items.first().map(|item| item.value * room / item.weight);
    value + more.unwrap_or(0)
}

impl Program for Knapsack {
    type Task<'p> = KnapsackTask<'p>;
    type Output = u64;

    fn operations(&self) -> u64 {
        self.branches
    }

    fn task(&mut self) -> KnapsackTask<'_> {
        *self.best.get_mut() = 0;
        KnapsackTask {
            items: &self.items,
            room: self.room,
            value: 0,
            best: &self.best,
        }
    }

    fn check(&self, output: u64) -> Result<(), Mismatch> {
        expect(self.expected, output)
    }
}

/// Packs the remaining items into the remaining room; the result is the best value seen in this
/// branch.
///
/// ```
/// use locksley_workload::{Knapsack, KnapsackTask, Program, Serial, Task};
///
/// let mut knapsack = Knapsack::new(2, 7);
/// let task: KnapsackTask = knapsack.task();
/// assert!(task.run(Serial) > 0);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct KnapsackTask<'p> {
    items: &'p [Item],
    room: u64,
    value: u64,
    best: &'p AtomicU64,
}

impl Task for KnapsackTask<'_> {
    type Output = u64;

    fn run<F: Fork>(self, fork: F) -> u64 {
        // Relaxed: only the number itself matters, and a stale one only costs work. A
        // read-modify-write for every branch would make all workers contend for one cache line.
        let mut best = self.best.load(Ordering::Relaxed);
        if self.value > best {
            best = self
                .best
                .fetch_max(self.value, Ordering::Relaxed)
                .max(self.value);
        }
        let (item, items) = match self.items {
            [item, items @ ..] if bound(self.items, self.room, self.value) > best => (*item, items),
            _ => return self.value,
        };
        let without = KnapsackTask { items, ..self };
        if item.weight > self.room {
            return without.run(fork);
        }
        let with = KnapsackTask {
            room: self.room - item.weight,
            value: self.value + item.value,
            ..without
        };
        let (a, b) = fork.fork(with, without);
        a.max(b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Serial;

    #[test]
    fn the_search_finds_what_dynamic_programming_finds() {
        for seed in 0..20 {
            for items in [0, 1, 2, 10, 26] {
                let mut knapsack = Knapsack::new(items, seed);
                let value = knapsack.task().run(Serial);
                assert_eq!(knapsack.check(value), Ok(()), "{items} {seed}");
            }
        }
    }

    #[test]
    fn branches_are_counted_up_to_one_more_than_asked() {
        let items = generate(20, 3);
        assert!(count(&items, 2500, u64::MAX) > 6);
        assert_eq!([0, 1, 5].map(|most| count(&items, 2500, most)), [1, 2, 6]);
    }

    #[test]
    fn dynamic_programming_finds_what_all_subsets_have() {
        let items = generate(10, 3);
        let room = 2500;
        let subsets = (0..1 << 10).map(|subset| {
            let chosen = (0..10).filter(|i| subset >> i & 1 == 1);
            chosen.fold((0, 0), |(weight, value), i| {
                (weight + items[i].weight, value + items[i].value)
            })
        });
        let fitting = subsets.filter(|(weight, _)| *weight <= room);
        let greatest = fitting.map(|(_, value)| value).max();
        assert_eq!(Some(optimum(&items, room)), greatest);
    }

    #[test]
    fn the_bound_is_never_too_low() {
        for seed in 0..10 {
            let items = generate(12, seed);
            for room in [0, 500, 2000, 100_000] {
                assert!(bound(&items, room, 0) >= optimum(&items, room));
            }
        }
    }
}
