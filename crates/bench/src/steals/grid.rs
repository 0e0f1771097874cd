//! The grid: a number of tasks of a given duration, forked in one of four ways by one of three
//! callers.
//!
//! A cell whose ratio is above the limit is measured again with more rounds; then only the second
//! figure counts.

use std::sync::LazyLock;

use super::pair::{self, Pair};
use super::{bar, spin::Rate};
use crate::harness::Build;
use crate::harness::progress::Progress;
use crate::harness::report::Outcome;
use crate::harness::table::Table;
use crate::harness::{Bar, Plan, WrongResult};

/// Ways to fork the tasks.
const MEANS: [&str; 4] = ["scope", JOIN, "par_iter", "par_bridge"];
const JOIN: &str = "join";

/// Callers that fork the tasks: a worker that does nothing else; a worker after 100 us of its own
/// work; a thread outside of the pool.
const CALLERS: [&str; 3] = [IN, AFTER, OUT];
const IN: &str = "in";
const AFTER: &str = "after";
const OUT: &str = "out";

/// Numbers of tasks.
const TASKS: [u32; 6] = [2, 4, 8, 30, 100, 1000];

/// Durations of a task, in microseconds.
const LENGTHS: [f64; 9] = [0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 200.0];

/// Limit of the duration of all tasks together, in microseconds.
const LONGEST: f64 = 20_000.0;

/// Number of workers of the pools.
const THREADS: usize = 2;

/// Limit of our time relative to rayon's in any cell.
const CELL: f64 = 1.03;

/// Limit of our time relative to rayon's in the geometric mean.
const MEAN: f64 = 0.8;

/// Limit of our processor time relative to rayon's in the geometric mean.
const PROCESSOR_MEAN: f64 = 1.0;

/// Limit of the time of a join by a worker that does nothing else, as a multiple of the ideal, and
/// the smallest size for which it holds.
const OF_IDEAL: f64 = 1.25;
const IDEAL_FROM: (f64, f64) = (30.0, 1.0);

/// Number of rounds of a cell as a fraction of the plan's, and the factor if it is measured again.
const ROUNDS: f64 = 0.15;
const AGAIN: usize = 4;

/// Smallest number of processors that rayon uses on an otherwise idle machine, and the amount of
/// work from which on that holds, in microseconds.
const FREE: f64 = 1.5;
const ENOUGH: f64 = 200.0;

/// Approximate duration of a turn, in microseconds.
const TURN: f64 = 3000.0;
const QUICK_TURN: f64 = 500.0;

/// A cell of the grid.
#[derive(Debug)]
struct Cell {
    /// Returns the cell's name, such as `scope/in/100x0.5us`.
    name: String,
    means: &'static str,
    caller: &'static str,
    tasks: u32,
    length: f64,
}

static CELLS: LazyLock<Vec<Cell>> = LazyLock::new(|| {
    let mut cells = Vec::new();
    for means in MEANS {
        for caller in CALLERS {
            for tasks in TASKS {
                let lengths = LENGTHS.into_iter();
                let lengths = lengths.filter(|length| f64::from(tasks) * length <= LONGEST);
                cells.extend(lengths.map(|length| Cell {
                    name: format!("{means}/{caller}/{tasks}x{length}us"),
                    means,
                    caller,
                    tasks,
                    length,
                }));
            }
        }
    }
    cells
});

impl Cell {
    /// Returns `true` if a quick run includes the cell even if it is not requested by name.
    fn is_quick(&self) -> bool {
        [2, 100].contains(&self.tasks) && [0.2, 5.0].contains(&self.length)
    }

    /// Returns the ideal time with two workers, in nanoseconds.
    fn ideal(&self, rate: Rate) -> f64 {
        let steps = rate.steps(self.length) * u64::from(self.tasks);
        steps as f64 / rate.0 * 1e3 / THREADS as f64
    }

    /// Returns `true` if the cell's time is limited by the ideal.
    fn is_near_ideal(&self) -> bool {
        let (all, each) = IDEAL_FROM;
        let all_is_enough = f64::from(self.tasks) * self.length >= all;
        self.means == JOIN && self.caller == IN && all_is_enough && self.length >= each
    }

    fn pair(&'static self, quick: bool) -> Pair {
        let tasks = f64::from(self.tasks);
        let work = tasks * self.length / THREADS as f64;
        // A call also includes the time of the forks and the caller's own work.
        let beside = match self.caller {
            AFTER => 101.0,
            OUT => 10.0,
            _ => 0.5,
        };
        let call = work + tasks * 0.1 + beside;
        let turn = if quick { QUICK_TURN } else { TURN };
        Pair {
            case: &self.name,
            name: &self.name,
            about: "a call",
            threads: THREADS,
            calls: (turn / call).ceil() as u64,
        }
    }
}

