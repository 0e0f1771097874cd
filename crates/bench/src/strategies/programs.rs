//! Programs that suit plain stealing, run under every strategy with two workers.

use std::time::Duration;

use locksley_workload::Program;

use super::lineup::{self, STEALING};
use crate::harness::report::Outcome;
use crate::harness::{Plan, Workload, WrongResult};
use crate::joins::{self, Case, Visitor};

/// A case of the suite `joins`, and its name in this suite.
pub(super) const PROGRAMS: [(&str, &str); 4] = [
    ("sort", "strategies sort P=2"),
    ("matrix", "strategies matrix P=2"),
    ("uts T1", "strategies uts T1 P=2"),
    ("uts T3", "strategies uts T3 P=2"),
];

const WORKERS: usize = 2;

/// Minimum duration of a sample.
const SAMPLE: Duration = Duration::from_millis(20);

/// Creates the workloads.
struct Maker<'p> {
    plan: &'p Plan,
    /// The workloads with the duration of each.
    workloads: Vec<(Workload, usize)>,
}

impl Visitor for Maker<'_> {
    fn visit<P: Program + 'static>(&mut self, case: Case, _: impl Fn() -> P + 'static) {
        let ours = PROGRAMS.iter().find(|(name, _)| *name == case.name);
        let Some(&(_, name)) = ours.filter(|(_, name)| self.plan.includes(name)) else {
            return;
        };
        let contenders = lineup::known(&lineup::ALL).into_iter();
        let contenders = contenders.map(|strategy| {
            joins::contender(strategy, strategy, case.name, (WORKERS, self.plan.quick))
        });
        let workload = Workload {
            name,
            about: case.about,
            reference: STEALING,
            note: Some("processor ns"),
            contenders: contenders.collect(),
        };
        self.workloads.push((workload, case.length));
    }
}

pub(super) fn measure(plan: &Plan, outcome: &mut Outcome) -> Result<(), WrongResult> {
    let mut maker = Maker {
        plan,
        workloads: Vec::new(),
    };
    joins::visit(plan.quick, &mut maker);
    for (workload, length) in maker.workloads {
        let plan = Plan {
            rounds: plan.rounds.div_ceil(length),
            sample: if plan.quick { plan.sample } else { SAMPLE },
            ..plan.clone()
        };
        outcome.workloads.push(workload.run(&plan)?);
    }
    Ok(())
}
