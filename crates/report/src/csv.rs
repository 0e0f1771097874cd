//! Results as comma-separated values (RFC 4180).

use crate::ScalePoint;
use crate::results::{Parameters, spell};
use crate::{Comparison, Results};
use std::fmt::Display;

/// Quotes a cell if necessary.
fn cell(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

/// Lines of a table.
struct Table(String);

impl Table {
    fn new(header: &[&str]) -> Table {
        let mut table = Table(String::new());
        table.line(
            &header
                .iter()
                .map(|name| name as &dyn Display)
                .collect::<Vec<_>>(),
        );
        table
    }

    fn line(&mut self, cells: &[&dyn Display]) {
        let cells: Vec<String> = cells.iter().map(|value| cell(&value.to_string())).collect();
        self.0.push_str(&cells.join(","));
        self.0.push_str("\r\n");
    }
}

fn or_empty(number: Option<f64>) -> String {
    number.map(|x| x.to_string()).unwrap_or_default()
}

/// The columns that all values of one measurement have in common.
struct Subject<'a> {
    section: &'a str,
    program: &'a str,
    parameters: String,
}

impl<'a> Subject<'a> {
    fn new(section: &'a str, program: &'a str, parameters: &Parameters) -> Subject<'a> {
        Subject {
            section,
            program,
            parameters: spell(parameters),
        }
    }

    /// Writes the values of one quantity, numbered from 0.
    fn values(
        &self,
        table: &mut Table,
        variant: &str,
        workers: usize,
        quantity: &str,
        unit: &str,
        values: &[f64],
    ) {
        for (repetition, value) in values.iter().enumerate() {
            table.line(&[
                &self.section,
                &self.program,
                &self.parameters,
                &variant,
                &workers,
                &quantity,
                &repetition,
                value,
                &unit,
            ]);
        }
    }
}

impl Results {
    /// Returns every measured value on a line of its own: `section, program, parameters, variant,
    /// workers, quantity, repetition, value, unit`. Loads over time and timelines are only in the
    /// JSON.
    ///
    /// ```
    /// use locksley_report::{Comparison, Contender, Machine, Results, Row};
    ///
    /// let mut fib = Comparison::new("fib").with("n", 30);
    /// fib.rows.push(Row::new(Contender::Serial, 1, vec![0.5]));
    /// let mut results = Results::new("Tour", Machine::default());
    /// results.comparisons.push(fib);
    /// let csv = results.to_csv();
    /// assert_eq!(csv.lines().nth(1), Some("comparison,fib,n = 30,serial,1,time,0,0.5,s"));
    /// ```
    pub fn to_csv(&self) -> String {
        let header = [
            "section",
            "program",
            "parameters",
            "variant",
            "workers",
            "quantity",
            "repetition",
            "value",
            "unit",
        ];
        let mut table = Table::new(&header);
        for comparison in &self.comparisons {
            let subject = Subject::new("comparison", &comparison.workload, &comparison.parameters);
            for row in &comparison.rows {
                subject.values(
                    &mut table,
                    row.contender.name(),
                    row.workers,
                    "time",
                    "s",
                    &row.samples,
                );
            }
        }
        self.experiments_csv(&mut table);
        self.profiles_csv(&mut table);
        for map in &self.steals {
            let subject = Subject::new("steals", &map.program, &map.parameters);
            for (thief, counts) in map.counts.iter().enumerate() {
                for (victim, count) in counts.iter().enumerate() {
                    let variant = format!("{}: {thief} from {victim}", map.strategy);
                    subject.values(
                        &mut table,
                        &variant,
                        map.counts.len(),
                        "steals",
                        "tasks",
                        &[*count as f64],
                    );
                }
            }
        }
        table.0
    }

