//! Writes results to standard output, as text or JSON, and to the output folder.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use locksley_measure::Machine;
use locksley_report::Results;
use serde::Serialize;

use crate::cli::Options;
use crate::error::Error;
use crate::interrupt;
use crate::render::style::Style;
use crate::render::units::several;

/// Where and how a command prints.
#[derive(Clone, Debug)]
pub(crate) struct Output {
    /// The output folder.
    pub(crate) folder: PathBuf,
    /// Set if `--out` names the folder.
    pub(crate) chosen: bool,
    pub(crate) json: bool,
    pub(crate) style: Style,
}

impl Output {
    pub(crate) fn new(options: &Options) -> Output {
        Output {
            folder: options.out.clone().unwrap_or_else(|| "locksley-out".into()),
            chosen: options.out.is_some(),
            json: options.json,
            style: Style::of_stdout(),
        }
    }

    /// Prints text, unless `--json` was given.
    pub(crate) fn say(&self, text: impl AsRef<str>) {
        if !self.json {
            print(text.as_ref());
        }
    }

    /// Prints a JSON document if `--json` was given.
    pub(crate) fn document(&self, document: &impl Serialize) -> Result<(), Error> {
        if !self.json {
            return Ok(());
        }
        let text = serde_json::to_string_pretty(&Versioned {
            schema: SCHEMA,
            document,
        });
        print(&text.map_err(|error| Error::System(format!("no JSON: {error}")))?);
        Ok(())
    }

    /// Warns if other programs use the processors, which makes times scatter.
    pub(crate) fn warn_if_busy(&self) {
        if let Some(warning) = busy() {
            // On standard error, so that standard output stays valid JSON.
            eprintln!("note: {warning}");
        }
    }

    /// Writes a file in the output folder, which is created if it is missing.
    pub(crate) fn write(&self, name: &str, content: &str) -> Result<PathBuf, Error> {
        let path = self.folder.join(name);
        let folder = path.parent().unwrap_or(&self.folder);
        fs::create_dir_all(folder)
            .map_err(|error| Error::file("create the folder", folder, &error))?;
        write_whole(&path, content)?;
        Ok(path)
    }

    /// Prints the files that were written.
    pub(crate) fn say_files(&self, files: &[PathBuf]) {
        for file in files {
            self.say(format!("  written: {}", self.style.bold(&shown(file))));
        }
    }
}

/// Writes a file under another name and renames it: a reader finds the whole file or none.
pub(crate) fn write_whole(path: &Path, content: &str) -> Result<(), Error> {
    let mut partial = path.as_os_str().to_owned();
    partial.push(format!(".{}.part", std::process::id()));
    let partial = PathBuf::from(partial);
    let written = fs::write(&partial, content).and_then(|()| fs::rename(&partial, path));
    written.map_err(|error| {
        let _ = fs::remove_file(&partial);
        Error::file("write", path, &error)
    })
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// Prints one or several lines.
fn print(text: &str) {
    let mut out = io::stdout().lock();
    printed(writeln!(out, "{text}").and_then(|()| out.flush()));
}

/// Ends the process if writing to standard output failed: with success if the reader has closed the
/// pipe, otherwise (a full disk, for example) with the exit code for files.
pub(crate) fn printed(outcome: io::Result<()>) {
    match outcome {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => std::process::exit(0),
        Err(error) => {
            eprintln!("error: cannot write to standard output: {error}");
            std::process::exit(3);
        }
    }
}

/// Returns a warning if the load of the last minute is more than half of the processors.
pub(crate) fn busy() -> Option<String> {
    let processors = locksley::available_cpus().count();
    let load = Machine::here(&[]).load?;
    (load > 0.5 * processors as f64).then(|| {
        format!(
            "other programs use this machine (load {load} on {}): times will scatter",
            several(processors, "processor")
        )
    })
}

/// Describes this machine, for results.
pub(crate) fn machine() -> locksley_report::Machine {
    let here = Machine::here(&["rayon", "chili"]);
    let mut machine = locksley_report::Machine::new(here.cpu, locksley::available_cpus().count());
    machine.system = Some(format!("{}, {}", here.os, here.kernel));
    let rivals = here.rivals.join(", ");
    machine.compiler = Some(format!("{}; {rivals}; {}", here.rustc, here.barrier));
    machine
}

/// Returns the command line as it was typed, without the path of the program.
pub(crate) fn command_line() -> String {
    let mut arguments = std::env::args();
    let program = arguments.next().unwrap_or_default();
    let program = if program.contains("cargo-locksley") {
        "cargo"
    } else {
        "locksley"
    };
    std::iter::once(program.to_owned())
        .chain(arguments)
        .collect::<Vec<_>>()
        .join(" ")
}

/// The results of a running command, which are written even if it is interrupted.
pub(crate) struct Session {
    results: Arc<Mutex<Results>>,
    output: Output,
    name: &'static str,
    text: fn(&Results) -> String,
}

/// Version of the documents that `--json` prints. It is raised when a field is removed or changes
/// its meaning, not when one is added.
const SCHEMA: u32 = 1;

/// A document that `--json` prints, with the version first.
#[derive(Serialize)]
struct Versioned<'a, T> {
    schema: u32,
    #[serde(flatten)]
    document: &'a T,
}

