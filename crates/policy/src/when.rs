//! When to balance: the `shouldBalance` of Hendler and Shavit's "Non-Blocking Steal-Half Work
//! Queues", section 2.2.1.
//!
//! A processor evaluates the rule at regular intervals, whether or not it has work (Figure 2).
//!
//! **Theorem 3.9.** Assume that every processor evaluates the rule at least once in every interval
//! in which no queue changes by more than u items, that the rule is [`When::Probabilistic`], and
//! that half of the difference of the loads moves. Then the expected load of every processor is
//! below a constant times the average; the constant depends on u and not on the number of
//! processors. There is no such constant if processors steal one item when they are empty.
//!
//! **Deviations from the paper.** A processor without items always tries, whatever the rule.
//! Otherwise, under the factor rule, a processor that found nothing would never try again, since
//! its load does not change any more. The factor rule counts a load of 0 as 1.

use std::fmt;

use crate::params::{Factor, Mu};
use crate::random::Source;
use crate::text::{ParseError, Reader, TextForm, Writer, text_form};

/// When a processor tries to balance.
///
/// | text | meaning | from |
/// |---|---|---|
/// | `empty` | when it has no items | Arora, Blumofe, Plaxton |
/// | `probabilistic:mu=1` | with probability mu/load | Rudolph, Slivkin-Allalouf, Upfal |
/// | `factor:factor=2` | when the load has grown or shrunk by the factor since the last attempt | Berenbrink, Friedetzky, Goldberg |
///
/// ```
/// use locksley_policy::{Random, LastLoad, When};
///
/// let when: When = "factor".parse().unwrap();
/// let (mut since, mut random) = (LastLoad::default(), Random::new(1, 0));
/// let loads = [4, 5, 7, 8, 9, 5, 4, 3, 2];
/// let asked = loads.map(|load| when.should_balance(&mut since, load, &mut random));
/// assert_eq!(asked, [true, false, false, true, false, false, true, false, true]);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum When {
    /// When the processor has no items.
    #[default]
    Empty,
    /// With a probability that is inversely proportional to the load.
    Probabilistic {
        /// The probability at a load of one item.
        mu: Mu,
    },
    /// When the load has changed by a factor since the last attempt.
    Factor {
        /// The factor.
        factor: Factor,
    },
}

/// The load of a processor at its last attempt to balance.
///
/// ```
/// use locksley_policy::{Random, LastLoad, When};
///
/// let (mut since, mut random) = (LastLoad::default(), Random::new(1, 0));
/// assert!(When::FACTOR.should_balance(&mut since, 8, &mut random));
/// assert!(!When::FACTOR.should_balance(&mut since, 15, &mut random));
/// assert!(When::FACTOR.should_balance(&mut since, 16, &mut random));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct LastLoad(u32);

impl When {
    /// [`When::Probabilistic`] with the largest mu.
    pub const PROBABILISTIC: When = When::Probabilistic { mu: Mu::ONE };

    /// [`When::Factor`] with a factor of two.
    pub const FACTOR: When = When::Factor {
        factor: Factor::TWO,
    };

    /// One value of each variant.
    pub const ALL: [When; 3] = [When::Empty, When::PROBABILISTIC, When::FACTOR];

    const NAMED: [(&'static str, When); 3] = [
        ("empty", When::Empty),
        ("probabilistic", When::PROBABILISTIC),
        ("factor", When::FACTOR),
    ];

    /// Returns `true` if a processor with this load tries to balance, and then notes the load in
    /// `since`.
    #[inline]
    pub fn should_balance<S>(&self, since: &mut LastLoad, load: usize, random: &mut S) -> bool
    where
        S: Source + ?Sized,
    {
        let load = load.min(u32::MAX as usize) as u32;
        let should = match *self {
            _ if load == 0 => true,
            When::Empty => false,
            When::Probabilistic { mu } => random.unit() * f64::from(load) < mu.get(),
            When::Factor { factor } => {
                let (now, last) = (f64::from(load), f64::from(since.0.max(1)));
                now >= last * factor.get() || now * factor.get() <= last
            }
        };
        if should {
            since.0 = load;
        }
        should
    }

    /// Returns `true` if the rule may make a processor that has work try to balance. If not, only
    /// processors without work need to evaluate it.
    pub fn asks_the_busy(&self) -> bool {
        *self != When::Empty
    }
}

impl TextForm for When {
    fn read(reader: &mut Reader<'_>) -> Result<When, ParseError> {
        Ok(match reader.word("balancing rule", &When::NAMED)? {
            When::Empty => When::Empty,
            When::Probabilistic { mu } => When::Probabilistic {
                mu: reader.value("mu", mu, Mu::WANTED, |found| found.parse().ok())?,
            },
            When::Factor { factor } => When::Factor {
                factor: reader
                    .value("factor", factor, Factor::WANTED, |found| found.parse().ok())?,
            },
        })
    }

    fn write(&self, writer: &mut Writer<'_, '_>) -> fmt::Result {
        match *self {
            When::Empty => writer.word("empty"),
            When::Probabilistic { mu } => {
                writer.word("probabilistic")?;
                writer.pair("mu", mu, Mu::ONE)
            }
            When::Factor { factor } => {
                writer.word("factor")?;
                writer.pair("factor", factor, Factor::TWO)
            }
        }
    }
}

text_form!(When);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use crate::statistics::fits;

    #[test]
    fn who_has_nothing_always_tries() {
        for when in When::ALL {
            let (mut since, mut random) = (LastLoad::default(), Random::new(1, 0));
            for _ in 0..100 {
                assert!(when.should_balance(&mut since, 0, &mut random), "{when}");
            }
        }
    }

    #[test]
    fn on_empty_no_other_tries() {
        let mut random = Random::new(1, 0);
        for load in 1..100 {
            assert!(!When::Empty.should_balance(&mut LastLoad::default(), load, &mut random));
        }
    }

    /// Section 3.1: with probability mu/load.
    #[test]
    fn the_more_one_has_the_less_likely_one_tries() {
        let mut random = Random::new(2, 0);
        for mu in [0.25, 0.5, 1.0] {
            let when = When::Probabilistic {
                mu: Mu::new(mu).unwrap(),
            };
            for load in [1, 2, 3, 10, 1000] {
                let tried = (0..50_000)
                    .filter(|_| when.should_balance(&mut LastLoad::default(), load, &mut random))
                    .count();
                assert!(
                    fits(tried, 50_000, mu / load as f64),
                    "{when} at {load}: {tried}"
                );
            }
        }
    }

    /// k pushes from empty try once per power of the factor, and so do k pops.
    #[test]
    fn a_factor_is_tried_logarithmically_often() {
        let (mut since, mut random) = (LastLoad::default(), Random::new(3, 0));
        let mut tried = |load: usize| When::FACTOR.should_balance(&mut since, load, &mut random);
        let up: Vec<usize> = (1..=1000).filter(|&load| tried(load)).collect();
        assert_eq!(up, [2, 4, 8, 16, 32, 64, 128, 256, 512]);
        let down: Vec<usize> = (0..1000).rev().filter(|&load| tried(load)).collect();
        assert_eq!(down, [256, 128, 64, 32, 16, 8, 4, 2, 1, 0]);
        assert!(tried(usize::MAX), "more than can be remembered");
        assert!(!tried(usize::MAX));
    }

    #[test]
    fn little_is_remembered() {
        assert_eq!(size_of::<LastLoad>(), 4);
        assert!(size_of::<When>() <= 16);
    }
}
