use std::sync::Arc;

use locksley_policy::{Heuristic, Mode, Sharing, Target, Theta, Tuning};

use super::*;
use crate::strategy::sharing::Circle;
use crate::strategy::steal_half::dummies::Dummies;

/// The piles of a pool with so many workers that changes its mind at the first period.
fn piles(workers: usize) -> Vec<AutoPile> {
    let circle = Arc::new(Circle::new(workers));
    let pulse = Arc::new(Pulse::new(workers, Tuning { patience: 1 }));
    let policy = Sharing {
        heuristic: Heuristic::TIT_FOR_TAT,
        theta_s: Theta::ZERO,
        theta_r: Theta::ZERO,
        target: Target::Random,
    };
    let pile = |index| {
        let sharing = SharingPile::new(index, circle.clone(), policy, 7);
        AutoPile::new(index, pulse.clone(), Some(sharing), true)
    };
    (0..workers).map(pile).collect()
}

/// The worker pushes and pops, and takes samples on the way; so many of each that a period is over.
fn work(pile: &mut AutoPile, jobs: &Dummies, idle: f64) -> bool {
    let mut changed = false;
    for _ in 0..8 {
        for _ in 0..8 {
            assert!(pile.push(jobs.job(0)).is_ok());
            assert!(pile.pop().is_some());
        }
        changed |= pile.sample(&|| idle);
    }
    changed
}

const GREEDY: Mode = Mode::Sharing(Heuristic::GREEDY);

#[test]
fn where_most_are_idle_it_shares_and_then_steals_again() {
    let jobs = Dummies::new(2);
    let mut piles = piles(4);
    assert!(!work(&mut piles[0], &jobs, 0.7), "not idle enough");
    assert_eq!(piles[0].pulse.mode(), Mode::Stealing);
    assert!(work(&mut piles[0], &jobs, 0.75));
    assert_eq!(piles[0].pulse.mode(), GREEDY);
    assert!(!work(&mut piles[0], &jobs, 0.6), "in between it stays");

    // A worker that looks for something is offered the next job.
    assert!(piles[1..].iter_mut().all(|pile| pile.open_to_offers()));
    assert!(piles[0].push(jobs.job(1)).is_ok());
    let mut others = piles[1..].iter_mut();
    let received = others.find_map(|pile| pile.receive());
    assert_eq!(received.map(|got| jobs.number(got.job)), Some(1));
    assert!(piles[0].pop().is_none(), "a ghost");
    piles[1..]
        .iter_mut()
        .for_each(|pile| pile.close_to_offers());

    assert!(work(&mut piles[0], &jobs, 0.4));
    assert_eq!(piles[0].pulse.mode(), Mode::Stealing);
    assert!(piles[1..].iter_mut().all(|pile| pile.open_to_offers()));
    assert!(piles[0].push(jobs.job(1)).is_ok());
    assert!(!piles[0].shares);
    assert!(piles[1..].iter_mut().all(|pile| pile.receive().is_none()));
    let offered: u64 = piles.iter().map(|pile| pile.gifts().offered).sum();
    assert_eq!(offered, 1);
}

#[test]
fn where_much_is_stolen_thieves_take_half() {
    let jobs = Dummies::new(64);
    let mut piles = piles(2);
    let (victims, thieves) = piles.split_at_mut(1);
    let (victim, thief) = (&mut victims[0], &mut thieves[0]);
    let loot = victim.loot();
    for number in 0..64 {
        assert!(victim.push(jobs.job(number)).is_ok());
    }
    for number in 0..64 {
        assert!(!thief.skips_search());
        let Some(Steal::Success(haul)) = thief.haul(&loot) else {
            panic!("there is something to steal");
        };
        assert_eq!((jobs.number(haul.job), haul.more), (number, 0));
    }
    assert!((0..8).any(|_| thief.sample(&|| 0.0)));
    assert_eq!(thief.pulse.mode(), Mode::StealHalf);
    for number in 0..8 {
        assert!(victim.push(jobs.job(number)).is_ok());
    }
    let Some(Steal::Success(haul)) = thief.haul(&loot) else {
        panic!("there is something to steal");
    };
    assert_eq!(haul.more, 3, "and the one that is returned");

    // Nobody steals any more.
    while victim.pop().is_some() || thief.pop_moved().is_some() {}
    assert!(work(victim, &jobs, 0.0));
    assert_eq!(victim.pulse.mode(), Mode::Stealing);
}

/// A worker has something in its pile when the pool begins to share, and again when it ceases to.
#[test]
fn what_was_pushed_first_is_popped_last_whatever_happens_in_between() {
    let jobs = Dummies::new(6);
    let mut piles = piles(5);
    let (decider, piles) = piles.split_at_mut(1);
    let pile = &mut piles[0];
    assert!(pile.push(jobs.job(1)).is_ok());
    assert!(work(&mut decider[0], &jobs, 0.75));
    assert!(pile.push(jobs.job(2)).is_ok());
    assert!(!pile.shares, "there is still something");
    assert_eq!(pile.loot().len(), 2);
    assert_eq!(pile.pop().map(|job| jobs.number(job)), Some(2));
    assert_eq!(pile.pop().map(|job| jobs.number(job)), Some(1));
    assert!(pile.pop().is_none());

    assert!(pile.push(jobs.job(3)).is_ok());
    assert!(pile.shares);
    assert!(work(&mut decider[0], &jobs, 0.1));
    assert!(pile.push(jobs.job(4)).is_ok());
    assert!(pile.shares, "there is still something");
    let loot = pile.loot();
    assert_eq!(loot.steal().success().map(|job| jobs.number(job)), Some(3));
    assert_eq!(pile.pop().map(|job| jobs.number(job)), Some(4));
    assert!(pile.push(jobs.job(5)).is_ok());
    assert!(!pile.shares);
    assert_eq!(loot.steal().success().map(|job| jobs.number(job)), Some(5));
    assert!(loot.is_empty());
}

#[test]
fn a_thief_finds_what_is_in_either_pile() {
    let jobs = Dummies::new(3);
    let mut piles = piles(5);
    let (first, rest) = piles.split_at_mut(1);
    assert!(first[0].push(jobs.job(1)).is_ok());
    assert!(work(&mut rest[0], &jobs, 0.9));
    assert!(rest[1].push(jobs.job(2)).is_ok());
    assert!(rest[1].shares);
    for (loot, number) in [(first[0].loot(), 1), (rest[1].loot(), 2)] {
        let Some(Steal::Success(haul)) = rest[3].haul(&loot) else {
            panic!("there is something to steal");
        };
        assert_eq!((jobs.number(haul.job), haul.moved), (number, false));
        assert!(matches!(rest[3].haul(&loot), Some(Steal::Empty)));
    }
}

#[test]
fn few_jobs_make_no_period() {
    let jobs = Dummies::new(1);
    let mut piles = piles(4);
    assert!((0..100).all(|_| !piles[0].sample(&|| 0.9)));
    assert_eq!(piles[0].pulse.mode(), Mode::Stealing);
    assert!(work(&mut piles[0], &jobs, 0.9));
}
