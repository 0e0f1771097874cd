//! How much a thief takes, and the policy of the steal-half strategy.
//!
//! In Hendler and Shavit's extended deque about half of the items are in a *range* that can be
//! taken at once; `tryToSteal` (Figure 7) takes of it what balances the two loads.
//!
//! **Deviations from the paper.** With an empty range nothing is taken: `2*rangeLen - 2` would wrap
//! around. No thief takes more than there is.

use std::fmt;

use crate::text::{ParseError, Reader, TextForm, Writer, name_of, text_form};
use crate::when::When;

/// How many items a thief takes at once.
///
/// ```
/// use locksley_policy::Amount;
///
/// // A thief with 2 items, and a victim with 16.
/// assert_eq!(Amount::One.of_load(2, 16), 1);
/// assert_eq!(Amount::Half.of_load(2, 16), 8);
/// assert_eq!(Amount::Difference.of_load(2, 16), 7); // then both have 9
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Amount {
    /// One.
    One,
    /// All that can be taken at once: about half.
    Half,
    /// Half of the guaranteed difference of the loads, so that both have about as much
    /// (`tryToSteal`). For a thief that has nothing it is [`Half`](Amount::Half).
    #[default]
    Difference,
}

impl Amount {
    /// All of them.
    pub const ALL: [Amount; 3] = [Amount::One, Amount::Half, Amount::Difference];

    const NAMED: [(&'static str, Amount); 3] = [
        ("one", Amount::One),
        ("half", Amount::Half),
        ("difference", Amount::Difference),
    ];

    /// How many of the `range` items that a victim lets go at once a thief takes that has `own`
    /// items itself. The victim is known to have twice as many as are in the range.
    #[inline]
    pub fn of_range(self, own: usize, range: usize) -> usize {
        match self {
            _ if range == 0 => 0,
            Amount::One => 1,
            Amount::Half => range,
            Amount::Difference if own > 2 * range - 2 => 0,
            Amount::Difference => range - own / 2,
        }
    }

    /// How many items a thief that has `own` items takes from a victim with `load`, if any half of
    /// a pile can be taken at once.
    #[inline]
    pub fn of_load(self, own: usize, load: usize) -> usize {
        match self {
            // With a difference of one, the two would but change places.
            Amount::Difference if own > 0 => load.saturating_sub(own) / 2,
            // The last item can be taken.
            _ => self.of_range(own, load.div_ceil(2)),
        }
    }
}

impl TextForm for Amount {
    fn read(reader: &mut Reader<'_>) -> Result<Amount, ParseError> {
        reader.word("amount", &Amount::NAMED)
    }

    fn write(&self, writer: &mut Writer<'_, '_>) -> fmt::Result {
        writer.word(name_of(&Amount::NAMED, self))
    }
}

impl Amount {
    /// Its name.
    pub fn name(self) -> &'static str {
        name_of(&Amount::NAMED, &self)
    }
}

/// The steal-half strategy's policies.
///
/// ```
/// use locksley_policy::{Amount, StealHalf, When};
///
/// let policy: StealHalf = "steal-half:probabilistic,amount=one".parse().unwrap();
/// assert_eq!(policy, StealHalf { when: When::PROBABILISTIC, amount: Amount::One });
/// assert_eq!(policy.to_string(), "steal-half:probabilistic,amount=one");
/// assert_eq!("steal-half".parse(), Ok(StealHalf::default()));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct StealHalf {
    /// When a processor tries to balance.
    pub when: When,
    /// How much it takes then.
    pub amount: Amount,
}

impl TextForm for StealHalf {
    const NAME: Option<&'static str> = Some("steal-half");

    fn read(reader: &mut Reader<'_>) -> Result<StealHalf, ParseError> {
        let when = if reader.has_word() {
            When::read(reader)?
        } else {
            When::default()
        };
        let amount = reader.choice("amount", Amount::default(), &Amount::NAMED)?;
        Ok(StealHalf { when, amount })
    }

    fn write(&self, writer: &mut Writer<'_, '_>) -> fmt::Result {
        self.when.write(writer)?;
        writer.pair("amount", self.amount.name(), Amount::default().name())
    }
}

text_form!(Amount, StealHalf);

#[cfg(test)]
mod tests {
    use super::*;

    /// Figure 7, with signed numbers.
    fn try_to_steal(own: i64, range: i64) -> i64 {
        if range == 0 || own > 2 * range - 2 {
            0
        } else {
            range - own / 2
        }
    }

    #[test]
    fn the_difference_is_that_of_the_paper() {
        for own in 0..200 {
            for range in 0..100 {
                let amount = Amount::Difference.of_range(own, range);
                assert_eq!(amount as i64, try_to_steal(own as i64, range as i64));
                assert!(amount <= range);
                // The victim has at least twice the range: it does not become the poorer one.
                assert!(amount == 0 || own + amount <= 2 * range - amount + 1);
            }
        }
    }

    #[test]
    fn one_and_half_are_what_they_say() {
        for range in 0..100 {
            assert_eq!(Amount::One.of_range(7, range), range.min(1));
            assert_eq!(Amount::Half.of_range(7, range), range);
        }
    }

    #[test]
    fn no_thief_takes_more_than_half_or_the_last_item() {
        for own in 0..100_usize {
            for load in 0..100_usize {
                for amount in Amount::ALL {
                    let taken = amount.of_load(own, load);
                    assert!(taken <= load.div_ceil(2));
                    let something = load > 0 && (own == 0 || amount != Amount::Difference);
                    assert!(!something || taken > 0, "{amount} of {load}");
                }
                let (thief, victim) = (own, load);
                let taken = Amount::Difference.of_load(thief, victim);
                if taken > 0 && own > 0 {
                    let after = (victim - taken).abs_diff(thief + taken);
                    assert!(after <= 1, "{own} and {load} become {after} apart");
                }
            }
        }
    }
}
