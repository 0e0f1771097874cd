use locksley_policy::{Amount, When};

use super::*;
use crate::dummies::{Dummies, DummyRef};

fn queue(amount: Amount) -> HalfQueue<DummyRef> {
    let when = When::PROBABILISTIC;
    HalfQueue::new(StealHalf { when, amount }, true)
}

fn filled(amount: Amount, jobs: &Dummies, numbers: std::ops::Range<usize>) -> HalfQueue<DummyRef> {
    let mut queue = queue(amount);
    for number in numbers {
        assert!(queue.push(jobs.job(number)).is_ok());
    }
    queue
}

/// Takes the moved jobs. Returns their numbers, newest first.
fn moved(queue: &mut HalfQueue<DummyRef>, jobs: &Dummies) -> Vec<usize> {
    std::iter::from_fn(|| queue.pop_received())
        .map(|moved| jobs.number(moved.job))
        .collect()
}

#[test]
fn an_idle_thief_gets_half_and_runs_the_newest_of_it() {
    let jobs = Dummies::new(8);
    for (amount, job, more) in [
        (Amount::One, 0, vec![]),
        (Amount::Half, 3, vec![2, 1, 0]),
        (Amount::Difference, 3, vec![2, 1, 0]),
    ] {
        let victim = filled(Amount::Half, &jobs, 0..8);
        let mut thief = queue(amount);
        let Some(Steal::Success(steal_batch)) = thief.steal_batch(&victim.halves()) else {
            panic!("there is something to steal");
        };
        assert_eq!(jobs.number(steal_batch.job), job);
        assert!(!steal_batch.moved);
        assert_eq!(steal_batch.more, more.len());
        assert!(thief.pop().is_none(), "not where its own jobs are");
        assert_eq!(moved(&mut thief, &jobs), more);
    }
}

#[test]
fn balancing_evens_out() {
    let jobs = Dummies::new(40);
    let mut rich = filled(Amount::Difference, &jobs, 0..32);
    let mut poor = filled(Amount::Difference, &jobs, 32..36);
    // The range holds 16, so the victim has 32 at least: 16 - 4/2.
    assert_eq!(poor.balance(&rich.halves()), Steal::Success(14));
    assert_eq!((rich.load(), poor.load()), (18, 18));
    assert_eq!(
        rich.balance(&poor.halves()),
        Steal::Empty,
        "as rich as oneself"
    );
    assert_eq!(
        poor.pop().map(|job| jobs.number(job)),
        Some(35),
        "its own first"
    );
    assert_eq!(moved(&mut poor, &jobs), (0..14).rev().collect::<Vec<_>>());
}

/// The victim has six jobs of joins, and a spawned one between the second and the third.
#[test]
fn joins_may_stay_where_they_are() {
    let jobs = Dummies::new(8);
    let spawned = jobs.as_spawned(7);
    let mut victim = filled(Amount::Half, &jobs, 0..2);
    for job in [spawned, jobs.job(2), jobs.job(3), jobs.job(4), jobs.job(5)] {
        assert!(victim.push(job).is_ok());
    }
    let policy = StealHalf {
        when: When::Empty,
        amount: Amount::Half,
    };
    let (mut idle, mut busy) = (HalfQueue::new(policy, false), HalfQueue::new(policy, false));
    for number in 0..2 {
        assert_eq!(busy.balance(&victim.halves()), Steal::Empty);
        let Some(Steal::Success(steal_batch)) = idle.steal_batch(&victim.halves()) else {
            panic!("there is something to steal");
        };
        assert_eq!(jobs.number(steal_batch.job), number);
        assert_eq!(steal_batch.more, 0);
    }
    assert_eq!(busy.balance(&victim.halves()), Steal::Success(1));
    assert!(busy.pop_received().map(|moved| moved.job) == Some(spawned));
}

#[test]
fn what_was_moved_can_be_stolen_on() {
    let jobs = Dummies::new(16);
    let first = filled(Amount::Half, &jobs, 0..16);
    let (mut second, mut third) = (queue(Amount::Half), queue(Amount::Half));
    assert_eq!(second.balance(&first.halves()), Steal::Success(8));
    let Some(Steal::Success(steal_batch)) = third.steal_batch(&second.halves()) else {
        panic!("there is something to steal");
    };
    assert!(steal_batch.moved);
    assert!(steal_batch.more > 0);
    assert!(
        second.halves().steal().is_empty(),
        "nothing that it pushed itself"
    );
}

#[test]
fn a_batch_is_no_larger_than_the_room_for_it() {
    let jobs = Dummies::new(1);
    let full = |jobs: &Dummies| {
        let mut queue = queue(Amount::Half);
        while queue.push(jobs.job(0)).is_ok() {}
        queue
    };
    let (victims, mut thief) = ([full(&jobs), full(&jobs), full(&jobs)], queue(Amount::Half));
    for victim in &victims {
        while thief.balance(&victim.halves()).is_success() {}
    }
    assert_eq!(Owner::len(&thief.moved), QUEUE_CAPACITY);
    let left: usize = victims.iter().map(HalfQueue::load).sum();
    assert_eq!(left, 2 * QUEUE_CAPACITY);
    // A thief can still take one job to run it.
    assert!(matches!(
        thief.steal_batch(&victims[2].halves()),
        Some(Steal::Success(_))
    ));
}

#[test]
fn rules_that_ask_only_the_idle_need_no_questions() {
    let mut random = Random::new(1, 1);
    let jobs = Dummies::new(4);
    for when in When::ALL {
        let amount = Amount::Half;
        let mut queue = HalfQueue::new(StealHalf { when, amount }, true);
        assert_eq!(queue.balances_every().is_some(), when != When::Empty);
        assert!(queue.should_balance(&mut random), "{when}: it has nothing");
        for number in 0..4 {
            assert!(queue.push(jobs.job(number)).is_ok());
        }
        let answers: Vec<bool> = (0..100)
            .map(|_| queue.should_balance(&mut random))
            .collect();
        let yes = answers.iter().filter(|&&yes| yes).count();
        match when {
            When::Empty => assert_eq!(yes, 0),
            When::Factor { .. } => assert_eq!(yes, 1, "from nothing to four, once"),
            _ => assert!((5..60).contains(&yes), "about a quarter: {yes}"),
        }
    }
}
