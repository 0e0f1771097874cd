//! `locksley theory`: checks the papers' claims.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use clap::Args;
use locksley::Pool;
use locksley_measure::runtimes::{Locksley, Runtime};
use locksley_sim::Sweep;
use locksley_sim::theory::figures::{Figure, figure};
use locksley_sim::theory::{Claim, Effort, Finding, claims};
use locksley_workload::catalog::nearest;
use serde_json::{Value, json};

use crate::commands::claims::{meaning, sentence};
use crate::error::Error;
use crate::interrupt;
use crate::measure::progress::Progress;
use crate::parse::names::meant;
use crate::render::output::Output;
use crate::render::units::several;

pub(crate) const EXAMPLES: &str = "  \
  locksley theory                     all claims, and the thesis's figures with measured points
  locksley theory --quick             smaller samples
  locksley theory --only 'run time'   claims with this in their name, and no figures";

/// Number of figures of the thesis.
const FIGURES: usize = 5;

/// Checks the papers' claims, and shows prediction, measurement, sample and verdict of each. Draws
/// Figures 5.1 to 5.5 of the thesis with measured points into the folder theory. Exits with 1 if a
/// claim does not hold.
#[derive(Args, Default)]
pub(crate) struct Theory {
    /// Smaller samples: enough to notice an error.
    #[arg(long)]
    quick: bool,
    /// Only claims with this in their name, and no figures.
    #[arg(long, value_name = "NAME")]
    only: Option<String>,
}

/// A unit of parallel work.
enum Job {
    Check(usize, Claim),
    Draw(usize),
}

/// Findings by the number and name of their claim, and figures.
#[derive(Default)]
struct Done {
    found: Vec<(usize, &'static str, Vec<Finding>)>,
    drawn: Vec<Figure>,
}

type Shared = Arc<Mutex<Done>>;

fn lock(done: &Shared) -> MutexGuard<'_, Done> {
    done.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Theory {
    pub(crate) fn run(&self, output: &Output) -> Result<(), Error> {
        let (began, jobs, done) = (Instant::now(), self.jobs()?, Shared::default());
        let kept = (output.clone(), done.clone());
        interrupt::keep(move || match write(&kept.0, &mut lock(&kept.1), true) {
            Ok(files) => format!("the findings so far are kept in {}", files.join(", ")),
            Err(error) => format!("the findings are lost: {error}"),
        });
        let progress = Progress::doing("checking claims", jobs.len() as u64);
        let effort = if self.quick {
            Effort::Quick
        } else {
            Effort::Full
        };
        let work = |job: &Job| {
            match job {
                Job::Check(number, claim) => {
                    let found = claim.findings(effort);
                    lock(&done).found.push((*number, claim.name, found));
                }
                Job::Draw(number) => {
                    let drawn = figure(*number, effort);
                    lock(&done).drawn.push(drawn);
                }
            }
            progress.step();
        };
        Locksley(Pool::builder().build()?).run(Sweep::new(&jobs, &work));
        drop(progress);
        interrupt::finish(|| finish(output, &mut lock(&done), began))
    }

    fn jobs(&self) -> Result<Vec<Job>, Error> {
        let all = claims();
        let names: Vec<&str> = all.iter().map(|claim| claim.name).collect();
        let wanted = |claim: &Claim| {
            self.only
                .as_ref()
                .is_none_or(|only| claim.name.contains(only.as_str()))
        };
        let chosen = all
            .into_iter()
            .enumerate()
            .filter(|(_, claim)| wanted(claim));
        let mut jobs: Vec<Job> = chosen
            .map(|(number, claim)| Job::Check(number, claim))
            .collect();
        if let (true, Some(only)) = (jobs.is_empty(), &self.only) {
            let near = meant(&nearest(only, names.iter().copied()));
            let names = names.join(", ");
            return Err(Error::usage(format!(
                "no claim has `{only}` in its name: possible are {names}{near}"
            )));
        }
        if self.only.is_none() {
            jobs.extend((1..=FIGURES).map(Job::Draw));
        }
        Ok(jobs)
    }
}

fn finish(output: &Output, done: &mut Done, began: Instant) -> Result<(), Error> {
    let files = write(output, done, false)?;
    output.say(table(done).replace("FAILS", &output.style.bad("FAILS")));
    let (all, failed) = counts(done);
    let seconds = began.elapsed().as_secs_f64();
    let verdict = match failed {
        0 => "all hold".to_owned(),
        1 => "1 does not hold".to_owned(),
        failed => format!("{failed} do not hold"),
    };
    output.say(format!(
        "{}: {verdict}; {seconds:.1} s",
        several(all, "claim")
    ));
    files
        .iter()
        .for_each(|file| output.say(format!("  written: {}", output.style.bold(file))));
    let mut document = document(done, false);
    document["files"] = files.into();
    output.document(&document)?;
    match failed {
        0 => Ok(()),
        _ => Err(Error::Check(format!(
            "{failed} of {} {} not hold",
            several(all, "claim"),
            if failed == 1 { "does" } else { "do" }
        ))),
    }
}

/// Returns the number of findings and the number of those that do not hold.
fn counts(done: &Done) -> (usize, usize) {
    let all = || done.found.iter().flat_map(|(_, _, findings)| findings);
    (
        all().count(),
        all().filter(|finding| !finding.holds).count(),
    )
}

/// Writes what has been checked so far. Returns the files.
fn write(output: &Output, done: &mut Done, interrupted: bool) -> Result<Vec<String>, Error> {
    done.found.sort_by_key(|(number, _, _)| *number);
    let mut files = vec![
        output.write(
            "theory.json",
            &format!("{:#}\n", document(done, interrupted)),
        )?,
        output.write("theory.txt", &table(done))?,
    ];
    for figure in &done.drawn {
        files.push(output.write(&format!("theory/{}", figure.name), &figure.svg)?);
    }
    Ok(files
        .iter()
        .map(|file| file.display().to_string())
        .collect())
}

/// Formats a section for each claim: its paper, its meaning, and the findings.
fn table(done: &Done) -> String {
    let mut text = String::new();
    for (_, name, findings) in &done.found {
        match meaning(name) {
            Some(known) => text += &format!("{name} ({})\n  {}\n", known.paper, known.meaning),
            None => text += &format!("{name}\n"),
        }
        for finding in findings {
            text += &format!("    {}\n", finding.claim);
            text += &format!("      {}\n", sentence(finding));
            text += &format!("      sample: {}\n", finding.sample);
        }
    }
    if !text.is_empty() {
        text += "+- is a standard error, s.e. for short.\n";
    }
    text
}

fn document(done: &Done, interrupted: bool) -> Value {
    let finding = |finding: &Finding| {
        json!({
            "claim": finding.claim,
            "predicted": finding.predicted,
            "measured": finding.measured,
            "sample": finding.sample,
            "holds": finding.holds,
        })
    };
    let claims = done.found.iter().map(|(_, name, findings)| {
        let known = meaning(name);
        json!({
            "name": name,
            "paper": known.map(|known| known.paper),
            "meaning": known.map(|known| known.meaning),
            "findings": findings.iter().map(finding).collect::<Vec<_>>(),
        })
    });
    let (all, failed) = counts(done);
    json!({
        "command": "theory",
        "interrupted": interrupted,
        "claims": claims.collect::<Vec<_>>(),
        "checked": all,
        "failed": failed,
    })
}
