use locksley_queue::Steal;
use locksley_queue::split::{Embedded, TakenBack};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

use super::*;

/// A join's frame and a thief: the same job, pushed, then taken back or stolen, executed
/// once, its result handed over by the latch.
///
/// `execute` needs a worker, so the thief here does the same by hand: it takes the closure, writes
/// the result, and sets the latch as its last access.
#[test]
fn a_forked_job_is_run_once_and_its_result_seen() {
    loom::model(|| {
        let runs = Arc::new(UnsafeCell::new(0));
        let counter = runs.clone();
        // SAFETY: loom checks that the two threads that might run the closure do not race.
        let body = move |_: &Worker, _: bool| counter.with_mut(|n| unsafe { *n += 1 });
        let job = Arc::new(Shared(StackJob::new(body)));
        let deque = Arc::new(Embedded::new());
        let thief = deque.clone();
        // SAFETY: this thread is the owner.
        let (place, _) = unsafe { deque.push(job.0.as_ref()) };
        let stolen = job.clone();
        let robber = thread::spawn(move || {
            thief.force();
            if let Steal::Success(reference) = thief.steal() {
                assert!(reference == stolen.0.as_ref());
                // SAFETY: the job was stolen, so it is taken here and nowhere else.
                drop(unsafe { stolen.0.take() });
                // SAFETY: the frame reads the result only after the latch is set.
                unsafe { stolen.0.leave_result(Ok(())) };
                // SAFETY: the job is in an `Arc`.
                unsafe { Latch::set(stolen.0.latch(), || {}) };
            }
        });
        // SAFETY: as above, and the job was not popped.
        match unsafe { deque.take_back(place) } {
            // SAFETY: the job is back, so it is taken here and nowhere else.
            TakenBack::Yes | TakenBack::FromUnder => drop(unsafe { job.0.take() }),
            TakenBack::No => {
                while !job.0.latch().probe() {
                    thread::yield_now();
                }
                // SAFETY: the latch is set.
                assert!(unsafe { job.0.take_result() }.is_ok());
            }
        }
        robber.join().unwrap();
        // Each taker dropped the closure, and with it its reference to the counter.
        assert_eq!(Arc::strong_count(&runs), 1, "taken twice, or never");
    });
}

struct Shared<F, R>(StackJob<F, R>);

// SAFETY: what the two threads do with the job is what the test is about.
unsafe impl<F, R> Sync for Shared<F, R> {}
// SAFETY: as above.
unsafe impl<F, R> Send for Shared<F, R> {}
