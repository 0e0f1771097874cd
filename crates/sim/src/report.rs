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
}
