//! User-defined balancers and donors, `auto`, and mailboxes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use locksley_policy::{Actor, Balancer, Donor, Opportunity, Outcome, Target, Theta, View, other};

use super::*;

/// Algorithm 10 of the thesis as a user-defined balancer, which counts successes.
struct Back(Arc<AtomicU64>);

impl Balancer for Back {
    fn choose(&mut self, actor: Actor, view: &dyn View, random: &mut dyn Source) -> Option<usize> {
        let back = actor.memory.last_thief();
        back.or_else(|| other(actor.me, view.count(), random))
    }

    fn tried(&mut self, _: usize, outcome: Outcome) {
        let success = u64::from(outcome == Outcome::Success);
        self.0.fetch_add(success, Ordering::Relaxed);
    }
}

#[test]
fn a_balancer_of_ones_own_does_what_the_same_does_built_in() {
    for processors in [1, 2, 9, 40] {
        for built_in in machines(processors, "flexible:steal-back") {
            let told = Arc::new(AtomicU64::new(0));
            let count = Arc::clone(&told);
            let own = Setup {
                strategy: Strategy::LockFree,
                ..built_in.clone()
            };
            let own = own.balancer(Theta::HALF, move |_| Back(Arc::clone(&count)));
            let expected = run("fib:n=13", &built_in, Pacing::Lazy);
            let mut report = run("fib:n=13", &own, Pacing::Lazy);
            assert_eq!(report.strategy, "lock-free");
            report.strategy.clone_from(&expected.strategy);
            assert_eq!(report, expected, "{processors}");
            assert_eq!(told.load(Ordering::Relaxed), report.tally.stolen);
        }
    }
}

/// Depending on its number, chooses no victim, its own processor, or one that does not exist.
struct Useless(usize);

impl Balancer for Useless {
    fn choose(&mut self, actor: Actor, view: &dyn View, _: &mut dyn Source) -> Option<usize> {
        [None, Some(actor.me), Some(view.count())][self.0 % 3]
    }
}

#[test]
fn a_useless_balancer_does_no_harm_beyond_its_theta() {
    let theta = Theta::new(0.75).unwrap();
    let setup = Setup::new(16, Strategy::SemiPrivate).balancer(theta, Useless);
    let report = run("fib:n=16", &setup, Pacing::Lazy);
    assert_eq!(report.tally.executed, report.size.work);
    let iterations = report.tally.idle_iterations as f64;
    let skipped = report.tally.skipped as f64 / iterations;
    assert!((skipped - 0.75).abs() < 0.05, "{skipped}");
}

#[test]
fn a_balancer_where_none_is_asked_is_an_error() {
    for strategy in ["dealing", "steal-half", "greedy", "synchronous", "auto"] {
        let setup = Setup::new(4, strategy.parse().unwrap()).balancer(Theta::HALF, Useless);
        let error = setup.check().unwrap_err().to_string();
        assert!(error.starts_with(strategy), "{error}");
        assert!(
            error.contains("lock-free, flexible, semi-private, sharing or private-sharing"),
            "{error}"
        );
    }
    let setup = Setup::new(4, Strategy::LockFree).balancer(Theta::HALF, Useless);
    assert_eq!(setup, setup.clone());
    assert_ne!(setup, setup.clone().balancer(Theta::HALF, Useless));
}

/// Under sharing, too, a thief asks its balancer.
#[test]
fn thieves_that_share_ask_their_balancers() {
    let theta = Theta::new(0.75).unwrap();
    let setup = Setup::new(16, "sharing".parse().unwrap()).balancer(theta, Useless);
    let report = run("fib:n=16", &setup, Pacing::Lazy);
    assert_eq!(report.tally.executed, report.size.work);
    let tally = report.tally;
    let skipped = tally.skipped as f64 / tally.idle_iterations as f64;
    assert!((skipped - 0.75).abs() < 0.05, "{skipped}");
}

/// Gives to the next processor, and counts accepted offers. The flag says whether it is eager.
struct Next(Arc<AtomicU64>, bool);

impl Donor for Next {
    fn choose(&mut self, at: Opportunity, view: &dyn View, _: &mut dyn Source) -> Option<usize> {
        assert!(at.asked || self.1, "it is asked only when a thief has");
        Some((at.donor.me + 1) % view.count())
    }

    fn offered(&mut self, _: usize, accepted: bool) {
        let accepted = u64::from(accepted);
        self.0.fetch_add(accepted, Ordering::Relaxed);
    }

    fn is_eager(&self) -> bool {
        self.1
    }
}

#[test]
fn a_donor_decides_when_and_to_whom() {
    for (strategy, eager) in [("sharing", false), ("sharing", true), ("sending", true)] {
        let offered = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&offered);
        let setup = Setup::new(8, strategy.parse().unwrap());
        let setup = setup.donor(move |_| Next(counted.clone(), eager));
        let report = run("fib:n=16", &setup, Pacing::Lazy);
        assert_eq!(report.tally.executed, report.size.work, "{strategy}");
        let told = offered.load(Ordering::Relaxed);
        assert_eq!(told, report.tally.offered, "{strategy}");
        assert!(told > 0 && report.tally.donated > 0, "{strategy} {eager}");
    }
    let setup = Setup::new(8, Strategy::LockFree).donor(|_| Target::Random);
    let error = setup.check().unwrap_err().to_string();
    assert!(
        error.ends_with("simulate sharing, private-sharing or sending"),
        "{error}"
    );
    assert_eq!(setup, setup.clone());
}

