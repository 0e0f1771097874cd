//! `cargo locksley compare`: runs the program with rayon and with Locksley in turn.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use clap::Args;
use serde_json::json;

use super::Selection;
use super::build::{self, Variant};
use super::child::Runner;
use super::project::Project;
use super::verdict::{Findings, Printed, Series};
use crate::cli::Options;
use crate::error::Error;
use crate::interrupt;
use crate::measure::progress::Progress;
use crate::parse::ranges::{self, Numbers};
use crate::render::output::{self, Output};

/// Builds the program with rayon and with the drop-in, runs both in turn, and compares standard
/// output, exit codes, wall time, processor time and peak memory. The first run of each is not
/// timed. Writes compare.json, .txt and .html; exits with 1 if outputs or exit codes differ.
#[derive(Args, Debug)]
pub(super) struct Compare {
    /// Timed runs of each program.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 11,
        value_parser = clap::value_parser!(u32).range(1..=100_000),
    )]
    rounds: u32,
    /// Values for RAYON_NUM_THREADS: 2, 1:4, or 1,2,4 [default: as in the environment].
    #[arg(long, value_name = "LIST", value_parser = ranges::workers)]
    threads: Option<Numbers>,
    #[command(flatten)]
    pub(super) selection: Selection,
}

type Shared = Arc<Mutex<Findings>>;

fn lock(findings: &Shared) -> MutexGuard<'_, Findings> {
    findings.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Compare {
    pub(super) fn run(&self, options: &Options) -> Result<(), Error> {
        let arguments = self.selection.cargo_arguments();
        let project = Project::open(&arguments)?;
        let output = super::output(options, &project);
        let (rayon, programs) = build_both(&project, &arguments)?;
        let findings = Arc::new(Mutex::new(self.findings(&programs[0], rayon)));
        let kept = (output.clone(), findings.clone());
        interrupt::keep(move || keep(&kept.0, &kept.1));
        output.warn_if_busy();
        let folder = project.folder.join("runs");
        let selection = &self.selection;
        let runner = Runner::new(folder, &selection.arguments, selection.stdin.as_ref())?;
        self.measure(&runner, &programs, &findings)?;
        let findings = lock(&findings).clone();
        let files = interrupt::finish(|| write(&output, &findings))?;
        output.say(findings.text());
        output.say_files(&files);
        let files = files.iter().map(|file| file.display().to_string());
        let mut document = findings.document();
        document["command_line"] = output::command_line().into();
        document["files"] = files.collect::<Vec<_>>().into();
        output.document(&json!(document))?;
        if findings.is_correct() {
            return Ok(());
        }
        let [stdout, stderr] = runner.outputs("locksley");
        Err(Error::Check(format!(
            "the program behaves differently on Locksley; its last output is in {} and {}",
            stdout.display(),
            stderr.display()
        )))
    }

    fn findings(&self, program: &std::path::Path, rayon: String) -> Findings {
        let program = build::name(program);
        let words = self.selection.arguments.iter();
        let words = words.map(|word| word.to_string_lossy().into_owned());
        let command: Vec<String> = std::iter::once(program.clone()).chain(words).collect();
        let threads = match &self.threads {
            None => vec![None],
            Some(Numbers(threads)) => threads.iter().copied().map(Some).collect(),
        };
        let pairs = threads
            .into_iter()
            .flat_map(|threads| Variant::BOTH.map(|variant| Series::new(variant, threads)));
        Findings {
            program,
            command: command.join(" "),
            rayon,
            rounds: self.rounds as usize,
            series: pairs.collect(),
            interrupted: false,
        }
    }

    /// Runs every series once per round, in an order that is shuffled for each round.
    fn measure(
        &self,
        runner: &Runner,
        programs: &[PathBuf; 2],
        findings: &Shared,
    ) -> Result<(), Error> {
        let count = lock(findings).series.len();
        let program = lock(findings).program.clone();
        let steps = (u64::from(self.rounds) + 1) * count as u64;
        let progress = Progress::start(&program, steps);
        let mut order: Vec<usize> = (0..count).collect();
        for round in 0..=self.rounds {
            fastrand::shuffle(&mut order);
            for &index in &order {
                let (variant, threads) = {
                    let found = lock(findings);
                    (found.series[index].variant, found.series[index].threads)
                };
                let name = variant.name();
                let usage = runner.run(&programs[index % 2], name, threads, &[])?;
                let printed = Printed::read(&runner.outputs(name)[0])?;
                let mut found = lock(findings);
                let series = &mut found.series[index];
                series.printed.insert(printed);
                series.ends.insert(usage.end.clone());
                // The first run only fills the caches.
                if round > 0 {
                    series.runs.push(usage);
                }
                progress.step();
            }
        }
        Ok(())
    }
}

/// Builds the program with rayon and with the drop-in. Returns the project's version of rayon-core
/// and both programs.
fn build_both(
    project: &Project,
    arguments: &[std::ffi::OsString],
) -> Result<(String, [PathBuf; 2]), Error> {
    let lock = project.lock_file()?;
    let tree = project.examine(&lock)?;
    let ours = build::program(project, Variant::Locksley, arguments)?;
    lock.use_original()?;
    let theirs = build::program(project, Variant::Rayon, arguments)?;
    Ok((tree.original, [theirs, ours]))
}

/// Writes the findings so far, on Ctrl-C. Returns a message that says where they are.
fn keep(output: &Output, findings: &Shared) -> String {
    let mut findings = lock(findings).clone();
    findings.interrupted = true;
    let measured = |series: &Series| !series.runs.is_empty();
    if !findings.series.iter().all(measured) {
        return "no round was complete, so nothing is written".to_owned();
    }
    match write(output, &findings) {
        Ok(files) => {
            let files: Vec<String> = files
                .iter()
                .map(|file| file.display().to_string())
                .collect();
            format!("the measurements so far are kept in {}", files.join(", "))
        }
        Err(error) => format!("the measurements are lost: {error}"),
    }
}

fn write(output: &Output, findings: &Findings) -> Result<Vec<PathBuf>, Error> {
    let page = locksley_report::page(&findings.results(output::machine()));
    Ok(vec![
        output.write("compare.json", &format!("{:#}\n", findings.document()))?,
        output.write("compare.txt", &findings.text())?,
        output.write("compare.html", &page)?,
    ])
}
