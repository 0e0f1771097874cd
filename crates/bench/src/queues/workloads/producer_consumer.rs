//! One producer and one consumer: in a single thread, which measures only the cost of the
//! instructions, and in two threads.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::{Patience, contenders};
use crate::harness::{Sample, Tally, ThreadClock, WallClock, Workload, WrongResult, verify};
use crate::queues::contenders::{Channel, SegQueue};

pub(crate) fn one_thread() -> Workload {
    Workload {
        name: "producer_consumer",
        about: "produce and consume one, in one thread, per pair",
        reference: SegQueue::NAME,
        note: None,
        contenders: contenders![alone; SegQueue, ArrayQueue, Injector, Rtrb, Pcb, Mailbox],
    }
}

pub(crate) fn two_threads() -> Workload {
    Workload {
        name: "producer_consumer_2",
        about: "produce in one thread, consume in another, per item",
        reference: SegQueue::NAME,
        note: None,
        contenders: contenders![together; SegQueue, ArrayQueue, Injector, Rtrb, Pcb, Mailbox],
    }
}

fn alone<C: Channel>(operations: u64) -> Result<Sample, WrongResult> {
    let (mut producer, mut consumer) = C::new();
    let items = operations as usize;
    let start = ThreadClock::start();
    let tally = pairs::<C>(&mut producer, &mut consumer, items);
    let elapsed = start.elapsed();
    verify(C::NAME, "the consumed items", Tally::up_to(items), tally)?;
    Ok(Sample {
        elapsed,
        operations,
        note: 0.0,
    })
}

#[inline(never)]
fn pairs<C: Channel>(
    producer: &mut C::Producer,
    consumer: &mut C::Consumer,
    items: usize,
) -> Tally {
    let mut tally = Tally::default();
    let mut item = 0;
    while item < items {
        item += 1;
        if !C::produce(producer, item) {
            break;
        }
        match C::consume(consumer) {
            Some(item) => tally.add(item),
            None => break,
        }
    }
    tally
}

fn together<C: Channel>(operations: u64) -> Result<Sample, WrongResult> {
    let (mut producer, mut consumer) = C::new();
    let items = operations as usize;
    let (ready, go) = (AtomicBool::new(false), AtomicBool::new(false));

    let (elapsed, tally) = thread::scope(|scope| {
        scope.spawn(|| {
            ready.store(true, Ordering::Release);
            wait_for(&go);
            produce_all::<C>(&mut producer, items);
        });
        wait_for(&ready);
        let start = WallClock::now();
        go.store(true, Ordering::Release);
        let tally = consume_all::<C>(&mut consumer, items);
        (start.elapsed(), tally)
    });

    verify(C::NAME, "the consumed items", Tally::up_to(items), tally)?;
    verify(C::NAME, "what is left", None, C::consume(&mut consumer))?;
    Ok(Sample {
        elapsed,
        operations,
        note: 0.0,
    })
}

fn wait_for(flag: &AtomicBool) {
    let mut patience = Patience::default();
    while !flag.load(Ordering::Acquire) {
        patience.wait();
    }
}

fn produce_all<C: Channel>(producer: &mut C::Producer, items: usize) {
    let mut patience = Patience::default();
    for item in 1..=items {
        while !C::produce(producer, item) {
            patience.wait();
        }
    }
}

fn consume_all<C: Channel>(consumer: &mut C::Consumer, items: usize) -> Tally {
    let mut patience = Patience::default();
    let mut tally = Tally::default();
    while tally.count < items {
        match C::consume(consumer) {
            Some(item) => tally.add(item),
            None => patience.wait(),
        }
    }
    tally
}
