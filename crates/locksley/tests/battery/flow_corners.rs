//! Corner cases of flows: stack depth, and operations that panic.

use std::collections::HashMap;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use locksley::Pool;
use locksley::flow::flow;

use crate::everywhere;

/// The lowest and highest stack addresses seen on each thread.
#[derive(Default)]
struct Depths(Mutex<HashMap<ThreadId, (usize, usize)>>);

impl Depths {
    fn note(&self) {
        let here = 0_u8;
        let place = std::ptr::from_ref(&here).addr();
        let mut depths = self.0.lock().unwrap();
        let depth = depths
            .entry(thread::current().id())
            .or_insert((place, place));
        *depth = (place.min(depth.0), place.max(depth.1));
    }

    fn deepest(&self) -> usize {
        let depths = self.0.lock().unwrap();
        let spans = depths.values().map(|(low, high)| high - low);
        spans.max().unwrap_or(0)
    }
}

/// Waits up to 20 ms until another task has reached `goal`; it may never do so.
fn wait_for(count: &AtomicUsize, goal: usize) {
    let start = Instant::now();
    while count.load(Ordering::Acquire) < goal && start.elapsed() < Duration::from_millis(20) {
        thread::yield_now();
    }
}

fn wait_a_little() {
    let start = Instant::now();
    while start.elapsed() < Duration::from_micros(300) {
        thread::yield_now();
    }
}

/// In each round, the helper comes while the owner runs a task, and leaves while it runs the next
/// one.
#[test]
fn helpers_that_come_and_go_take_no_stack() {
    let depths = Depths::default();
    let [began, went_on, ended] = [const { AtomicUsize::new(0) }; 3];
    let pool = Pool::builder().workers(2).build().unwrap();
    pool.install(|| {
        flow(|f| {
            let gate = f.value(());
            for round in 1..=300 {
                let (depths, began, went_on, ended) = (&depths, &began, &went_on, &ended);
                f.fork(gate.update(), move |_| depths.note());
                f.fork(gate.read(), move |_| wait_for(began, round));
                f.fork(gate.read(), move |_| {
                    began.store(round, Ordering::Release);
                    wait_for(went_on, round);
                });
                f.fork(gate.read(), move |_| {
                    depths.note();
                    went_on.store(round, Ordering::Release);
                    wait_for(ended, round);
                    // Until the helper has found no ready task.
                    wait_a_little();
                });
                f.fork(gate.read(), move |_| ended.store(round, Ordering::Release));
            }
        });
    });
    let deepest = depths.deepest();
    assert!(deepest < 100_000, "{deepest} bytes");
}

/// Runs a closure that panics with a number. Returns the number.
fn thrown_by(run: impl FnOnce()) -> i32 {
    let thrown = panic::catch_unwind(AssertUnwindSafe(run)).unwrap_err();
    *thrown.downcast::<i32>().unwrap()
}

#[test]
#[cfg_attr(panic = "abort", ignore = "it unwinds")]
fn an_operation_that_panics_is_the_panic_of_who_has_added() {
    everywhere(|pool| {
        let readers = AtomicUsize::new(0);
        let added = AtomicUsize::new(0);
        let number = thrown_by(|| {
            pool.install(|| {
                flow(|f| {
                    let explode = |_: &mut i32, number: i32| {
                        if number % 4 == 2 {
                            panic::resume_unwind(Box::new(number));
                        }
                    };
                    let sums = [(); 2].map(|()| f.cumulative_value(0, explode));
                    for number in 0..12 {
                        let added = &added;
                        let sum = sums[usize::from(number < 4)];
                        f.fork(sum.cumulate(), move |mut sum| {
                            thread::yield_now();
                            added.fetch_add(1, Ordering::Relaxed);
                            // The first value of a part is stored without calling the operation.
                            sum.add(0);
                            sum.add(number);
                        });
                    }
                    for _ in 0..4 {
                        f.fork(sums[0].read(), |_| {
                            readers.fetch_add(1, Ordering::Relaxed);
                        });
                    }
                    f.fork((), |()| panic::resume_unwind(Box::new(100)));
                });
            });
        });
        assert_eq!(number, 2, "the first in the order of the program");
        assert_eq!(added.into_inner(), 12, "to add depends on nothing");
        assert_eq!(readers.into_inner(), 0, "the sum was lost");
    });
}

/// The operation panics when the parts are folded, at the end of the flow or before a read.
#[test]
#[cfg_attr(panic = "abort", ignore = "it unwinds")]
fn a_part_that_cannot_be_folded_stops_all_readers() {
    everywhere(|pool| {
        let readers = AtomicUsize::new(0);
        let number = thrown_by(|| {
            pool.install(|| {
                flow(|f| {
                    let explode = |_: &mut i32, number: i32| {
                        if number == 3 {
                            panic::resume_unwind(Box::new(number));
                        }
                    };
                    let (sum, copy) = (f.cumulative_value(0, explode), f.value(0));
                    for number in 0..6 {
                        f.fork(sum.cumulate(), move |mut sum| {
                            thread::yield_now();
                            sum.add(number);
                        });
                    }
                    for _ in 0..4 {
                        f.fork(sum.read(), |_| {
                            readers.fetch_add(1, Ordering::Relaxed);
                        });
                    }
                    f.fork((sum.read(), copy.write()), |_| ());
                    f.fork(copy.read(), |_| {
                        readers.fetch_add(1, Ordering::Relaxed);
                    });
                    f.fork((), |()| panic::resume_unwind(Box::new(100)));
                });
            });
        });
        assert_eq!(number, 3, "the first in the order of the program");
        assert_eq!(readers.into_inner(), 0, "the sum was lost");
    });
}

#[test]
#[cfg_attr(panic = "abort", ignore = "it unwinds")]
fn tasks_come_before_the_rest_of_their_body() {
    everywhere(|pool| {
        let number = thrown_by(|| {
            pool.install(|| {
                flow(|f| {
                    f.fork((), |()| panic::resume_unwind(Box::new(1)));
                    f.fork_nested((), |f, ()| {
                        f.fork((), |()| panic::resume_unwind(Box::new(2)));
                        panic::resume_unwind(Box::new(3));
                    });
                    panic::resume_unwind(Box::new(4));
                });
            });
        });
        assert_eq!(number, 1);
        let number = thrown_by(|| {
            pool.install(|| {
                flow(|f| {
                    f.fork_nested((), |f, ()| {
                        f.fork((), |()| panic::resume_unwind(Box::new(2)));
                        panic::resume_unwind(Box::new(3));
                    });
                });
            });
        });
        assert_eq!(number, 2);
    });
}
