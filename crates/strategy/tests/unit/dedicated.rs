use super::*;
use crate::dummies::{Dummies, DummyRef};

fn queues(count: usize, policy: &str) -> Vec<DedicatedQueue<DummyRef>> {
    let policy: Dealing = policy.parse().expect("a policy");
    let matrix = Arc::new(Matrix::new(count, 0, policy));
    (0..count)
        .map(|me| DedicatedQueue::new(me, matrix.clone(), policy, 1))
        .collect()
}

/// Takes the jobs that a worker was dealt. Returns their numbers, in order.
fn drain(queue: &mut DedicatedQueue<DummyRef>, jobs: &Dummies) -> Vec<usize> {
    std::iter::from_fn(|| queue.pop_received())
        .map(|received| jobs.number(received.job))
        .collect()
}

/// Theorem 3, and the order: each worker takes the jobs that it was dealt, by itself too, in the
/// order of dealing.
#[test]
fn one_after_the_other_and_in_order() {
    let jobs = Dummies::new(10);
    let mut queues = queues(3, "dealing:simple,mode=dedicated");
    for number in 0..10 {
        assert!(queues[1].push(jobs.as_spawned(number)).is_ok());
        assert_eq!(queues[1].dealt_to(), Some((1 + number) % 3));
    }
    assert!(queues[1].pop().is_none());
    assert!(!queues[0].is_settled());
    let got: Vec<Vec<usize>> = queues.iter_mut().map(|one| drain(one, &jobs)).collect();
    assert_eq!(got, [vec![2, 5, 8], vec![0, 3, 6, 9], vec![1, 4, 7]]);
    for (queue, got) in queues.iter_mut().zip(&got) {
        got.iter().for_each(|_| queue.executed(false));
    }
    assert!(queues[0].is_settled() && !queues[0].has_received());
}

/// Theorem 11 with infinite L: every job goes to the worker that it prefers, however many prefer
/// the same one.
#[test]
fn without_a_limit_all_go_where_they_want() {
    let jobs = Dummies::new(50);
    let mut queues = queues(4, "dealing:locality,l=inf,mode=dedicated");
    for number in 0..50 {
        assert!(queues[0].push_near(jobs.as_spawned(number), 3) == Ok(false));
    }
    assert_eq!(drain(&mut queues[3], &jobs), (0..50).collect::<Vec<_>>());
    assert!(
        queues[..3]
            .iter_mut()
            .all(|one| one.pop_received().is_none())
    );
}

/// Theorem 2: the memory is fixed. A job for which there is no item is returned, and is not counted
/// as dealt.
#[test]
fn what_has_no_room_comes_back() {
    let jobs = Dummies::new(1);
    let mut queues = queues(2, "dealing:simple,mode=dedicated,lists=2");
    let allocated = queues[0].process.as_ref().map(Process::allocated);
    let fits = (0..10_000).take_while(|_| queues[0].push(jobs.as_spawned(0)).is_ok());
    let count = fits.count();
    let most = 3 * locksley_queue::pcb::GRANULARITY;
    assert!((most - 10..=most).contains(&count), "{count}");
    let got: usize = queues.iter_mut().map(|one| drain(one, &jobs).len()).sum();
    assert_eq!(got, count);
    (0..count).for_each(|_| queues[0].executed(false));
    assert!(queues[1].is_settled());
    assert!(queues[1].push(jobs.as_spawned(0)).is_ok(), "recycled");
    assert_eq!(
        queues[0].process.as_ref().map(Process::allocated),
        allocated
    );
}
