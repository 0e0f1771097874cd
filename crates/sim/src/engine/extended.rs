//! The extended deque of Hendler and Shavit's "Non-Blocking Steal-Half Work Queues", as a
//! sequential data structure.
//!
//! The topmost items, about half of all, are in the *steal range*, which a thief can take with one
//! compare-and-swap. The owner keeps the range at about half of the items. It needs a
//! compare-and-swap only when the number of items crosses a power of two, or when a thief has
//! changed the range.
//!
//! **Theorem 3.10.** The range has at least an eighth of the items.
//!
//! **Deviations from the paper.** A range is never larger than the number of items; an empty deque
//! is detected before anything is computed from its length.

use std::collections::VecDeque;

use locksley_policy::Amount;

/// A deque with a steal range that counts its compare-and-swaps.
#[derive(Clone, Debug)]
pub(crate) struct Extended<N> {
    /// Items, the topmost first.
    items: VecDeque<N>,
    range: usize,
    /// Set if a thief has changed the range since the owner did (the paper's prevStealRange).
    changed: bool,
    /// Number of compare-and-swaps so far.
    pub(crate) cas: u64,
}

impl<N> Default for Extended<N> {
    fn default() -> Self {
        Extended {
            items: VecDeque::new(),
            range: 0,
            changed: false,
            cas: 0,
        }
    }
}

/// Returns the largest power of two that is at most a quarter of `number`, and at least 1.
fn quarter(number: usize) -> usize {
    (1 << number.ilog2() >> 2).max(1)
}

/// Returns the largest power of two that is at most half of `number`, and at least 1.
fn half(number: usize) -> usize {
    (1 << number.ilog2() >> 1).max(1)
}

impl<N> Extended<N> {
    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    pub(crate) fn range(&self) -> usize {
        self.range
    }

    /// Sets the range, as the owner does.
    fn set(&mut self, range: usize) {
        self.cas += 1;
        self.range = range.min(self.items.len());
        self.changed = false;
    }

    /// Pushes an item at the bottom (Figure 3).
    pub(crate) fn push(&mut self, item: N) {
        self.items.push_back(item);
        let len = self.items.len();
        if len.is_power_of_two() || self.changed {
            self.set(half(len));
        }
    }

    /// Pops an item from the bottom (Figure 5).
    pub(crate) fn pop(&mut self) -> Option<N> {
        let len = self.items.len();
        if len == 0 {
            return None;
        }
        if len.is_power_of_two() {
            self.set(quarter(len));
        } else if self.changed {
            // 2^(i+1) < len <= 2^(i+2), and len is no power of two.
            self.set(half(len));
        }
        let item = self.items.pop_back();
        if self.range > self.items.len() {
            // The item was the last one, and in the range.
            self.set(0);
        }
        item
    }

    /// Takes items from the top for a thief that has `own` items (Figure 7, for the victim).
    pub(crate) fn steal(&mut self, amount: Amount, own: usize) -> impl Iterator<Item = N> + '_ {
        let len = self.items.len();
        let take = amount.of_range(own, self.range).min(len);
        if take > 0 {
            self.cas += 1;
            self.range = quarter(len).min(len - take);
            self.changed = true;
        }
        self.items.drain(..take)
    }

    /// Appends stolen items below those of the thief (Figure 7, for the thief).
    pub(crate) fn receive(&mut self, items: impl Iterator<Item = N>) {
        self.items.extend(items);
        if !self.items.is_empty() {
            self.set(half(self.items.len()));
        }
    }
}

#[cfg(test)]
mod tests {
    use locksley_policy::Source;

    use super::*;
    use crate::CounterRng;

    #[test]
    fn an_owner_alone_pays_a_logarithm() {
        for k in 1..2000_usize {
            let mut deque = Extended::default();
            (0..k).for_each(|item| deque.push(item));
            assert_eq!(deque.cas, u64::from(k.ilog2()) + 1, "{k} pushes");
            deque.cas = 0;
            for item in (0..k).rev() {
                assert_eq!(deque.pop(), Some(item));
            }
            assert_eq!(deque.cas, u64::from(k.ilog2()) + 2, "{k} pops");
            assert_eq!(deque.pop(), None);
        }
    }

    #[test]
    fn nothing_is_lost_and_the_range_has_an_eighth() {
        for seed in 0..200 {
            let mut draw = CounterRng::at(seed, 0, 0);
            let mut deques = [Extended::default(), Extended::default()];
            let (mut next, mut seen) = (0, Vec::new());
            for _ in 0..500 {
                let thief = draw.below(2);
                match draw.below(8) {
                    0..4 => {
                        deques[thief].push(next);
                        next += 1;
                    }
                    4..6 => seen.extend(deques[thief].pop()),
                    _ => {
                        let amount = Amount::ALL[draw.below(3)];
                        let own = deques[thief].len();
                        let stolen: Vec<usize> = deques[1 - thief].steal(amount, own).collect();
                        deques[thief].receive(stolen.into_iter());
                    }
                }
                for deque in &deques {
                    assert!(
                        8 * deque.range() >= deque.len(),
                        "{} of {}",
                        deque.range(),
                        deque.len()
                    );
                    assert!(deque.len() < 2 || 2 * deque.range() <= deque.len());
                }
            }
            for mut deque in deques {
                seen.extend(std::iter::from_fn(|| deque.pop()));
            }
            seen.sort_unstable();
            assert!(seen.into_iter().eq(0..next), "seed {seed}");
        }
    }
}
