use super::*;
use crate::dag::Dag;

mod policies;

/// Schedulers, with each of their policies.
const STRATEGIES: [&str; 28] = [
    "lock-free",
    "semi-private",
    "flexible:skip",
    "flexible:steal-back",
    "flexible:nearest",
    "flexible:sticky",
    "flexible:longest",
    "lifelines",
    "lifelines:w=0,base=3",
    "steal-half",
    "steal-half:probabilistic",
    "steal-half:probabilistic,mu=0.5,amount=difference",
    "steal-half:factor,amount=one",
    "sharing:greedy",
    "sharing:tit-for-tat,theta_s=0.5,theta_r=0.25,target=spread-back",
    "sharing:continuous-tit-for-tat,target=threshold",
    "sharing:continuous-abort-for-tat,target=shortest",
    "dealing:simple",
    "dealing:locality,l=3",
    "dealing:adaptive,batch=1",
    "sending:random",
    "sending:threshold,below=2",
    "sending:shortest",
    "auto",
    "auto:patience=1",
    "synchronous",
    "synchronous-sharing:tit-for-tat,theta_s=0.5,theta_r=0.5",
    "greedy",
];

/// The number of strategies, at the start of the list, that support lazy pacing.
const LAZY: usize = 6;

const NESTED: [&str; 8] = [
    "fib:n=11",
    "balanced:depth=5,grain=5",
    "random:nodes=500",
    "sort:k=5",
    "sort:k=6,merge=parallel",
    "chain:periods=10,serial=9,parallel=5",
    "generator:tasks=50,grain=9,gap=2",
    "phased:phases=4,items=8,longest=15",
];

const OTHERS: [&str; 2] = [
    "wavefront:rows=12,columns=9,grain=2",
    "stencil:width=13,steps=9",
];

/// Simulates a computation, lazily or eagerly.
struct Paced<'a>(&'a Setup, Pacing);

impl Visitor for Paced<'_> {
    type Output = Report;

    fn visit<C: Computation>(self, mut computation: C) -> Report {
        simulate_with(&mut computation, self.0, self.1).unwrap()
    }
}

fn run(dag: &str, setup: &Setup, pacing: Pacing) -> Report {
    let dag: Dag = dag.parse().unwrap();
    dag.build(Paced(setup, pacing)).unwrap()
}

/// Returns the machine of the thesis, one with costs and latencies, and one whose speeds change.
fn machines(processors: usize, strategy: &str) -> [Setup; 3] {
    let plain = Setup {
        sample: 7,
        timeline: true,
        ..Setup::new(processors, strategy.parse().unwrap())
    };
    let costly = Setup {
        costs: Costs {
            node: 5,
            steal: 7,
            cas: 3,
            fence: 2,
            donation: 4,
            probe: 1,
            fork: 1,
            expose: 2,
            barrier: 30,
            interrupt: 10,
            miss: 6,
        },
        topology: Topology::nested(&[(2, 1), (8, 20)], 50),
        mailbox: 3,
        seed: 9,
        ..plain.clone()
    };
    let changing = Setup {
        speeds: Speeds::of(vec![
            Speed::constant(NOMINAL),
            Speed::repeating(50, &[(0, 300), (20, 2000), (40, 0)]),
            Speed::constant(1700),
        ]),
        ..plain.clone()
    };
    [plain, costly, changing]
}

#[test]
fn lazy_and_eager_pacing_agree_bit_for_bit() {
    for strategy in &STRATEGIES[..LAZY] {
        for processors in [2, 3, 8, 50] {
            for setup in machines(processors, strategy) {
                for dag in NESTED {
                    let lazy = run(dag, &setup, Pacing::Lazy);
                    assert_eq!(lazy, run(dag, &setup, Pacing::Eager), "{dag} {setup:?}");
                }
            }
        }
    }
}

#[test]
fn every_scheduler_executes_every_node_once() {
    for strategy in STRATEGIES {
        for processors in [1, 2, 9, 40] {
            for setup in machines(processors, strategy) {
                for dag in NESTED.iter().chain(&OTHERS) {
                    let report = run(dag, &setup, Pacing::Lazy);
                    assert_eq!(report.tally.executed, report.size.work, "{dag} {setup:?}");
                }
            }
        }
    }
}

