//! Who is near whom: how workers come to know in which order to try their victims.
//!
//! Pinned workers stay where they are, and their orders are made with the pool. Others are moved about
//! by the operating system: each notes the CPU that it is on when it wakes up, and makes its order
//! anew from everybody's notes before it sleeps. So nothing is done about distances while there is
//! work, and nothing ever where all CPUs are equally near.

use locksley_policy::{Order, Victims};

use crate::error::BuildError;
use crate::pinning::{here, pin_to};
use crate::registry::Registry;
use crate::topology::{Topology, topology, topology_at_hand};
use crate::worker::Worker;

/// The probability to start near, unless distances are not to count.
fn theta(registry: &Registry) -> Option<f64> {
    match registry.config.victims.unwrap_or(Victims::NEAREST) {
        Victims::Nearest { theta } => Some(theta),
        _ => None,
    }
}

/// Makes the orders of pinned workers. Before their threads start.
pub(crate) fn settle(registry: &Registry) {
    let homes = &registry.config.homes;
    let Some(theta) = theta(registry).filter(|_| !homes.is_empty()) else {
        return;
    };
    let topology = topology();
    let addresses: Vec<Vec<u32>> = homes
        .iter()
        .map(|&cpu| full_address(topology, cpu))
        .collect();
    for index in 0..homes.len() {
        let order = Order::nearest(index, &addresses, theta);
        registry.worker(index).set_order(order);
    }
}

/// The address of a CPU, down to the CPU itself: workers that are pinned to the same one share it.
fn full_address(topology: &Topology, cpu: usize) -> Vec<u32> {
    let mut address = topology.address(cpu);
    address.push(cpu as u32);
    address
}

/// Pins the calling thread as its place demands.
pub(crate) fn pin(registry: &Registry, index: usize) -> Result<(), BuildError> {
    let homes = &registry.config.homes;
    match homes.get(index) {
        _ if homes.is_empty() => Ok(()),
        Some(&cpu) => pin_to(&[cpu]).map_err(|source| BuildError::Pin { cpu, source }),
        // A spare stands in for any worker.
        None => pin_to(homes).map_err(|source| BuildError::Pin {
            cpu: homes[0],
            source,
        }),
    }
}

/// The topology, if workers are moved about on it and that makes a difference.
fn roaming(registry: &Registry) -> Option<(&'static Topology, f64)> {
    let theta = theta(registry)?;
    if !registry.config.homes.is_empty() || registry.size() < 3 {
        return None;
    }
    let topology = topology_at_hand()?;
    topology.has_regions().then_some((topology, theta))
}

/// An idle worker makes its order anew.
pub(crate) fn look_around(registry: &Registry, worker: &Worker) {
    let Some((topology, theta)) = roaming(registry) else {
        return;
    };
    let regions: Vec<Vec<u32>> = (0..registry.size())
        .map(|index| {
            let home = registry.worker(index).home();
            home.map_or_else(Vec::new, |cpu| topology.region(cpu))
        })
        .collect();
    worker.set_order(Order::nearest(worker.index(), &regions, theta));
}

/// A worker that woke up notes where it is.
pub(crate) fn look_where(registry: &Registry, worker: &Worker) {
    if roaming(registry).is_some() {
        worker.note_home(here());
    }
}
