//! `locksley` without a command: a tour that describes this machine, compares three programs under
//! every strategy, names the winners and writes a page.

use std::time::Duration;

use locksley::Strategy;
use locksley_measure::Machine;
use locksley_report::Results;

use crate::commands::compare;
use crate::commands::trace::{self, Tracer};
use crate::error::Error;
use crate::measure::comparison::{self, Runtime};
use crate::parse::names;
use crate::render::output::{Output, Session};
use crate::render::tables;
use crate::render::units::several;

/// The programs, and what each shows. Serial code takes 5 to 50 ms for each. Without optimisation,
/// where times mean nothing, the programs are smaller.
const PROGRAMS: [(&str, &str); 3] = [
    (
        either("fib:n=30", "fib:n=16"),
        "Nothing but forks: what a fork costs",
    ),
    (
        either("queens:n=12", "queens:n=7"),
        "An irregular search: which runtime keeps all workers busy",
    ),
    (
        either(
            "heat:rows=1024,columns=1024,sweeps=10",
            "heat:rows=64,columns=64,sweeps=4",
        ),
        "Sweeps over a plate: memory bandwidth, and a barrier after each sweep",
    ),
];

const fn either(optimised: &'static str, not: &'static str) -> &'static str {
    if cfg!(debug_assertions) {
        not
    } else {
        optimised
    }
}

/// Program for the page's timeline.
const PICTURED: &str = "queens:n=10";

/// Time after which no further round of a program begins, so that the tour takes less than half a
/// minute.
const LIMIT: Duration = Duration::from_secs(6);

/// Samples of each candidate: enough to see large differences.
const ROUNDS: usize = 7;

pub(crate) fn tour(output: &Output) -> Result<(), Error> {
    let (style, workers) = (output.style, locksley::available_cpus().count());
    introduce(output, workers);
    let session = Session::start(output, "tour", "The tour", tables::comparisons);
    let rivals = [Runtime::Serial, Runtime::Rayon, Runtime::Chili].into_iter();
    let runtimes: Vec<Runtime> = rivals.chain(Strategy::ALL.map(Runtime::Ours)).collect();
    let candidates = comparison::candidates(&runtimes, &[workers]);
    let plan = comparison::plan(ROUNDS, Some(LIMIT), 1);
    for (program, about) in PROGRAMS {
        output.say(style.bold(about));
        let spec = names::workload(program, false)?;
        compare::measure(output, &session, &spec, &candidates, &plan)?;
    }
    add_timeline(&session, workers)?;
    output.say(style.bold("Winners"));
    say_winners(output, &session.results());
    session.finish()?;
    output.say("\nOpen the .html file in a browser. Next steps:");
    output.say(style.faint(
        "  locksley compare sort uts --workers 1:4    locksley replay sort    locksley --help",
    ));
    Ok(())
}

/// Prints the machine and what the tour does.
fn introduce(output: &Output, workers: usize) {
    let (style, machine) = (output.style, Machine::here(&["rayon", "chili"]));
    let processors = several(workers, "processor");
    output.say(style.bold("Locksley's scheduling strategies on this machine"));
    output.say(format!("  {}, {processors}, {}", machine.cpu, machine.os));
    output.say(format!(
        "  three programs, {} strategies with {}, compared with serial code, rayon and chili;\n  \
         every result is checked; this takes less than half a minute\n",
        Strategy::ALL.len(),
        several(workers, "worker")
    ));
}

/// Adds the timeline of a traced run to the page.
fn add_timeline(session: &Session, workers: usize) -> Result<(), Error> {
    let spec = names::workload(PICTURED, false)?;
    let strategy = Strategy::default();
    let tracer = Tracer {
        spec: &spec,
        strategy,
        workers,
        capacity: 1 << 16,
        sample: None,
    };
    let traced = comparison::visit(&spec, tracer)??;
    trace::fill(&mut session.results(), &spec, strategy, workers, traced);
    Ok(())
}

fn say_winners(output: &Output, results: &Results) {
    for verdict in results.comparisons.iter().filter_map(tables::verdict) {
        output.say(format!("  {}", output.style.good(&verdict)));
    }
}
