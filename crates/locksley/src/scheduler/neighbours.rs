//! Distances between workers, from which each gets the order in which it tries its victims.
//!
//! Pinned workers stay where they are, so their orders are computed with the pool. Other workers
//! are moved by the operating system: each notes its CPU when it wakes up, and recomputes its order
//! from all workers' notes before it sleeps. So distances cost nothing while there is work, and
//! nothing at all where all CPUs are equally near.

use locksley_policy::{Order, Victims};

use crate::error::BuildError;
use crate::machine::pinning::{current_cpu, pin_to};
use crate::machine::topology::{Topology, topology, topology_at_hand};
use crate::scheduler::registry::Registry;
use crate::scheduler::worker::Worker;

/// Returns the probability to start with a near victim; `None` if distances do not count.
fn theta(registry: &Registry) -> Option<f64> {
    match registry.config.victims().unwrap_or(Victims::NEAREST) {
        Victims::Nearest { theta } => Some(theta.get()),
        _ => None,
    }
}

/// Sets the orders of pinned workers. Called before their threads start.
pub(crate) fn set_pinned_orders(registry: &Registry) {
    let pinned_cpus = &registry.config.pinned_cpus;
    let Some(theta) = theta(registry).filter(|_| !pinned_cpus.is_empty()) else {
        return;
    };
    let orders = pinned_orders(topology(), pinned_cpus, theta);
    for (index, order) in orders.into_iter().enumerate() {
        registry.worker(index).selector.set_order(order);
    }
}

/// Returns the orders of workers that are pinned to these CPUs.
fn pinned_orders(topology: &Topology, pinned_cpus: &[usize], theta: f64) -> Vec<Order> {
    let addresses: Vec<Vec<u32>> = pinned_cpus
        .iter()
        .map(|&cpu| full_address(topology, cpu))
        .collect();
    (0..pinned_cpus.len())
        .map(|index| Order::nearest(index, &addresses, theta))
        .collect()
}

/// Returns the address of a CPU, down to the CPU itself: workers that are pinned to the same CPU
/// share it.
fn full_address(topology: &Topology, cpu: usize) -> Vec<u32> {
    let mut address = topology.address(cpu);
    address.push(cpu as u32);
    address
}

/// Pins the calling thread, whose worker has this index, if the pool's workers are pinned.
pub(crate) fn pin(registry: &Registry, index: usize) -> Result<(), BuildError> {
    let pinned_cpus = &registry.config.pinned_cpus;
    match pinned_cpus.get(index) {
        _ if pinned_cpus.is_empty() => Ok(()),
        Some(&cpu) => pin_to(&[cpu]).map_err(|source| BuildError::Pin { cpu, source }),
        // A spare may take the place of any worker.
        None => pin_to(pinned_cpus).map_err(|source| BuildError::Pin {
            cpu: pinned_cpus[0],
            source,
        }),
    }
}

/// Returns the topology and `theta`, if workers are not pinned and distances count.
fn roaming(registry: &Registry) -> Option<(&'static Topology, f64)> {
    let theta = theta(registry)?;
    if !registry.config.pinned_cpus.is_empty() || registry.size() < 3 {
        return None;
    }
    let topology = topology_at_hand()?;
    topology.has_regions().then_some((topology, theta))
}

/// Recomputes the order of an idle worker.
pub(crate) fn look_around(registry: &Registry, worker: &Worker) {
    let Some((topology, theta)) = roaming(registry) else {
        return;
    };
    let last_cpus = (0..registry.size()).map(|index| registry.worker(index).last_cpu());
    let order = roaming_order(topology, last_cpus, worker.index(), theta);
    worker.selector.set_order(order);
}

/// Returns the order of the worker with this index, if the workers were last seen on these CPUs.
fn roaming_order(
    topology: &Topology,
    last_cpus: impl Iterator<Item = Option<usize>>,
    index: usize,
    theta: f64,
) -> Order {
    let region = |cpu: Option<usize>| cpu.map_or_else(Vec::new, |cpu| topology.region(cpu));
    let regions: Vec<Vec<u32>> = last_cpus.map(region).collect();
    Order::nearest(index, &regions, theta)
}

/// Notes the CPU of a worker that has just woken up.
pub(crate) fn look_where(registry: &Registry, worker: &Worker) {
    if roaming(registry).is_some() {
        worker.note_cpu(current_cpu());
    }
}

#[cfg(test)]
#[path = "../../tests/unit/scheduler/neighbours.rs"]
mod tests;
