//! Measures contenders in interleaved rounds.
//!
//! A run has rounds. In each round every contender gives one short sample, in a newly shuffled
//! order. So a disturbance of the machine affects all contenders alike, and the ratio of two
//! samples of one round compares times that were taken within milliseconds of each other.
//!
//! ```
//! use std::time::{Duration, Instant};
//!
//! use locksley_measure::{Contender, Plan, Sample, Workload};
//!
//! let sum = |last: u64| {
//!     move |operations| {
//!         let start = Instant::now();
//!         for _ in 0..operations {
//!             std::hint::black_box((0..std::hint::black_box(last)).sum::<u64>());
//!         }
//!         Ok(Sample { elapsed: start.elapsed(), operations, note: 0.0 })
//!     }
//! };
//! let workload = Workload {
//!     name: "sums",
//!     about: "adds numbers up; an operation is a sum",
//!     reference: "long",
//!     note: None,
//!     contenders: vec![Contender::new("short", sum(10)), Contender::new("long", sum(1000))],
//! };
//! let plan = Plan { rounds: 3, sample: Duration::from_millis(1), ..Plan::default() };
//! let measured = workload.run(&plan).unwrap();
//! println!("{}", measured.table().render(locksley_measure::table::Style::Plain));
//! assert_eq!(measured.series[1].samples.len(), 3);
//! ```

use std::fmt;
use std::time::Duration;

use crate::clock::WallClock;
use crate::progress::Progress;
use crate::stats::{Summary, median, number};
use crate::table::Table;
use crate::verify::WrongResult;

/// The length and extent of a run. See the [module](self) for an example.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Number of samples per contender.
    pub rounds: usize,
    /// Approximate duration of a sample.
    pub sample: Duration,
    /// Number of operations of the first attempt at calibrating a sample.
    pub first: u64,
    /// Seed of the shuffling.
    pub seed: u64,
    /// Time after which no further round begins; the first round always runs.
    pub limit: Option<Duration>,
    /// Set if only the correctness of the results matters, not the times.
    pub quick: bool,
    /// If set, only workloads whose names contain this text are measured.
    pub only: Option<String>,
}

/// The result of one turn of a contender.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// Total time of the operations.
    pub elapsed: Duration,
    /// Number of operations.
    pub operations: u64,
    /// A further value that the workload counts; see [`Workload::note`].
    pub note: f64,
}

impl Sample {
    /// Returns the time per operation in nanoseconds.
    pub fn nanoseconds(&self) -> f64 {
        self.elapsed.as_secs_f64() * 1e9 / self.operations as f64
    }
}

/// A function that does at least this many operations, times them, and checks the results.
type SampleFn<'a> = Box<dyn FnMut(u64) -> Result<Sample, WrongResult> + 'a>;

/// A contender: one implementation of a workload.
pub struct Contender<'a> {
    name: &'a str,
    turn: SampleFn<'a>,
}

impl fmt::Debug for Contender<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Contender").field(&self.name).finish()
    }
}

impl<'a> Contender<'a> {
    /// Creates a contender with its name in tables and progress bars.
    pub fn new(
        name: &'a str,
        turn: impl FnMut(u64) -> Result<Sample, WrongResult> + 'a,
    ) -> Contender<'a> {
        Contender {
            name,
            turn: Box::new(turn),
        }
    }
}

/// A task that every contender performs.
#[derive(Debug)]
pub struct Workload<'a> {
    /// Name in tables, progress bars and JSON.
    pub name: &'a str,
    /// Description of the task, and of what one operation is.
    pub about: &'a str,
    /// Name of the contender to which the others are compared: its time counts as 1.
    pub reference: &'a str,
    /// What [`Sample::note`] counts, if it is used.
    pub note: Option<&'a str>,
    /// The contenders.
    pub contenders: Vec<Contender<'a>>,
}

/// The samples of one contender, in the order of the rounds.
#[derive(Clone, Debug)]
pub struct Series<'a> {
    /// Name of the contender.
    pub contender: &'a str,
    /// Times per operation in nanoseconds.
    pub samples: Vec<f64>,
    /// The notes of the samples.
    pub notes: Vec<f64>,
}

