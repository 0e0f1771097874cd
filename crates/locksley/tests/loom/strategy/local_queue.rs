//! A loom model of the sleep of a worker that is dealt a job.

use locksley_policy::Dealing;
use locksley_queue::barrier;
use locksley_queue::split::Embedded;
use loom::sync::Arc as Shared;
use loom::thread;

use super::*;
use crate::scheduler::idle::counts::AtomicCounts;
use crate::scheduler::idle::sleep::SleepState;
use crate::task::job::{GroupId, HeapJob};

fn pair() -> (DealingQueue<JobRef>, DealingQueue<JobRef>) {
    let policy: Dealing = "dealing:locality,l=3".parse().expect("a policy");
    let matrix = Arc::new(Matrix::new(2, 0, policy));
    let queue = |index| DealingQueue::new(index, matrix.clone(), policy, 1);
    (queue(0), queue(1))
}

/// A worker deals to another one that goes to sleep: either the sleeper is woken, or it does not
/// sleep, or it finds the job. A lost wake-up is a deadlock, which loom reports.
#[test]
fn a_dealt_job_wakes_its_consumer() {
    loom::model(|| {
        let state = Shared::new(SleepState::new());
        let sleepers = Shared::new(AtomicCounts::new(0));
        // The dealer's deque, which carries the call.
        let deque = Shared::new(Embedded::<usize>::new());
        let (mut dealer, mut consumer) = pair();
        // SAFETY: the closure borrows nothing. The job is not executed, but leaked.
        let job = unsafe { HeapJob::new_ref(None, GroupId::NONE, |_| ()) };
        let sleeper = {
            let (state, sleepers, deque) = (state.clone(), sleepers.clone(), deque.clone());
            thread::spawn(move || {
                while consumer.pop_received().is_none() {
                    sleepers.begin_sleep(&state);
                    deque.request_attention();
                    if !barrier::heavy() || !StealHandle::is_empty(&consumer.as_dealing()) {
                        sleepers.end_sleep(&state);
                        thread::yield_now();
                        continue;
                    }
                    while state.is_asleep() {
                        thread::park();
                    }
                }
            })
        };
        assert!(dealer.push_near(job, 1).is_ok());
        barrier::light();
        // SAFETY: this thread is the owner.
        let called = deque.is_attention_requested() && unsafe { deque.attend() }.requested;
        if called && sleepers.wake_to_search(&state) {
            sleeper.thread().unpark();
        }
        sleeper.join().unwrap();
        assert_eq!(sleepers.get().asleep(), 0);
    });
}
