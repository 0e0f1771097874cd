//! Contenders take turns.
//!
//! A run has rounds. In each, every contender gives one short sample, in an order that is
//! shuffled anew, so that a disturbance of the machine hits all alike, and a ratio of two samples
//! of one round is of times that were taken within milliseconds of each other.

use std::time::Duration;

use super::progress::Progress;
use super::stats::{Figure, Summary};
use super::table::Table;
use super::verify::Wrong;

/// How long a run is.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// How many samples each contender gives.
    pub(crate) rounds: usize,
    /// About how long a sample takes.
    pub(crate) sample: Duration,
    /// Where the shuffling starts.
    pub(crate) seed: u64,
    /// Only the results matter.
    pub(crate) quick: bool,
    /// Only what has this in its name is measured.
    pub(crate) only: Option<String>,
}

/// What one turn of a contender gave.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    /// How long the operations took, all together.
    pub(crate) elapsed: Duration,
    /// How many operations there were.
    pub(crate) operations: u64,
    /// Whatever else the workload counts; see [`Workload::note`].
    pub(crate) note: f64,
}

impl Sample {
    fn nanoseconds(&self) -> f64 {
        self.elapsed.as_secs_f64() * 1e9 / self.operations as f64
    }
}

/// Does at least that many operations, times them, and checks what came out.
type Turn = Box<dyn FnMut(u64) -> Result<Sample, Wrong>>;

/// One who takes part in a workload.
pub(crate) struct Contender {
    name: &'static str,
    turn: Turn,
}

impl Contender {
    /// A contender by its name in tables and bars.
    pub(crate) fn new(
        name: &'static str,
        turn: impl FnMut(u64) -> Result<Sample, Wrong> + 'static,
    ) -> Contender {
        Contender {
            name,
            turn: Box::new(turn),
        }
    }
}

/// One thing that every contender does.
pub(crate) struct Workload {
    /// Its name in tables, bars and JSON.
    pub(crate) name: &'static str,
    /// What is done, and what one operation is.
    pub(crate) about: &'static str,
    /// Whose time is 1.
    pub(crate) reference: &'static str,
    /// What [`Sample::note`] counts, if anything.
    pub(crate) note: Option<&'static str>,
    /// Who takes part.
    pub(crate) contenders: Vec<Contender>,
}

/// The samples of one contender, in the order of the rounds.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    pub(crate) contender: &'static str,
    /// Nanoseconds per operation.
    pub(crate) samples: Vec<f64>,
    pub(crate) notes: Vec<f64>,
}

/// What came out of a workload.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) reference: &'static str,
    pub(crate) note: Option<&'static str>,
    pub(crate) series: Vec<Series>,
}

impl Plan {
    /// Is something of this name to be measured?
    pub(crate) fn includes(&self, name: &str) -> bool {
        (self.only.as_ref()).is_none_or(|only| name.contains(only.as_str()))
    }
}

impl Workload {
    /// The contenders' names.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.contenders.iter().map(|contender| contender.name)
    }

    /// One turn of one contender; nothing if there is no such contender.
    pub(crate) fn turn(&mut self, name: &str, operations: u64) -> Option<Result<Sample, Wrong>> {
        let contender = self
            .contenders
            .iter_mut()
            .find(|contender| contender.name == name)?;
        Some((contender.turn)(operations))
    }

    /// Lets the contenders take turns.
    pub(crate) fn run(mut self, plan: &Plan) -> Result<Measured, Wrong> {
        let count = self.contenders.len();
        let progress = Progress::start(self.name, ((plan.rounds + 1) * count) as u64);
        let mut series: Vec<Series> = self
            .contenders
            .iter()
            .map(|contender| Series {
                contender: contender.name,
                samples: Vec::with_capacity(plan.rounds),
                notes: Vec::with_capacity(plan.rounds),
            })
            .collect();

        let mut random = fastrand::Rng::with_seed(plan.seed);
        let mut order: Vec<usize> = (0..count).collect();
        let mut operations = vec![0; count];
        random.shuffle(&mut order);
        for &index in &order {
            operations[index] = calibrate(&mut self.contenders[index].turn, plan.sample)?;
            progress.step();
        }
        for _ in 0..plan.rounds {
            random.shuffle(&mut order);
            for &index in &order {
                let sample = (self.contenders[index].turn)(operations[index])?;
                series[index].samples.push(sample.nanoseconds());
                series[index].notes.push(sample.note);
                progress.step();
            }
        }
        let Workload {
            name,
            about,
            reference,
            note,
            ..
        } = self;
        Ok(Measured {
            name,
            about,
            reference,
            note,
            series,
        })
    }
}

/// How many operations fill a sample.
fn calibrate(turn: &mut Turn, target: Duration) -> Result<u64, Wrong> {
    let mut operations = 64;
    loop {
        let sample = turn(operations)?;
        if sample.elapsed * 4 >= target || operations >= 1 << 32 {
            let per_operation = sample.nanoseconds().max(0.01);
            return Ok((target.as_secs_f64() * 1e9 / per_operation).max(1.0) as u64);
        }
        operations *= 2;
    }
}

impl Measured {
    /// The median ratio of a contender's time to another's; nothing if either took no part.
    pub(crate) fn ratio(&self, contender: &str, to: &str) -> Option<Summary> {
        Some(Summary::of_ratios(
            self.samples(contender)?,
            self.samples(to)?,
        ))
    }

    fn samples(&self, contender: &str) -> Option<&[f64]> {
        let series = self
            .series
            .iter()
            .find(|series| series.contender == contender)?;
        Some(&series.samples)
    }

    /// The outcome for people.
    pub(crate) fn table(&self) -> Table {
        let of_reference = format!("of {}", self.reference);
        let mut header = vec!["contender", "ns", "quartiles", &of_reference, "quartiles"];
        header.extend(self.note);
        let mut table = Table::new(format!("{}: {}", self.name, self.about), &header);
        for series in &self.series {
            let time = Summary::of(&series.samples);
            let mut row = vec![
                series.contender.to_owned(),
                Figure(time.median).to_string(),
                time.spread(),
            ];
            match self.ratio(series.contender, self.reference) {
                Some(ratio) => row.extend([format!("{:.3}", ratio.median), ratio.spread()]),
                None => row.extend([String::new(), String::new()]),
            }
            if self.note.is_some() {
                row.push(Figure(Summary::of(&series.notes).median).to_string());
            }
            table.row(row);
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::verify::verify;

    fn paced(name: &'static str, nanoseconds: u64) -> Contender {
        Contender::new(name, move |operations| {
            let elapsed = Duration::from_nanos(nanoseconds * operations);
            Ok(Sample {
                elapsed,
                operations,
                note: 0.0,
            })
        })
    }

    fn workload(contenders: Vec<Contender>) -> Workload {
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
        seed: 1,
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
    fn samples_are_as_long_as_planned() {
        let mut contender = paced("slow", 10);
        let operations = calibrate(&mut contender.turn, PLAN.sample).unwrap();
        assert_eq!(operations, 100_000);
    }

    #[test]
    fn a_wrong_result_ends_the_run() {
        let liar = Contender::new("liar", |_| Err(verify("liar", "sum", 1, 2).unwrap_err()));
        assert!(workload(vec![paced("slow", 1), liar]).run(&PLAN).is_err());
    }
}
