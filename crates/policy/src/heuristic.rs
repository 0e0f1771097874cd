//! When a busy processor gives work away: the thesis's heuristics.
//!
//! Each processor has a flag, *spreading*. While it is set, the processor tries to give away one of
//! the two nodes that it enables. The processor itself updates its flag after each opportunity to
//! spread; a thief updates the flag of a random processor after each opportunity to steal. A
//! heuristic consists of the initial flag and a value of D = {true, false, unchanged} for each of
//! these events (Rito, "Scheduling computations", sections 5.2 and 5.3.2).
//!
//! | | initial flag | after spreading: unmade, success, failure | by thieves: skipped, success, empty, abort |
//! |---|---|---|---|
//! | Greedy | T | T T T | T T T T |
//! | Tit-for-tat | F | F F F | T T T T |
//! | Continuous Tit-for-tat | F | U U F | T T T T |
//! | Continuous Abort-for-tat | F | U U F | U U U T |
//!
//! **Theorem** (section 5.3.2.2). Under Tit-for-tat a processor makes at most as many attempts to
//! spread as thieves have set its flag: spreading is paid for by steal attempts.
//!
//! **Deviations from the paper.** The thesis prints three values for thieves under Greedy; the
//! domain needs four.

use std::fmt;

use crate::balancer::Outcome;
use crate::text::{ParseError, Reader, TextForm, Writer, text_form};

/// An update of a flag.
///
/// ```
/// use locksley_policy::Update;
///
/// let updates = [Update::True, Update::False, Update::Unchanged];
/// assert_eq!(updates.map(|u| u.of(true)), [true, false, true]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Update {
    /// Sets the flag.
    True,
    /// Clears the flag.
    False,
    /// Leaves the flag as it is.
    Unchanged,
}

impl Update {
    /// Returns the flag after the update.
    #[inline]
    pub fn of(self, flag: bool) -> bool {
        self.value().unwrap_or(flag)
    }

    /// Returns the value to store, or `None` if the flag stays as it is. So a thief need not read
    /// the flag that it updates.
    #[inline]
    pub fn value(self) -> Option<bool> {
        match self {
            Update::True => Some(true),
            Update::False => Some(false),
            Update::Unchanged => None,
        }
    }

    fn letter(self) -> char {
        match self {
            Update::True => 'T',
            Update::False => 'F',
            Update::Unchanged => 'U',
        }
    }

    fn of_letter(letter: char) -> Option<Update> {
        let all = [Update::True, Update::False, Update::Unchanged];
        all.into_iter().find(|update| update.letter() == letter)
    }
}

/// Outcome of an opportunity to spread.
///
/// ```
/// use locksley_policy::{Heuristic, Spread, Update};
///
/// assert_eq!(Heuristic::GREEDY.after(Spread::Failure), Update::True);
/// assert_eq!(Heuristic::TIT_FOR_TAT.after(Spread::Failure), Update::False);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Spread {
    /// The processor made no offer.
    Unmade,
    /// The processor offered the work to an idle processor.
    Success,
    /// The chosen processor was not idle.
    Failure,
}

/// A sharing heuristic.
///
/// | text | |
/// |---|---|
/// | `greedy`, `tit-for-tat`, `continuous-tit-for-tat`, `continuous-abort-for-tat` | the thesis's |
/// | `custom:initial=F,spread=UUF,thief=TTTT` | any tuple |
///
/// ```
/// use locksley_policy::{Heuristic, Outcome, Spread};
///
/// let heuristic = Heuristic::TIT_FOR_TAT;
/// let mut spreading = heuristic.initial;
/// assert!(!spreading);
/// spreading = heuristic.by_thief(Outcome::Empty).of(spreading);
/// assert!(spreading);
/// spreading = heuristic.after(Spread::Success).of(spreading);
/// assert!(!spreading);
///
/// let custom: Heuristic = "custom:initial=T,spread=UUF,thief=UUUT".parse().unwrap();
/// assert_eq!(custom.spread, Heuristic::CONTINUOUS_ABORT_FOR_TAT.spread);
/// assert_eq!("custom:spread=FFF,thief=TTTT".parse(), Ok(Heuristic::TIT_FOR_TAT));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Heuristic {
    /// The initial flag.
    pub initial: bool,
    /// Update by the processor itself after an opportunity to spread: unmade, success, failure.
    pub spread: [Update; 3],
    /// Update by a thief after an opportunity to steal: skipped, success, empty, aborted.
    pub thief: [Update; 4],
}

