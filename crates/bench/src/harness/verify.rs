//! Results are checked: a queue that loses items is fast for the wrong reason.

use std::fmt;

/// A contender gave a wrong result. The run is worthless.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Wrong {
    contender: &'static str,
    what: &'static str,
    expected: String,
    got: String,
}

impl Wrong {
    /// What was computed, by whom, and how it should have come out.
    pub(crate) fn new(
        contender: &'static str,
        what: &'static str,
        expected: String,
        got: String,
    ) -> Wrong {
        Wrong {
            contender,
            what,
            expected,
            got,
        }
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Wrong {
            contender,
            what,
            expected,
            got,
        } = self;
        write!(
            f,
            "{contender} gave a wrong result: {what}: expected {expected}, got {got}"
        )
    }
}

impl std::error::Error for Wrong {}

/// Compares what a contender computed with what it should have.
pub(crate) fn verify<T: PartialEq + fmt::Debug>(
    contender: &'static str,
    what: &'static str,
    expected: T,
    got: T,
) -> Result<(), Wrong> {
    if expected == got {
        return Ok(());
    }
    let (expected, got) = (format!("{expected:?}"), format!("{got:?}"));
    Err(Wrong::new(contender, what, expected, got))
}

/// What came out of a queue, in any order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// How many items.
    pub(crate) count: usize,
    /// Their sum, wrapped.
    pub(crate) sum: usize,
}

impl Tally {
    /// The tally of the items 1 to `last`, each once.
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

    /// Both tallies together.
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

    #[test]
    fn a_wrong_result_says_whose_and_how() {
        assert_eq!(verify("a", "sum", 3, 3), Ok(()));
        let wrong = verify("loser", "sum", 3, 2).unwrap_err();
        assert_eq!(
            wrong.to_string(),
            "loser gave a wrong result: sum: expected 3, got 2"
        );
    }
}
