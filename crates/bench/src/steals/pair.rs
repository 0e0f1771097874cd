//! Two processes that are built from the same source and take turns: one uses rayon's own
//! rayon-core, the other uses ours.

use std::io;
use std::process::Command;

use super::spin::Rate;
use crate::harness::progress::Progress;
use crate::harness::stats::{Summary, median};
use crate::harness::{Build, Guest, Measured, Plan, Workload, WrongResult};
use locksley_measure::Series;

const BUILDS: [Build; 2] = Build::both("steals");

/// The measurement that both processes run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair {
    /// Name of the case in the guest.
    pub(super) case: &'static str,
    /// Name in tables, bars and JSON.
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    /// Number of workers of the pools.
    pub(super) threads: usize,
    /// Number of calls in a turn.
    pub(super) calls: u64,
}

/// Results of a pair.
#[derive(Clone, Debug)]
pub(super) struct Outcome {
    pub(super) measured: Measured,
    /// Speed of the processor.
    pub(super) rate: Rate,
}

/// Builds both with cargo, unless they are up to date.
pub(super) fn build() -> Result<(), WrongResult> {
    BUILDS.iter().try_for_each(Build::make)
}

impl Pair {
    /// Runs the processes in turns, in an order that changes from round to round.
    pub(super) fn run(&self, rounds: usize) -> Result<Outcome, WrongResult> {
        let rate = self.calibrate()?;
        let mut workload = self.workload(rate);
        let mut series = BUILDS.map(|build| Series {
            contender: build.name,
            samples: Vec::with_capacity(rounds),
            notes: Vec::with_capacity(rounds),
        });
        for round in 0..rounds {
            let order = if round % 2 == 0 { [0, 1] } else { [1, 0] };
            for index in order {
                let turn = workload.turn(BUILDS[index].name, self.calls);
                let sample = turn.expect("both builds take part")?;
                series[index].samples.push(sample.nanoseconds());
                series[index].notes.push(sample.note);
            }
        }
        let measured = Measured {
            name: self.name,
            about: self.about,
            reference: Build::RAYON,
            note: workload.note,
            series: series.into(),
        };
        Ok(Outcome { measured, rate })
    }

    /// Like [`run`](Self::run), but shows the progress.
    pub(super) fn run_shown(&self, rounds: usize) -> Result<Outcome, WrongResult> {
        let _progress = Progress::start(self.name, 1);
        self.run(rounds)
    }

    fn workload(&self, rate: Rate) -> Workload {
        let (case, threads) = (self.case, self.threads.to_string());
        let contenders = BUILDS.map(|build| {
            let threads = threads.clone();
            Guest::contender(build.name, case, move || {
                let mut command = Command::new(build.binary()?);
                command.args([case, &threads, &rate.0.to_string()]);
                Ok(command)
            })
        });
        Workload {
            name: self.name,
            about: self.about,
            reference: Build::RAYON,
            note: Some("processor ns"),
            contenders: contenders.into(),
        }
    }

    /// Returns the processor's present speed as measured by one of the builds. Both builds use it.
    fn calibrate(&self) -> Result<Rate, WrongResult> {
        let [build, _] = BUILDS;
        let answer = || -> io::Result<Rate> {
            let output = Command::new(build.binary()?).arg("calibrate").output()?;
            let text = String::from_utf8_lossy(&output.stdout);
            let rate = text.trim().parse().map(Rate);
            rate.map_err(|_| io::Error::other(format!("it said {text:?}")))
        };
        let expected = || "steps per microsecond".to_owned();
        answer()
            .map_err(|error| WrongResult::new(build.name, self.name, expected(), error.to_string()))
    }
}

impl Outcome {
    /// Returns the median ratio of our time to rayon's.
    pub(super) fn wall(&self) -> f64 {
        let ratio = self.measured.ratio(Build::LOCKSLEY, Build::RAYON);
        ratio.expect("both builds took part").median
    }

    /// Returns the median ratio of our processor time to rayon's, if the system reports it.
    pub(super) fn processor(&self) -> Option<f64> {
        let [rayon, ours] = [Build::RAYON, Build::LOCKSLEY].map(|name| self.series(name));
        let ratio = ratio(&ours.notes, &rayon.notes);
        ratio.is_finite().then_some(ratio)
    }

    /// Returns the median time of a call in nanoseconds.
    pub(super) fn nanoseconds(&self, name: &str) -> f64 {
        median(&self.series(name).samples)
    }

    /// Returns the median processor time of a call in nanoseconds.
    pub(super) fn processor_nanoseconds(&self, name: &str) -> f64 {
        median(&self.series(name).notes)
    }

    /// Returns the median number of processors that a contender used at the same time. If only the
    /// call is timed, the processor time still includes the work before it.
    pub(super) fn processors(&self, name: &str) -> f64 {
        let series = self.series(name);
        ratio(&series.notes, &series.samples)
    }

    fn series(&self, name: &str) -> &Series<'static> {
        let series = self.measured.series.iter();
        let mut found = series.filter(|series| series.contender == name);
        found.next().expect("both builds took part")
    }
}

/// Returns `part` times the number of rounds of a plan, at least 1.
pub(super) fn rounds(plan: &Plan, part: f64) -> usize {
    ((plan.rounds as f64 * part) as usize).max(1)
}

/// Returns the median of the ratios of samples of the same round.
fn ratio(samples: &[f64], reference: &[f64]) -> f64 {
    Summary::of_ratios(samples, reference).map_or(f64::NAN, |ratios| ratios.median)
}
