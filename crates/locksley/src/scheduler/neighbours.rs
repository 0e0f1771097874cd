//! Who is near whom: how workers come to know in which order to try their victims.
//!
//! Pinned workers stay where they are, and their orders are made with the pool. Others are moved
//! about by the operating system: each notes the CPU that it is on when it wakes up, and makes its
//! order anew from all workers' notes before it sleeps. So nothing is done about distances while
//! there is work, and nothing ever where all CPUs are equally near.

use locksley_policy::{Order, Victims};

use crate::error::BuildError;
use crate::machine::pinning::{here, pin_to};
use crate::machine::topology::{Topology, topology, topology_at_hand};
use crate::scheduler::registry::Registry;
use crate::scheduler::worker::Worker;

/// The probability to start near, unless distances are not to count.
fn theta(registry: &Registry) -> Option<f64> {
    match registry.config.victims().unwrap_or(Victims::NEAREST) {
        Victims::Nearest { theta } => Some(theta.get()),
        _ => None,
    }
}

/// Makes the orders of pinned workers. Before their threads start.
pub(crate) fn settle(registry: &Registry) {
    let pinned_cpus = &registry.config.pinned_cpus;
    let Some(theta) = theta(registry).filter(|_| !pinned_cpus.is_empty()) else {
        return;
    };
    let orders = pinned_orders(topology(), pinned_cpus, theta);
    for (index, order) in orders.into_iter().enumerate() {
        registry.worker(index).selector.set_order(order);
    }
}

/// The orders of workers that stay on these CPUs.
fn pinned_orders(topology: &Topology, pinned_cpus: &[usize], theta: f64) -> Vec<Order> {
    let addresses: Vec<Vec<u32>> = pinned_cpus
        .iter()
        .map(|&cpu| full_address(topology, cpu))
        .collect();
    (0..pinned_cpus.len())
        .map(|index| Order::nearest(index, &addresses, theta))
        .collect()
}

/// The address of a CPU, down to the CPU itself: workers that are pinned to the same one share it.
fn full_address(topology: &Topology, cpu: usize) -> Vec<u32> {
    let mut address = topology.address(cpu);
    address.push(cpu as u32);
    address
}

/// Pins the calling thread as its place demands.
pub(crate) fn pin(registry: &Registry, index: usize) -> Result<(), BuildError> {
    let pinned_cpus = &registry.config.pinned_cpus;
    match pinned_cpus.get(index) {
        _ if pinned_cpus.is_empty() => Ok(()),
        Some(&cpu) => pin_to(&[cpu]).map_err(|source| BuildError::Pin { cpu, source }),
        // A spare stands in for any worker.
        None => pin_to(pinned_cpus).map_err(|source| BuildError::Pin {
            cpu: pinned_cpus[0],
            source,
        }),
    }
}

/// The topology, if workers are moved about on it and that makes a difference.
fn roaming(registry: &Registry) -> Option<(&'static Topology, f64)> {
    let theta = theta(registry)?;
    if !registry.config.pinned_cpus.is_empty() || registry.size() < 3 {
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
    let pinned_cpus = (0..registry.size()).map(|index| registry.worker(index).home());
    worker
        .selector
        .set_order(roaming_order(topology, pinned_cpus, worker.index(), theta));
}

/// The order of a worker among such as were last seen on these CPUs.
fn roaming_order(
    topology: &Topology,
    pinned_cpus: impl Iterator<Item = Option<usize>>,
    index: usize,
    theta: f64,
) -> Order {
    let regions: Vec<Vec<u32>> = pinned_cpus
        .map(|home| home.map_or_else(Vec::new, |cpu| topology.region(cpu)))
        .collect();
    Order::nearest(index, &regions, theta)
}

/// A worker that woke up notes where it is.
pub(crate) fn look_where(registry: &Registry, worker: &Worker) {
    if roaming(registry).is_some() {
        worker.note_home(here());
    }
}

#[cfg(test)]
mod tests {
    use locksley_policy::Random;

    use super::*;

    /// 2 packages x 2 cores x 2 threads.
    fn machine() -> Topology {
        let mut text = String::from("cpu/online:0-7\n");
        for cpu in 0..8 {
            let (package, core) = (cpu / 4 * 4, cpu / 2 * 2);
            let base = format!("cpu/cpu{cpu}/topology");
            text += &format!("{base}/package_cpus_list:{package}-{}\n", package + 3);
            text += &format!("{base}/core_cpus_list:{core}-{}\n", core + 1);
        }
        Topology::from_listing(&text)
    }

    /// Which victims come first, over many sweeps, as a sorted list without repetitions.
    fn first_victims(order: &Order, count: usize) -> Vec<usize> {
        let mut random = Random::new(1, 1);
        let sweeps = (0..200).filter_map(|_| order.sweep(count, &mut random).next());
        let mut firsts: Vec<usize> = sweeps.collect();
        firsts.sort_unstable();
        firsts.dedup();
        firsts
    }

    #[test]
    fn pinned_workers_know_the_threads_of_their_core() {
        let orders = pinned_orders(&machine(), &[0, 1, 2, 3, 4, 5], 1.0);
        // Their core, or their package; never the other package first.
        assert_eq!(first_victims(&orders[0], 6), [1, 2, 3]);
        assert_eq!(orders[0].rings(), 3);
        // Workers of one CPU are the nearest of all.
        let crowded = pinned_orders(&machine(), &[0, 1, 0, 1], 1.0);
        assert_eq!(first_victims(&crowded[0], 4), [2]);
    }

    #[test]
    fn roaming_workers_know_their_package_only() {
        let seen = |pinned_cpus: &[Option<usize>]| {
            let pinned_cpus = pinned_cpus.iter().copied();
            roaming_order(&machine(), pinned_cpus, 0, 1.0)
        };
        let order = seen(&[Some(0), Some(7), Some(1), Some(3), None]);
        assert_eq!(first_victims(&order, 5), [2, 3]);
        let nobody_knows = seen(&[None, Some(7), Some(1)]);
        assert_eq!(nobody_knows, Order::uniform(0));
        let all_in_one = seen(&[Some(0), Some(1), Some(2)]);
        assert_eq!(all_in_one, Order::uniform(0));
    }
}