    fn experiments_csv(&self, table: &mut Table) {
        for experiment in &self.experiments {
            let subject = Subject::new("experiment", &experiment.name, &experiment.parameters);
            for batch in &experiment.batches {
                let variant = format!("{}, {}, {}", batch.load, batch.arrival, batch.series());
                let column = |value: fn(&crate::Repetition) -> f64| {
                    batch.repetitions.iter().map(value).collect::<Vec<_>>()
                };
                subject.values(
                    table,
                    &variant,
                    batch.threads,
                    "time",
                    "s",
                    &column(|once| once.seconds),
                );
                subject.values(
                    table,
                    &variant,
                    batch.threads,
                    "waiting",
                    "s",
                    &column(|once| once.waiting),
                );
                subject.values(
                    table,
                    &variant,
                    batch.threads,
                    "steals",
                    "tasks",
                    &column(|once| once.steals as f64),
                );
            }
        }
    }

    fn profiles_csv(&self, table: &mut Table) {
        for profile in &self.profiles {
            let subject = Subject::new("profile", &profile.program, &profile.parameters);
            for (quantity, value) in [
                ("work", profile.work),
                ("span", profile.span),
                ("burdened span", profile.burdened_span),
            ] {
                subject.values(table, &profile.strategy, 1, quantity, "s", &[value]);
            }
            subject.values(table, "serial", 1, "time", "s", &profile.serial);
            for point in &profile.measured {
                subject.values(
                    table,
                    &profile.strategy,
                    point.workers,
                    "time",
                    "s",
                    &point.samples,
                );
            }
        }
        for scaling in &self.scalings {
            let subject = Subject::new("scaling", &scaling.program, &scaling.parameters);
            for point in &scaling.points {
                let ScalePoint {
                    strategy,
                    hosts,
                    efficiency,
                } = point;
                subject.values(table, strategy, *hosts, "efficiency", "", &[*efficiency]);
            }
        }
        for replay in &self.replays {
            let subject = Subject::new("replay", &replay.program, &replay.parameters);
            for point in &replay.points {
                subject.values(
                    table,
                    &point.strategy,
                    point.workers,
                    "predicted time",
                    "s",
                    &[point.predicted],
                );
                subject.values(
                    table,
                    &point.strategy,
                    point.workers,
                    "time",
                    "s",
                    &point.measured,
                );
            }
        }
    }
}

impl Comparison {
    /// Returns one line per row with median, quartiles, speed-up, and whether it is the winner.
    ///
    /// ```
    /// use locksley_report::{Comparison, Contender, Row};
    ///
    /// let mut fib = Comparison::new("fib");
    /// fib.rows.push(Row::new(Contender::Serial, 1, vec![0.5]));
    /// let line = "fib,,serial,1,1,0.5,0.5,0.5,1,true,true";
    /// assert_eq!(fib.to_csv().lines().nth(1), Some(line));
    /// ```
    pub fn to_csv(&self) -> String {
        let mut table = Table::new(&[
            "workload",
            "parameters",
            "contender",
            "workers",
            "samples",
            "lower quartile (s)",
            "median (s)",
            "upper quartile (s)",
            "speed-up",
            "verified",
            "winner",
        ]);
        let winner = self.winner();
        for row in &self.rows {
            let summary = row.summary();
            table.line(&[
                &self.workload,
                &spell(&self.parameters),
                &row.contender,
                &row.workers,
                &row.samples.len(),
                &or_empty(summary.map(|s| s.lower)),
                &or_empty(summary.map(|s| s.median)),
                &or_empty(summary.map(|s| s.upper)),
                &or_empty(self.speedup(row)),
                &row.verified,
                &winner.is_some_and(|winner| std::ptr::eq(winner, row)),
            ]);
        }
        table.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Contender, Row};

    #[test]
    fn cells_with_commas_and_quotes_are_quoted() {
        let mut odd = Comparison::new("a \"b\", c").with("x", 1).with("y", 2);
        odd.rows.push(Row::new(Contender::Serial, 1, vec![]));
        let line = odd.to_csv().lines().nth(1).unwrap().to_owned();
        assert_eq!(
            line,
            "\"a \"\"b\"\", c\",\"x = 1, y = 2\",serial,1,0,,,,,true,false"
        );
    }
}
