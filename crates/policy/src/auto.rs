//! Which way of balancing suits what a pool is doing: stealing, sharing, or stealing half.
//!
//! [`Auto`] is told once in a while what happened since the last time, a [`Period`], and answers
//! with a [`Mode`]:
//!
//! ```text
//!                  idle >= .7375                    most attempts succeed, and a quarter
//!                  for some periods                 of all tasks were stolen
//!    sharing  <------------------  stealing  ------------------>  stealing half
//!             ------------------>            <------------------
//!                  idle < .5                        few do, or less than an eighth was
//! ```
//!
//! *Sharing* pays where many are idle: stealing then is slow to find the few that have work. The
//! thesis (Rito, "Scheduling computations", section 5.3) shows that from a ratio of idle processors
//! of
//! [`GREEDY_STABLE`] on piles shrink under Greedy and from [`TIT_FOR_TAT_STABLE`] on under
//! Tit-for-tat, which costs the busy ones less; so above the second threshold it is Tit-for-tat.
//! Below one half the gain that it proves is less than 1.40 for Greedy and 1.18 for Tit-for-tat
//! ([`gain_of_greedy`](crate::gain_of_greedy)), and sharing ends.
//!
//! *Stealing half* pays where there is much work in few piles: thieves find something, but come
//! back soon, since one item at a time does not even the loads out (Hendler and Shavit,
//! "Non-Blocking Steal-Half Work Queues", section 1.2). The paper gives no threshold. Ours are that
//! a quarter of the executed tasks were stolen, one by one, and an eighth to go back.
//!
//! A change takes [`patience`](Tuning::patience) periods in a row that ask for the same, and the
//! two thresholds of each pair lie apart, so that chance does not make it go back and forth.

use std::fmt;

use crate::heuristic::Heuristic;
use crate::text::{ParseError, Reader, TextForm, Writer, text_form};
use crate::theory::{GREEDY_STABLE, TIT_FOR_TAT_STABLE};

/// What happened in a period.
///
/// ```
/// use locksley_policy::{Auto, Mode, Period, Tuning};
///
/// // Thieves always find something, and every second task was stolen.
/// let period = Period { idle: 0.2, attempts: 50, stolen: 50, successes: 50, executed: 100 };
/// assert_eq!(Auto::new(Tuning { patience: 1 }).feed(&period), Mode::StealHalf);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Period {
    /// The ratio of workers that had nothing to do, from 0 to 1, on average over the period.
    pub idle: f64,
    /// Attempts to steal.
    pub attempts: u64,
    /// Tasks that were stolen.
    pub stolen: u64,
    /// Attempts that got something.
    pub successes: u64,
    /// Tasks that were executed.
    pub executed: u64,
}

impl Period {
    /// After how many pushes and pops a worker says how many are idle, and whenever it runs out of
    /// work: in a pool, to say so costs about as much as ten of them.
    pub const EVERY: u32 = 128;

    /// How many times that is said in a period at least: fewer would be the chance of a moment.
    pub const SAMPLES: u32 = 8;

    /// How many tasks are executed in a period at least: fewer make no ratio.
    pub const TASKS: u64 = 64;
}

/// How to balance.
///
/// ```
/// use locksley_policy::{Auto, Mode};
///
/// assert_eq!(Auto::default().mode(), Mode::Stealing);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Idle workers steal one task at a time.
    #[default]
    Stealing,
    /// Besides, busy workers give work away by this heuristic.
    Sharing(Heuristic),
    /// Idle workers steal half of a pile at once.
    StealHalf,
}

/// The automatic strategy's parameters: `auto`, `auto:patience=5`.
///
/// ```
/// use locksley_policy::Tuning;
///
/// let tuning: Tuning = "auto:patience=5".parse().unwrap();
/// assert_eq!(tuning.patience, 5);
/// assert_eq!(tuning.to_string(), "auto:patience=5");
/// assert_eq!(Tuning::default().to_string(), "auto");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tuning {
    /// How many periods in a row must ask for a change; at least 1.
    pub patience: u32,
}

impl Tuning {
    /// One period may be the end of something; three are a trend.
    pub const PATIENCE: u32 = 3;
}

impl Default for Tuning {
    fn default() -> Self {
        Tuning {
            patience: Tuning::PATIENCE,
        }
    }
}

