//! Results of a simulation.

use serde::{Deserialize, Serialize};

use crate::dag::Size;
use crate::engine::{Load, Tally, TimelineEvent};

/// Results of a simulation.
///
/// ```
/// use locksley_sim::dag::{Balanced, Strands};
/// use locksley_sim::{Setup, Strategy, simulate};
///
/// let setup = Setup { sample: 10, ..Setup::new(8, Strategy::LockFree) };
/// let report = simulate(&mut Strands::new(Balanced::new(10, 1)), &setup)?;
/// assert!(report.speedup() > 4.0);
/// assert!(report.loads.iter().all(|load| load.busy <= 8));
/// # Ok::<(), locksley_sim::SimError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The scheduler.
    pub strategy: String,
    /// Number of processors.
    pub processors: usize,
    /// Seed of all random numbers.
    pub seed: u64,
    /// The computation's work and span.
    pub size: Size,
    /// Tick in which the sink was executed.
    pub makespan: u64,
    /// Counters of what happened.
    pub tally: Tally,
    /// Loads over time, if [`Setup::sample`](crate::Setup::sample) is not 0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub loads: Vec<Load>,
    /// Events in the order of time, if [`Setup::timeline`](crate::Setup::timeline) is set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeline: Option<Vec<TimelineEvent>>,
}

impl Report {
    /// Returns T1 over the makespan, which is the speed-up if a node takes a tick.
    pub fn speedup(&self) -> f64 {
        self.size.work as f64 / self.makespan as f64
    }

    /// Returns how the loads developed; `None` if too few samples were taken.
    ///
    /// ```
    /// use locksley_sim::dag::{Generator, Strands};
    /// use locksley_sim::{Setup, Strategy, simulate};
    ///
    /// // One processor generates all the work, and what it generates waits with it.
    /// let setup = Setup { sample: 50, ..Setup::new(16, Strategy::LockFree) };
    /// let report = simulate(&mut Strands::new(Generator::new(1000, 40, 1)), &setup)?;
    /// let stability = report.stability().unwrap();
    /// assert!(stability.imbalance > 8.0 && stability.peak > 500);
    /// # Ok::<(), locksley_sim::SimError>(())
    /// ```
    pub fn stability(&self) -> Option<Stability> {
        // There is little to balance while the computation begins and ends.
        let trim = self.loads.len() / 10;
        let loads = &self.loads[trim..self.loads.len() - trim];
        if loads.len() < 2 {
            return None;
        }
        let count = loads.len() as f64;
        let mean = |of: &dyn Fn(&Load) -> f64| loads.iter().map(of).sum::<f64>() / count;
        let (time, load) = (mean(&|load| load.time as f64), mean(&|load| load.mean));
        let covariance = mean(&|sample| (sample.time as f64 - time) * (sample.mean - load));
        let variance = mean(&|sample| (sample.time as f64 - time).powi(2));
        Some(Stability {
            growth: covariance / variance,
            peak: loads.iter().map(|load| load.max).max().unwrap_or(0),
            imbalance: mean(&|load| load.max as f64 / load.mean.max(f64::MIN_POSITIVE)),
        })
    }
}

/// Development of the loads over time. A scheduler is stable if the expected load of every
/// processor stays below a constant.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stability {
    /// Growth of the mean load per tick: the slope of a least-squares line through the samples,
    /// without the first and the last tenth of them.
    pub growth: f64,
    /// Largest load of any processor.
    pub peak: u64,
    /// Largest load over the mean load, averaged over the samples.
    pub imbalance: f64,
}
