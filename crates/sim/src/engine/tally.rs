//! What is counted.

use serde::{Deserialize, Serialize};

/// What happened in a simulation, counted over all processors.
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
    /// Iterations without a node to execute.
    pub idle_iterations: u64,
    /// Attempts to steal that got something.
    pub stolen: u64,
    /// Attempts that found nothing.
    pub empty: u64,
    /// Attempts that lost to another processor.
    pub aborted: u64,
    /// Attempts that found only private work (semi-private deques).
    pub private: u64,
    /// Opportunities to steal that were not taken (theta_r).
    pub skipped: u64,
    /// Attempts that got a pointer to what a donee had already taken.
    pub ghosts: u64,
    /// The same, by the owner itself.
    pub ghost_pops: u64,
    /// Items that steals moved: more than steals where several are taken at once.
    pub items_stolen: u64,
    /// Items offered, dealt or sent to another processor.
    pub offered: u64,
    /// Offers accepted, by letter or not; of what is dealt or sent, all that was taken out by the
    /// receiver.
    pub donated: u64,
    /// Attempts to give that found no fit processor.
    pub refused: u64,
    /// Opportunities to give that were not taken (theta_s).
    pub kept: u64,
    /// Items made public on demand (semi-private deques).
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
    pub shifts: u64,
    /// Barriers of thieves that interrupt others (`asymmetric`, `split`).
    #[serde(default)]
    pub barriers: u64,
    /// Processors that they have interrupted.
    #[serde(default)]
    pub interrupts: u64,
    /// Compare-and-swaps.
    pub cas: u64,
    /// Fences.
    pub fences: u64,
    /// Looks at a processor's load, or into a buffer.
    pub probes: u64,
}

impl Tally {
    /// Attempts to steal.
    pub fn attempts(&self) -> u64 {
        self.stolen + self.empty + self.aborted + self.private + self.ghosts
    }
}