/// The result of a workload.
#[derive(Clone, Debug)]
pub struct Measured<'a> {
    /// The workload's name.
    pub name: &'a str,
    /// Description of the task, and of what one operation is.
    pub about: &'a str,
    /// Name of the contender to which the others are compared: its time counts as 1.
    pub reference: &'a str,
    /// What the notes count, if they are used.
    pub note: Option<&'a str>,
    /// Each contender's samples, in the order of the workload.
    pub series: Vec<Series<'a>>,
}

impl Default for Plan {
    /// Many short samples of all workloads.
    fn default() -> Plan {
        Plan {
            rounds: 80,
            sample: Duration::from_millis(3),
            first: 64,
            seed: 1,
            limit: None,
            quick: false,
            only: None,
        }
    }
}

impl Plan {
    /// Returns `true` if a workload of this name is to be measured.
    pub fn includes(&self, name: &str) -> bool {
        (self.only.as_ref()).is_none_or(|only| name.contains(only.as_str()))
    }
}

impl<'a> Workload<'a> {
    /// Returns the contenders' names.
    pub fn names(&self) -> impl Iterator<Item = &'a str> {
        self.contenders.iter().map(|contender| contender.name)
    }

    /// Runs one turn of a contender. Returns `None` if there is no such contender.
    pub fn turn(&mut self, name: &str, operations: u64) -> Option<Result<Sample, WrongResult>> {
        let contender = self
            .contenders
            .iter_mut()
            .find(|contender| contender.name == name)?;
        Some((contender.turn)(operations))
    }

    /// Measures the contenders in interleaved rounds.
    ///
    /// # Errors
    ///
    /// If a result is wrong.
    pub fn run(self, plan: &Plan) -> Result<Measured<'a>, WrongResult> {
        self.run_watched(plan, |_, _| ())
    }

    /// Like [`run`](Workload::run), but calls `watch` with each sample as soon as it is there, and
    /// with the index of its contender. So a run that ends early keeps the samples that came
    /// before.
    ///
    /// # Errors
    ///
    /// If a result is wrong.
    pub fn run_watched(
        mut self,
        plan: &Plan,
        mut watch: impl FnMut(usize, &Sample),
    ) -> Result<Measured<'a>, WrongResult> {
        let count = self.contenders.len();
        let progress = Progress::start(self.name, ((plan.rounds + 1) * count) as u64);
        let mut series = self.empty_series(plan.rounds);
        let mut random = fastrand::Rng::with_seed(plan.seed);
        let mut order: Vec<usize> = (0..count).collect();
        let mut operations = vec![0; count];
        random.shuffle(&mut order);
        for &index in &order {
            operations[index] = calibrate(&mut self.contenders[index].turn, plan)?;
            progress.step();
        }
        let start = WallClock::now();
        for round in 0..plan.rounds {
            if round > 0 && plan.limit.is_some_and(|limit| start.elapsed() >= limit) {
                break;
            }
            random.shuffle(&mut order);
            for &index in &order {
                let sample = (self.contenders[index].turn)(operations[index])?;
                series[index].samples.push(sample.nanoseconds());
                series[index].notes.push(sample.note);
                watch(index, &sample);
                progress.step();
            }
        }
        Ok(Measured {
            name: self.name,
            about: self.about,
            reference: self.reference,
            note: self.note,
            series,
        })
    }

    fn empty_series(&self, rounds: usize) -> Vec<Series<'a>> {
        let empty = |contender: &Contender<'a>| Series {
            contender: contender.name,
            samples: Vec::with_capacity(rounds),
            notes: Vec::with_capacity(rounds),
        };
        self.contenders.iter().map(empty).collect()
    }
}

/// Returns the number of operations that fill a sample.
fn calibrate(turn: &mut SampleFn<'_>, plan: &Plan) -> Result<u64, WrongResult> {
    let (mut operations, target) = (plan.first.max(1), plan.sample);
    loop {
        let sample = turn(operations)?;
        if sample.elapsed * 4 >= target || operations >= 1 << 32 {
            let per_operation = sample.nanoseconds().max(0.01);
            return Ok((target.as_secs_f64() * 1e9 / per_operation).max(1.0) as u64);
        }
        operations *= 2;
    }
}

