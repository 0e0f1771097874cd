//! `locksley compare`: compares strategies, other runtimes and serial code.

use std::time::{Duration, SystemTime};

use clap::Args;
use locksley_workload::catalog::Spec;

use crate::error::Error;
use crate::measure::comparison::{self, Candidate, Runtime};
use crate::parse::names;
use crate::parse::ranges::{self, Numbers};
use crate::render::output::{Output, Session};
use crate::render::tables;
use crate::render::units;

pub(crate) const EXAMPLES: &str = "  \
  locksley compare fib                               every strategy and rival on one program
  locksley compare queens:n=11 uts --workers 1:4     two programs, with 1, 2, 3 and 4 workers
  locksley compare sort --strategies stealing,sharing:greedy,theta_s=0.25 --rivals serial,rayon
  locksley compare loop:costly-front --rivals serial,rayon  loops beside rayon's own iterators
  locksley compare heat --full --rounds 31 --out heat-31
  locksley compare fib --json | jq '.results.comparisons[0].rows[].samples'";

/// Compares strategies, other runtimes and serial code. In every round each of them gives one
/// sample, in an order that is shuffled for each round, so that noise affects all alike. Writes
/// compare.json, .csv, .txt and .html.
#[derive(Args)]
pub(crate) struct Compare {
    /// Workloads, with parameters or without: fib, queens:n=11, sort:n=1000,merge=parallel.
    #[arg(required = true, value_name = "WORKLOAD")]
    workloads: Vec<String>,
    /// Strategies of the pool, separated by commas.
    #[arg(long, value_name = "LIST", default_value = "all")]
    strategies: String,
    /// Numbers of workers: 4, 1:8, 1:8:2, or 1,2,4 [default: one per processor].
    #[arg(long, value_name = "RANGE", value_parser = ranges::workers)]
    workers: Option<Numbers>,
    /// What to compare with, separated by commas: serial, rayon, chili, all, none.
    #[arg(long, value_name = "LIST", default_value = "all")]
    rivals: String,
    /// Samples of each contender.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 11,
        value_parser = clap::value_parser!(u32).range(1..=100_000),
    )]
    rounds: u32,
    /// Time limit for each workload, such as 30s; the last round is completed.
    #[arg(long, value_name = "TIME", value_parser = units::duration)]
    limit: Option<Duration>,
    /// Larger workloads, which take a second or a few on one thread.
    #[arg(long)]
    full: bool,
    /// Seed for shuffling the rounds [default: from the clock].
    #[arg(long)]
    seed: Option<u64>,
}

impl Compare {
    pub(crate) fn run(&self, output: &Output) -> Result<(), Error> {
        let specs = self
            .workloads
            .iter()
            .map(|text| names::workload(text, self.full));
        let specs = specs.collect::<Result<Vec<Spec>, Error>>()?;
        let mut runtimes = names::rivals(&self.rivals)?;
        let strategies = names::strategies(&self.strategies)?;
        runtimes.extend(strategies.into_iter().map(Runtime::Ours));
        let workers = match &self.workers {
            Some(Numbers(workers)) => workers.clone(),
            None => vec![locksley::available_cpus().count()],
        };
        let clock = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
        let seed = self.seed.unwrap_or(clock.as_secs());
        let plan = comparison::plan(self.rounds as usize, self.limit, seed);
        let session = Session::start(output, "compare", "Comparison", tables::comparisons);
        let candidates = comparison::candidates(&runtimes, &workers);
        for spec in &specs {
            if let Err(error) = measure(output, &session, spec, &candidates, &plan) {
                return Err(give_up(session, error));
            }
        }
        session.finish().map(drop)
    }
}

/// Writes what was measured before `error`, and returns the error.
fn give_up(session: Session, error: Error) -> Error {
    {
        let mut results = session.results();
        results.comparisons.pop();
        results
            .notes
            .push(format!("The comparison ended early: {error}."));
        if results.is_empty() {
            return error;
        }
    }
    // The first error matters more than one of writing.
    let _ = session.finish();
    error
}

/// Measures one workload and prints the table.
pub(crate) fn measure(
    output: &Output,
    session: &Session,
    spec: &Spec,
    candidates: &[Candidate],
    plan: &locksley_measure::Plan,
) -> Result<(), Error> {
    let (able, unable): (Vec<Candidate>, Vec<Candidate>) = candidates
        .iter()
        .partition(|candidate| comparison::obstacle(candidate, spec).is_none());
    let at = {
        let mut results = session.results();
        if let Some(note) = unable
            .first()
            .and_then(|one| comparison::obstacle(one, spec))
        {
            output.say(format!("note: {note}"));
            results.notes.push(note);
        }
        results.comparisons.push(tables::comparison(spec, &able));
        results.comparisons.len() - 1
    };
    comparison::hold(spec, &able, plan, &mut |candidate, seconds| {
        session.results().comparisons[at].rows[candidate]
            .samples
            .push(seconds);
    })?;
    let table = tables::table(&session.results().comparisons[at]);
    output.say(output.style.mark(&table, tables::WINNER));
    Ok(())
}