/// Result of a cell.
struct Measured {
    cell: &'static Cell,
    /// Ratios of our time to rayon's: the first, and a second if the first was above the limit.
    walls: Vec<f64>,
    processor: Option<f64>,
    /// Ratio of our time to the ideal.
    of_ideal: f64,
    /// Number of processors that rayon used on average.
    processors: f64,
}

impl Measured {
    /// Returns the ratio that counts, which is the last one.
    fn wall(&self) -> f64 {
        *self.walls.last().expect("a cell is measured once or twice")
    }

    /// Returns `true` if other processes used the processors: there was enough work for two, but
    /// rayon did not get both.
    fn is_crowded(&self) -> bool {
        let work = f64::from(self.cell.tasks) * self.cell.length;
        self.cell.caller == IN && work >= ENOUGH && self.processors < FREE
    }

    fn measure(
        cell: &'static Cell,
        plan: &Plan,
        outcome: &mut Outcome,
    ) -> Result<Measured, WrongResult> {
        let (pair, rounds) = (cell.pair(plan.quick), pair::rounds(plan, ROUNDS));
        let mut last = pair.run(rounds)?;
        let mut walls = vec![last.wall()];
        if last.wall() > CELL {
            last = pair.run(AGAIN * rounds)?;
            walls.push(last.wall());
        }
        let measured = Measured {
            cell,
            walls,
            processor: last.processor(),
            processors: last.processors(Build::RAYON),
            of_ideal: last.nanoseconds(Build::LOCKSLEY) / cell.ideal(last.rate),
        };
        outcome.cells.push(last.measured);
        Ok(measured)
    }
}

pub(super) fn measure(plan: &Plan, outcome: &mut Outcome) -> Result<(), WrongResult> {
    let everything = !plan.quick || plan.only.is_some();
    let cells = CELLS.iter().filter(|cell| plan.includes(&cell.name));
    let cells: Vec<_> = cells.filter(|cell| everything || cell.is_quick()).collect();
    let mut grid = Vec::with_capacity(cells.len());
    if !cells.is_empty() {
        pair::build()?;
    }
    let mut progress = None;
    for (index, &cell) in cells.iter().enumerate() {
        let row = |cell: &Cell| (cell.means, cell.caller);
        if index == 0 || row(cells[index - 1]) != row(cell) {
            let steps = cells.iter().filter(|other| row(other) == row(cell)).count();
            let name = format!("{}/{}", cell.means, cell.caller);
            progress = Some(Progress::start(&name, steps as u64));
        }
        grid.push(Measured::measure(cell, plan, outcome)?);
        progress.iter().for_each(Progress::step);
    }
    let crowded = grid.iter().filter(|cell| cell.is_crowded()).count();
    if crowded > 0 {
        eprintln!(
            "the machine is busy: in {crowded} cells with work for two rayon had less than \
             {FREE} processors; the ratios say little"
        );
    }
    outcome.tables.extend(tables(&grid));
    outcome.tables.extend(above(&grid));
    outcome.bars.extend(bars(&grid));
    Ok(())
}

/// Returns a table for each way and caller, with a row for each number of tasks.
fn tables(grid: &[Measured]) -> Vec<Table> {
    let lengths = LENGTHS.map(|length| format!("{length} us"));
    let mut header = vec!["tasks"];
    header.extend(lengths.iter().map(String::as_str));
    let mut tables = Vec::new();
    let ways = MEANS
        .into_iter()
        .flat_map(|means| CALLERS.map(|caller| (means, caller)));
    for (means, caller) in ways {
        let here =
            |measured: &&Measured| (measured.cell.means, measured.cell.caller) == (means, caller);
        let cells: Vec<&Measured> = grid.iter().filter(here).collect();
        let mut push = |title: String, figure: &dyn Fn(&Measured) -> Option<f64>| {
            if let Some(table) = table(&title, &header, &cells, figure) {
                tables.push(table);
            }
        };
        let title = format!("{means}/{caller}: wall time, locksley / rayon, by length of a task");
        push(title, &|measured| Some(measured.wall()));
        let title = format!("{means}/{caller}: processor time, locksley / rayon");
        push(title, &|measured| measured.processor);
        if (means, caller) == (JOIN, IN) {
            let title = format!("{means}/{caller}: wall time, locksley / ideal");
            push(title, &|measured| Some(measured.of_ideal));
        }
    }
    tables
}

fn table(
    title: &str,
    header: &[&str],
    cells: &[&Measured],
    figure: &dyn Fn(&Measured) -> Option<f64>,
) -> Option<Table> {
    if cells.is_empty() {
        return None;
    }
    let mut table = Table::new(title, header);
    for tasks in TASKS {
        let cell = |length: f64| {
            let mut found = cells
                .iter()
                .filter(|m| (m.cell.tasks, m.cell.length) == (tasks, length));
            found.next().and_then(|measured| figure(measured))
        };
        let figures = LENGTHS.map(cell);
        if figures.iter().any(Option::is_some) {
            let text =
                |figure: Option<f64>| figure.map_or(String::new(), |figure| format!("{figure:.2}"));
            let mut row = vec![tasks.to_string()];
            row.extend(figures.map(text));
            table.row(row);
        }
    }
    Some(table)
}

