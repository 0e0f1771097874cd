//! `locksley cluster run`: runs a program from start to end.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use locksley_measure::table::{Style, Table};
use locksley_policy::Victims;
use locksley_policy::rank::{Lifelines, Protocol};
use serde_json::{Value, json};

use super::engine::{Engine, Plan, Ran, Row};
use super::programs::{Chosen, Job, Visitor};
use crate::commands::trace;
use crate::error::Error;
use crate::interrupt;
use crate::parse::names;
use crate::parse::ranges;
use crate::render::output::Output;
use crate::render::units::{self, bytes, count, counted, digits, several, time};

pub(crate) const EXAMPLES: &str = "  \
  locksley cluster run uts --tree T1                 in this process, a worker for each processor
  locksley cluster run uts --tree T1 --ranks 4       on four ranks in this process
  mpirun -n 4 locksley cluster run uts --tree T1L    on four processes (feature mpi)
  mpirun -n 64 --hostfile hosts locksley cluster run uts --tree T1XL --victims nearest --lifelines
  locksley cluster run uts --ranks 4 --trace steals.json --json";

/// Runs a program to its end, compares the result if the right one is known, and shows what each
/// rank did. The program runs in this process; with --ranks, on several ranks in this process that
/// steal from each other by messages; under mpirun, on MPI. A rank that dies, is stopped or is cut
/// off ends the run. Writes only the file of --trace.
#[derive(Args)]
pub(crate) struct Run {
    /// Number of ranks in this process [default: none, or those of mpirun].
    #[arg(
        long,
        value_name = "N",
        global = true,
        value_parser = clap::value_parser!(u32).range(1..=1024),
    )]
    ranks: Option<u32>,
    /// Workers of each rank [default: one per processor for all ranks together].
    #[arg(long, value_name = "N", global = true, value_parser = ranges::one_worker)]
    workers: Option<usize>,
    /// Scheduling strategy within a rank.
    #[arg(long, default_value = "stealing", global = true)]
    strategy: String,
    /// How a rank without work chooses the rank that it asks: uniform, nearest (prefers the same
    /// host), sticky, steal-back ...
    #[arg(long, default_value = "uniform", global = true)]
    victims: String,
    /// Ranks without work stop asking after a few requests, and are sent work when there is some.
    #[arg(long, global = true)]
    lifelines: bool,
    /// Time without messages after which a rank counts as dead.
    #[arg(long, value_name = "TIME", default_value = "30s", global = true, value_parser = patience)]
    patience: Duration,
    /// Write a timeline of all ranks to this file, for ui.perfetto.dev.
    #[arg(long, value_name = "FILE", global = true)]
    trace: Option<PathBuf>,
    #[command(subcommand)]
    program: Chosen,
}

/// Parses the patience. Below 100 ms, a beat every quarter of it would come too late on a busy
/// machine.
fn patience(text: &str) -> Result<Duration, String> {
    let time = units::duration(text)?;
    if time >= Duration::from_millis(100) {
        Ok(time)
    } else {
        Err("a busy machine may be silent for that long: give at least 100ms".to_owned())
    }
}

impl Run {
    pub(crate) fn run(&self, output: &Output) -> Result<(), Error> {
        let engine = Engine::chosen(self.ranks.map(|ranks| ranks as usize))?;
        let plan = Plan {
            engine,
            workers: self.workers.unwrap_or_else(|| engine.usual_workers()),
            strategy: names::strategy(&self.strategy)?,
            protocol: self.protocol()?,
            traced: self.trace.is_some(),
        };
        let once = Once {
            plan,
            trace: self.trace.as_ref(),
            output,
        };
        self.program.visit(once)?
    }

    fn protocol(&self) -> Result<Protocol, Error> {
        let victims: Victims = names::one(&self.victims)?;
        let patience = self.patience.as_nanos() as u64;
        let usual = Protocol::default();
        Ok(Protocol {
            victims,
            lifelines: self.lifelines.then(Lifelines::default),
            patience,
            beat: usual.beat.min(patience / 4),
            ..usual
        })
    }
}

struct Once<'a> {
    plan: Plan,
    trace: Option<&'a PathBuf>,
    output: &'a Output,
}

impl Visitor for Once<'_> {
    type Output = Result<(), Error>;

    fn visit<J: Job + 'static>(self, job: J) -> Result<(), Error> {
        let kept = job.kept();
        interrupt::keep(move || kept.to_owned());
        let Some(ran) = self.plan.run(&job)? else {
            return Ok(());
        };
        let checked = job.check(&ran.result);
        interrupt::finish(|| self.tell(&job, &ran, matches!(checked, Ok(true))))?;
        checked.map(drop)
    }
}

/// Sums the counters of all ranks.
fn total(ranks: &[Row]) -> Row {
    let sum = |of: fn(&Row) -> u64| ranks.iter().map(of).sum();
    Row {
        rank: ranks.len(),
        host: None,
        workers: ranks.iter().map(|row| row.workers).sum(),
        tasks: sum(|row| row.tasks),
        requests: sum(|row| row.requests),
        steals: sum(|row| row.steals),
        taken: sum(|row| row.taken),
        given: sum(|row| row.given),
        lifeline_gifts: sum(|row| row.lifeline_gifts),
        messages: sum(|row| row.messages),
        bytes: sum(|row| row.bytes),
        cpu_seconds: ranks.iter().map(|row| row.cpu_seconds).sum(),
    }
}

