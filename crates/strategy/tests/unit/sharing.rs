//! Queues of peers, without threads or under loom.

use std::sync::Arc;

use super::*;
use crate::dummies::{Dummies, DummyRef};

fn peers(count: usize, policy: &str) -> Vec<SharingQueue<DummyRef>> {
    let policy: Sharing = policy.parse().expect("a policy");
    let peers = Arc::new(Peers::new(count));
    (0..count)
        .map(|index| SharingQueue::new(index, peers.clone(), policy, DonorKind::Policy, 1))
        .collect()
}

fn pair(policy: &str) -> (SharingQueue<DummyRef>, SharingQueue<DummyRef>) {
    let mut queues = peers(2, policy);
    let donee = queues.pop().expect("two");
    (queues.pop().expect("two"), donee)
}

fn push(queue: &mut SharingQueue<DummyRef>, job: DummyRef) {
    assert!(queue.push(job).is_ok(), "there is room");
}

/// Receives a job. Returns its number and its owner.
fn received(queue: &mut SharingQueue<DummyRef>, jobs: &Dummies) -> Option<(usize, usize)> {
    let queued = queue.receive()?;
    Some((jobs.number(queued.job), queued.owner))
}

#[cfg(not(loom))]
mod alone {
    use locksley_policy::Heuristic;

    use super::*;

    fn popped(queue: &mut SharingQueue<DummyRef>, jobs: &Dummies) -> Option<usize> {
        queue.pop().map(|job| jobs.number(job))
    }

    #[test]
    fn an_idle_worker_is_given_work() {
        let jobs = Dummies::new(2);
        let (mut donor, mut donee) = pair("sharing:greedy");
        push(&mut donor, jobs.job(0));
        assert!(donee.receive().is_none(), "it did not say that it is idle");
        assert_eq!(popped(&mut donor, &jobs), Some(0));
        assert!(donee.set_open(true));
        push(&mut donor, jobs.job(1));
        assert_eq!(received(&mut donee, &jobs), Some((1, 0)));
        assert!(donor.pop().is_none());
        let given = donor.transfers();
        assert_eq!((given.offered, given.refused, given.ghosts), (1, 1, 1));
        assert_eq!(donee.transfers().accepted, 1);
    }

    #[test]
    fn what_is_not_taken_up_stays() {
        let jobs = Dummies::new(2);
        let (mut donor, mut donee) = pair("sharing:greedy");
        donee.set_open(true);
        push(&mut donor, jobs.job(0));
        assert_eq!(popped(&mut donor, &jobs), Some(0));
        assert!(donee.receive().is_none());
        assert_eq!(donee.transfers().late, 1);
        push(&mut donor, jobs.job(1));
        donee.set_open(false);
        assert!(donee.receive().is_none());
        assert_eq!(popped(&mut donor, &jobs), Some(1));
    }

    #[test]
    fn a_thief_goes_past_a_ghost() {
        let jobs = Dummies::new(3);
        let mut queues = peers(3, "sharing:greedy,target=shortest,l_p=2");
        queues[1].set_open(true);
        for number in 0..3 {
            push(&mut queues[0], jobs.job(number));
        }
        assert_eq!(received(&mut queues[1], &jobs), Some((0, 0)));
        let victim = queues[0].peer();
        let Some(Steal::Success(steal_batch)) = queues[2].steal_batch(&victim) else {
            panic!("there is something to steal");
        };
        assert_eq!(jobs.number(steal_batch.job), 1);
        assert!(!steal_batch.moved);
        assert_eq!(queues[0].transfers().ghosts, 1);
    }

    #[test]
    fn an_idle_worker_is_invited_once() {
        let (mut donor, mut donee) = pair("sharing:greedy");
        donor.share_public();
        assert_eq!(
            donee.me.take_invitation(),
            None,
            "it did not say that it is idle"
        );
        donee.set_open(true);
        donor.share_public();
        assert!(donee.has_offer());
        assert_eq!(donee.me.take_invitation(), Some(0));
        assert_eq!(donee.me.take_invitation(), None);
        donor.share_public();
        donee.set_open(false);
        donee.set_open(true);
        assert_eq!(donee.me.take_invitation(), None, "it came too late");
        let given = donor.transfers();
        assert_eq!((given.offered, given.refused), (2, 1));
        assert!(donor.wants_attention(), "greedy goes on");
    }

