use locksley_queue::split::Embedded;
use loom::sync::Arc;
use loom::thread;

use super::*;
use crate::scheduler::idle::sleep::leave_call;

/// One worker pushes; one leaves a call and relies on the barrier of a third. Either the pusher
/// sees the call, or the sleeper sees the job.
#[test]
fn a_barrier_is_shared() {
    loom::model(|| {
        let barrier = Arc::new(SharedBarrier::default());
        let deque = Arc::new(Embedded::new());
        let passer = {
            let barrier = barrier.clone();
            thread::spawn(move || barrier.pass())
        };
        let sleeper = {
            let (barrier, deque) = (barrier.clone(), deque.clone());
            thread::spawn(move || {
                leave_call(&deque);
                let ticket = barrier.ticket();
                barrier.was_passed_since(ticket) && deque.is_empty()
            })
        };
        // SAFETY: this thread is the owner.
        let (_, called) = unsafe { deque.push(1_usize) };
        let sleeps = sleeper.join().unwrap();
        passer.join().unwrap();
        assert!(called || !sleeps, "sleeper and pusher miss each other");
    });
}
