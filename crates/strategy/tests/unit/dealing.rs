//! Queues of one matrix, without threads.

use locksley_queue::barrier::{self, FenceMode};

use super::*;
use crate::LocalQueue;
use crate::dummies::{Dummies, DummyRef};

/// Waits while another test registers the process for the barrier, which is refused until then.
fn ready() {
    while barrier::fence_mode() == FenceMode::Asymmetric && !barrier::is_ready() {
        std::thread::yield_now();
    }
}

fn matrix(count: usize, policy: &str) -> Vec<DealingQueue<DummyRef>> {
    ready();
    let policy: Dealing = policy.parse().expect("a policy");
    let matrix = Arc::new(Matrix::new(count, 0, Dealing::default()));
    (0..count)
        .map(|index| DealingQueue::new(index, matrix.clone(), policy, 1))
        .collect()
}

fn push(queue: &mut DealingQueue<DummyRef>, job: DummyRef) {
    assert!(queue.push(job).is_ok(), "there is always room");
}

/// Collects the jobs that a worker was dealt. Returns their numbers and owners.
fn collected(queue: &mut DealingQueue<DummyRef>, jobs: &Dummies) -> Vec<(usize, usize)> {
    std::iter::from_fn(|| queue.collect())
        .map(|queued| (jobs.number(queued.job), queued.owner))
        .collect()
}

fn popped(queue: &mut DealingQueue<DummyRef>, jobs: &Dummies) -> Vec<usize> {
    std::iter::from_fn(|| queue.pop())
        .map(|job| jobs.number(job))
        .collect()
}

/// Figure 1, and Theorem 3.
#[test]
fn spawned_jobs_are_dealt_in_turn() {
    let jobs = Dummies::new(9);
    let mut queues = matrix(4, "dealing:simple");
    for job in 0..9 {
        push(&mut queues[2], jobs.as_spawned(job));
    }
    assert_eq!(collected(&mut queues[3], &jobs), [(1, 2), (5, 2)]);
    assert_eq!(collected(&mut queues[0], &jobs), [(2, 2), (6, 2)]);
    assert_eq!(collected(&mut queues[1], &jobs), [(3, 2), (7, 2)]);
    assert_eq!(
        popped(&mut queues[2], &jobs),
        [8, 4, 0],
        "its own, newest first"
    );
    let transfers = queues[2].transfers();
    assert_eq!((transfers.dealt, transfers.kept), (6, 3));
    assert_eq!(queues[0].transfers().collected, 2);
}

/// A chain of tasks stays with the worker that runs it, even if another worker asks. The first
/// additional job goes to the worker whose turn it was.
#[test]
fn who_has_one_job_keeps_it() {
    let jobs = Dummies::new(9);
    let mut queues = matrix(3, "dealing:simple");
    queues[1].skips_search();
    for job in 0..6 {
        queues[0].state.ask(1);
        push(&mut queues[0], jobs.as_spawned(job));
        assert_eq!(popped(&mut queues[0], &jobs), [job]);
    }
    assert_eq!(queues[0].transfers().dealt, 0);
    // In turn, the first job was dealt to the worker that made it.
    queues[0].state.take_asker();
    for job in 6..9 {
        push(&mut queues[0], jobs.as_spawned(job));
    }
    assert_eq!(collected(&mut queues[1], &jobs), [(7, 0)]);
    assert_eq!(collected(&mut queues[2], &jobs), [(8, 0)]);
    assert_eq!(popped(&mut queues[0], &jobs), [6]);
}

#[test]
fn what_was_dealt_once_is_not_dealt_again() {
    let jobs = Dummies::new(4);
    let mut queues = matrix(2, "dealing:simple");
    for job in 0..4 {
        push(&mut queues[0], jobs.as_spawned(job));
    }
    // As a join does that searches for its job.
    let above: Vec<DummyRef> = std::iter::from_fn(|| queues[0].pop()).collect();
    for &job in above.iter().rev() {
        push(&mut queues[0], job);
    }
    assert_eq!(popped(&mut queues[0], &jobs), [2, 0]);
    assert_eq!(collected(&mut queues[1], &jobs), [(1, 0), (3, 0)]);
}

