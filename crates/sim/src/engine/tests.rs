use super::*;
use crate::dag::{Dag, Visitor};

fn strategies() -> Vec<Strategy> {
    [
        "lock-free",
        "semi-private",
        "flexible:skip",
        "flexible:steal-back",
        "flexible:nearest",
        "flexible:sticky",
    ]
    .iter()
    .map(|text| text.parse().unwrap())
    .collect()
}

/// Runs a computation lazily and eagerly.
struct Both<'a>(&'a Setup);

impl Visitor for Both<'_> {
    type Output = [Report; 2];

    fn visit<C: Computation>(self, mut computation: C) -> [Report; 2] {
        let mut run = |pacing| simulate_with(&mut computation, self.0, pacing).unwrap();
        [run(Pacing::Lazy), run(Pacing::Eager)]
    }
}

const DAGS: [&str; 8] = [
    "fib:n=14",
    "balanced:depth=6,grain=5",
    "random:nodes=2000",
    "sort:k=7",
    "sort:k=7,merge=parallel",
    "chain:periods=20,serial=9,parallel=5",
    "generator:tasks=100,grain=9,gap=2",
    "phased:phases=4,items=20",
];

fn setups() -> Vec<Setup> {
    let mut setups = Vec::new();
    for strategy in strategies() {
        for processors in [1, 2, 3, 8, 50] {
            let plain = Setup {
                sample: 7,
                timeline: true,
                ..Setup::new(processors, strategy)
            };
            let costly = Setup {
                costs: Costs {
                    node: 5,
                    steal: 7,
                    cas: 3,
                    fence: 2,
                    ..Costs::default()
                },
                topology: Topology::nested(&[(2, 1), (8, 20)], 50),
                seed: 9,
                ..plain.clone()
            };
            let changing = Setup {
                speeds: Speeds::of(vec![
                    Speed::constant(NOMINAL),
                    Speed::repeating(50, &[(0, 300), (20, 2000), (40, 0)]),
                    Speed::changing(&[(0, 500), (100, 0)]),
                    Speed::constant(1700),
                ]),
                ..plain.clone()
            };
            setups.extend([plain, costly]);
            if processors != 1 {
                setups.push(changing);
            }
        }
    }
    setups
}

#[test]
fn lazy_and_eager_pacing_agree_bit_for_bit() {
    for setup in setups() {
        for dag in DAGS {
            let dag: Dag = dag.parse().unwrap();
            let mut setup = setup.clone();
            if setup.speeds != Speeds::nominal() {
                // A processor that is taken away for good keeps what it has.
                setup.speeds = Speeds::of(vec![
                    Speed::constant(NOMINAL),
                    Speed::repeating(50, &[(0, 300), (20, 2000), (40, 0)]),
                    Speed::constant(1700),
                ]);
            }
            let [lazy, eager] = dag.build(Both(&setup)).unwrap();
            assert_eq!(lazy, eager, "{dag} {setup:?}");
            assert_eq!(lazy.tally.executed, lazy.size.work);
        }
    }
}

#[test]
fn one_processor_takes_its_time() {
    for dag in DAGS {
        let dag: Dag = dag.parse().unwrap();
        let [report, _] = dag.build(Both(&Setup::new(1, Strategy::LockFree))).unwrap();
        assert_eq!(report.makespan, report.size.work, "{dag}");
        assert_eq!(report.tally.attempts(), 0);
    }
}