impl Once<'_> {
    fn tell<J: Job>(&self, job: &J, ran: &Ran<J::Output>, known: bool) -> Result<(), Error> {
        let (output, all) = (self.output, total(&ran.ranks));
        output.say(self.heading(&job.title(), &ran.ranks));
        for (label, line) in job.lines(&ran.result) {
            output.say(format!("  {label:<7} {line}"));
        }
        if known {
            let right = output.style.good("as published");
            output.say(format!("          {right}"));
        }
        let wall = time(ran.wall.as_secs_f64());
        output.say(format!("  time    {}", output.style.bold(&wall)));
        output.say(format!("  tasks   {}", count(all.tasks)));
        if ran.ranks.len() > 1 {
            output.say(format!("  steals  {}", moved(&all)));
        }
        let efficiency = self.say_cpu(job, ran, &all);
        if ran.ranks.len() > 1 {
            output.say(format!("\n{}", table(&ran.ranks).trim_matches('\n')));
        }
        if let (Some(trace), Some(file)) = (&ran.trace, self.trace) {
            trace::to_file(trace, file)?;
            output.say_files(std::slice::from_ref(file));
        }
        output.document(&self.document(job, ran, &all, known, efficiency))
    }

    fn heading(&self, title: &str, ranks: &[Row]) -> String {
        let workers = several(self.plan.workers, "worker");
        let ranks = several(ranks.len(), "rank");
        let place = match self.plan.engine {
            Engine::Here => format!("in one process with {workers}"),
            Engine::Threads(_) => format!("on {ranks} in one process, each with {workers}"),
            Engine::Mpi(_) => format!("on {ranks} of MPI, each with {workers}"),
        };
        format!("{title} {place} under {}", self.plan.strategy)
    }

    /// Prints the processor time that was used. Returns the share of it that serial code would
    /// need, if that is known.
    fn say_cpu<J: Job>(&self, job: &J, ran: &Ran<J::Output>, all: &Row) -> Option<f64> {
        let cpu = all.cpu_seconds?;
        let busy = digits(cpu / ran.wall.as_secs_f64());
        let (output, used) = (self.output, time(cpu));
        output.say(format!("  CPU     {used}, {busy} processors on average"));
        let efficiency = job.serial(&ran.result)? / cpu;
        output.say(format!(
            "          efficiency {}: the share of it that serial code needs, from a sample",
            digits(efficiency)
        ));
        Some(efficiency)
    }

    fn document<J: Job>(
        &self,
        job: &J,
        ran: &Ran<J::Output>,
        all: &Row,
        known: bool,
        efficiency: Option<f64>,
    ) -> Value {
        let plan = &self.plan;
        json!({
            "command": "cluster run",
            "program": job.program().name(),
            "engine": plan.engine.name(),
            "strategy": plan.strategy.to_string(),
            "protocol": plan.protocol.to_string(),
            "workers": plan.workers,
            "result": job.document(&ran.result),
            "verified": known,
            "seconds": ran.wall.as_secs_f64(),
            "cpu_seconds": all.cpu_seconds,
            "efficiency": efficiency,
            "tasks": all.tasks,
            "requests": all.requests,
            "steals": all.steals,
            "stolen": all.taken,
            "lifeline_gifts": all.lifeline_gifts,
            "messages": all.messages,
            "bytes": all.bytes,
            "ranks": ran.ranks,
            "trace": self.trace.map(|file| file.display().to_string()),
        })
    }
}

/// Describes how tasks moved between ranks.
fn moved(all: &Row) -> String {
    let lifelines = match all.lifeline_gifts {
        0 => String::new(),
        gifts => format!(", {} along lifelines", counted(gifts, "time", "times")),
    };
    format!(
        "{} of {}{lifelines}: {}; {} in {}",
        count(all.steals),
        counted(all.requests, "request", "requests"),
        counted(all.taken, "task", "tasks"),
        bytes(all.bytes),
        counted(all.messages, "message", "messages")
    )
}

/// Returns a table with the counters of each rank.
fn table(ranks: &[Row]) -> String {
    let header = [
        "rank", "host", "workers", "tasks", "requests", "steals", "taken", "given", "sent", "CPU",
    ];
    let mut table = Table::new("", &header);
    for row in ranks {
        table.row(vec![
            row.rank.to_string(),
            row.host.clone().unwrap_or_default(),
            row.workers.to_string(),
            count(row.tasks),
            count(row.requests),
            count(row.steals),
            count(row.taken),
            count(row.given),
            bytes(row.bytes),
            row.cpu_seconds.map_or_else(|| "?".to_owned(), time),
        ]);
    }
    table.render(Style::Plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_anything_is_singular() {
        let one = Row {
            steals: 1,
            requests: 1,
            taken: 1,
            lifeline_gifts: 1,
            messages: 1,
            bytes: 1,
            ..Row::default()
        };
        let expected = "1 of 1 request, 1 time along lifelines: 1 task; 1 B in 1 message";
        assert_eq!(moved(&one), expected);
        let expected = "0 of 0 requests: 0 tasks; 0 B in 0 messages";
        assert_eq!(moved(&Row::default()), expected);
    }
}