#[test]
fn what_is_kept_stays_until_a_worker_asks() {
    let jobs = Dummies::new(4);
    let mut queues = matrix(2, "dealing:simple");
    // Jobs that were dealt before.
    let kept = |job| jobs.as_spawned(job).dealt(false);
    for job in 0..3 {
        push(&mut queues[0], kept(job));
    }
    assert!(queues[1].collect().is_none());
    let victim = queues[0].as_dealing();
    assert!(!queues[1].skips_search());
    assert!(
        queues[1]
            .steal_batch(&victim)
            .is_some_and(|got| got.is_private())
    );
    push(&mut queues[0], kept(3));
    assert_eq!(
        collected(&mut queues[1], &jobs),
        [(0, 0)],
        "one, and the oldest"
    );
    // The worker has a job now, so a remaining request is not answered.
    queues[0].state.ask(1);
    push(&mut queues[0], kept(0));
    assert!(queues[1].collect().is_none());
    assert_eq!(popped(&mut queues[0], &jobs), [0, 3, 2, 1]);
}

/// Searches until a job is found. Returns its number, whether it was dealt, and the number of other
/// jobs in the batch.
fn fetched(
    thief: &mut DealingQueue<DummyRef>,
    victim: &DealingStealer<DummyRef>,
    jobs: &Dummies,
) -> Option<(usize, bool, usize)> {
    // The thief sees work, waits for it, and looks at a single job twice.
    let mut searches = 0..4;
    while searches.next().is_some() {
        std::thread::sleep(PATIENCE);
        thief.skips_search();
        match thief.steal_batch(victim) {
            Some(Steal::Success(batch)) => {
                return Some((jobs.number(batch.job), batch.moved, batch.more));
            }
            // The barrier is refused while another test's thread registers for it.
            Some(Steal::Retry) => {
                searches = 0..1;
                std::thread::yield_now();
            }
            _ => {}
        }
    }
    None
}

#[test]
fn who_is_out_of_work_fetches_in_the_end() {
    let jobs = Dummies::new(10);
    let mut queues = matrix(3, "dealing:simple");
    for job in 0..9 {
        push(&mut queues[0], jobs.as_spawned(job));
    }
    push(&mut queues[1], jobs.as_spawned(9));
    let busy = queues[1].as_dealing();
    assert_eq!(StealHandle::len(&busy), 4);
    // Half of the three jobs in the buffer, then the remaining one, and at last the worker's own.
    assert_eq!(fetched(&mut queues[2], &busy, &jobs), Some((1, true, 1)));
    assert_eq!(popped(&mut queues[2], &jobs), [4]);
    assert_eq!(fetched(&mut queues[2], &busy, &jobs), Some((7, true, 0)));
    assert_eq!(fetched(&mut queues[2], &busy, &jobs), Some((9, false, 0)));
    assert_eq!(fetched(&mut queues[2], &busy, &jobs), None);
    assert!(StealHandle::is_empty(&busy));
}

/// A worker that was idle for long does not enter another's inbox for the first job that it sees:
/// it may soon be dealt the next one.
#[test]
fn patience_begins_with_the_first_sight_of_work() {
    let jobs = Dummies::new(2);
    let mut queues = matrix(2, "dealing:simple");
    let busy = queues[0].as_dealing();
    let search = |queues: &mut [DealingQueue<DummyRef>]| {
        queues[1].skips_search();
        queues[1].steal_batch(&busy).expect("it deals")
    };
    assert!(search(&mut queues).is_empty());
    std::thread::sleep(2 * PATIENCE);
    assert!(search(&mut queues).is_empty());
    push(&mut queues[0], jobs.as_spawned(0));
    for _ in 0..2 {
        assert!(search(&mut queues).is_private());
        assert!(!queues[1].fetches);
    }
    push(&mut queues[0], jobs.as_spawned(1));
    assert_eq!(collected(&mut queues[1], &jobs), [(1, 0)]);
}