    /// A thief's attempt sets the flag of a worker and returns its index; one invitation resets the
    /// flag.
    #[test]
    fn tit_for_tat_invites_once_for_each_attempt() {
        let (mut donor, mut donee) = pair("sharing:tit-for-tat");
        donee.set_open(true);
        donor.share_public();
        assert!(!donor.wants_attention() && !donee.has_offer(), "not asked");
        donee.steal_batch(&donor.peer());
        assert_eq!(donee.asked.take(), Some(0));
        assert_eq!(donee.asked.take(), None);
        assert!(donor.wants_attention());
        donor.share_public();
        assert!(!donor.wants_attention());
        assert_eq!(donee.me.take_invitation(), Some(0));
        donor.share_public();
        assert!(!donee.has_offer(), "paid for once");
    }

    #[test]
    fn a_spawned_job_is_offered_anywhere() {
        let jobs = Dummies::new(3);
        let (mut donor, mut donee) = pair("sharing:greedy");
        push(&mut donor, jobs.job(0));
        donee.set_open(true);
        push(&mut donor, jobs.as_spawned(1));
        push(&mut donor, jobs.job(2));
        let spawned = donee.receive().expect("an offer");
        assert!(spawned.job == jobs.as_spawned(1));
        assert_eq!(popped(&mut donor, &jobs), Some(2));
        assert_eq!(popped(&mut donor, &jobs), Some(0), "past the ghost");
    }

    #[test]
    fn tit_for_tat_gives_once_for_each_attempt() {
        let jobs = Dummies::new(4);
        let (mut donor, mut donee) = pair("sharing:tit-for-tat");
        donee.set_open(true);
        push(&mut donor, jobs.job(0));
        assert!(donee.receive().is_none(), "no thief has asked");
        assert_eq!(popped(&mut donor, &jobs), Some(0));
        let victim = donor.peer();
        assert!(matches!(donee.steal_batch(&victim), Some(Steal::Empty)));
        push(&mut donor, jobs.job(1));
        assert_eq!(received(&mut donee, &jobs), Some((1, 0)));
        push(&mut donor, jobs.job(2));
        assert!(donee.receive().is_none(), "asked once");
        let given = donor.transfers();
        assert_eq!((given.offered, given.refused), (1, 0));
    }

    #[test]
    fn flags_follow_the_heuristic() {
        for heuristic in Heuristic::ALL {
            for (job, outcome) in [(Some(0), Outcome::Success), (None, Outcome::Empty)] {
                let jobs = Dummies::new(1);
                let (mut victim, mut thief) = pair(&format!("sharing:{heuristic}"));
                if let Some(number) = job {
                    push(&mut victim, jobs.job(number));
                }
                let before = victim.me.is_spreading();
                let stealer = victim.peer();
                assert!(thief.steal_batch(&stealer).is_some());
                let after = heuristic.by_thief(outcome).of(before);
                assert_eq!(victim.me.is_spreading(), after, "{heuristic}");
            }
        }
    }

    #[test]
    fn spread_back_goes_to_the_last_thief() {
        let jobs = Dummies::new(2);
        let policy = "sharing:greedy,theta_s=0.999999,target=spread-back";
        let mut queues = peers(4, policy);
        push(&mut queues[0], jobs.job(0));
        let victim = queues[0].peer();
        assert!(matches!(
            queues[2].steal_batch(&victim),
            Some(Steal::Success(_))
        ));
        // As the thief's worker does after every success.
        queues[2].stole_from(0);
        for donee in &mut queues[1..] {
            donee.set_open(true);
        }
        push(&mut queues[0], jobs.job(1));
        assert!(queues[1].receive().is_none() && queues[3].receive().is_none());
        assert_eq!(received(&mut queues[2], &jobs), Some((1, 0)));
    }

    #[test]
    fn letters_reach_who_they_are_for() {
        let jobs = Dummies::new(3);
        let mut queues = peers(3, "sharing:tit-for-tat");
        for number in 0..2 {
            let sent = queues[0].push_near(jobs.as_spawned(number), 2);
            assert!(sent == Ok(true), "there is room");
        }
        let sent = queues[0].push_near(jobs.as_spawned(2), 7);
        assert!(sent == Ok(false), "there is no such worker");
        assert!(queues[1].receive().is_none());
        assert!(queues[0].pop() == Some(jobs.as_spawned(2)));
        assert!(queues[0].pop() == Some(jobs.as_spawned(1)));
        let letter = queues[2].receive().expect("a letter");
        assert!(letter.job == jobs.as_spawned(0) && letter.owner == 0);
        assert!(queues[2].receive().is_none(), "the donor was quicker");
        assert!(queues[0].pop().is_none());
        assert_eq!(
            (queues[2].transfers().accepted, queues[2].transfers().late),
            (1, 1)
        );
        assert_eq!(queues[0].transfers().mailed, 2);
    }