impl TextForm for Tuning {
    const NAME: Option<&'static str> = Some("auto");

    fn read(reader: &mut Reader<'_>) -> Result<Tuning, ParseError> {
        let patience = reader.number("patience", Tuning::PATIENCE, 1..=u32::MAX)?;
        Ok(Tuning { patience })
    }

    fn write(&self, writer: &mut Writer<'_, '_>) -> fmt::Result {
        writer.pair("patience", self.patience, Tuning::PATIENCE)
    }
}

text_form!(Tuning);

/// Below this ratio of idle workers sharing ends.
const FEW_IDLE: f64 = 0.5;

/// How far below its threshold the ratio must be for Tit-for-tat to give way to Greedy.
const MARGIN: f64 = 0.05;

/// Stolen tasks per executed one, from which on it is worth stealing more at once, and below which
/// it is not any more.
const MUCH_STOLEN: f64 = 0.25;
const LITTLE_STOLEN: f64 = 0.125;

/// Successes per attempt, from which on there is much to steal, and below which there is not.
const MOST_SUCCEED: f64 = 0.5;
const FEW_SUCCEED: f64 = 0.25;

/// Decides between stealing, sharing and stealing half. See the [module](self).
///
/// ```
/// use locksley_policy::{Auto, Heuristic, Mode, Period, Tuning};
///
/// let mut auto = Auto::new(Tuning { patience: 2 });
/// let busy = Period { idle: 0.1, attempts: 40, stolen: 10, successes: 10, executed: 10_000 };
/// let idle = Period { idle: 0.9, executed: 100, ..busy };
/// assert_eq!(auto.feed(&busy), Mode::Stealing);
/// assert_eq!(auto.feed(&idle), Mode::Stealing, "once is not enough");
/// assert_eq!(auto.feed(&idle), Mode::Sharing(Heuristic::TIT_FOR_TAT));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Auto {
    tuning: Tuning,
    mode: Mode,
    /// What the last periods have asked for, and how many of them.
    wish: Mode,
    wishes: u32,
}

impl Auto {
    /// Begins with stealing.
    pub fn new(tuning: Tuning) -> Auto {
        Auto {
            tuning,
            ..Auto::default()
        }
    }

    /// How to balance now.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Takes a period into account, and says how to balance from now on. A period in which
    /// nothing was executed says nothing.
    pub fn feed(&mut self, period: &Period) -> Mode {
        if period.executed == 0 {
            return self.mode;
        }
        let wish = self.wish_for(period);
        self.wishes = match wish {
            _ if wish == self.mode => 0,
            _ if wish == self.wish => self.wishes + 1,
            _ => 1,
        };
        self.wish = wish;
        if self.wishes >= self.tuning.patience.max(1) {
            self.mode = wish;
            self.wishes = 0;
        }
        self.mode
    }

    /// What a period asks for, given the mode that it was spent in.
    fn wish_for(&self, period: &Period) -> Mode {
        let sharing = matches!(self.mode, Mode::Sharing(_));
        let enough = if sharing { FEW_IDLE } else { GREEDY_STABLE };
        if period.idle >= enough {
            return Mode::Sharing(self.heuristic_for(period.idle));
        }
        let (stolen, successes) = match self.mode {
            Mode::StealHalf => (LITTLE_STOLEN, FEW_SUCCEED),
            _ => (MUCH_STOLEN, MOST_SUCCEED),
        };
        let ratio = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
        if ratio(period.stolen, period.executed) >= stolen
            && ratio(period.successes, period.attempts) >= successes
        {
            return Mode::StealHalf;
        }
        Mode::Stealing
    }

