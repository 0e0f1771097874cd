use super::*;
use crate::topology::{Level, Topology};

/// Two packages of two cores with a level-2 cache each; package 1 is node 1.
#[test]
fn relations_become_a_topology() {
    let relation = |mask, kind, low: u64, high: u64| Relation {
        mask,
        kind,
        detail: [low, high],
    };
    let mut all: Vec<Relation> = (0..4).map(|cpu| relation(1 << cpu, 0, 0, 0)).collect();
    for package in 0..2_u64 {
        let mask = 0b11 << (2 * package);
        all.push(relation(mask, 3, 0, 0));
        all.push(relation(mask, 1, package, 0));
        all.push(relation(mask, 2, 2, 0));
        all.push(relation(mask, 2, 1, 1));
    }
    let topology = Topology::from_listing(&listed(&all, Some(vec![0, 1, 2])));
    assert_eq!(topology.cpus(), [0, 1, 2, 3]);
    assert_eq!(topology.closest(0, 1), Some(Level::Cache(2)));
    assert_eq!(topology.closest(1, 2), Some(Level::Machine));
}

#[test]
fn a_thread_runs_where_it_is_pinned() {
    let allowed = allowed().expect("one processor group");
    let cpu = allowed[allowed.len() - 1];
    std::thread::spawn(move || {
        pin_to(&[cpu]).unwrap();
        assert_eq!(current_cpu(), cpu);
        assert!(pin_to(&[64]).is_err());
    })
    .join()
    .unwrap();
}

#[test]
fn this_machine_has_the_processors_that_are_allowed() {
    let topology = Topology::from_listing(&listing());
    for cpu in allowed().expect("one processor group") {
        assert!(topology.cpus().contains(&cpu), "{cpu} in {topology}");
    }
}
