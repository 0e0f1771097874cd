//! Counts the items that come out of a queue, to detect lost and duplicated ones.

/// Count and sum of items, in any order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Number of items.
    pub(crate) count: usize,
    /// Wrapping sum of the items.
    pub(crate) sum: usize,
}

impl Tally {
    /// Returns the tally of the items 1 to `last`, each once.
    pub(crate) fn up_to(last: usize) -> Tally {
        // One of the factors is even; halving it first keeps the wrapped product exact.
        let (a, b) = if last.is_multiple_of(2) {
            (last / 2, last + 1)
        } else {
            (last, last / 2 + 1)
        };
        Tally {
            count: last,
            sum: a.wrapping_mul(b),
        }
    }

    /// Counts one item.
    #[inline(always)]
    pub(crate) fn add(&mut self, item: usize) {
        self.count += 1;
        self.sum = self.sum.wrapping_add(item);
    }

    /// Adds two tallies.
    pub(crate) fn and(self, other: Tally) -> Tally {
        Tally {
            count: self.count + other.count,
            sum: self.sum.wrapping_add(other.sum),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tally_of_a_range_is_that_of_its_items() {
        for last in 0..20 {
            let mut tally = Tally::default();
            (1..=last).for_each(|item| tally.add(item));
            assert_eq!(Tally::up_to(last), tally);
        }
    }

    #[test]
    fn a_split_changes_no_tally() {
        let (mut odd, mut even) = (Tally::default(), Tally::default());
        (1..=9).for_each(|item| {
            if item % 2 == 1 {
                odd.add(item)
            } else {
                even.add(item)
            }
        });
        assert_eq!(odd.and(even), Tally::up_to(9));
    }
}