    fn heuristic_for(&self, idle: f64) -> Heuristic {
        let margin = match self.mode {
            Mode::Sharing(Heuristic::TIT_FOR_TAT) => MARGIN,
            _ => 0.0,
        };
        if idle >= TIT_FOR_TAT_STABLE - margin {
            Heuristic::TIT_FOR_TAT
        } else {
            Heuristic::GREEDY
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENT: Tuning = Tuning { patience: 3 };

    fn idle(idle: f64) -> Period {
        Period {
            idle,
            attempts: 100,
            stolen: 1,
            successes: 1,
            executed: 1000,
        }
    }

    fn stolen(stolen: u64) -> Period {
        Period {
            idle: 0.2,
            attempts: 100,
            stolen,
            successes: 80,
            executed: 100,
        }
    }

    /// The modes after each of a number of equal periods.
    fn feed(auto: &mut Auto, period: Period, times: usize) -> Vec<Mode> {
        (0..times).map(|_| auto.feed(&period)).collect()
    }

    const TIT_FOR_TAT: Mode = Mode::Sharing(Heuristic::TIT_FOR_TAT);
    const GREEDY: Mode = Mode::Sharing(Heuristic::GREEDY);

    #[test]
    fn sharing_starts_at_the_thresholds_and_ends_at_a_half() {
        let mut auto = Auto::new(PATIENT);
        assert_eq!(feed(&mut auto, idle(0.73), 9), [Mode::Stealing; 9]);
        let modes = feed(&mut auto, idle(0.74), 4);
        assert_eq!(modes, [Mode::Stealing, Mode::Stealing, GREEDY, GREEDY]);
        assert_eq!(feed(&mut auto, idle(0.51), 9), [GREEDY; 9]);
        let modes = feed(&mut auto, idle(0.49), 3);
        assert_eq!(modes, [GREEDY, GREEDY, Mode::Stealing]);
    }

    #[test]
    fn tit_for_tat_where_it_suffices() {
        let mut auto = Auto::new(PATIENT);
        assert_eq!(feed(&mut auto, idle(0.87), 3)[2], TIT_FOR_TAT);
        assert_eq!(
            feed(&mut auto, idle(0.82), 9),
            [TIT_FOR_TAT; 9],
            "within the margin"
        );
        assert_eq!(feed(&mut auto, idle(0.81), 3)[2], GREEDY);
        assert_eq!(feed(&mut auto, idle(0.86), 9), [GREEDY; 9]);
        assert_eq!(feed(&mut auto, idle(0.87), 3)[2], TIT_FOR_TAT);
    }

    #[test]
    fn half_where_much_is_stolen() {
        let mut auto = Auto::new(PATIENT);
        assert_eq!(feed(&mut auto, stolen(24), 9), [Mode::Stealing; 9]);
        assert_eq!(feed(&mut auto, stolen(25), 3)[2], Mode::StealHalf);
        assert_eq!(feed(&mut auto, stolen(13), 9), [Mode::StealHalf; 9]);
        assert_eq!(feed(&mut auto, stolen(12), 3)[2], Mode::Stealing);
        let in_vain = Period {
            successes: 40,
            ..stolen(40)
        };
        assert_eq!(feed(&mut auto, in_vain, 9), [Mode::Stealing; 9]);
    }

    #[test]
    fn from_half_to_sharing_directly() {
        let mut auto = Auto::new(PATIENT);
        assert_eq!(feed(&mut auto, stolen(50), 3)[2], Mode::StealHalf);
        assert_eq!(feed(&mut auto, idle(0.9), 3)[2], TIT_FOR_TAT);
        assert_eq!(feed(&mut auto, stolen(50), 3)[2], Mode::StealHalf);
    }

    #[test]
    fn a_mixed_message_changes_nothing() {
        let mut auto = Auto::new(PATIENT);
        for _ in 0..100 {
            assert_eq!(feed(&mut auto, idle(0.9), 2), [Mode::Stealing; 2]);
            assert_eq!(auto.feed(&idle(0.1)), Mode::Stealing);
            assert_eq!(feed(&mut auto, idle(0.9), 2), [Mode::Stealing; 2]);
            assert_eq!(feed(&mut auto, stolen(50), 2), [Mode::Stealing; 2]);
        }
    }

    #[test]
    fn where_nothing_happens_nothing_changes() {
        let mut auto = Auto::new(Tuning { patience: 1 });
        assert_eq!(auto.feed(&idle(0.9)), TIT_FOR_TAT);
        let nothing = Period {
            idle: 0.0,
            ..Period::default()
        };
        assert_eq!(feed(&mut auto, nothing, 9), [TIT_FOR_TAT; 9]);
        assert_eq!(auto.mode(), TIT_FOR_TAT);
        let garbage = Period {
            idle: f64::NAN,
            attempts: 0,
            ..idle(0.0)
        };
        assert_eq!(auto.feed(&garbage), Mode::Stealing);
    }
}
