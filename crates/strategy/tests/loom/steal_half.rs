use locksley_policy::{Amount, When};
use loom::sync::Arc;
use loom::thread;

use super::*;
use crate::dummies::{Dummies, DummyRef};

fn local_queue() -> HalfQueue<DummyRef> {
    let (when, amount) = (When::Empty, Amount::Difference);
    HalfQueue::new(StealHalf { when, amount }, true)
}

/// Tries to steal once. Returns the number of the stolen job that is to run.
fn steal_batch(
    thief: &mut HalfQueue<DummyRef>,
    victim: &Halves<DummyRef>,
    jobs: &Dummies,
) -> Vec<usize> {
    let mut got = Vec::new();
    if let Some(Steal::Success(steal_batch)) = thief.steal_batch(victim) {
        got.push(jobs.number(steal_batch.job));
    }
    got
}

fn drain(queue: &mut HalfQueue<DummyRef>, jobs: &Dummies) -> Vec<usize> {
    let moved = |queue: &mut HalfQueue<DummyRef>| queue.pop_received().map(|moved| moved.job);
    let popped = std::iter::from_fn(|| queue.pop().or_else(|| moved(queue)));
    popped.map(|job| jobs.number(job)).collect()
}

/// One worker moves half of another's jobs into its queue and pops from that, while a third
/// steals from it. Every job goes to one of them.
#[test]
fn moved_jobs_are_run_once() {
    loom::model(|| {
        let jobs = Arc::new(Dummies::new(4));
        let (mut first, mut second) = (local_queue(), local_queue());
        for number in 0..4 {
            assert!(first.push(jobs.job(number)).is_ok());
        }
        let middle = second.halves();
        let third = {
            let jobs = jobs.clone();
            thread::spawn(move || steal_batch(&mut local_queue(), &middle, &jobs))
        };
        let mut all = steal_batch(&mut second, &first.halves(), &jobs);
        all.extend(drain(&mut second, &jobs));
        all.extend(third.join().unwrap());
        assert!(
            all.contains(&0) && all.contains(&1),
            "half was moved: {all:?}"
        );
        all.extend(drain(&mut first, &jobs));
        all.sort_unstable();
        assert_eq!(all, [0, 1, 2, 3]);
    });
}
