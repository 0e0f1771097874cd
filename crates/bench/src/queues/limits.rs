//! Limits for the measurements of the queues.

use crate::harness::report::Instructions;
use crate::harness::{Bar, Measured};

/// A limited quantity.
enum Quantity {
    /// Median ratio of two contenders' times.
    Ratio {
        workload: &'static str,
        contender: &'static str,
        to: &'static str,
    },
    /// Number of instructions of an operation.
    Count {
        workload: &'static str,
        contender: &'static str,
    },
}
use Quantity::{Count, Ratio};

const fn pair(contender: &'static str) -> Quantity {
    Ratio {
        workload: "owner_pair",
        contender,
        to: "crossbeam_lifo",
    }
}

const fn half(to: &'static str) -> Quantity {
    Ratio {
        workload: "steal_half",
        contender: "steal_half::extended",
        to,
    }
}

/// Name of each bar, its limit, and the quantity that it limits.
const LIMITS: [(&str, f64, Quantity); 9] = [
    (
        "owner_pair semi_private / crossbeam_lifo",
        0.15,
        pair("semi_private"),
    ),
    ("owner_pair split / crossbeam_lifo", 0.25, pair("split")),
    ("owner_pair abp / crossbeam_lifo", 1.0, pair("abp")),
    (
        "owner_pair chase_lev / crossbeam_lifo",
        1.0,
        pair("chase_lev"),
    ),
    (
        "instructions of owner_pair semi_private",
        16.0,
        Count {
            workload: "owner_pair",
            contender: "semi_private",
        },
    ),
    (
        "instructions of owner_pair split",
        16.0,
        Count {
            workload: "owner_pair",
            contender: "split",
        },
    ),
    (
        "steal_half steal_half::extended / crossbeam_lifo",
        0.8,
        half("crossbeam_lifo"),
    ),
    (
        "steal_half steal_half::extended / st3_lifo",
        0.8,
        half("st3_lifo"),
    ),
    (
        "producer_consumer pcb / seg_queue",
        0.5,
        Ratio {
            workload: "producer_consumer",
            contender: "pcb",
            to: "seg_queue",
        },
    ),
];

/// Compares the measurements with the limits. Missing measurements are skipped.
pub(super) fn bars(workloads: &[Measured], instructions: &[Instructions]) -> Vec<Bar> {
    LIMITS
        .iter()
        .map(|(name, limit, quantity)| {
            let measured = match quantity {
                Ratio {
                    workload,
                    contender,
                    to,
                } => workloads
                    .iter()
                    .find(|measured| measured.name == *workload)
                    .and_then(|measured| measured.ratio(contender, to))
                    .map(|ratio| ratio.median),
                Count {
                    workload,
                    contender,
                } => instructions
                    .iter()
                    .find(|count| count.workload == *workload && count.contender == *contender)
                    .map(|count| count.instructions),
            };
            Bar {
                name: (*name).into(),
                limit: *limit,
                measured,
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queues::workloads;

    /// A bar for a contender that does not exist would always be skipped.
    #[test]
    fn every_bar_is_about_contenders_that_take_part() {
        let takes_part = |workload: &str, contender: &str| {
            let found = workloads()
                .into_iter()
                .find(|candidate| candidate.name == workload);
            found.is_some_and(|workload| workload.names().any(|name| name == contender))
        };
        for (name, _, quantity) in &LIMITS {
            match quantity {
                Ratio {
                    workload,
                    contender,
                    to,
                } => {
                    assert!(takes_part(workload, contender), "{name}");
                    assert!(takes_part(workload, to), "{name}");
                }
                Count {
                    workload,
                    contender,
                } => assert!(takes_part(workload, contender), "{name}"),
            }
        }
    }
}