/// The document that `--json` prints for a session.
#[derive(Serialize)]
struct Document<'a> {
    command: &'a str,
    results: &'a Results,
    files: Vec<String>,
}

impl Session {
    /// Starts a session whose files are called `name`; `text` formats its results as text.
    pub(crate) fn start(
        output: &Output,
        name: &'static str,
        title: &str,
        text: fn(&Results) -> String,
    ) -> Session {
        let mut results = Results::new(title, machine());
        results.command = command_line();
        if let Some(warning) = busy() {
            eprintln!("note: {warning}");
            results
                .notes
                .push(format!("Before the measurement: {warning}."));
        }
        let session = Session {
            results: Arc::new(Mutex::new(results)),
            output: output.clone(),
            name,
            text,
        };
        let kept = session.clone_parts();
        interrupt::keep(move || kept.keep());
        session
    }

    fn clone_parts(&self) -> Session {
        Session {
            results: self.results.clone(),
            output: self.output.clone(),
            ..*self
        }
    }

    /// Locks the results.
    pub(crate) fn results(&self) -> MutexGuard<'_, Results> {
        self.results.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes the results so far, on Ctrl-C. Returns a message that says where they are.
    fn keep(&self) -> String {
        let mut results = self.results().clone();
        results.interrupted = true;
        prune(&mut results);
        if results.is_empty() {
            return "nothing had been measured yet, so nothing is written".to_owned();
        }
        match self.files(&results) {
            Ok(files) => {
                let files: Vec<String> = files.iter().map(|file| shown(file)).collect();
                format!("the measurements so far are kept in {}", files.join(", "))
            }
            Err(error) => format!("the measurements are lost: {error}"),
        }
    }

    fn files(&self, results: &Results) -> Result<Vec<PathBuf>, Error> {
        let [json, csv] = locksley_report::write(&self.output.folder, self.name, results)?;
        let text = self
            .output
            .write(&format!("{}.txt", self.name), &(self.text)(results))?;
        let page = self.output.write(
            &format!("{}.html", self.name),
            &locksley_report::page(results),
        )?;
        Ok(vec![json, csv, text, page])
    }

    /// Writes the files, and prints their names or the JSON document.
    pub(crate) fn finish(self) -> Result<Results, Error> {
        let mut results = self.results().clone();
        prune(&mut results);
        let files = interrupt::finish(|| self.files(&results))?;
        self.output.say("");
        self.output.say_files(&files);
        self.output.document(&Document {
            command: self.name,
            results: &results,
            files: files.iter().map(|file| shown(file)).collect(),
        })?;
        Ok(results)
    }
}

/// Removes entries without measurements.
fn prune(results: &mut Results) {
    for comparison in &mut results.comparisons {
        comparison.rows.retain(|row| !row.samples.is_empty());
    }
    results
        .comparisons
        .retain(|comparison| !comparison.rows.is_empty());
    for experiment in &mut results.experiments {
        experiment
            .batches
            .retain(|batch| !batch.repetitions.is_empty());
    }
    results
        .experiments
        .retain(|experiment| !experiment.batches.is_empty());
}
