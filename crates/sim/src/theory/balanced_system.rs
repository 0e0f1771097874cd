//! The system of Hendler and Shavit's theorems on balancing: at every step one process gets an
//! item, a random process loses one, and all may balance.

use locksley_policy::{Amount, Source};

use super::Mean;
use crate::CounterRng;
use crate::engine::Extended;

/// The items of a process.
pub(super) trait Items {
    fn len(&self) -> usize;

    fn push(&mut self);

    fn pop(&mut self);

    /// Moves items from `victim` to these. Returns `false` if there is nothing to move.
    fn steal(&mut self, victim: &mut Self, amount: Amount) -> bool;
}

/// The number of items, any half of which can be taken at once.
impl Items for usize {
    fn len(&self) -> usize {
        *self
    }

    fn push(&mut self) {
        *self += 1;
    }

    fn pop(&mut self) {
        *self -= 1;
    }

    fn steal(&mut self, victim: &mut usize, amount: Amount) -> bool {
        let taken = amount.of_load(*self, *victim).min(*victim);
        *self += taken;
        *victim -= taken;
        taken > 0
    }
}

/// An extended deque, of which no more than the steal range can be taken at once.
impl Items for Extended<()> {
    fn len(&self) -> usize {
        self.len()
    }

    fn push(&mut self) {
        self.push(());
    }

    fn pop(&mut self) {
        self.pop();
    }

    fn steal(&mut self, victim: &mut Extended<()>, amount: Amount) -> bool {
        let taken = victim.steal(amount, self.len()).count();
        if taken > 0 {
            self.receive((0..taken).map(|_| ()));
        }
        taken > 0
    }
}

/// Runs the system. In each step `balance` lets the processes balance; its arguments are the items
/// of all processes, the number of the step and random numbers.
///
/// Returns the load of the process that gets items over the mean load, averaged over the last three
/// quarters of the steps.
pub(super) fn load_ratio<I: Items>(
    mut processes: Vec<I>,
    steps: u64,
    seed: u64,
    mut balance: impl FnMut(&mut [I], u64, &mut CounterRng),
) -> f64 {
    let count = processes.len();
    let mean = processes.iter().map(I::len).sum::<usize>() as f64 / count as f64;
    let mut ratio = Mean::default();
    for step in 0..steps {
        let mut draw = CounterRng::at(seed, count, step);
        processes[0].push();
        let loser = (0..)
            .map(|_| draw.below(count))
            .find(|&p| processes[p].len() > 0);
        processes[loser.unwrap_or(0)].pop();
        balance(&mut processes, step, &mut draw);
        if step >= steps / 4 {
            ratio.add(processes[0].len() as f64 / mean);
        }
    }
    ratio.mean()
}
