//! `locksley list`: lists all names that other commands accept.

use locksley::Strategy;
use locksley_sim::dag::Dag;
use locksley_workload::catalog::{self, Scale, Spec};
use serde_json::{Value, json};

use crate::error::Error;
use crate::parse::names::RIVALS;
use crate::render::output::Output;

pub(crate) const EXAMPLES: &str = "  \
  locksley list          names and what they mean
  locksley list --json   the same as JSON, with all parameters";

pub(crate) fn list(output: &Output) -> Result<(), Error> {
    let style = output.style;
    output.say(style.bold("Workloads (with their default sizes; --full makes them larger)"));
    for entry in catalog::all() {
        output.say(format!("  {}", Spec::default_of(entry, Scale::Quick)));
        output.say(format!("      {}", style.faint(entry.about)));
    }
    output.say(style.bold("\nStrategies of a pool"));
    for (strategy, about) in strategies() {
        let strategy = strategy.to_string();
        output.say(format!("  {strategy:<22} {}", style.faint(about)));
    }
    output.say(style.bold("\nRivals"));
    output.say(format!("  {}", RIVALS.join(", ")));
    output.say(style.bold("\nComputations of the simulator"));
    for dag in Dag::all() {
        output.say(format!("  {dag}"));
    }
    output.say("  file:graph.json");
    output.say(style.bold("\nStrategies of the simulator"));
    for strategy in locksley_sim::Strategy::all() {
        output.say(format!("  {strategy}"));
    }
    output.document(&document())
}

/// Returns the pool's strategies with a description of each.
pub(crate) fn strategies() -> Vec<(Strategy, &'static str)> {
    let about = |strategy: &Strategy| match strategy {
        Strategy::Stealing => "stealing in which the thief pays for fences: the default",
        Strategy::ChaseLev => "stealing from Chase and Lev's deques",
        Strategy::Abp => "stealing from the bounded deques of Arora, Blumofe and Plaxton",
        Strategy::SemiPrivate => "stealing of tasks that their owner has made public",
        Strategy::Flexible(_) => "stealing with a configurable choice of victims",
        Strategy::StealHalf(_) => "stealing half of a deque at once (Hendler and Shavit)",
        Strategy::Sharing(_) => "stealing, and offering tasks to idle workers (Rito)",
        Strategy::Dealing(_) => "dealing tasks out as they are spawned (Hendler and Shavit)",
        _ => "",
    };
    Strategy::ALL
        .iter()
        .map(|strategy| (*strategy, about(strategy)))
        .collect()
}

fn document() -> Value {
    let workloads: Vec<Value> = catalog::all().iter().map(workload).collect();
    let strategies: Vec<Value> = strategies()
        .iter()
        .map(|(strategy, about)| json!({ "name": strategy.to_string(), "about": about }))
        .collect();
    json!({
        "command": "list",
        "workloads": workloads,
        "strategies": strategies,
        "rivals": RIVALS,
        "computations": names(&Dag::all()),
        "simulated_strategies": names(&locksley_sim::Strategy::all()),
    })
}

fn names<T: ToString>(items: &[T]) -> Vec<String> {
    items.iter().map(T::to_string).collect()
}

fn workload(entry: &'static catalog::Entry) -> Value {
    let parameters: Vec<Value> = entry
        .parameters
        .iter()
        .map(|parameter| {
            json!({
                "name": parameter.name,
                "meaning": parameter.meaning,
                "values": parameter.values.to_string(),
                "quick": parameter.default(Scale::Quick).to_string(),
                "full": parameter.default(Scale::Full).to_string(),
            })
        })
        .collect();
    json!({
        "name": entry.name,
        "about": entry.about,
        "source": entry.source,
        "parameters": parameters,
    })
}
