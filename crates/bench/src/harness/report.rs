//! The report of a run as JSON, with raw samples, so that readers can summarise them differently.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use serde::Serialize;

use super::bars::Bar;
use super::machine::Machine;
use super::stats::{Summary, number};
use super::table::Table;
use super::{Measured, Plan};

/// All results of a run.
#[derive(Serialize)]
pub(crate) struct Report {
    machine: Machine,
    rounds: usize,
    sample_ms: f64,
    seed: u64,
    quick: bool,
    workloads: Vec<WorkloadReport>,
    instructions: Vec<Instructions>,
    figures: Vec<Figures>,
    tables: Vec<Table>,
    bars: Vec<Bar>,
}

#[derive(Serialize)]
struct WorkloadReport {
    name: &'static str,
    about: &'static str,
    reference: &'static str,
    note: Option<&'static str>,
    contenders: Vec<ContenderReport>,
}

#[derive(Serialize)]
struct ContenderReport {
    name: &'static str,
    nanoseconds: Option<Summary>,
    ratio: Option<Summary>,
    samples: Vec<f64>,
    notes: Vec<f64>,
}

/// Instructions per operation of one contender.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Instructions {
    pub(crate) workload: &'static str,
    pub(crate) contender: &'static str,
    pub(crate) instructions: f64,
}

/// Another quantity, one number for each contender.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Figures {
    /// Name and unit of the quantity.
    pub(crate) title: &'static str,
    figures: Vec<(&'static str, f64)>,
}

impl Figures {
    /// Creates figures without numbers.
    pub(crate) fn new(title: &'static str) -> Figures {
        Figures {
            title,
            figures: Vec::new(),
        }
    }

    /// Adds a contender's number.
    pub(crate) fn add(&mut self, contender: &'static str, figure: f64) {
        self.figures.push((contender, figure));
    }

    /// Returns a contender's number.
    pub(crate) fn get(&self, contender: &str) -> Option<f64> {
        let found = self.figures.iter().find(|(name, _)| *name == contender);
        found.map(|&(_, figure)| figure)
    }

    fn table(&self) -> Table {
        let mut table = Table::new(self.title, &["contender", "figure"]);
        for (contender, figure) in &self.figures {
            table.row(vec![(*contender).into(), number(*figure)]);
        }
        table
    }
}

/// Results of a suite.
#[derive(Default)]
pub(crate) struct Outcome {
    pub(crate) workloads: Vec<Measured>,
    /// Workloads whose samples are kept, but which are too many for separate tables.
    pub(crate) cells: Vec<Measured>,
    pub(crate) instructions: Vec<Instructions>,
    pub(crate) figures: Vec<Figures>,
    /// Other tables.
    pub(crate) tables: Vec<Table>,
    pub(crate) bars: Vec<Bar>,
}

impl Outcome {
    /// Returns the outcome as tables.
    pub(crate) fn tables(&self) -> Vec<Table> {
        let mut tables: Vec<Table> = self.workloads.iter().map(Measured::table).collect();
        if !self.instructions.is_empty() {
            let header = ["contender", "workload", "instructions"];
            let mut table = Table::new("Instructions per operation (callgrind)", &header);
            for count in &self.instructions {
                let instructions = format!("{:.1}", count.instructions);
                table.row(vec![
                    count.contender.into(),
                    count.workload.into(),
                    instructions,
                ]);
            }
            tables.push(table);
        }
        tables.extend(self.figures.iter().map(Figures::table));
        tables.extend(self.tables.iter().cloned());
        tables
    }
}

impl Report {
    /// Creates a report without results.
    pub(crate) fn new(machine: Machine, plan: &Plan, quick: bool) -> Report {
        Report {
            machine,
            rounds: plan.rounds,
            sample_ms: plan.sample.as_secs_f64() * 1e3,
            seed: plan.seed,
            quick,
            workloads: Vec::new(),
            instructions: Vec::new(),
            figures: Vec::new(),
            tables: Vec::new(),
            bars: Vec::new(),
        }
    }

    /// Adds the results of a suite.
    pub(crate) fn add(&mut self, outcome: Outcome) {
        self.workloads
            .extend(outcome.workloads.into_iter().map(WorkloadReport::of));
        self.workloads
            .extend(outcome.cells.into_iter().map(WorkloadReport::of));
        self.instructions.extend(outcome.instructions);
        self.figures.extend(outcome.figures);
        self.tables.extend(outcome.tables);
        self.bars.extend(outcome.bars);
    }

    /// Writes the report to a file.
    pub(crate) fn write(&self, file: &Path) -> io::Result<()> {
        let mut writer = BufWriter::new(File::create(file)?);
        serde_json::to_writer_pretty(&mut writer, self)?;
        writer.write_all(b"\n")?;
        writer.flush()
    }
}

impl WorkloadReport {
    fn of(measured: Measured) -> WorkloadReport {
        let contenders = measured
            .series
            .iter()
            .map(|series| ContenderReport {
                name: series.contender,
                nanoseconds: Summary::of(&series.samples),
                ratio: measured.ratio(series.contender, measured.reference),
                samples: series.samples.clone(),
                notes: if measured.note.is_some() {
                    series.notes.clone()
                } else {
                    Vec::new()
                },
            })
            .collect();
        let Measured {
            name,
            about,
            reference,
            note,
            ..
        } = measured;
        WorkloadReport {
            name,
            about,
            reference,
            note,
            contenders,
        }
    }
}
