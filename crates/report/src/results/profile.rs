//! Profiles of parallelism, and predictions for other machines.

use super::{Parameters, bad_number};
use crate::Summary;
use serde::{Deserialize, Serialize};

/// Times with one number of workers.
///
/// ```
/// let point = locksley_report::SpeedupPoint { workers: 2, samples: vec![0.5, 0.6, 0.7] };
/// assert_eq!(point.summary().unwrap().median, 0.6);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SpeedupPoint {
    /// Number of workers.
    pub workers: usize,
    /// Time of each repetition in seconds.
    #[serde(default)]
    pub samples: Vec<f64>,
}

impl SpeedupPoint {
    /// Returns median and quartiles in seconds, or `None` without samples.
    ///
    /// ```
    /// assert!(locksley_report::SpeedupPoint { workers: 2, samples: vec![] }.summary().is_none());
    /// ```
    pub fn summary(&self) -> Option<Summary> {
        Summary::of(&self.samples)
    }
}

/// The constant c of the lower bound, the same as in `locksley::Profile`: the largest that
/// `locksley theory` finds.
const SPAN_COEFFICIENT: f64 = 1.44;

/// Work and span of a program, the speed-ups that they allow, and the measured ones.
///
/// Work T1 is the time of all strands together; span Tinf is the time of the longest chain of
/// strands, each of which waits for the one before. The burdened span includes the cost of moving a
/// task at each place where one may be stolen (He, Leiserson and Leiserson, "The Cilkview
/// scalability analyzer").
///
/// ```
/// use locksley_report::{Profile, SpeedupPoint};
///
/// let mut profile = Profile::new("queens", 8.0, 0.5, 1.0);
/// assert_eq!(profile.parallelism(), 16.0);
/// assert_eq!(profile.burdened_parallelism(), 8.0);
/// assert_eq!(profile.at_most(4), 4.0);
/// assert_eq!(profile.at_most(64), 16.0);
/// assert_eq!(profile.at_least(8), 8.0 / (8.0 / 8.0 + 1.44));
///
/// profile.serial = vec![7.8];
/// profile.measured.push(SpeedupPoint { workers: 2, samples: vec![3.9] });
/// assert_eq!(profile.speedup(&profile.measured[0]), Some(2.0));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// Name of the workload or program.
    pub program: String,
    /// Its parameters.
    #[serde(default, skip_serializing_if = "Parameters::is_empty")]
    pub parameters: Parameters,
    /// Strategy of the measurements.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub strategy: String,
    /// Work T1 in seconds.
    pub work: f64,
    /// Span Tinf in seconds.
    pub span: f64,
    /// Burdened span in seconds; 0 if it was not measured.
    #[serde(default)]
    pub burdened_span: f64,
    /// Times of the serial code in seconds. If empty, speed-ups are against the work.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub serial: Vec<f64>,
    /// Measured times by the number of workers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub measured: Vec<SpeedupPoint>,
}

impl Profile {
    /// Returns a profile without measured times.
    ///
    /// ```
    /// assert!(locksley_report::Profile::new("fib", 1.0, 0.1, 0.2).measured.is_empty());
    /// ```
    pub fn new(program: impl Into<String>, work: f64, span: f64, burdened_span: f64) -> Profile {
        Profile {
            program: program.into(),
            work,
            span,
            burdened_span,
            ..Profile::default()
        }
    }

    /// Returns the program with its parameters.
    ///
    /// ```
    /// assert_eq!(locksley_report::Profile::new("fib", 1.0, 0.1, 0.2).heading(), "fib");
    /// ```
    pub fn heading(&self) -> String {
        super::heading(&self.program, &self.parameters)
    }

    /// Returns work over span, the number of processors that the program could keep busy; 1 without
    /// a span.
    ///
    /// ```
    /// assert_eq!(locksley_report::Profile::new("fib", 1.0, 0.25, 0.5).parallelism(), 4.0);
    /// ```
    pub fn parallelism(&self) -> f64 {
        ratio(self.work, self.span)
    }

    /// Returns work over burdened span, or over the span if the burden is unknown.
    ///
    /// ```
    /// let profile = locksley_report::Profile::new("fib", 1.0, 0.25, 0.5);
    /// assert_eq!(profile.burdened_parallelism(), 2.0);
    /// ```
    pub fn burdened_parallelism(&self) -> f64 {
        ratio(self.work, self.burdened_span.max(self.span))
    }

    /// Returns the speed-up that no scheduler exceeds with this number of workers, by the work law
    /// and the span law: min(P, T1 / Tinf).
    ///
    /// ```
    /// assert_eq!(locksley_report::Profile::new("fib", 1.0, 0.25, 0.5).at_most(2), 2.0);
    /// ```
    pub fn at_most(&self, workers: usize) -> f64 {
        self.parallelism().min(workers as f64)
    }

