//! Chooses how a pool balances: by stealing, sharing, or stealing half.
//!
//! A caller feeds [`Auto`] what happened in each [`Period`], and gets a [`Mode`] back:
//!
//! ```text
//!                  idle >= .7375                    most attempts succeed, and a quarter
//!                  for some periods                 of all tasks were stolen
//!    sharing  <------------------  stealing  ------------------>  stealing half
//!             ------------------>            <------------------
//!                  idle < .5                        few do, or less than an eighth was
//! ```
//!
//! *Sharing* pays where many workers are idle, since thieves then need many attempts to find the
//! few that have work. The thesis (Rito, "Scheduling computations", section 5.3) shows that queues
//! shrink under Greedy from a ratio of idle processors of [`GREEDY_STABLE`] on, and under
//! Tit-for-tat, which costs busy processors less, from [`TIT_FOR_TAT_STABLE`] on. So above the
//! second threshold the mode is Tit-for-tat. Below one half the gain that the thesis proves is less
//! than 1.40 for Greedy and 1.18 for Tit-for-tat ([`gain_of_greedy`](crate::gain_of_greedy)), and
//! sharing ends.
//!
//! *Stealing half* pays where much work lies in few queues. Thieves succeed, but soon have to steal
//! again, since one item at a time does not even out the loads (Hendler and Shavit, "Non-Blocking
//! Steal-Half Work Queues", section 1.2). The paper gives no threshold. The ones here are that a
//! quarter of the executed tasks were stolen, one by one, to begin, and less than an eighth to end.
//!
//! The mode changes after [`patience`](Tuning::patience) periods in a row that call for the same
//! mode. The two thresholds of each pair lie apart, so that random fluctuations do not make the
//! mode alternate.

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
/// assert_eq!(Auto::new(Tuning { patience: 1 }).observe(&period), Mode::StealHalf);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Period {
    /// Ratio of workers without work, from 0 to 1, averaged over the period.
    pub idle: f64,
    /// Number of attempts to steal.
    pub attempts: u64,
    /// Number of tasks that were stolen.
    pub stolen: u64,
    /// Number of attempts that got at least one task.
    pub successes: u64,
    /// Number of tasks that were executed.
    pub executed: u64,
}

impl Period {
    /// Number of pushes and pops after which a worker samples the ratio of idle workers; it also
    /// samples whenever it runs out of work. In a pool, a sample costs about as much as ten pushes
    /// or pops.
    pub const EVERY: u32 = 128;

    /// Least number of samples in a period: the average of fewer would depend too much on chance.
    pub const SAMPLES: u32 = 8;

    /// Least number of tasks executed in a period: with fewer, the ratio of stolen tasks means
    /// nothing.
    pub const TASKS: u64 = 64;
}

/// How a pool balances.
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
    /// As `Stealing`; besides, busy workers give work away by this heuristic.
    Sharing(Heuristic),
    /// Idle workers steal half of a queue at once.
    StealHalf,
}

/// The parameters of the automatic strategy: `auto`, `auto:patience=5`.
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
    /// Number of periods in a row that must call for a mode before it changes; at least 1.
    pub patience: u32,
}

impl Tuning {
    /// The default [`patience`](Tuning::patience): one odd period may be chance, three are a trend.
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

/// Sharing ends below this ratio of idle workers.
const FEW_IDLE: f64 = 0.5;

/// Tit-for-tat gives way to Greedy when the ratio of idle workers is below [`TIT_FOR_TAT_STABLE`]
/// by more than this.
const MARGIN: f64 = 0.05;

/// Stolen tasks per executed task: stealing half may begin at the first, and ends below the second.
const MUCH_STOLEN: f64 = 0.25;
const LITTLE_STOLEN: f64 = 0.125;

/// Successes per attempt: stealing half may begin at the first, and ends below the second.
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
/// assert_eq!(auto.observe(&busy), Mode::Stealing);
/// assert_eq!(auto.observe(&idle), Mode::Stealing, "once is not enough");
/// assert_eq!(auto.observe(&idle), Mode::Sharing(Heuristic::TIT_FOR_TAT));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Auto {
    tuning: Tuning,
    mode: Mode,
    /// The mode that the last period called for, and the number of periods in a row that called for
    /// it; 0 if it is the current mode.
    candidate: Mode,
    streak: u32,
}

impl Auto {
    /// Creates the state; the first mode is [`Mode::Stealing`].
    pub fn new(tuning: Tuning) -> Auto {
        Auto {
            tuning,
            ..Auto::default()
        }
    }

