//! `locksley simulate arrivals`: open systems, in which items arrive at a rate.

use locksley::Pool;
use locksley_measure::runtimes::{Locksley, Runtime};
use locksley_measure::table::{Style, Table};
use locksley_sim::Sweep;
use locksley_sim::open::{Arrivals, ArrivalsReport, simulate};
use serde_json::json;

use crate::error::Error;
use crate::render::output::Output;
use crate::render::units::{count, digits};

/// Name of the system on the command line.
pub(super) const NAME: &str = "arrivals";

/// Syntax, with all parameters.
const FORM: &str = "arrivals:load=0.8,generators=N,service=1000,steal=100,items=100000";

/// Default schedulers for open systems.
pub(super) const STRATEGIES: &str =
    "greedy,lock-free,steal-half,steal-half:probabilistic,sending,dealing";

/// Explanation of the columns.
const LEGEND: &str = "  \
  wait       time from an item's arrival until a processor begins it, over the mean service time
  backlog    mean number of waiting items in each quarter of the time; unstable if it grows
  greedy     not a real scheduler: one queue for all processors, a bound for the others";

/// Applies the parameters in `text`, such as `arrivals:load=0.9,generators=1`.
fn with(mut arrivals: Arrivals, text: &str) -> Result<Arrivals, Error> {
    let rest = text.strip_prefix(NAME).unwrap_or_default();
    let rest = rest.strip_prefix(':').unwrap_or(rest);
    for part in rest.split(',').filter(|part| !part.is_empty()) {
        let wrong = || Error::usage(format!("`{part}` in `{text}` is wrong: write {FORM}"));
        let (key, value) = part.split_once('=').ok_or_else(wrong)?;
        let number = || value.parse::<u64>().map_err(|_| wrong());
        match key {
            "load" => arrivals.load = value.parse().map_err(|_| wrong())?,
            "generators" => arrivals.generators = number()? as usize,
            "service" => arrivals.service = number()?,
            "steal" => arrivals.steal = number()?,
            "items" => arrivals.items = number()?,
            _ => return Err(wrong()),
        }
    }
    arrivals.check().map_err(Error::usage)?;
    Ok(arrivals)
}

/// Simulates an open system under each of `strategies`, and prints how long items wait.
pub(super) fn run(
    text: &str,
    output: &Output,
    strategies: &[locksley_sim::Strategy],
    processors: &[usize],
    seed: u64,
) -> Result<(), Error> {
    let mut systems = Vec::new();
    for &processors in processors {
        for &strategy in strategies {
            let arrivals = Arrivals {
                seed,
                ..Arrivals::new(processors, strategy)
            };
            systems.push(with(arrivals, text)?);
        }
    }
    let one = |arrivals: &Arrivals| simulate(arrivals).map_err(Error::usage);
    let mut runtime = Locksley(Pool::builder().build()?);
    let outcomes = runtime.run(Sweep::new(&systems, &one));
    let outcomes: Vec<ArrivalsReport> = outcomes.into_iter().collect::<Result<_, _>>()?;
    output.say(table(text, &systems, &outcomes).render(Style::Plain));
    output.say(output.style.faint(LEGEND));
    let document = json!({
        "command": "simulate",
        "arrivals": text,
        "outcomes": outcomes,
    });
    let file = output.write("simulate.json", &format!("{document:#}\n"))?;
    let file = file.display().to_string();
    output.say(format!("  written: {}", output.style.bold(&file)));
    output.document(&document)
}

fn table(text: &str, systems: &[Arrivals], outcomes: &[ArrivalsReport]) -> Table {
    let header = [
        "scheduler",
        "processors",
        "generators",
        "load",
        "mean wait",
        "99%",
        "longest",
        "moved",
        "backlog",
    ];
    let mut table = Table::new(text.to_string(), &header);
    for (system, outcome) in systems.iter().zip(outcomes) {
        let services = |time: f64| digits(time / system.service as f64);
        let backlog = outcome.backlog.map(|items| count(items.round() as u64));
        table.row(vec![
            outcome.strategy.clone(),
            outcome.processors.to_string(),
            outcome.generators.to_string(),
            digits(outcome.load),
            services(outcome.mean_wait),
            services(outcome.quantile_99 as f64),
            services(outcome.longest as f64),
            count(outcome.moved),
            backlog.join(" "),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use locksley_sim::Strategy;

    use super::*;

    #[test]
    fn what_stands_behind_the_name_is_read() {
        let usual = || Arrivals::new(8, Strategy::LockFree);
        let read = |text| with(usual(), text);
        assert_eq!(read("arrivals").ok(), Some(usual()));
        let one = read("arrivals:load=0.5,generators=1,items=10").expect("it is right");
        assert_eq!((one.load, one.generators, one.items), (0.5, 1, 10));
        for wrong in ["arrivals:load", "arrivals:speed=1", "arrivals:generators=9"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
