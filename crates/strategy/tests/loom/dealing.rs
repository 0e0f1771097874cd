//! Models for loom: the lock, taking dealt jobs, and termination.

use loom::sync::Arc as Shared;
use loom::thread;

use super::biased::{RemoteLock, biased};
use super::*;
use crate::LocalQueue;
use crate::dummies::{Dummies, DummyRef};
use crate::sync::{AtomicBool, AtomicUsize, Ordering};

/// Adds one, if no thread is inside.
fn try_to_add(count: &RemoteLock<usize>) -> usize {
    usize::from(count.try_with(|count| *count += 1).is_some())
}

/// The owner and another thread change the locked data; loom would report a concurrent access.
#[test]
fn one_at_a_time() {
    loom::model(|| {
        let (mut mine, remote) = biased(0);
        let other = thread::spawn(move || try_to_add(&remote));
        mine.with(|count| *count += 1);
        mine.with(|count| *count += 1);
        let added = other.join().unwrap();
        mine.with(|count| assert_eq!(*count, 2 + added));
    });
}

/// The owner and two other threads.
#[test]
fn others_take_turns() {
    loom::model(|| {
        let (mut mine, remote) = biased(0);
        let others =
            [remote.clone(), remote].map(|remote| thread::spawn(move || try_to_add(&remote)));
        mine.with(|count| *count += 1);
        let added: usize = others.map(|other| other.join().unwrap()).iter().sum();
        mine.with(|count| assert_eq!(*count, 1 + added));
    });
}

fn pair() -> (DealingQueue<DummyRef>, DealingQueue<DummyRef>) {
    let matrix = Arc::new(Matrix::new(2, 0, Dealing::default()));
    let queue = |index| DealingQueue::new(index, matrix.clone(), Dealing::default(), 1);
    (queue(0), queue(1))
}

/// Deals a job to the other queue of a pair.
fn deal(queue: &mut DealingQueue<DummyRef>, to: usize, job: DummyRef) {
    let (me, matrix) = (queue.me, queue.matrix.clone());
    queue
        .inbox
        .with(|inbox| inbox.produce(&matrix, me, to, job.dealt(false)));
}

/// A consumer takes the jobs that it was dealt while a third worker fetches from its inbox: each
/// job goes to one of them.
#[test]
fn a_dealt_job_is_taken_once() {
    loom::model(|| {
        let jobs = Shared::new(Dummies::new(2));
        let (mut dealer, mut consumer) = pair();
        deal(&mut dealer, 1, jobs.job(0));
        let stand = consumer.as_dealing();
        let fetcher = {
            let jobs = jobs.clone();
            thread::spawn(move || {
                let (matrix, state) = (&*stand.matrix, &*stand.state);
                let fetched = state
                    .inbox
                    .try_with(|inbox| inbox.give_dealt(matrix, 1, 2, |_| true));
                // The jobs stay until they are counted.
                let _jobs = jobs;
                fetched.map_or(0, |fetched| fetched.len())
            })
        };
        deal(&mut dealer, 1, jobs.job(1));
        let mut taken = std::iter::from_fn(|| consumer.collect()).count();
        taken += fetcher.join().unwrap();
        taken += std::iter::from_fn(|| consumer.collect()).count();
        assert_eq!(taken, 2);
    });
}

/// A task deals a job to another worker, and is done; executing that job deals one back. A thread
/// that finds that the tasks are done and that everything is settled sees both executed.
#[test]
fn what_is_settled_is_done() {
    loom::model(|| {
        let jobs = Shared::new(Dummies::new(2));
        let (mut first, mut second) = pair();
        let matrix = first.matrix.clone();
        let closed = Shared::new(AtomicBool::new(false));
        let executed = Shared::new(AtomicUsize::new(0));
        let worker = {
            let (jobs, executed) = (jobs.clone(), executed.clone());
            thread::spawn(move || {
                if second.collect().is_some() {
                    executed.fetch_add(1, Ordering::Relaxed);
                    deal(&mut second, 0, jobs.job(1));
                    second.executed(false);
                }
            })
        };
        let observer = {
            let (closed, executed) = (closed.clone(), executed.clone());
            thread::spawn(move || {
                if closed.load(Ordering::Acquire) && matrix.is_settled() {
                    assert_eq!(executed.load(Ordering::Relaxed), 2, "not all is done");
                }
            })
        };
        deal(&mut first, 1, jobs.job(0));
        closed.store(true, Ordering::Release);
        if first.collect().is_some() {
            executed.fetch_add(1, Ordering::Relaxed);
            first.executed(false);
        }
        worker.join().unwrap();
        observer.join().unwrap();
    });
}
