//! The strategies that are compared.

use std::thread;
use std::time::{Duration, Instant};

use locksley::{Builder, Pinning, Pool, Strategy};

/// The strategy that the others are compared with: Rito's LFWS.
pub(super) const STEALING: &str = "chase-lev";

pub(super) const SHARING: &str = "sharing";
pub(super) const DEALING: &str = "dealing";
pub(super) const LOCALITY: &str = "dealing:locality";

/// Strategies that must not be much slower than [`STEALING`].
pub(super) const CLOSE: [&str; 9] = [
    "stealing",
    "abp",
    "semi-private",
    "flexible",
    "flexible:longest",
    "steal-half",
    "steal-half:probabilistic",
    SHARING,
    "sharing:greedy",
];

/// All contenders.
pub(super) const ALL: [&str; 13] = [
    STEALING,
    CLOSE[0],
    CLOSE[1],
    CLOSE[2],
    CLOSE[3],
    CLOSE[4],
    CLOSE[5],
    CLOSE[6],
    CLOSE[7],
    CLOSE[8],
    DEALING,
    LOCALITY,
    "dealing:adaptive",
];

/// Numbers of workers, in measurements that depend on it.
pub(super) const CROWDS: [usize; 3] = [2, 4, 8];

/// Returns the strategy called `name`, if this build has it.
pub(super) fn strategy(name: &str) -> Option<Strategy> {
    name.parse().ok()
}

/// Returns those of the given strategies that this build has.
pub(super) fn known(names: &[&'static str]) -> Vec<&'static str> {
    let known = |name: &&&str| strategy(name).is_some();
    names.iter().filter(known).copied().collect()
}

/// Prints which strategies are left out, and which measurements have more workers than the machine
/// has processors.
pub(super) fn remark() {
    for name in ALL.iter().filter(|name| strategy(name).is_none()) {
        eprintln!("left out: this build has no strategy `{name}`");
    }
    let crowds = CROWDS.iter().filter(|&&workers| is_crowded(workers));
    for workers in crowds {
        eprintln!(
            "P={workers} is more than the {} processors there are: tasks block there",
            processors()
        );
    }
}

/// Returns the number of processors.
pub(super) fn processors() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Returns `true` if there are more workers than processors.
pub(super) fn is_crowded(workers: usize) -> bool {
    workers > processors()
}

/// Returns a builder of a pool that keeps no worker asleep, even if there are fewer processors than
/// workers. If possible, each worker is bound to a processor, since the system tends to start them
/// on the same one.
pub(super) fn builder(strategy: Strategy, workers: usize) -> Builder {
    let builder = Pool::builder().workers(workers).strategy(strategy);
    let builder = builder.processors(workers);
    if cfg!(target_os = "linux") {
        builder.pinning(Pinning::Spread)
    } else {
        builder
    }
}

/// The kind of work of a task.
#[derive(Clone, Copy, Debug)]
pub(super) enum Work {
    /// Keeps a processor busy.
    Compute(Duration),
    /// Blocks, as if waiting for a disk, so that more workers can be busy than there are
    /// processors.
    Block(Duration),
}

impl Work {
    /// Returns the kind of work for so many workers: blocking, if the machine has fewer processors.
    pub(super) fn for_workers(workers: usize, compute: Duration, block: Duration) -> Work {
        if is_crowded(workers) {
            Work::Block(block)
        } else {
            Work::Compute(compute)
        }
    }

    pub(super) fn run(self) {
        match self {
            Work::Block(time) => thread::sleep(time),
            Work::Compute(time) => {
                let start = Instant::now();
                while start.elapsed() < time {
                    std::hint::spin_loop();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reference_and_the_close_ones_are_there() {
        assert!(strategy(STEALING).is_some());
        assert!(known(&CLOSE).len() >= 9);
        assert_eq!(known(&["unknown", SHARING]), [SHARING]);
    }
}