#[test]
fn the_only_job_of_a_worker_that_gets_on_is_left_to_it() {
    let jobs = Dummies::new(1);
    let mut queues = matrix(2, "dealing:simple");
    let busy = queues[0].as_dealing();
    for _ in 0..8 {
        std::thread::sleep(PATIENCE);
        push(&mut queues[0], jobs.as_spawned(0));
        queues[1].skips_search();
        let answer = queues[1].steal_batch(&busy);
        assert!(answer.is_some_and(|answer| answer.is_private()));
        assert!(queues[0].pop().is_some());
        queues[0].executed(false);
    }
    push(&mut queues[0], jobs.as_spawned(0));
    assert_eq!(fetched(&mut queues[1], &busy, &jobs), Some((0, false, 0)));
}

#[test]
fn what_has_better_be_where_it_is_is_left_there() {
    let jobs = Dummies::new(3);
    let mut queues = matrix(3, "dealing:locality");
    for job in 0..2 {
        assert!(queues[0].push_near(jobs.as_spawned(job), 1).is_ok());
    }
    let busy = queues[1].as_dealing();
    assert_eq!(fetched(&mut queues[2], &busy, &jobs), None);
    assert!(queues[2].was_refused());
    // The worker has made no progress for more than `STUCK`.
    let early = Instant::now().checked_sub(2 * STUCK).expect("later");
    let watch = queues[2].watches[1].as_mut().expect("it was seen");
    watch.since = early;
    assert_eq!(fetched(&mut queues[2], &busy, &jobs), Some((0, true, 0)));
    assert_eq!(fetched(&mut queues[2], &busy, &jobs), None, "one at a time");
    // A job that prefers no worker can be fetched.
    push(&mut queues[1], jobs.as_spawned(2));
    assert_eq!(fetched(&mut queues[2], &busy, &jobs), Some((2, false, 0)));
    let own = queues[1].collect().expect("it is still there");
    assert!(own.job.is_near() && jobs.number(own.job) == 1);
    assert_eq!(queues[0].transfers().near, 2);
}

#[test]
fn a_scope_gets_its_tasks_and_no_others() {
    let jobs = Dummies::new(1);
    let mut queues = matrix(2, "dealing:simple");
    // Jobs of two scopes, in turn; every second one is dealt to the other worker.
    let [ours, theirs] = [GroupId(64), GroupId(128)];
    for group in [ours, ours, theirs, ours, theirs, theirs] {
        push(&mut queues[0], DummyRef::spawned_in(group));
    }
    let group = |queued: QueuedJob<DummyRef>| {
        // SAFETY: they are not executed.
        unsafe { queued.job.group() }
    };
    assert_eq!(queues[1].pop_of(ours).map(group), Some(ours));
    assert_eq!(queues[1].pop_of(ours).map(group), Some(ours));
    assert!(queues[1].pop_of(ours).is_none(), "the next is another's");
    for _ in 1..RECALL {
        assert!(!queues[0].take_back(theirs).1, "it waits a little");
    }
    let (back, moved) = queues[0].take_back(theirs);
    assert_eq!((back.map(group), moved), (Some(theirs), true));
    assert_eq!(StealHandle::len(&queues[1].as_dealing()), 0);
    assert!(collected(&mut queues[1], &jobs).is_empty());
}

#[test]
fn settled_means_executed() {
    let jobs = Dummies::new(4);
    let mut queues = matrix(2, "dealing:simple");
    assert!(queues[0].is_settled());
    for job in 0..4 {
        push(&mut queues[0], jobs.as_spawned(job));
    }
    for _ in 0..2 {
        assert!(queues[1].collect().is_some());
        assert!(!queues[0].is_settled());
        queues[1].executed(false);
        assert!(queues[0].pop().is_some());
        assert!(!queues[1].is_settled());
        queues[0].executed(false);
    }
    assert!(queues[0].is_settled() && queues[1].is_settled());
}
