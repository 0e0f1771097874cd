//! Checks the papers' claims, prints a table, and draws the thesis's figures with measured points.
//!
//! ```sh
//! cargo run --release -p locksley-sim --example theory            # the table, and figures in target/theory
//! cargo run --release -p locksley-sim --example theory -- DIR     # figures elsewhere
//! ```
//!
//! Exits with 1 if a claim does not hold, and with 2 if a figure cannot be written.

use std::io::{IsTerminal, stderr};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;
use std::{env, fs};

use indicatif::{ProgressBar, ProgressStyle};
use locksley::Pool;
use locksley_sim::Sweep;
use locksley_sim::theory::figures::{Figure, figure};
use locksley_sim::theory::{Claim, Effort, Finding, claims};
use locksley_workload::{Fork, Task};

/// Forks on the pool that it runs in.
#[derive(Clone, Copy)]
struct OnPool;

impl Fork for OnPool {
    type Again<'a> = OnPool;

    fn again(&mut self) -> OnPool {
        OnPool
    }

    fn fork<A: Task, B: Task>(self, a: A, b: B) -> (A::Output, B::Output) {
        locksley::join(move || a.run(OnPool), move || b.run(OnPool))
    }
}

/// What is done in parallel.
enum Job {
    Check(Claim),
    Draw(usize),
}

/// What comes out.
enum Done {
    Found(&'static str, Vec<Finding>),
    Drawn(Figure),
}

fn do_job(job: &Job, progress: &ProgressBar) -> Done {
    let done = match job {
        Job::Check(claim) => Done::Found(claim.name, (claim.check)(Effort::Full)),
        Job::Draw(number) => Done::Drawn(figure(*number, Effort::Full)),
    };
    progress.inc(1);
    done
}

fn main() -> ExitCode {
    let directory = env::args_os()
        .nth(1)
        .map_or_else(|| "target/theory".into(), PathBuf::from);
    let began = Instant::now();
    let jobs: Vec<Job> = claims()
        .into_iter()
        .map(Job::Check)
        .chain((1..=5).map(Job::Draw))
        .collect();
    let progress = progress(jobs.len() as u64);
    let pool = match Pool::builder().build() {
        Ok(pool) => pool,
        Err(error) => {
            eprintln!("error: {error}");
            return 2.into();
        }
    };
    let work = |job: &Job| do_job(job, &progress);
    let done = pool.install(|| Sweep::new(&jobs, &work).run(OnPool));
    progress.finish_and_clear();
    let mut findings = Vec::new();
    for done in done {
        match done {
            Done::Found(name, found) => findings.push((name, found)),
            Done::Drawn(figure) => {
                if let Err(error) = write(&directory, &figure) {
                    eprintln!("error: {}: {error}", directory.join(&figure.name).display());
                    return 2.into();
                }
            }
        }
    }
    let failed = print(&findings);
    let seconds = began.elapsed().as_secs_f64();
    println!(
        "\n{seconds:.1} s on {} workers; figures are in {}",
        pool.workers(),
        directory.display()
    );
    ExitCode::from(u8::from(failed > 0))
}

fn progress(steps: u64) -> ProgressBar {
    if !stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("checking claims {wide_bar} {pos}/{len} {elapsed}");
    ProgressBar::new(steps).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

fn write(directory: &PathBuf, figure: &Figure) -> std::io::Result<()> {
    fs::create_dir_all(directory)?;
    fs::write(directory.join(&figure.name), &figure.svg)
}

/// Prints the table; how many claims do not hold.
fn print(findings: &[(&str, Vec<Finding>)]) -> usize {
    let all = || findings.iter().flat_map(|(_, found)| found);
    let width = |of: fn(&Finding) -> &String| {
        all()
            .map(|found| of(found).chars().count())
            .max()
            .unwrap_or(0)
    };
    let (claim, predicted, measured) = (
        width(|found| &found.claim),
        width(|found| &found.predicted),
        width(|found| &found.measured),
    );
    let mut failed = 0;
    for (name, found) in findings {
        println!("\n{name}");
        for finding in found {
            let verdict = if finding.holds { "holds" } else { "FAILS" };
            failed += usize::from(!finding.holds);
            println!(
                "  {:<claim$}  {:>predicted$}  {:>measured$}  {verdict}  ({})",
                finding.claim, finding.predicted, finding.measured, finding.sample
            );
        }
    }
    println!("\n{} claims, {failed} do not hold", all().count());
    failed
}
