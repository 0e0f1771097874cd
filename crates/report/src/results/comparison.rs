//! One workload, several contenders.

use super::{Parameters, bad_number};
use crate::Summary;
use serde::{Deserialize, Serialize};
use std::fmt::{self, Display};

/// Who runs the workload.
///
/// ```
/// use locksley_report::Contender;
///
/// assert_eq!(Contender::strategy("steal-half").to_string(), "steal-half");
/// assert_eq!(serde_json::to_string(&Contender::rival("rayon")).unwrap(), r#"{"rival":"rayon"}"#);
/// assert_eq!(serde_json::to_string(&Contender::Serial).unwrap(), r#""serial""#);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Contender {
    /// Plain code without a runtime: what speed-ups are measured against.
    Serial,
    /// A pool of Locksley with this strategy, in the strategy's text form.
    Strategy(String),
    /// Another runtime, by its name.
    Rival(String),
}

impl Contender {
    /// A pool of Locksley.
    ///
    /// ```
    /// assert_eq!(locksley_report::Contender::strategy("dealing").name(), "dealing");
    /// ```
    pub fn strategy(name: impl Into<String>) -> Contender {
        Contender::Strategy(name.into())
    }

    /// Another runtime.
    ///
    /// ```
    /// assert_eq!(locksley_report::Contender::rival("chili").name(), "chili");
    /// ```
    pub fn rival(name: impl Into<String>) -> Contender {
        Contender::Rival(name.into())
    }

    /// The name that tables and legends show.
    ///
    /// ```
    /// assert_eq!(locksley_report::Contender::Serial.name(), "serial");
    /// ```
    pub fn name(&self) -> &str {
        match self {
            Contender::Serial => "serial",
            Contender::Strategy(name) | Contender::Rival(name) => name,
        }
    }
}

impl Display for Contender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The times of one contender with one number of workers.
///
/// ```
/// use locksley_report::{Contender, Row};
///
/// let row = Row::new(Contender::strategy("sharing"), 4, vec![0.3, 0.1, 0.2]);
/// assert!(row.verified);
/// assert_eq!(row.summary().unwrap().median, 0.2);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Who.
    pub contender: Contender,
    /// How many workers it had.
    pub workers: usize,
    /// The time of each repetition, in seconds, in the order they were taken.
    #[serde(default)]
    pub samples: Vec<f64>,
    /// Whether every repetition gave the serial oracle's result. A row that did not cannot win.
    #[serde(default)]
    pub verified: bool,
}

impl Row {
    /// A row whose results were all right.
    ///
    /// ```
    /// use locksley_report::{Contender, Row};
    ///
    /// assert_eq!(Row::new(Contender::Serial, 1, vec![]).summary(), None);
    /// ```
    pub fn new(contender: Contender, workers: usize, samples: Vec<f64>) -> Row {
        Row {
            contender,
            workers,
            samples,
            verified: true,
        }
    }

    /// Median and quartiles in seconds; `None` before the first sample.
    ///
    /// ```
    /// use locksley_report::{Contender, Row};
    ///
    /// let row = Row::new(Contender::Serial, 1, vec![1.0, 3.0]);
    /// assert_eq!(row.summary().unwrap().median, 2.0);
    /// ```
    pub fn summary(&self) -> Option<Summary> {
        Summary::of(&self.samples)
    }

    /// The median in seconds.
    ///
    /// ```
    /// use locksley_report::{Contender, Row};
    ///
    /// assert_eq!(Row::new(Contender::Serial, 1, vec![1.0, 3.0, 9.0]).median(), Some(3.0));
    /// ```
    pub fn median(&self) -> Option<f64> {
        self.summary().map(|summary| summary.median)
    }
}

/// One workload under several strategies, rivals and numbers of workers.
///
/// ```
/// use locksley_report::{Comparison, Contender, Row};
///
/// let mut fib = Comparison::new("fib").with("n", 30);
/// fib.rows.push(Row::new(Contender::Serial, 1, vec![1.0]));
/// fib.rows.push(Row::new(Contender::strategy("stealing"), 2, vec![0.5]));
/// assert_eq!(fib.winner().unwrap().workers, 2);
/// assert_eq!(fib.heading(), "fib (n = 30)");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The workload's name.
    pub workload: String,
    /// Its parameters.
    #[serde(default, skip_serializing_if = "Parameters::is_empty")]
    pub parameters: Parameters,
    /// One sentence on what the workload is, for a reader who does not know it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// Who was measured, in the order to be shown.
    #[serde(default)]
    pub rows: Vec<Row>,
}

impl Comparison {
    /// A comparison without rows.
    ///
    /// ```
    /// assert_eq!(locksley_report::Comparison::new("fib").winner(), None);
    /// ```
    pub fn new(workload: impl Into<String>) -> Comparison {
        Comparison {
            workload: workload.into(),
            ..Comparison::default()
        }
    }

    /// With a parameter.
    ///
    /// ```
    /// let fib = locksley_report::Comparison::new("fib").with("n", 30);
    /// assert_eq!(fib.parameters["n"], "30");
    /// ```
    #[must_use]
    pub fn with(mut self, parameter: impl Into<String>, value: impl Display) -> Comparison {
        self.parameters.insert(parameter.into(), value.to_string());
        self
    }

