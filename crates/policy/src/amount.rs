//! The number of items that a thief takes, and the policy of the steal-half strategy.
//!
//! In Hendler and Shavit's extended deque a thief can take a *range* of about half of the items
//! with one operation; `tryToSteal` (Figure 7) takes as much of the range as balances the two
//! loads.
//!
//! **Deviations from the paper.** A thief takes nothing from an empty range, where `2*rangeLen - 2`
//! would wrap around, and never more than the range contains.

use std::fmt;

use crate::text::{ParseError, Reader, TextForm, Writer, entry_of, text_form};
use crate::when::When;

/// Number of items that a thief takes at once.
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
    /// One item.
    One,
    /// Everything that can be taken at once: about half of the victim's items.
    Half,
    /// Half of the guaranteed difference of the loads, so that afterwards both have about as many
    /// (`tryToSteal`). For a thief without items this equals [`Half`](Amount::Half).
    #[default]
    Difference,
}

impl Amount {
    /// All variants.
    pub const ALL: [Amount; 3] = [Amount::One, Amount::Half, Amount::Difference];

    const NAMED: [(&'static str, Amount); 3] = [
        ("one", Amount::One),
        ("half", Amount::Half),
        ("difference", Amount::Difference),
    ];

    /// Returns the name in the text form.
    pub fn name(self) -> &'static str {
        entry_of(&Amount::NAMED, &self).0
    }

    /// Returns how many items a thief with `own` items takes from a range of `range` items. The
    /// victim is known to have twice as many as are in the range.
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

    /// Returns how many items a thief with `own` items takes from a victim with `load` items, if
    /// any half of a queue can be taken at once.
    #[inline]
    pub fn of_load(self, own: usize, load: usize) -> usize {
        match self {
            // With a difference of one, the steal would only swap the two loads.
            Amount::Difference if own > 0 => load.saturating_sub(own) / 2,
            // Rounded up, so that the last item can be taken.
            _ => self.of_range(own, load.div_ceil(2)),
        }
    }
}

impl TextForm for Amount {
    fn read(reader: &mut Reader<'_>) -> Result<Amount, ParseError> {
        reader.word("amount", &Amount::NAMED)
    }

    fn write(&self, writer: &mut Writer<'_, '_>) -> fmt::Result {
        writer.word(self.name())
    }
}

/// The policies of the steal-half strategy.
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
    /// How many items it takes then.
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
                // The victim has at least twice the range: up to rounding, it does not become the
                // poorer one.
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