/// Returns a table of the cells that were measured twice, the worst first.
fn above(grid: &[Measured]) -> Option<Table> {
    let mut twice: Vec<&Measured> = grid.iter().filter(|cell| cell.walls.len() > 1).collect();
    twice.sort_by(|a, b| b.wall().total_cmp(&a.wall()));
    let short = twice.iter().filter(|cell| cell.wall() > CELL).count();
    let title = format!(
        "grid: of {} cells {} were above {CELL} and measured again, {short} were above it then",
        grid.len(),
        twice.len()
    );
    let mut table = Table::new(
        title,
        &["cell", "first", "again", "processor", "rayon's processors"],
    );
    for measured in &twice {
        let mut row = vec![measured.cell.name.clone()];
        row.extend(measured.walls.iter().map(|wall| format!("{wall:.3}")));
        row.push(shown(measured.processor));
        row.push(format!("{:.1}", measured.processors));
        table.row(row);
    }
    (!twice.is_empty()).then_some(table)
}

/// Formats a ratio, if there is one.
pub(super) fn shown(ratio: Option<f64>) -> String {
    ratio.map_or(String::new(), |ratio| format!("{ratio:.3}"))
}

fn bars(grid: &[Measured]) -> Vec<Bar> {
    let ours_to_theirs = format!("{} / {}", Build::LOCKSLEY, Build::RAYON);
    let worst = worst(grid.iter(), Measured::wall);
    let near_ideal = grid.iter().filter(|measured| measured.cell.is_near_ideal());
    let of_ideal = self::worst(near_ideal, |measured| measured.of_ideal);
    let name = |worst: Option<(&str, f64)>| worst.map_or("none", |(name, _)| name).to_owned();
    let walls = grid.iter().map(Measured::wall);
    let processors = grid.iter().filter_map(|measured| measured.processor);
    vec![
        bar(
            format!("grid, worst cell ({}), {ours_to_theirs}", name(worst)),
            CELL,
            worst.map(|(_, ratio)| ratio),
        ),
        bar(
            format!("grid, geometric mean, {ours_to_theirs}"),
            MEAN,
            geometric_mean(walls),
        ),
        bar(
            format!("grid, processor time, geometric mean, {ours_to_theirs}"),
            PROCESSOR_MEAN,
            geometric_mean(processors),
        ),
        bar(
            format!(
                "joins in the pool, worst cell ({}), {} / ideal",
                name(of_ideal),
                Build::LOCKSLEY
            ),
            OF_IDEAL,
            of_ideal.map(|(_, ratio)| ratio),
        ),
    ]
}

/// Returns the largest figure and its cell.
fn worst<'m>(
    cells: impl Iterator<Item = &'m Measured>,
    figure: impl Fn(&Measured) -> f64,
) -> Option<(&'static str, f64)> {
    let figures = cells.map(|measured| (measured.cell.name.as_str(), figure(measured)));
    figures.max_by(|a, b| a.1.total_cmp(&b.1))
}

fn geometric_mean(ratios: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = ratios.fold((0.0, 0), |(sum, count), ratio| {
        (sum + ratio.ln(), count + 1)
    });
    (count > 0).then(|| (sum / f64::from(count)).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grid_has_every_size_up_to_the_longest() {
        assert_eq!(CELLS.len(), 4 * 3 * (5 * 9 + 7));
        let names: std::collections::HashSet<&str> = CELLS.iter().map(|cell| &*cell.name).collect();
        assert_eq!(names.len(), CELLS.len());
        assert!(names.contains("scope/in/100x0.5us"));
        assert!(names.contains("par_bridge/out/1000x20us"));
        assert!(!names.contains("join/after/1000x50us"));
    }

    #[test]
    fn joins_of_some_length_are_held_against_the_ideal() {
        let limited: Vec<&Cell> = CELLS.iter().filter(|cell| cell.is_near_ideal()).collect();
        assert!(limited.iter().all(|cell| cell.name.starts_with("join/in/")));
        assert!(limited.iter().any(|cell| cell.name == "join/in/30x1us"));
        assert!(!limited.iter().any(|cell| cell.name == "join/in/100x0.5us"));
        assert_eq!(limited[0].name, "join/in/2x20us");
        assert!((limited[0].ideal(Rate(500.0)) - 20_000.0).abs() < 1e-6);
    }

    #[test]
    fn a_geometric_mean_takes_twice_and_half_alike() {
        let mean = geometric_mean([2.0, 0.5].into_iter());
        assert!((mean.unwrap() - 1.0).abs() < 1e-9);
        assert_eq!(geometric_mean([].into_iter()), None);
    }
}