    /// Returns the current mode.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Takes a period into account and returns the mode for the next one. A period in which no task
    /// was executed is ignored.
    pub fn observe(&mut self, period: &Period) -> Mode {
        if period.executed == 0 {
            return self.mode;
        }
        let candidate = self.mode_for(period);
        self.streak = match candidate {
            _ if candidate == self.mode => 0,
            _ if candidate == self.candidate => self.streak + 1,
            _ => 1,
        };
        self.candidate = candidate;
        if self.streak >= self.tuning.patience.max(1) {
            self.mode = candidate;
            self.streak = 0;
        }
        self.mode
    }

    /// Returns the mode that a period calls for, given the current mode.
    fn mode_for(&self, period: &Period) -> Mode {
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

    /// Returns the mode after each of `times` equal periods.
    fn observe(auto: &mut Auto, period: Period, times: usize) -> Vec<Mode> {
        (0..times).map(|_| auto.observe(&period)).collect()
    }

    const TIT_FOR_TAT: Mode = Mode::Sharing(Heuristic::TIT_FOR_TAT);
    const GREEDY: Mode = Mode::Sharing(Heuristic::GREEDY);

    #[test]
    fn sharing_starts_at_the_thresholds_and_ends_at_a_half() {
        let mut auto = Auto::new(PATIENT);
        assert_eq!(observe(&mut auto, idle(0.73), 9), [Mode::Stealing; 9]);
        let modes = observe(&mut auto, idle(0.74), 4);
        assert_eq!(modes, [Mode::Stealing, Mode::Stealing, GREEDY, GREEDY]);
        assert_eq!(observe(&mut auto, idle(0.51), 9), [GREEDY; 9]);
        let modes = observe(&mut auto, idle(0.49), 3);
        assert_eq!(modes, [GREEDY, GREEDY, Mode::Stealing]);
    }

    #[test]
    fn tit_for_tat_where_it_suffices() {
        let mut auto = Auto::new(PATIENT);
        assert_eq!(observe(&mut auto, idle(0.87), 3)[2], TIT_FOR_TAT);
        assert_eq!(
            observe(&mut auto, idle(0.82), 9),
            [TIT_FOR_TAT; 9],
            "within the margin"
        );
        assert_eq!(observe(&mut auto, idle(0.81), 3)[2], GREEDY);
        assert_eq!(observe(&mut auto, idle(0.86), 9), [GREEDY; 9]);
        assert_eq!(observe(&mut auto, idle(0.87), 3)[2], TIT_FOR_TAT);
    }

    #[test]
    fn half_where_much_is_stolen() {
        let mut auto = Auto::new(PATIENT);
        assert_eq!(observe(&mut auto, stolen(24), 9), [Mode::Stealing; 9]);
        assert_eq!(observe(&mut auto, stolen(25), 3)[2], Mode::StealHalf);
        assert_eq!(observe(&mut auto, stolen(13), 9), [Mode::StealHalf; 9]);
        assert_eq!(observe(&mut auto, stolen(12), 3)[2], Mode::Stealing);
        let in_vain = Period {
            successes: 40,
            ..stolen(40)
        };
        assert_eq!(observe(&mut auto, in_vain, 9), [Mode::Stealing; 9]);
    }

    #[test]
    fn from_half_to_sharing_directly() {
        let mut auto = Auto::new(PATIENT);
        assert_eq!(observe(&mut auto, stolen(50), 3)[2], Mode::StealHalf);
        assert_eq!(observe(&mut auto, idle(0.9), 3)[2], TIT_FOR_TAT);
        assert_eq!(observe(&mut auto, stolen(50), 3)[2], Mode::StealHalf);
    }

    #[test]
    fn a_mixed_message_changes_nothing() {
        let mut auto = Auto::new(PATIENT);
        for _ in 0..100 {
            assert_eq!(observe(&mut auto, idle(0.9), 2), [Mode::Stealing; 2]);
            assert_eq!(auto.observe(&idle(0.1)), Mode::Stealing);
            assert_eq!(observe(&mut auto, idle(0.9), 2), [Mode::Stealing; 2]);
            assert_eq!(observe(&mut auto, stolen(50), 2), [Mode::Stealing; 2]);
        }
    }

    #[test]
    fn where_nothing_happens_nothing_changes() {
        let mut auto = Auto::new(Tuning { patience: 1 });
        assert_eq!(auto.observe(&idle(0.9)), TIT_FOR_TAT);
        let nothing = Period {
            idle: 0.0,
            ..Period::default()
        };
        assert_eq!(observe(&mut auto, nothing, 9), [TIT_FOR_TAT; 9]);
        assert_eq!(auto.mode(), TIT_FOR_TAT);
        let garbage = Period {
            idle: f64::NAN,
            attempts: 0,
            ..idle(0.0)
        };
        assert_eq!(auto.observe(&garbage), Mode::Stealing);
    }
}