#[test]
fn no_schedule_is_shorter_than_the_optimum_and_greedy_ones_keep_their_bound() {
    for strategy in STRATEGIES {
        for processors in [1, 3, 16] {
            let [setup, ..] = machines(processors, strategy);
            for dag in NESTED.iter().chain(&OTHERS) {
                let report = run(dag, &setup, Pacing::Lazy);
                let makespan = report.makespan as f64;
                assert!(
                    makespan >= report.size.at_least(processors),
                    "{dag} {setup:?}"
                );
                if strategy == "greedy" {
                    assert!(makespan <= report.size.greedy_at_most(processors), "{dag}");
                }
                if processors == 1 {
                    assert_eq!(report.makespan, report.size.work, "{dag} {strategy}");
                    assert_eq!(report.tally.attempts(), 0);
                }
            }
        }
    }
}

#[test]
fn a_timeline_accounts_for_all_work_and_all_moves() {
    for strategy in STRATEGIES {
        let [setup, ..] = machines(6, strategy);
        let report = run("fib:n=12", &setup, Pacing::Lazy);
        let mut busy = 0;
        let mut steals = 0;
        for event in report.timeline.iter().flatten() {
            match event {
                TimelineEvent::Busy { from, to, .. } => busy += to - from,
                TimelineEvent::Moved { how, .. } => steals += u64::from(*how == Move::Steal),
            }
        }
        assert!(busy >= report.size.work, "{strategy}: {busy}");
        if !strategy.starts_with("synchronous") {
            assert_eq!(steals, report.tally.stolen, "{strategy}");
        }
        assert!(
            report
                .loads
                .iter()
                .all(|load| load.median <= load.max && load.busy <= 6)
        );
        assert!(!report.loads.is_empty());
    }
}

#[test]
fn seeds_matter_and_nothing_else_does() {
    for strategy in STRATEGIES {
        let [setup, ..] = machines(9, strategy);
        let first = run("random:nodes=999", &setup, Pacing::Lazy);
        assert_eq!(
            first,
            run("random:nodes=999", &setup, Pacing::Lazy),
            "{strategy}"
        );
    }
    let [setup, ..] = machines(9, "lock-free");
    let other = Setup {
        seed: 2,
        ..setup.clone()
    };
    let [a, b] = [setup, other].map(|setup| run("random:nodes=999", &setup, Pacing::Lazy));
    assert_ne!(a.tally, b.tally);
}

#[test]
fn messages_take_their_time() {
    // The second processor cannot execute a node before a request and its answer have crossed the
    // network.
    for latency in [0, 100] {
        let setup = Setup {
            topology: Topology::cluster(1, 0, latency),
            timeline: true,
            ..Setup::new(2, Strategy::LockFree)
        };
        let report = run("balanced:depth=10", &setup, Pacing::Lazy);
        let first = report
            .timeline
            .iter()
            .flatten()
            .find_map(|event| match event {
                TimelineEvent::Busy {
                    processor: 1, from, ..
                } => Some(*from),
                _ => None,
            });
        let first = first.expect("the second processor gets something");
        assert!(first >= 2 * u64::from(latency), "{first}");
        assert!(first <= 4 * u64::from(latency) + 10, "{first}");
    }
}

#[test]
fn lifelines_keep_the_idle_quiet() {
    let attempts = |strategy: &str| {
        let [setup, ..] = machines(64, strategy);
        run(
            "chain:periods=50,serial=50,parallel=20",
            &setup,
            Pacing::Lazy,
        )
        .tally
        .attempts()
    };
    assert!(attempts("lifelines") * 20 < attempts("lock-free"));
}

