//! What comes out of a simulation.

use serde::{Deserialize, Serialize};

use crate::dag::Size;
use crate::engine::{Happening, Load, Tally};

/// What comes out of a simulation.
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
    /// How many processors.
    pub processors: usize,
    /// Where the random numbers came from.
    pub seed: u64,
    /// The computation's work and span.
    pub size: Size,
    /// When the sink was executed.
    pub makespan: u64,
    /// What was counted.
    pub tally: Tally,
    /// Loads over time, if they were asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub loads: Vec<Load>,
    /// What happened when, if that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeline: Option<Vec<Happening>>,
}

impl Report {
    /// T1 over the makespan: how many processors' work was done, if a node takes a tick.
    pub fn speedup(&self) -> f64 {
        self.size.work as f64 / self.makespan as f64
    }

    /// How the loads developed, if at least two were noted.
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
        // While the computation begins and ends there is little to balance.
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

/// How loads developed. A scheduler is stable if the expected load of every processor stays below a
/// constant.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stability {
    /// By how much the mean load grows in a tick: the slope of a line through the samples, the
    /// first and the last tenth of them left out.
    pub growth: f64,
    /// The largest load of all.
    pub peak: u64,
    /// How many times the mean load the largest is, on average.
    pub imbalance: f64,
}
