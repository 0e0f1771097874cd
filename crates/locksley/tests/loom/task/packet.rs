use std::task::Wake;

use loom::thread;

use super::*;
use crate::sync::AtomicUsize;

struct CountingWaker(AtomicUsize);

impl Wake for CountingWaker {
    fn wake(self: Arc<Self>) {
        self.0.store(1, Ordering::Release);
    }
}

fn waker() -> Arc<CountingWaker> {
    Arc::new(CountingWaker(AtomicUsize::new(0)))
}

/// A handle that is polled with one waker, then with another: the second one is woken, or its owner
/// is told that the task is done. A lost waker would be a loop without end, which loom reports.
#[test]
fn the_newest_waker_is_woken() {
    loom::model(|| {
        let completion = loom::sync::Arc::new(Completion::new());
        let runner = completion.clone();
        let thread = thread::spawn(move || {
            if let Some(waker) = runner.complete() {
                waker.wake();
            }
        });
        let [first, second] = [waker(), waker()];
        let mut done = completion.subscribe(first.into());
        if !done {
            done = completion.subscribe(second.clone().into());
        }
        while !done && second.0.load(Ordering::Acquire) == 0 {
            thread::yield_now();
        }
        assert!(completion.latch.probe());
        thread.join().unwrap();
    });
}
