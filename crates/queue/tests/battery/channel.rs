//! The battery of a channel.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use locksley_queue::{Consumer, Producer};

use crate::items::{Item, Ledger};
use crate::rng::Rng;
use crate::scale;
use crate::subject::{ChannelSubject as Subject, Ends, Room};

/// Runs every test of the battery on a subject, each as a test of its own.
macro_rules! channel_battery {
    ($module:ident: $subject:ident) => {
        mod $module {
            use $crate::{channel, model, subject::ChannelSubject, subjects::$subject as Subject};

            #[test]
            fn smoke() {
                channel::smoke::<Subject>();
            }

            #[test]
            fn behaves_like_the_model() {
                model::channel::<Subject>(Subject::channel);
            }

            #[test]
            fn behaves_like_the_model_across_the_wrap() {
                model::channel::<Subject>(Subject::near_wrap);
            }

            #[test]
            fn every_item_comes_once_and_in_order() {
                channel::in_order::<Subject>(Subject::channel, 50_000);
            }

            #[test]
            fn every_item_comes_once_across_the_wrap() {
                for _ in 0..50 {
                    channel::in_order::<Subject>(Subject::near_wrap, 50);
                }
            }

            #[test]
            fn what_is_inside_is_dropped_once() {
                channel::destructors::<Subject>();
            }

            #[test]
            fn producers_may_outlive_the_consumer() {
                channel::orphaned::<Subject>();
            }

            #[test]
            fn boxes_come_through() {
                channel::boxes::<Subject>();
            }
        }
    };
}

fn producers<S: Subject>() -> usize {
    if S::MANY { 3 } else { 1 }
}

/// First in, first out, and nothing when nothing is there.
pub(crate) fn smoke<S: Subject>() {
    let (mut producers, mut consumer) = S::channel::<u32>(producers::<S>());
    assert_eq!(consumer.consume(), None);
    for round in 0..20 {
        let producer = round % producers.len();
        for item in [1, 2] {
            producers[producer]
                .produce(item)
                .expect("there is room for two");
        }
        assert_eq!(consumer.consume(), Some(1));
        assert_eq!(consumer.consume(), Some(2));
        assert_eq!(consumer.consume(), None);
    }
}

/// Decrements the number of working producers when dropped, even if the producer panics.
struct AtWork<'a>(&'a AtomicUsize);

impl Drop for AtWork<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Everything produced is consumed once, and each producer's items in their order.
pub(crate) fn in_order<S: Subject>(make: fn(usize) -> Ends<S, Item>, items: usize) {
    let count = producers::<S>();
    let each = items * scale();
    let ledger = Ledger::new(each * count);
    let (producers, mut consumer) = make(count);
    let at_work = &AtomicUsize::new(count);
    let mut disorder = None;
    thread::scope(|scope| {
        for (p, mut producer) in producers.into_iter().enumerate() {
            scope.spawn(move || {
                let _at_work = AtWork(at_work);
                let mut rng = Rng::new(p as u64);
                for id in p * each..(p + 1) * each {
                    let mut refused = producer.produce(ledger.item(id));
                    while let Err(full) = refused {
                        assert_eq!(full.0.id(), id, "a refused produce gave back another item");
                        assert!(
                            S::ROOM != Room::Grows,
                            "a channel that grows refused an item"
                        );
                        thread::yield_now();
                        refused = producer.produce(full.0);
                    }
                    if rng.below(64) == 0 {
                        thread::yield_now();
                    }
                }
            });
        }
        let mut next: Vec<_> = (0..count).map(|p| p * each).collect();
        loop {
            let last = at_work.load(Ordering::Acquire) == 0;
            match consumer.consume().map(Item::take) {
                Some(id) => {
                    let expected = &mut next[id / each];
                    if *expected != id {
                        disorder.get_or_insert((*expected, id));
                    }
                    *expected = id + 1;
                }
                None if last => break,
                None => thread::yield_now(),
            }
        }
    });
    drop(consumer);
    ledger.assert_each_taken_once();
    assert_eq!(disorder, None, "(expected, consumed) out of order");
}

/// Drops a channel that holds items, either side first.
pub(crate) fn destructors<S: Subject>() {
    for inside in [0, 1, 2, 3, 5, 100, 1_000] {
        for consumed in [0, 1, inside / 2] {
            for consumer_first in [false, true] {
                let ledger = Ledger::new(inside);
                let (mut producers, mut consumer) = S::channel::<Item>(producers::<S>());
                for id in 0..inside {
                    let producer = id % producers.len();
                    if let Err(full) = producers[producer].produce(ledger.item(id)) {
                        assert_eq!(full.0.id(), id, "a refused produce gave back another item");
                    }
                }
                for _ in 0..consumed {
                    drop(consumer.consume());
                }
                if consumer_first {
                    drop(consumer);
                    drop(producers);
                } else {
                    drop(producers);
                    drop(consumer);
                }
                ledger.assert_each_dropped_once();
            }
        }
    }
}

/// Drops the consumer while the producers produce; no item is leaked or dropped twice.
pub(crate) fn orphaned<S: Subject>() {
    for round in 0..100 {
        let count = producers::<S>();
        let ledger = Ledger::new(64 * count);
        let (producers, mut consumer) = S::channel::<Item>(count);
        thread::scope(|scope| {
            for (p, mut producer) in producers.into_iter().enumerate() {
                scope.spawn(move || {
                    for id in p * 64..(p + 1) * 64 {
                        drop(producer.produce(ledger.item(id)));
                    }
                });
            }
            for _ in 0..round {
                consumer.consume().map(Item::take);
            }
            drop(consumer);
        });
        ledger.assert_each_dropped_once();
    }
}

/// Items that own memory: a checker of memory sees a leak or a double free here.
pub(crate) fn boxes<S: Subject>() {
    let count = producers::<S>();
    let each = 20_000 * scale() as u64;
    let (producers, mut consumer) = S::channel::<Box<u64>>(count);
    let at_work = &AtomicUsize::new(count);
    let mut sum = 0;
    thread::scope(|scope| {
        for mut producer in producers {
            scope.spawn(move || {
                let _at_work = AtWork(at_work);
                for item in 1..=each {
                    let mut refused = producer.produce(Box::new(item));
                    while let Err(full) = refused {
                        thread::yield_now();
                        refused = producer.produce(full.0);
                    }
                }
            });
        }
        loop {
            let last = at_work.load(Ordering::Acquire) == 0;
            match consumer.consume() {
                Some(item) => sum += *item,
                None if last => break,
                None => thread::yield_now(),
            }
        }
    });
    assert_eq!(sum, count as u64 * each * (each + 1) / 2);
}
