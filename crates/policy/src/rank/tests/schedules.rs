//! Random schedules: no rank is told too early that all work is done, every rank is told in the
//! end, and no task is lost or run twice.

use super::world::{Fault, Mutant, World};
use super::*;
use crate::sharing::Target;
use crate::victims::Victims;

/// Returns a protocol of each kind, with times that suit the world's.
pub(super) fn protocols() -> [Protocol; 8] {
    let plain = Protocol {
        floor: 1,
        backoff: (50, 2_000),
        beat: 1_000_000,
        patience: 1_000_000_000,
        ..Protocol::default()
    };
    let lifelines = |w, base| Some(Lifelines { w, base });
    let sending = |target| Protocol {
        sending: Some(target),
        ..plain
    };
    [
        plain,
        Protocol {
            victims: Victims::STEAL_BACK,
            floor: 0,
            batch: 3,
            ..plain
        },
        Protocol {
            lifelines: lifelines(2, 2),
            ..plain
        },
        Protocol {
            lifelines: lifelines(0, 3),
            floor: 0,
            ..plain
        },
        Protocol {
            victims: Victims::SKIP,
            lifelines: lifelines(1, 2),
            beat: 2_000,
            ..plain
        },
        sending(Target::Random),
        sending(Target::THRESHOLD),
        sending(Target::Shortest { probes: 2 }),
    ]
}

fn run(seed: u64, mutant: Mutant) -> Result<Vec<Counts>, Fault> {
    let mut random = Random::new(seed, 5);
    let protocol = protocols()[seed as usize % 8];
    let (count, tasks) = (1 + random.below(12), random.below(300) as u32);
    let mut world = World::new(count, tasks, protocol, seed).with(mutant);
    world.run()?;
    Ok(world.ranks.iter().map(|rank| *rank.counts()).collect())
}

#[test]
fn all_work_is_done_once_and_all_ranks_know_then() {
    for seed in 0..1_000 {
        let counts =
            run(seed, Mutant::None).unwrap_or_else(|fault| panic!("seed {seed}: {fault:?}"));
        let mut sum = Counts::default();
        counts.iter().for_each(|&one| sum += one);
        assert_eq!(sum.given, sum.taken, "seed {seed}");
        assert!(
            sum.successes + sum.lifeline_gifts == sum.gifts,
            "seed {seed}: {sum:?}"
        );
    }
}

/// Returns the first seed, if any, for which a mutant is detected.
fn found(mutant: Mutant, as_what: impl Fn(Fault) -> bool) -> Option<u64> {
    (0..3_000).find(|&seed| run(seed, mutant).is_err_and(&as_what))
}

#[test]
fn without_blackening_it_would_end_too_early() {
    assert!(found(Mutant::NotBlack, |fault| fault == Fault::Early).is_some());
}

#[test]
fn without_counts_it_would_end_too_early() {
    assert!(found(Mutant::NoCounts, |fault| fault == Fault::Early).is_some());
}

#[test]
fn held_for_passive_too_early_it_would_end_too_early() {
    assert!(found(Mutant::PassiveTooEarly, |fault| fault == Fault::Early).is_some());
    assert!(found(Mutant::AsksSoPassive, |fault| fault == Fault::Early).is_some());
}

#[test]
fn with_half_of_the_counts_or_black_for_ever_it_would_not_end() {
    for mutant in [
        Mutant::ReceiptNotCounted,
        Mutant::SendingNotCounted,
        Mutant::StaysBlack,
    ] {
        // A count that is missing on one side only may also cancel another one too early.
        let found = found(mutant, |fault| {
            matches!(fault, Fault::Endless | Fault::Early)
        });
        assert!(found.is_some(), "{mutant:?}");
    }
}

/// Messages that are lost or repeated on the way are not mistaken for a good end.
#[test]
fn a_network_that_loses_or_repeats_work_is_noticed() {
    let lost = |fault| matches!(fault, Fault::Endless | Fault::Protocol(_));
    assert!(found(Mutant::LosesWork, lost).is_some());
    assert!(found(Mutant::RepeatsWork, |fault| fault != Fault::Endless).is_some());
}

/// Ranks that have work send it, and no rank asks.
#[test]
fn senders_send_unasked() {
    for protocol in &protocols()[5..] {
        let mut world = World::new(6, 500, *protocol, 3);
        world
            .run()
            .unwrap_or_else(|fault| panic!("{protocol}: {fault:?}"));
        let mut sum = Counts::default();
        world.ranks.iter().for_each(|rank| sum += *rank.counts());
        assert_eq!(sum.requests, 0, "{protocol}");
        assert!(
            sum.gifts > 0 && sum.gifts == sum.lifeline_gifts,
            "{protocol}: {sum:?}"
        );
        assert!(sum.probes >= sum.gifts, "{protocol}: {sum:?}");
        assert_eq!(
            (sum.given, sum.given > 20),
            (sum.taken, true),
            "{protocol}: {sum:?}"
        );
    }
}