use Update::{False as F, True as T, Unchanged as U};

impl Heuristic {
    /// Always spreads.
    pub const GREEDY: Heuristic = Heuristic {
        initial: true,
        spread: [T; 3],
        thief: [T; 4],
    };

    /// Spreads once for each time that a thief has set the flag.
    pub const TIT_FOR_TAT: Heuristic = Heuristic {
        initial: false,
        spread: [F; 3],
        thief: [T; 4],
    };

    /// Spreads from when a thief sets the flag until an offer fails.
    pub const CONTINUOUS_TIT_FOR_TAT: Heuristic = Heuristic {
        initial: false,
        spread: [U, U, F],
        thief: [T; 4],
    };

    /// As [`CONTINUOUS_TIT_FOR_TAT`](Heuristic::CONTINUOUS_TIT_FOR_TAT), but a thief sets the flag
    /// only after an aborted attempt: attempts are aborted where many processors are idle.
    pub const CONTINUOUS_ABORT_FOR_TAT: Heuristic = Heuristic {
        initial: false,
        spread: [U, U, F],
        thief: [U, U, U, T],
    };

    /// The heuristics of the thesis.
    pub const ALL: [Heuristic; 4] = [
        Heuristic::GREEDY,
        Heuristic::TIT_FOR_TAT,
        Heuristic::CONTINUOUS_TIT_FOR_TAT,
        Heuristic::CONTINUOUS_ABORT_FOR_TAT,
    ];

    const NAMED: [(&'static str, Option<Heuristic>); 5] = [
        ("greedy", Some(Heuristic::GREEDY)),
        ("tit-for-tat", Some(Heuristic::TIT_FOR_TAT)),
        (
            "continuous-tit-for-tat",
            Some(Heuristic::CONTINUOUS_TIT_FOR_TAT),
        ),
        (
            "continuous-abort-for-tat",
            Some(Heuristic::CONTINUOUS_ABORT_FOR_TAT),
        ),
        ("custom", None),
    ];

    /// Returns the update by the processor itself after an opportunity to spread.
    #[inline]
    pub fn after(&self, spread: Spread) -> Update {
        self.spread[match spread {
            Spread::Unmade => 0,
            Spread::Success => 1,
            Spread::Failure => 2,
        }]
    }

    /// Returns the update by a thief of the flag of the processor that it draws.
    #[inline]
    pub fn by_thief(&self, outcome: Outcome) -> Update {
        self.thief[match outcome {
            Outcome::Skipped => 0,
            Outcome::Success => 1,
            Outcome::Empty => 2,
            Outcome::Abort => 3,
        }]
    }
}

impl Default for Heuristic {
    /// Tit-for-tat, whose cost is amortised against steals.
    fn default() -> Self {
        Heuristic::TIT_FOR_TAT
    }
}

fn letters<const N: usize>(updates: &[Update; N]) -> String {
    updates.iter().map(|update| update.letter()).collect()
}

fn tuple<const N: usize>(
    reader: &mut Reader<'_>,
    key: &'static str,
) -> Result<[Update; N], ParseError> {
    let wanted = format!("{N} letters of T, F, U (true, false, unchanged)");
    reader.value(key, [Update::Unchanged; N], &wanted, |found| {
        let updates: Option<Vec<Update>> = found.chars().map(Update::of_letter).collect();
        updates?.try_into().ok()
    })
}

impl TextForm for Heuristic {
    fn read(reader: &mut Reader<'_>) -> Result<Heuristic, ParseError> {
        if let Some(known) = reader.word("heuristic", &Heuristic::NAMED)? {
            return Ok(known);
        }
        Ok(Heuristic {
            initial: reader.choice("initial", false, &[("T", true), ("F", false)])?,
            spread: tuple(reader, "spread")?,
            thief: tuple(reader, "thief")?,
        })
    }

