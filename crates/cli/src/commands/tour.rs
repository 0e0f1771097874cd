//! `locksley` alone: what machine this is, three programs under every strategy, who wins, where the report is.

use std::time::Duration;

use locksley::Strategy;
use locksley_measure::Machine;
use locksley_report::Results;

use crate::commands::compare;
use crate::commands::trace::{self, Tracer};
use crate::contest::{self, Who};
use crate::failure::Failure;
use crate::names;
use crate::output::{Output, Session};
use crate::tables;
use crate::units::several;

/// What is run, and what there is to see in it. Serial code takes 5 to 50 ms for each.
const PROGRAMS: [(&str, &str); 3] = [
    ("fib:n=30", "Nothing but forks: what a fork costs"),
    (
        "queens:n=12",
        "An irregular search: who keeps everybody busy",
    ),
    (
        "heat:rows=1024,columns=1024,sweeps=10",
        "Sweeps over a plate: memory, and waiting for everybody at the end of each",
    ),
];

/// What the page shows a timeline of.
const PICTURED: &str = "queens:n=10";

/// No further round of a program begins after this; three programs make less than half a minute.
const LIMIT: Duration = match cfg!(debug_assertions) {
    // Without optimisation times mean nothing, and a round takes long.
    true => Duration::from_secs(1),
    false => Duration::from_secs(6),
};

/// As many samples of each are enough to see the large differences.
const ROUNDS: usize = 7;

pub(crate) fn tour(output: &Output) -> Result<(), Failure> {
    let (style, workers) = (output.style, locksley::available_cpus().count());
    let machine = Machine::here(&["rayon", "chili"]);
    output.say(style.bold("Locksley: what each way of scheduling does, on this machine"));
    output.say(format!(
        "  {}, {}, {}",
        machine.cpu,
        several(workers, "processor"),
        machine.os
    ));
    let busy = machine.load.filter(|load| *load > 0.5 * workers as f64);
    if let Some(load) = busy {
        output.say(format!(
            "  {}",
            style.bad(&format!(
                "others use it too (load {load}): times will scatter"
            ))
        ));
    }
    output.say(format!(
        "  three programs, {} strategies with {}, and serial code, rayon and chili beside them;\n  \
         every result is checked; this takes less than half a minute\n",
        Strategy::ALL.len(),
        several(workers, "worker")
    ));

    let session = Session::start(output, "tour", "The tour", tables::comparisons);
    let rivals = [Who::Serial, Who::Rayon, Who::Chili];
    let whos: Vec<Who> = rivals
        .into_iter()
        .chain(Strategy::ALL.map(Who::Ours))
        .collect();
    let entrants = contest::entrants(&whos, &[workers]);
    let plan = contest::plan(ROUNDS, Some(LIMIT), 1);
    for (program, about) in PROGRAMS {
        output.say(style.bold(about));
        compare::measure(
            output,
            &session,
            &names::workload(program, false)?,
            &entrants,
            &plan,
        )?;
    }
    add_timeline(&session, workers)?;
    output.say(style.bold("Who wins"));
    say_winners(output, &session.results());
    session.finish()?;
    output.say("");
    output.say(
        style.faint(
            "Next: `locksley compare --help`, `locksley list`, `locksley replay queens:n=10`",
        ),
    );
    Ok(())
}

/// A traced run, for the page: who did what when.
fn add_timeline(session: &Session, workers: usize) -> Result<(), Failure> {
    let spec = names::workload(PICTURED, false)?;
    let strategy = Strategy::default();
    let tracer = Tracer {
        spec: &spec,
        strategy,
        workers,
        capacity: 1 << 16,
        sample: None,
    };
    let traced = contest::visit(&spec, tracer)??;
    trace::fill(&mut session.results(), &spec, strategy, workers, traced);
    Ok(())
}

fn say_winners(output: &Output, results: &Results) {
    for verdict in results.comparisons.iter().filter_map(tables::verdict) {
        output.say(format!("  {}", output.style.good(&verdict)));
    }
}
