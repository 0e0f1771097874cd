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

/// Returns the victims that come first in many sweeps, sorted and without repetitions.
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
