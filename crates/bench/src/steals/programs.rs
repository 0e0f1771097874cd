//! Programs with many steals for their size.

use super::bar;
use super::grid::shown;
use super::pair::{self, Pair};
use crate::harness::report::Outcome;
use crate::harness::table::Table;
use crate::harness::{Build, Plan, WrongResult};

/// Limit of our time relative to rayon's.
const LIMIT: f64 = 1.03;

const fn program(case: &'static str, name: &'static str, about: &'static str, calls: u64) -> Pair {
    Pair {
        case,
        name,
        about,
        threads: 2,
        calls,
    }
}

/// A program on a pool with more workers than most machines have processors.
const fn crowded(case: &'static str, name: &'static str, about: &'static str, calls: u64) -> Pair {
    Pair {
        threads: 8,
        ..program(case, name, about, calls)
    }
}

const PROGRAMS: [Pair; 14] = [
    program(
        "scope/in/10000x0.5us",
        "scope 10000",
        "a scope with 10000 tasks of 0.5 us, in the pool, per scope",
        2,
    ),
    program(
        "sort",
        "sort 100000",
        "par_sort_unstable of 100000 u32, in the pool, per sort",
        3,
    ),
    program(
        "tick",
        "tick",
        "a tick like a game's, bursts of 4 to 64 tasks of 2 us, in one install, per tick",
        20,
    ),
    program(
        "blake3 64 KiB in",
        "blake3 64 KiB in",
        "blake3 with its rayon feature, in the pool, per hash",
        250,
    ),
    program(
        "blake3 64 KiB out",
        "blake3 64 KiB out",
        "blake3 with its rayon feature, on a thread outside, per hash",
        150,
    ),
    program(
        "blake3 1 MiB in",
        "blake3 1 MiB in",
        "blake3 with its rayon feature, in the pool, per hash",
        20,
    ),
    program(
        "blake3 1 MiB out",
        "blake3 1 MiB out",
        "blake3 with its rayon feature, on a thread outside, per hash",
        20,
    ),
    program(
        "mixed joins",
        "mixed joins",
        "ten joins of two tasks of 0.2 us, then one of two tasks of 20 us, in the pool",
        200,
    ),
    program(
        "empty tasks out",
        "outside scope",
        "in_place_scope with 1000 empty tasks, on a thread outside, per scope",
        10,
    ),
    crowded(
        "fib",
        "8 workers: fib",
        "fib(24), nothing but joins, on 8 workers, per call",
        5,
    ),
    crowded(
        "empty tasks",
        "8 workers: scope",
        "a scope with 10000 empty tasks, on 8 workers, per scope",
        3,
    ),
    crowded(
        "tree of tasks",
        "8 workers: tree",
        "tasks that spawn two tasks each, ten levels, on 8 workers, per tree",
        10,
    ),
    crowded(
        "broadcast",
        "8 workers: broadcast",
        "a broadcast by one of 8 workers, per broadcast",
        100,
    ),
    crowded(
        "yields",
        "8 workers: yields",
        "a task that yields 1000 times to nothing, on 8 workers, per call",
        3,
    ),
];

pub(super) fn measure(plan: &Plan, outcome: &mut Outcome) -> Result<(), WrongResult> {
    let title = "programs: locksley / rayon";
    let mut table = Table::new(title, &["program", "wall time", "processor time"]);
    let mut is_built = false;
    for program in PROGRAMS {
        let mut wall = None;
        if plan.includes(program.name) {
            if !is_built {
                pair::build()?;
                is_built = true;
            }
            let measured = program.run_shown(pair::rounds(plan, 1.0))?;
            wall = Some(measured.wall());
            let processor = shown(measured.processor());
            table.row(vec![program.name.to_owned(), shown(wall), processor]);
            outcome.workloads.push(measured.measured);
        }
        let name = format!("{} {} / {}", program.name, Build::LOCKSLEY, Build::RAYON);
        outcome.bars.push(bar(name, LIMIT, wall));
    }
    if is_built {
        outcome.tables.push(table);
    }
    Ok(())
}