impl Measured<'_> {
    /// Returns a summary of the ratios of a contender's times to another's, round by round; `None`
    /// if either took no part.
    pub fn ratio(&self, contender: &str, to: &str) -> Option<Summary> {
        Summary::of_ratios(self.samples(contender)?, self.samples(to)?)
    }

    fn samples(&self, contender: &str) -> Option<&[f64]> {
        let series = self
            .series
            .iter()
            .find(|series| series.contender == contender)?;
        Some(&series.samples)
    }

    /// Returns the result as a table.
    pub fn table(&self) -> Table {
        let of_reference = format!("of {}", self.reference);
        let mut header = vec!["contender", "ns", "quartiles", &of_reference, "quartiles"];
        header.extend(self.note);
        let mut table = Table::new(format!("{}: {}", self.name, self.about), &header);
        for series in &self.series {
            let time = Summary::of(&series.samples);
            let mut row = vec![
                series.contender.to_owned(),
                number(median(&series.samples)),
                time.map_or_else(String::new, |time| time.quartiles_text()),
            ];
            match self.ratio(series.contender, self.reference) {
                Some(ratio) => row.extend([format!("{:.3}", ratio.median), ratio.quartiles_text()]),
                None => row.extend([String::new(), String::new()]),
            }
            if self.note.is_some() {
                row.push(number(median(&series.notes)));
            }
            table.row(row);
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::verify;

    fn paced(name: &str, nanoseconds: u64) -> Contender<'_> {
        Contender::new(name, move |operations| {
            let elapsed = Duration::from_nanos(nanoseconds * operations);
            Ok(Sample {
                elapsed,
                operations,
                note: 0.0,
            })
        })
    }

    fn workload(contenders: Vec<Contender<'_>>) -> Workload<'_> {
        Workload {
            name: "test",
            about: "nothing",
            reference: "slow",
            note: None,
            contenders,
        }
    }

    const PLAN: Plan = Plan {
        rounds: 5,
        sample: Duration::from_millis(1),
        first: 64,
        seed: 1,
        limit: None,
        quick: true,
        only: None,
    };

    #[test]
    fn every_contender_gives_one_sample_a_round() {
        let measured = workload(vec![paced("slow", 10), paced("fast", 2)])
            .run(&PLAN)
            .unwrap();
        assert!(
            measured
                .series
                .iter()
                .all(|series| series.samples.len() == PLAN.rounds)
        );
        assert!((measured.ratio("fast", "slow").unwrap().median - 0.2).abs() < 1e-9);
        assert_eq!(measured.ratio("absent", "slow"), None);
    }

    #[test]
    fn a_watcher_sees_what_is_measured() {
        let mut seen = [const { Vec::new() }; 2];
        let measured = workload(vec![paced("slow", 10), paced("fast", 2)])
            .run_watched(&PLAN, |index, sample| {
                seen[index].push(sample.nanoseconds())
            })
            .unwrap();
        assert_eq!(seen[0], measured.series[0].samples);
        assert_eq!(seen[1], measured.series[1].samples);
    }

    #[test]
    fn when_time_is_up_no_further_round_begins() {
        let plan = Plan {
            limit: Some(Duration::ZERO),
            ..PLAN
        };
        let measured = workload(vec![paced("slow", 10)]).run(&plan).unwrap();
        assert_eq!(measured.series[0].samples, [10.0]);
    }

    #[test]
    fn samples_are_as_long_as_planned() {
        let mut contender = paced("slow", 10);
        let operations = calibrate(&mut contender.turn, &PLAN).unwrap();
        assert_eq!(operations, 100_000);
    }

    #[test]
    fn a_wrong_result_ends_the_run() {
        let liar = Contender::new("liar", |_| Err(verify("liar", "sum", 1, 2).unwrap_err()));
        assert!(workload(vec![paced("slow", 1), liar]).run(&PLAN).is_err());
    }
}
