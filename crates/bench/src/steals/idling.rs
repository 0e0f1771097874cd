//! Pools with more workers than the work needs: the cost of the idle workers, and their delay when
//! all are needed.

use super::bar;
use super::pair::{self, Pair};
use crate::harness::report::Outcome;
use crate::harness::stats::number;
use crate::harness::table::Table;
use crate::harness::{Build, Plan, WrongResult};

/// One worker is busy; the others get 20 us of work every 200 us. A turn is some tenths of a second
/// long, like programs of this kind: it takes the system a while to spread the threads that wake
/// each other over the processors, and in shorter turns they share one.
const LOW: Pair = Pair {
    case: "low parallelism",
    name: "low parallelism",
    about: "one busy worker of 16 forks a pair of tasks of 20 us every 200 us, per pair",
    threads: 16,
    calls: 1500,
};

/// Processor time of a pair of tasks and the work before it, in microseconds.
const WORK: f64 = 220.0;

/// Limit of our processor time relative to rayon's in that case.
const PROCESSOR: f64 = 0.8;

/// Tasks that need all workers at the same time.
const LATE: Pair = Pair {
    case: "late start",
    name: "late start",
    about: "8 tasks meet at a barrier in a pool of 8 that slept for 100 ms, per meeting",
    threads: 8,
    calls: 1,
};

pub(super) fn measure(plan: &Plan, outcome: &mut Outcome) -> Result<(), WrongResult> {
    let mut processor = None;
    if plan.includes(LOW.name) {
        pair::build()?;
        let measured = LOW.run_shown(pair::rounds(plan, 1.0))?;
        processor = measured.processor();
        outcome.tables.push(low(&measured));
        outcome.workloads.push(measured.measured);
    }
    let name = format!(
        "{} processor time {} / {}",
        LOW.name,
        Build::LOCKSLEY,
        Build::RAYON
    );
    outcome.bars.push(bar(name, PROCESSOR, processor));
    if plan.includes(LATE.name) {
        pair::build()?;
        let measured = LATE.run_shown(pair::rounds(plan, 0.25))?;
        outcome.workloads.push(measured.measured);
    }
    Ok(())
}

fn low(measured: &pair::Outcome) -> Table {
    let title = format!(
        "{}: processor time of a pair, of which {WORK} us are work",
        LOW.name
    );
    let mut table = Table::new(title, &["contender", "us", "beyond the work"]);
    for name in [Build::LOCKSLEY, Build::RAYON] {
        let used = measured.processor_nanoseconds(name) / 1e3;
        let figures = [used, used - WORK].map(number);
        table.row([vec![name.to_owned()], figures.into()].concat());
    }
    table
}
