//! The turns of one program: every runtime runs it, and what comes out is checked.

use std::thread;
use std::time::Duration;

use locksley_workload::Program;

use super::cases::{Case, Visitor};
use super::contenders::{Chili, Forte, Free, Rayon, Runtime, Serial, TakeAny, Traced, Worker};
use super::guest;
use crate::harness::clock;
use crate::harness::{Sample, WallClock, Workload, Wrong};

/// More workers than the machine has cores.
const CROWD: usize = 16;

/// The name of the contender that has them.
pub(super) const CROWDED: &str = "locksley 16";

/// What is measured with and without a trace, and its name then: few programs steal as often for their size.
pub(super) const TRACED: (&str, &str) = ("queens", "trace overhead queens P=2");

/// Before a sample, workers that were started or stopped a moment ago come to rest.
const SETTLE: Duration = Duration::from_millis(2);

/// Runs a program, as often as it takes to do that many operations.
pub(super) fn turn<R: Runtime, P: Program>(
    runtime: &mut R,
    program: &mut P,
    case: &'static str,
    operations: u64,
) -> Result<Sample, Wrong> {
    let runs = operations.div_ceil(program.operations()).max(1);
    let (mut elapsed, mut used) = (Duration::ZERO, Duration::ZERO);
    thread::sleep(SETTLE);
    for _ in 0..runs {
        let task = program.task();
        let (start, before) = (WallClock::now(), clock::process());
        let output = runtime.run(task);
        elapsed += start.elapsed();
        let both = clock::process().zip(before);
        used += both.map_or(Duration::ZERO, |(after, before)| after - before);
        program
            .check(output)
            .map_err(|mismatch| Wrong::new(R::NAME, case, mismatch.expected, mismatch.got))?;
    }
    let operations = runs * program.operations();
    Ok(Sample {
        elapsed,
        operations,
        note: used.as_secs_f64() * 1e9 / operations as f64,
    })
}

/// Makes the workloads.
pub(super) struct Maker {
    quick: bool,
    /// The workloads, and how long each is.
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
                Worker::NAME
            } else {
                Serial::NAME
            },
            note: Some("processor ns"),
            contenders: contenders.collect(),
        };
        self.workloads.push((workload, case.length));
    }
}

/// A contender's name, its runtime's name, and how many workers it has.
type Entry = (&'static str, &'static str, usize);

const fn entry(name: &'static str, workers: usize) -> Entry {
    (name, name, workers)
}

const fn everybody(workers: usize) -> [Entry; 6] {
    [
        entry(Serial::NAME, 1),
        entry(Worker::NAME, workers),
        entry(Free::NAME, workers),
        entry(Rayon::NAME, workers),
        entry(Chili::NAME, workers),
        entry(Forte::NAME, workers),
    ]
}

impl Visitor for Maker {
    fn visit<P: Program + 'static>(&mut self, case: Case, _: impl Fn() -> P + 'static) {
        if case.alone {
            self.push(&case, case.one, &everybody(1));
        }
        let mut contenders = everybody(2).to_vec();
        contenders.push(entry(TakeAny::NAME, 2));
        contenders.push((CROWDED, Worker::NAME, CROWD));
        self.push(&case, case.two, &contenders);
        if case.name == TRACED.0 {
            let both = [entry(Worker::NAME, 2), entry(Traced::NAME, 2)];
            self.push(&case, TRACED.1, &both);
        }
    }
}