    /// Returns the speed-up that work stealing reaches at least with this number of workers
    /// (Graham; Brent), including the burden: T1 / (T1 / P + c * burdened span), as in the pool's
    /// own profile. It is 1 for a single worker, which steals nothing.
    ///
    /// ```
    /// let profile = locksley_report::Profile::new("fib", 1.0, 0.05, 0.25);
    /// assert_eq!(profile.at_least(1), 1.0);
    /// assert_eq!(profile.at_least(2), 1.0 / (0.5 + 0.36));
    /// ```
    pub fn at_least(&self, workers: usize) -> f64 {
        if workers <= 1 {
            return 1.0;
        }
        let burdened = SPAN_COEFFICIENT * self.burdened_span.max(self.span);
        let least = ratio(self.work, self.work / workers as f64 + burdened);
        least.min(self.at_most(workers))
    }

    /// Returns the measured speed-up against the serial code, or against the work if there is none.
    ///
    /// ```
    /// use locksley_report::{Profile, SpeedupPoint};
    ///
    /// let profile = Profile::new("fib", 1.0, 0.25, 0.5);
    /// assert_eq!(profile.speedup(&SpeedupPoint { workers: 2, samples: vec![0.5] }), Some(2.0));
    /// ```
    pub fn speedup(&self, point: &SpeedupPoint) -> Option<f64> {
        let median = point.summary()?.median;
        (median > 0.0).then(|| self.base() / median)
    }

    /// Returns the time against which speed-ups are measured, in seconds.
    pub(crate) fn base(&self) -> f64 {
        Summary::of(&self.serial).map_or(self.work, |serial| serial.median)
    }

    pub(crate) fn fault(&self) -> Option<String> {
        let samples = self
            .measured
            .iter()
            .flat_map(|point| point.samples.iter().copied());
        bad_number(
            "work, span or burdened_span",
            [self.work, self.span, self.burdened_span],
        )
        .or_else(|| bad_number("serial", self.serial.iter().copied()))
        .or_else(|| bad_number("measured", samples))
    }
}

/// Returns `a / b`, or 1 if `b` is not positive.
fn ratio(a: f64, b: f64) -> f64 {
    if b > 0.0 { a / b } else { 1.0 }
}

/// The time of a recorded run under a strategy with a number of workers: simulated, and measured if
/// that was possible.
///
/// ```
/// use locksley_report::ReplayPoint;
///
/// let (strategy, measured) = ("stealing".into(), vec![1.0]);
/// let point = ReplayPoint { strategy, workers: 2, predicted: 1.1, measured };
/// assert!((point.error().unwrap() - 0.1).abs() < 1e-12);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReplayPoint {
    /// The strategy.
    pub strategy: String,
    /// Number of workers or simulated processors.
    pub workers: usize,
    /// Predicted time in seconds.
    pub predicted: f64,
    /// Measured times in seconds; empty if the machine has too few processors.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub measured: Vec<f64>,
}

impl ReplayPoint {
    /// Returns the difference between the prediction and the measured median, as a fraction of the
    /// median.
    ///
    /// ```
    /// use locksley_report::ReplayPoint;
    ///
    /// let strategy = "stealing".into();
    /// let far = ReplayPoint { strategy, workers: 64, predicted: 1.1, measured: vec![] };
    /// assert_eq!(far.error(), None);
    /// ```
    pub fn error(&self) -> Option<f64> {
        let measured = Summary::of(&self.measured)?.median;
        (measured > 0.0).then(|| self.predicted / measured - 1.0)
    }
}

/// A recorded run, simulated with other numbers of processors and other strategies.
///
/// ```
/// use locksley_report::Replay;
///
/// assert!(Replay::new("queens", 1).points.is_empty());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Replay {
    /// The recorded program.
    pub program: String,
    /// Its parameters.
    #[serde(default, skip_serializing_if = "Parameters::is_empty")]
    pub parameters: Parameters,
    /// Number of workers of the recorded run.
    #[serde(default)]
    pub recorded_workers: usize,
    /// Predictions and measurements.
    #[serde(default)]
    pub points: Vec<ReplayPoint>,
}

impl Replay {
    /// Returns a replay without points.
    ///
    /// ```
    /// assert_eq!(locksley_report::Replay::new("queens", 1).recorded_workers, 1);
    /// ```
    pub fn new(program: impl Into<String>, recorded_workers: usize) -> Replay {
        Replay {
            program: program.into(),
            recorded_workers,
            ..Replay::default()
        }
    }

    /// Returns the program with its parameters.
    ///
    /// ```
    /// assert_eq!(locksley_report::Replay::new("queens", 1).heading(), "queens");
    /// ```
    pub fn heading(&self) -> String {
        super::heading(&self.program, &self.parameters)
    }

    pub(crate) fn fault(&self) -> Option<String> {
        let numbers = self
            .points
            .iter()
            .flat_map(|p| p.measured.iter().copied().chain([p.predicted]));
        bad_number("points", numbers)
    }
}
