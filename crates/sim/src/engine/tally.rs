//! Counters of a simulation.

use serde::{Deserialize, Serialize};

/// Number of occurrences of each event in a simulation, over all processors.
///
/// ```
/// use locksley_sim::Tally;
///
/// let tally = Tally { stolen: 3, empty: 5, aborted: 1, ..Tally::default() };
/// assert_eq!(tally.attempts(), 9);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Nodes executed.
    pub executed: u64,
    /// Iterations of processors without a node to execute.
    pub idle_iterations: u64,
    /// Attempts to steal that succeeded.
    pub stolen: u64,
    /// Attempts to steal that found no work.
    pub empty: u64,
    /// Attempts to steal that failed because another processor was stealing.
    pub aborted: u64,
    /// Attempts to steal that found only private work (semi-private and split deques).
    pub found_private: u64,
    /// Opportunities to steal that were skipped (theta_r).
    pub skipped: u64,
    /// Attempts to steal that got a pointer to a node that a donee had already taken.
    pub ghosts: u64,
    /// Pops of an owner that got such a pointer.
    pub ghost_pops: u64,
    /// Items moved by steals: more than the number of steals if several items are taken at once.
    pub items_stolen: u64,
    /// Items offered, dealt or sent to another processor.
    pub offered: u64,
    /// Items received: accepted offers and letters, and items that were taken out of a buffer of
    /// dealing or have arrived from a sender.
    pub donated: u64,
    /// Attempts to give that found no suitable processor.
    pub refused: u64,
    /// Opportunities to give that were skipped (theta_s).
    pub kept: u64,
    /// Items exposed on request (semi-private and split deques).
    pub exposed: u64,
    /// Items that were executed by the processor that they have affinity to.
    pub affinity_hits: u64,
    /// Items that have affinity to a processor.
    pub affinities: u64,
    /// Letters left in a mailbox (`Setup::mailbox`).
    #[serde(default)]
    pub mailed: u64,
    /// Changes between stealing, stealing half and sharing (`auto`).
    #[serde(default)]
    pub mode_changes: u64,
    /// Barriers of thieves that interrupt other processors (`asymmetric`, `split`).
    #[serde(default)]
    pub barriers: u64,
    /// Interrupts of processors by such barriers.
    #[serde(default)]
    pub interrupts: u64,
    /// Compare-and-swaps.
    pub cas: u64,
    /// Fences.
    pub fences: u64,
    /// Reads of a processor's load, and looks into a buffer.
    pub probes: u64,
}

impl Tally {
    /// Returns the number of attempts to steal.
    pub fn attempts(&self) -> u64 {
        self.stolen + self.empty + self.aborted + self.found_private + self.ghosts
    }
}
