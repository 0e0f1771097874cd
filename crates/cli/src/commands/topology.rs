//! `locksley topology`: shows the topology, quota and barrier that a pool finds on this machine.

use locksley::{Level, Topology, available_cpus};
use locksley_measure::Machine;
use serde_json::{Value, json};

use crate::error::Error;
use crate::render::output::Output;
use crate::render::units::several;

pub(crate) const EXAMPLES: &str = "  \
  locksley topology          sockets, caches and cores, and how many workers a pool has by default
  locksley topology --json   the same as JSON";

pub(crate) fn topology(output: &Output) -> Result<(), Error> {
    let (machine, topology, available) =
        (Machine::here(&[]), locksley::topology(), available_cpus());
    output.say(format!(
        "{}, {}, {}",
        machine.cpu, machine.os, machine.kernel
    ));
    output.say(topology.to_string());
    output.say(format!(
        "a pool has {} by default",
        several(available.count(), "worker")
    ));
    if let Some(quota) = available.quota() {
        output.say(format!(
            "the process's control group has a quota of {quota:.2} processors"
        ));
    }
    let thieves = match machine.barrier {
        "membarrier" => "owners need no fences: thieves use the system call membarrier",
        _ => "owners execute fences: there is no membarrier here",
    };
    output.say(thieves);
    output.document(&json!({
        "command": "topology",
        "cpu": machine.cpu,
        "system": format!("{}, {}", machine.os, machine.kernel),
        "cpus": topology.cpus(),
        "allowed": topology.allowed(),
        "levels": topology.levels().map(|level| level.to_string()).collect::<Vec<_>>(),
        "pairs": pairs(topology),
        "quota": available.quota(),
        "default_workers": available.count(),
        "most_workers": locksley::max_num_workers(),
        "barrier": machine.barrier,
    }))
}

/// Returns the closest level that each two of the first CPUs share.
fn pairs(topology: &Topology) -> Vec<Value> {
    const FEW: usize = 64;
    let cpus = &topology.cpus()[..topology.cpus().len().min(FEW)];
    let mut pairs = Vec::new();
    for (place, &a) in cpus.iter().enumerate() {
        for &b in &cpus[place + 1..] {
            let closest = topology.closest(a, b).unwrap_or(Level::Machine);
            pairs.push(json!({ "a": a, "b": b, "closest": closest.to_string() }));
        }
    }
    pairs
}
