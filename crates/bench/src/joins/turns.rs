//! The workloads: every runtime runs every program in turn, and the results are checked.

use locksley_workload::Program;

use super::cases::{Case, Visitor};
use super::contenders::{
    Chili, Forte, Locksley, LocksleyJoin, Rayon, Runtime, Serial, TakeAny, Traced,
};
use super::guest;
use crate::harness::Workload;

/// A number of workers that exceeds the number of cores.
const CROWD: usize = 16;

/// Name of the contender with [`CROWD`] workers.
pub(super) const CROWDED: &str = "locksley 16";

/// The program that is measured with and without a trace, because it steals often for its size, and
/// the name of that workload.
pub(super) const TRACED: (&str, &str) = ("queens", "trace overhead queens P=2");

/// Makes the workloads.
pub(super) struct Maker {
    quick: bool,
    /// The workloads, with the divisor of their rounds.
    pub(super) workloads: Vec<(Workload, usize)>,
}

impl Maker {
    pub(super) fn new(quick: bool) -> Maker {
        Maker {
            quick,
            workloads: Vec::new(),
        }
    }

    fn push(&mut self, case: &Case, name: &'static str, contenders: &[Entry]) {
        let contenders = contenders.iter().map(|&(name, runtime, workers)| {
            guest::contender(name, runtime, case.name, (workers, self.quick))
        });
        let workload = Workload {
            name,
            about: case.about,
            reference: if name == TRACED.1 {
                Locksley::NAME
            } else {
                Serial::NAME
            },
            note: Some("processor ns"),
            contenders: contenders.collect(),
        };
        self.workloads.push((workload, case.length));
    }
}

/// A contender's name, its runtime's name, and its number of workers.
type Entry = (&'static str, &'static str, usize);

const fn entry(name: &'static str, workers: usize) -> Entry {
    (name, name, workers)
}

const fn all_contenders(workers: usize) -> [Entry; 6] {
    [
        entry(Serial::NAME, 1),
        entry(Locksley::NAME, workers),
        entry(LocksleyJoin::NAME, workers),
        entry(Rayon::NAME, workers),
        entry(Chili::NAME, workers),
        entry(Forte::NAME, workers),
    ]
}

impl Visitor for Maker {
    fn visit<P: Program + 'static>(&mut self, case: Case, _: impl Fn() -> P + 'static) {
        if case.alone {
            self.push(&case, case.one, &all_contenders(1));
        }
        let mut contenders = all_contenders(2).to_vec();
        contenders.push(entry(TakeAny::NAME, 2));
        contenders.push((CROWDED, Locksley::NAME, CROWD));
        self.push(&case, case.two, &contenders);
        if case.name == TRACED.0 {
            let both = [entry(Locksley::NAME, 2), entry(Traced::NAME, 2)];
            self.push(&case, TRACED.1, &both);
        }
    }
}
