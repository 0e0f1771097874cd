//! Producer-consumer buffers and the recycling between them.

use locksley_queue::{Consumer, Producer, pcb};
use loom::thread;

use crate::support::Payload;

#[test]
fn pcb_channel_hands_over_in_order() {
    loom::model(|| {
        let (mut producer, mut consumer) = pcb::channel_with::<Payload>(1);
        let consuming = thread::spawn(move || {
            let mut next = 1;
            for _ in 0..4 {
                if let Some(got) = consumer.consume() {
                    assert_eq!(got.open(), next);
                    next += 1;
                }
            }
        });
        for value in 1..=3 {
            producer.produce(Payload::new(value)).unwrap();
        }
        consuming.join().unwrap();
    });
}

#[test]
fn pcb_channel_reuses_what_was_consumed() {
    loom::model(|| {
        let (mut producer, mut consumer) = pcb::channel_with::<Payload>(2);
        producer.produce(Payload::new(1)).unwrap();
        let consuming = thread::spawn(move || {
            let mut next = 1;
            for _ in 0..3 {
                if let Some(got) = consumer.consume() {
                    assert_eq!(got.open(), next);
                    next += 1;
                }
            }
        });
        // Each needs the dummy that the consumer gave up, or a new chunk.
        for value in 2..=4 {
            producer.produce(Payload::new(value)).unwrap();
        }
        consuming.join().unwrap();
    });
}

#[test]
fn pcb_channel_drops_the_rest_once_whichever_end_goes_last() {
    loom::model(|| {
        let (mut producer, mut consumer) = pcb::channel_with::<Payload>(1);
        let producing = thread::spawn(move || {
            producer.produce(Payload::new(1)).unwrap();
            producer.produce(Payload::new(2)).unwrap();
        });
        if let Some(got) = consumer.consume() {
            assert_eq!(got.open(), 1);
        }
        drop(consumer);
        producing.join().unwrap();
    });
}

/// The consumer's list of one item goes to the pool and from there to the producer.
#[test]
fn pcb_matrix_recycles_through_the_pool() {
    loom::model(|| {
        let mut processes = pcb::matrix::<Payload>(2, 1);
        let (mut q, mut p) = (processes.pop().unwrap(), processes.pop().unwrap());
        let consuming = thread::spawn(move || {
            let mut next = 1;
            for _ in 0..3 {
                if let Some(got) = q.consume_from(0) {
                    assert_eq!(got.open(), next);
                    next += 1;
                }
            }
        });
        for value in 1..=3 {
            p.produce(1, Payload::new(value)).unwrap();
        }
        consuming.join().unwrap();
    });
}

/// Two processes deal to each other, so each is a producer and a consumer for the pool.
#[test]
fn pcb_matrix_deals_both_ways() {
    loom::model(|| {
        let mut processes = pcb::matrix::<Payload>(2, 1);
        let (mut q, mut p) = (processes.pop().unwrap(), processes.pop().unwrap());
        let other = thread::spawn(move || {
            q.produce(0, Payload::new(10)).unwrap();
            let got = q.consume().map(Payload::open);
            assert!(got.is_none_or(|got| got == 20));
            q.produce(0, Payload::new(11)).unwrap();
        });
        p.produce(1, Payload::new(20)).unwrap();
        let mut next = 10;
        for _ in 0..2 {
            if let Some(got) = p.consume() {
                assert_eq!(got.open(), next);
                next += 1;
            }
        }
        other.join().unwrap();
    });
}

/// Two processes allocate at once, and their chunks are in the same segment.
#[test]
fn pcb_matrix_two_processes_allocate() {
    loom::model(|| {
        let mut processes = pcb::matrix::<Payload>(2, 4);
        let (mut q, mut p) = (processes.pop().unwrap(), processes.pop().unwrap());
        let other = thread::spawn(move || {
            q.produce(1, Payload::new(1)).unwrap();
            assert_eq!(q.consume().map(Payload::open), Some(1));
        });
        p.produce(0, Payload::new(2)).unwrap();
        assert_eq!(p.consume().map(Payload::open), Some(2));
        other.join().unwrap();
        assert_eq!(p.allocated(), 12);
    });
}

/// Three processes use the pool. One may read the topmost list, be overtaken by another that takes
/// it and the one below and puts the first back, and continue: the classical ABA problem. If its
/// exchange succeeded, the pool would hand out the overtaker's dummy, and the last item that the
/// overtaker deals to itself would reach another process. The tag wraps on the way.
#[test]
fn pcb_pool_withstands_aba() {
    loom::model(|| {
        let mut processes = pcb::matrix_starting_at(3, 1, u32::MAX - 2);
        let mut r = processes.pop().unwrap();
        let mut q = processes.pop().unwrap();
        let mut p = processes.pop().unwrap();
        // Two lists in the pool: two items used and given back.
        use_two(&mut q);
        let overtaking = thread::spawn(move || {
            use_two(&mut q);
            q.produce(1, Payload::new(3)).unwrap();
            q
        });
        let third = thread::spawn(move || {
            r.produce(2, Payload::new(7)).unwrap();
            r
        });
        p.produce(0, Payload::new(5)).unwrap();
        p.produce(0, Payload::new(6)).unwrap();
        let (mut q, mut r) = (overtaking.join().unwrap(), third.join().unwrap());
        assert_eq!(p.consume_from(0).map(Payload::open), Some(5));
        assert_eq!(p.consume_from(0).map(Payload::open), Some(6));
        assert_eq!(p.consume_from(0).map(Payload::open), None);
        assert_eq!(q.consume_from(1).map(Payload::open), Some(3));
        assert_eq!(r.consume_from(2).map(Payload::open), Some(7));
    });
}

fn use_two(q: &mut pcb::Process<Payload>) {
    q.produce(1, Payload::new(1)).unwrap();
    q.produce(1, Payload::new(2)).unwrap();
    assert_eq!(q.consume_from(1).map(Payload::open), Some(1));
    assert_eq!(q.consume_from(1).map(Payload::open), Some(2));
}
