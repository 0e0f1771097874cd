//! Comparisons of several contenders on one workload.

use super::{Parameters, bad_number};
use crate::Summary;
use serde::{Deserialize, Serialize};
use std::fmt::{self, Display};

/// What runs the workload: serial code, a strategy or another runtime.
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
    /// Plain code without a runtime, against which speed-ups are measured.
    Serial,
    /// A pool of Locksley with this strategy, in the strategy's text form.
    Strategy(String),
    /// Another runtime, by its name.
    Rival(String),
}

impl Contender {
    /// Returns a pool of Locksley with this strategy.
    ///
    /// ```
    /// assert_eq!(locksley_report::Contender::strategy("dealing").name(), "dealing");
    /// ```
    pub fn strategy(name: impl Into<String>) -> Contender {
        Contender::Strategy(name.into())
    }

    /// Returns another runtime.
    ///
    /// ```
    /// assert_eq!(locksley_report::Contender::rival("chili").name(), "chili");
    /// ```
    pub fn rival(name: impl Into<String>) -> Contender {
        Contender::Rival(name.into())
    }

    /// Returns the name that tables and legends show.
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
    /// Contender that was measured.
    pub contender: Contender,
    /// Number of its workers.
    pub workers: usize,
    /// Time of each repetition in seconds, in the order of measurement.
    #[serde(default)]
    pub samples: Vec<f64>,
    /// Set if every repetition gave the result of the serial oracle. Other rows cannot win.
    #[serde(default)]
    pub verified: bool,
}

impl Row {
    /// Returns a row whose results were all right.
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

    /// Returns median and quartiles in seconds, or `None` without samples.
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

    /// Returns the median in seconds.
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
    /// Name of the workload.
    pub workload: String,
    /// Its parameters.
    #[serde(default, skip_serializing_if = "Parameters::is_empty")]
    pub parameters: Parameters,
    /// Description of the workload in one sentence.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// Measured contenders, in the order in which they are shown.
    #[serde(default)]
    pub rows: Vec<Row>,
}

impl Comparison {
    /// Returns a comparison without rows.
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

    /// Adds a parameter.
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

    /// Returns the workload with its parameters, as in headings.
    ///
    /// ```
    /// assert_eq!(locksley_report::Comparison::new("fib").heading(), "fib");
    /// ```
    pub fn heading(&self) -> String {
        super::heading(&self.workload, &self.parameters)
    }

    /// Returns the row of the serial code, if it was measured.
    ///
    /// ```
    /// assert!(locksley_report::Comparison::new("fib").serial().is_none());
    /// ```
    pub fn serial(&self) -> Option<&Row> {
        self.rows
            .iter()
            .find(|row| row.contender == Contender::Serial)
    }

    /// Returns the speed-up of a row against the serial code, by the medians.
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

    /// Returns the verified row with the smallest median. The serial code can win, too.
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

    /// Returns the winner among the rows with this number of workers.
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

    /// Returns the other verified rows whose quartiles overlap the winner's: the measurement does
    /// not distinguish them.
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

    /// Returns the contenders without duplicates, in the order of their first rows.
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