    /// The workload with its parameters, as headings show it.
    ///
    /// ```
    /// assert_eq!(locksley_report::Comparison::new("fib").heading(), "fib");
    /// ```
    pub fn heading(&self) -> String {
        super::heading(&self.workload, &self.parameters)
    }

    /// The row of the serial code, if it was measured.
    ///
    /// ```
    /// assert!(locksley_report::Comparison::new("fib").serial().is_none());
    /// ```
    pub fn serial(&self) -> Option<&Row> {
        self.rows
            .iter()
            .find(|row| row.contender == Contender::Serial)
    }

    /// How many times as fast as the serial code a row of this comparison is, by the medians.
    ///
    /// ```
    /// use locksley_report::{Comparison, Contender, Row};
    ///
    /// let mut fib = Comparison::new("fib");
    /// let row = Row::new(Contender::strategy("stealing"), 2, vec![0.5]);
    /// assert_eq!(fib.speedup(&row), None, "there is nothing to compare with");
    /// fib.rows.push(Row::new(Contender::Serial, 1, vec![1.0]));
    /// assert_eq!(fib.speedup(&row), Some(2.0));
    /// ```
    pub fn speedup(&self, row: &Row) -> Option<f64> {
        let (serial, median) = (self.serial()?.median()?, row.median()?);
        (median > 0.0).then(|| serial / median)
    }

    /// The verified row with the smallest median: the serial code wins where no runtime pays.
    ///
    /// ```
    /// use locksley_report::{Comparison, Contender, Row};
    ///
    /// let mut tiny = Comparison::new("tiny");
    /// tiny.rows.push(Row::new(Contender::Serial, 1, vec![1e-6]));
    /// tiny.rows.push(Row::new(Contender::strategy("sharing"), 2, vec![9e-6]));
    /// let wrong = Row::new(Contender::rival("wrong"), 2, vec![1e-9]);
    /// tiny.rows.push(Row { verified: false, ..wrong });
    /// assert_eq!(tiny.winner().unwrap().contender, Contender::Serial);
    /// ```
    pub fn winner(&self) -> Option<&Row> {
        best(self.rows.iter())
    }

    /// The winner among those with this number of workers.
    ///
    /// ```
    /// use locksley_report::{Comparison, Contender, Row};
    ///
    /// let mut fib = Comparison::new("fib");
    /// fib.rows.push(Row::new(Contender::strategy("dealing"), 1, vec![1.0]));
    /// fib.rows.push(Row::new(Contender::strategy("stealing"), 2, vec![0.5]));
    /// assert_eq!(fib.winner_with(1).unwrap().contender.name(), "dealing");
    /// ```
    pub fn winner_with(&self, workers: usize) -> Option<&Row> {
        best(self.rows.iter().filter(|row| row.workers == workers))
    }

    /// The other verified rows whose quartiles overlap the winner's: the measurement does not tell
    /// them from it.
    ///
    /// ```
    /// use locksley_report::{Comparison, Contender, Row};
    ///
    /// let mut fib = Comparison::new("fib");
    /// fib.rows.push(Row::new(Contender::strategy("stealing"), 2, vec![1.0, 1.1, 1.2]));
    /// fib.rows.push(Row::new(Contender::rival("rayon"), 2, vec![1.05, 1.12, 1.3]));
    /// fib.rows.push(Row::new(Contender::Serial, 1, vec![2.0, 2.1, 2.2]));
    /// let tied: Vec<_> = fib.tied().iter().map(|row| row.contender.name()).collect();
    /// assert_eq!(tied, ["rayon"]);
    /// ```
    pub fn tied(&self) -> Vec<&Row> {
        let Some(winner) = self.winner() else {
            return Vec::new();
        };
        let best = winner.summary();
        let close = |row: &Row| {
            best.zip(row.summary())
                .is_some_and(|(best, other)| best.overlaps(&other))
        };
        self.rows
            .iter()
            .filter(|row| row.verified && !std::ptr::eq(*row, winner) && close(row))
            .collect()
    }

    /// The contenders, each once, in the order of their first rows.
    ///
    /// ```
    /// use locksley_report::{Comparison, Contender, Row};
    ///
    /// let mut fib = Comparison::new("fib");
    /// fib.rows = [1, 2].map(|p| Row::new(Contender::rival("rayon"), p, vec![])).into();
    /// assert_eq!(fib.contenders(), [&Contender::rival("rayon")]);
    /// ```
    pub fn contenders(&self) -> Vec<&Contender> {
        let mut seen: Vec<&Contender> = Vec::new();
        for row in &self.rows {
            if !seen.contains(&&row.contender) {
                seen.push(&row.contender);
            }
        }
        seen
    }

    pub(crate) fn fault(&self) -> Option<String> {
        let row = |(i, row): (usize, &Row)| {
            bad_number(&format!("rows[{i}].samples"), row.samples.iter().copied())
        };
        self.rows.iter().enumerate().find_map(row)
    }
}

fn best<'a>(rows: impl Iterator<Item = &'a Row>) -> Option<&'a Row> {
    let timed = rows
        .filter(|row| row.verified)
        .filter_map(|row| Some((row.median()?, row)));
    timed.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, row)| row)
}