#[test]
fn near_ones_are_robbed_first_if_the_policy_says_so() {
    let steals_across = |strategy: &str| {
        let setup = Setup {
            topology: Topology::cluster(8, 0, 20),
            timeline: true,
            ..Setup::new(32, strategy.parse().unwrap())
        };
        let report = run("fib:n=18", &setup, Pacing::Lazy);
        let across = report.timeline.iter().flatten().filter(
            |event| matches!(event, TimelineEvent::Moved { from, to, .. } if from / 8 != to / 8),
        );
        across.count() as f64 / report.tally.stolen as f64
    };
    assert!(steals_across("flexible:nearest,theta_r=0.9") < 0.5 * steals_across("lock-free"));
}

#[test]
fn what_is_private_is_cheap() {
    let [lock_free, semi_private] = ["lock-free", "semi-private"].map(|strategy| {
        let [setup, ..] = machines(4, strategy);
        run("fib:n=16", &setup, Pacing::Lazy).tally
    });
    assert!(semi_private.fences * 5 < lock_free.fences);
    assert!(semi_private.exposed >= semi_private.stolen);
}

#[test]
fn who_is_taken_away_is_robbed_meanwhile() {
    // The first processor has all the work, and is taken away after 100 ticks for 10,000 ticks.
    let gone = Speed::changing(&[(100, 0), (10_100, NOMINAL)]);
    let setup = Setup {
        speeds: Speeds::of(vec![
            gone,
            Speed::constant(NOMINAL),
            Speed::constant(NOMINAL),
        ]),
        timeline: true,
        ..Setup::new(3, Strategy::LockFree)
    };
    let report = run("balanced:depth=9", &setup, Pacing::Lazy);
    let robbed = report.timeline.iter().flatten().any(|event| {
        matches!(
            event,
            TimelineEvent::Moved {
                from: 0,
                left: 100..10_100,
                ..
            }
        )
    });
    assert!(robbed);
    assert_eq!(report.tally.executed, report.size.work);
}

/// Runs a small computation on five processors, one of which is taken away for good at a time.
fn run_without(processor: usize, away: u64, strategy: &str) -> Result<Report, SimError> {
    let [_, costly, _] = machines(5, strategy);
    let mut speeds = vec![Speed::constant(NOMINAL); 5];
    speeds[processor] = Speed::changing(&[(away, 0)]);
    let setup = Setup {
        speeds: Speeds::of(speeds),
        mailbox: 4,
        ..costly
    };
    let [lazy, eager] = [Pacing::Lazy, Pacing::Eager].map(|pacing| {
        let mut phased = crate::dag::Strands::new(crate::dag::Phased::new(2, 9, 3, 9, 1));
        simulate_with(&mut phased, &setup, pacing)
    });
    assert_eq!(lazy, eager, "{strategy}");
    lazy
}

/// Tests that a run ends if a processor that holds nodes is taken away for good while the others go
/// on stealing, and that one without nodes is not missed.
#[test]
fn a_computation_whose_nodes_are_lost_is_stuck() {
    let others = ["private-sharing:greedy", "asymmetric", "split"];
    for strategy in STRATEGIES.into_iter().chain(others) {
        if strategy.starts_with("synchronous") {
            continue;
        }
        let ends = (1..150).map(|away| run_without(0, away, strategy));
        let stuck = ends.filter(|end| *end == Err(SimError::Stuck)).count();
        assert!(stuck > 20, "{strategy}: {stuck}");
        // These may send work to a processor, or assign it, before they can know that it is gone.
        let sends = ["dealing", "sending", "greedy"];
        if !sends.iter().any(|name| strategy.starts_with(name)) {
            let report = run_without(4, 0, strategy);
            let report = report.unwrap_or_else(|error| panic!("{strategy}: {error}"));
            assert_eq!(report.tally.executed, report.size.work, "{strategy}");
        }
    }
}

#[test]
fn who_is_taken_away_for_good_may_keep_the_computation_from_ending() {
    let gone = Setup {
        speeds: Speeds::of(vec![Speed::changing(&[(50, 0)])]),
        ..Setup::new(3, Strategy::LockFree)
    };
    let mut fib = crate::dag::Strands::new(crate::dag::Fib::new(20));
    assert_eq!(simulate(&mut fib, &gone), Err(SimError::Stuck));
}