    /// As in the simulator (`what_wants_to_stay_is_not_spread`).
    #[test]
    fn what_prefers_its_donor_is_not_offered() {
        let jobs = Dummies::new(2);
        let (mut donor, mut donee) = pair("sharing:greedy");
        donee.set_open(true);
        assert!(donor.push_near(jobs.as_spawned(0), 0) == Ok(false));
        assert!(!donee.has_offer() && donee.receive().is_none());
        assert_eq!(donor.transfers().offered, 0);
        push(&mut donor, jobs.as_spawned(1));
        assert!(donee.has_offer(), "the flag is still set");
    }

    #[test]
    fn a_full_queue_returns_the_job() {
        let jobs = Dummies::new(1);
        let mut queue = peers(1, "sharing").pop().expect("one");
        for _ in 0..QUEUE_CAPACITY {
            push(&mut queue, jobs.job(0));
        }
        assert!(queue.push(jobs.job(0)).is_err());
        assert!(queue.push_near(jobs.job(0), 0).is_err());
        assert!(queue.pop().is_some());
        push(&mut queue, jobs.job(0));
    }
}

#[cfg(loom)]
mod models {
    use loom::sync::Arc;
    use loom::thread;

    use super::*;

    fn drain(queue: &mut SharingQueue<DummyRef>, jobs: &Dummies) -> Vec<usize> {
        std::iter::from_fn(|| queue.pop())
            .map(|job| jobs.number(job))
            .collect()
    }

    /// A donor pushes two jobs, and a donee takes those that it is offered. Each job is taken once.
    #[test]
    fn each_of_two_jobs_goes_to_one() {
        loom::model(|| {
            let jobs = Arc::new(Dummies::new(2));
            let mut queues = peers(2, "sharing:greedy");
            let mut donee = queues.pop().expect("two");
            let mut donor = queues.pop().expect("two");
            donee.set_open(true);
            let theirs = jobs.clone();
            let other = thread::spawn(move || {
                let gift = received(&mut donee, &theirs).map(|(number, _)| number);
                let second = match gift {
                    Some(_) => received(&mut donee, &theirs).map(|(number, _)| number),
                    None => None,
                };
                (gift, second)
            });
            push(&mut donor, jobs.job(0));
            push(&mut donor, jobs.job(1));
            let mut kept = drain(&mut donor, &jobs);
            let (first, second) = other.join().unwrap();
            kept.extend(first);
            kept.extend(second);
            kept.sort_unstable();
            assert_eq!(kept, [0, 1]);
        });
    }

    /// An offer, a steal and a pop of one job.
    #[test]
    fn donee_thief_and_owner_get_one_job_once() {
        loom::model(|| {
            let jobs = Arc::new(Dummies::new(1));
            let mut queues = peers(2, "sharing:greedy");
            let mut donee = queues.pop().expect("two");
            let mut donor = queues.pop().expect("two");
            donee.set_open(true);
            let stealer = donor.peer();
            let theirs = jobs.clone();
            let other = thread::spawn(move || {
                let gift = received(&mut donee, &theirs).map(|(number, _)| number);
                let stolen = match donee.steal_batch(&stealer) {
                    Some(Steal::Success(steal_batch)) => Some(theirs.number(steal_batch.job)),
                    _ => None,
                };
                gift.into_iter().chain(stolen).collect::<Vec<_>>()
            });
            push(&mut donor, jobs.job(0));
            let mut had = drain(&mut donor, &jobs);
            had.extend(other.join().unwrap());
            assert_eq!(had, [0]);
        });
    }

    /// A worker closes its cell, as before it sleeps, while a donor offers it a job: the job is
    /// still in the donor's deque, where all workers look for it.
    #[test]
    fn an_offer_to_one_who_goes_to_sleep_is_not_lost() {
        loom::model(|| {
            let jobs = Dummies::new(1);
            let (mut donor, mut donee) = pair("sharing:greedy");
            donee.set_open(true);
            let sleeper = thread::spawn(move || {
                donee.set_open(false);
                donee
            });
            push(&mut donor, jobs.job(0));
            let mut donee = sleeper.join().unwrap();
            assert!(!donor.peer().is_empty(), "in sight");
            // In loom a load of the cell may return the offer even after WORKING has replaced it.
            // That is correct too.
            let mut had = drain(&mut donor, &jobs);
            had.extend(received(&mut donee, &jobs).map(|(number, _)| number));
            assert_eq!(had, [0]);
        });
    }
}