    fn write(&self, writer: &mut Writer<'_, '_>) -> fmt::Result {
        let named = Heuristic::NAMED;
        if let Some((name, _)) = named.iter().find(|(_, known)| *known == Some(*self)) {
            return writer.word(name);
        }
        let initial = if self.initial { "T" } else { "F" };
        writer.word("custom")?;
        writer.pair("initial", initial, "F")?;
        writer.pair("spread", letters(&self.spread), letters(&[U; 3]))?;
        writer.pair("thief", letters(&self.thief), letters(&[U; 4]))
    }
}

text_form!(Heuristic);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Random, Source};

    /// Sections 5.3.2.1, 5.3.2.2 and 5.4, letter by letter.
    #[test]
    fn the_tuples_are_the_thesis() {
        let table = [
            ("greedy", "T", "TTT", "TTTT"),
            ("tit-for-tat", "F", "FFF", "TTTT"),
            ("continuous-tit-for-tat", "F", "UUF", "TTTT"),
            ("continuous-abort-for-tat", "F", "UUF", "UUUT"),
        ];
        for ((name, initial, spread, thief), heuristic) in table.into_iter().zip(Heuristic::ALL) {
            assert_eq!(name.parse(), Ok(heuristic));
            assert_eq!(heuristic.to_string(), name);
            assert_eq!(heuristic.initial, initial == "T");
            assert_eq!(letters(&heuristic.spread), spread);
            assert_eq!(letters(&heuristic.thief), thief);
            let outcomes = [Spread::Unmade, Spread::Success, Spread::Failure];
            assert_eq!(letters(&outcomes.map(|o| heuristic.after(o))), spread);
            let outcomes = [
                Outcome::Skipped,
                Outcome::Success,
                Outcome::Empty,
                Outcome::Abort,
            ];
            assert_eq!(letters(&outcomes.map(|o| heuristic.by_thief(o))), thief);
        }
    }

    #[test]
    fn every_tuple_prints_and_parses_back() {
        let domain = [T, F, U];
        for number in 0..2 * 3_usize.pow(7) {
            let digit = |place: u32| domain[number / 2 / 3_usize.pow(place) % 3];
            let heuristic = Heuristic {
                initial: number % 2 == 1,
                spread: [digit(0), digit(1), digit(2)],
                thief: [digit(3), digit(4), digit(5), digit(6)],
            };
            let text = heuristic.to_string();
            assert_eq!(text.parse(), Ok(heuristic), "{text}");
        }
    }

    /// A processor that spreads whenever its flag allows makes at most as many attempts as thieves
    /// have set its flag: section 5.3.2.2.
    #[test]
    fn tit_for_tat_is_paid_for_by_thieves() {
        let mut random = Random::new(6, 0);
        let heuristic = Heuristic::TIT_FOR_TAT;
        let (mut flag, mut asked, mut spread) = (heuristic.initial, 0, 0);
        for _ in 0..10_000 {
            if random.below(3) == 0 {
                let outcome = [Outcome::Empty, Outcome::Abort, Outcome::Success][random.below(3)];
                flag = heuristic.by_thief(outcome).of(flag);
                asked += 1;
            } else if flag {
                let outcome = [Spread::Unmade, Spread::Success, Spread::Failure][random.below(3)];
                flag = heuristic.after(outcome).of(flag);
                spread += 1;
            }
            assert!(spread <= asked);
        }
        assert!(spread > 1000);
    }

    #[test]
    fn errors_say_what_is_possible() {
        let error = |text: &str| text.parse::<Heuristic>().unwrap_err().to_string();
        assert!(error("tat-for-tit").contains("greedy, tit-for-tat, continuous-tit-for-tat"));
        assert_eq!(
            error("custom:spread=TTTT"),
            "`spread=TTTT` in `custom:spread=TTTT` is not valid: give 3 letters of T, F, U \
             (true, false, unchanged)"
        );
        assert!(error("custom:thief=TTX").contains("4 letters of T, F, U"));
        assert!(error("custom:initial=U").contains("give T, F"));
    }
}