/// Tests that an owner of a semi-private deque pays a fence for each offer, under the
/// strategy's own policy and under a user's donor.
#[test]
fn every_offer_from_a_semi_private_deque_costs_a_fence() {
    let setup = Setup::new(8, "private-sharing".parse().unwrap());
    let donors = setup.clone().donor(|_| Next(Arc::default(), true));
    for setup in [setup, donors] {
        let tally = run("fib:n=16", &setup, Pacing::Lazy).tally;
        // An owner may take back what it has exposed, also at the cost of a fence.
        let least = tally.attempts() + tally.exposed + tally.offered;
        assert!(
            (least..=least + tally.exposed).contains(&tally.fences),
            "{tally:?}"
        );
    }
}

/// Tests that a node that has affinity to the processor that enables it stays there, as in the
/// pool.
#[test]
fn what_wants_to_stay_is_not_spread() {
    let setup = Setup {
        mailbox: 64,
        ..Setup::new(1, "sharing:greedy".parse().unwrap())
    };
    let tally = run("phased", &setup, Pacing::Lazy).tally;
    // Nodes without affinity may be offered, but there is no other processor.
    assert!(tally.kept >= tally.affinities / 2, "{tally:?}");
    assert_eq!((tally.offered, tally.mailed), (0, 0));
}

/// Returns the tally of a run under `auto`.
fn auto(dag: &str, processors: usize) -> Tally {
    let setup = Setup::new(processors, "auto".parse().unwrap());
    run(dag, &setup, Pacing::Lazy).tally
}

#[test]
fn auto_shares_where_one_generates_less_than_all_can_do() {
    // Two of 32 are busy.
    let tally = auto("generator:tasks=3000,grain=20,gap=10", 32);
    assert!(tally.mode_changes > 0, "{tally:?}");
    assert!(tally.offered > 0 && tally.donated > 0, "{tally:?}");
}

#[test]
fn auto_steals_half_where_one_has_all_there_is() {
    let tally = auto("generator:tasks=5000,grain=10,gap=1", 4);
    assert!(tally.mode_changes > 0, "{tally:?}");
    assert!(tally.items_stolen > 2 * tally.stolen, "{tally:?}");
    assert_eq!(tally.donated, 0, "{tally:?}");
}

#[test]
fn auto_steals_one_by_one_where_that_will_do() {
    for processors in [2, 8, 32] {
        let tally = auto("fib:n=22", processors);
        assert_eq!(tally.mode_changes, 0, "{tally:?}");
        assert_eq!(tally.items_stolen, tally.stolen);
        assert_eq!(tally.offered, 0);
    }
}

#[test]
fn mailboxes_bring_work_to_where_its_data_is() {
    let hits = |mailbox| {
        let setup = Setup {
            mailbox,
            ..Setup::new(8, "sharing".parse().unwrap())
        };
        let report = run("phased:phases=50,items=64,longest=30", &setup, Pacing::Lazy);
        let tally = report.tally;
        assert_eq!(tally.executed, report.size.work);
        assert_eq!(tally.mailed > 0, mailbox > 0);
        assert!(tally.mailed >= tally.donated || mailbox == 0, "{tally:?}");
        tally.affinity_hits as f64 / tally.affinities as f64
    };
    let (without, with) = (hits(0), hits(64));
    assert!(
        (without - 0.125).abs() < 0.05,
        "one of eight by chance: {without}"
    );
    // Only idle processors read letters, and owners execute most of the nodes that they have
    // enabled.
    assert!(with > 1.5 * without, "{with} against {without}");
}

#[test]
fn a_letter_does_not_make_a_node_run_twice_or_late() {
    // A mailbox of one letter refuses most letters; their nodes are still in the deque.
    for mailbox in [1, 2, 1000] {
        for setup in machines(6, "sharing:greedy,theta_r=0.3") {
            let setup = Setup { mailbox, ..setup };
            let report = run("stencil:width=23,steps=30", &setup, Pacing::Lazy);
            assert_eq!(report.tally.executed, report.size.work);
            assert!(report.tally.mailed > 0);
        }
    }
}

/// Tests that only misses cost `Costs::miss`. Dealing that sends every item to its preferred
/// processor has few misses: items of the first phase that their producer continues with. Nearly
/// all items that thieves execute are misses.
#[test]
fn a_miss_is_paid_for_by_those_that_miss() {
    let makespan = |strategy: &str, miss| {
        let setup = Setup {
            costs: Costs {
                miss,
                ..Costs::default()
            },
            ..Setup::new(16, strategy.parse().unwrap())
        };
        run("phased:phases=4,items=200", &setup, Pacing::Lazy).makespan
    };
    let longer = |strategy: &str| makespan(strategy, 50) - makespan(strategy, 0);
    assert!(longer("dealing:locality,l=inf") < 500);
    for strategy in ["lock-free", "split", "steal-half", "dealing:simple"] {
        // 800 items of which fifteen of sixteen miss, on 16 processors: 2300 ticks.
        let longer = longer(strategy);
        assert!((1500..4000).contains(&longer), "{strategy}: {longer}");
    }
}
