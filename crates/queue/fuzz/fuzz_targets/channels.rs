//! Sequences of operations by one thread on the channels (a buffer, a matrix of buffers, a
//! mailbox), compared with a `VecDeque`.
#![no_main]

use std::collections::VecDeque;

use libfuzzer_sys::fuzz_target;
use locksley_queue::{Consumer, Producer, mailbox, pcb};

fn buffer(granularity: usize, operations: &[u8]) {
    let (mut producer, mut consumer) = pcb::channel_with(granularity);
    let (mut model, mut most) = (VecDeque::new(), 0);
    for (nth, operation) in operations.iter().enumerate() {
        if operation % 2 == 0 {
            producer.produce(nth).unwrap();
            model.push_back(nth);
        } else {
            assert_eq!(consumer.consume(), model.pop_front());
        }
        most = most.max(model.len());
        assert_eq!(consumer.is_empty(), model.is_empty());
    }
    assert!(producer.allocated() <= (most + 1).next_multiple_of(granularity.max(1)));
}

fn matrix(processes: usize, granularity: usize, operations: &[u8]) {
    let mut team = pcb::matrix_starting_at(processes, granularity, u32::MAX - 3);
    let mut model = vec![VecDeque::new(); processes * processes];
    for (nth, &operation) in operations.iter().enumerate() {
        let (from, to) = (
            usize::from(operation >> 1) % processes,
            usize::from(operation >> 4) % processes,
        );
        if operation % 2 == 0 {
            team[from].produce(to, nth).unwrap();
            model[from * processes + to].push_back(nth);
        } else {
            let expected = model[from * processes + to].pop_front();
            assert_eq!(team[to].consume_from(from), expected);
        }
    }
    for to in 0..processes {
        while let Some(item) = team[to].consume() {
            let mut buffers = (0..processes).map(|from| from * processes + to);
            let at = buffers.find(|&at| model[at].front() == Some(&item));
            model[at.expect("an item that is at the front of its buffer")].pop_front();
        }
    }
    assert!(model.iter().all(VecDeque::is_empty));
}

fn letters(capacity: usize, start: u64, operations: &[u8]) {
    let (sender, mut receiver) = mailbox::starting_at(capacity, start);
    let mut model = VecDeque::new();
    for (nth, operation) in operations.iter().enumerate() {
        if operation % 2 == 0 {
            match sender.send(nth) {
                Ok(()) => model.push_back(nth),
                Err(full) => {
                    assert_eq!(full.into_inner(), nth);
                    assert_eq!(model.len(), receiver.capacity());
                }
            }
        } else {
            assert_eq!(receiver.consume(), model.pop_front());
        }
    }
}

fuzz_target!(|data: &[u8]| {
    let [which, size, operations @ ..] = data else {
        return;
    };
    let size = usize::from(*size);
    match which % 3 {
        0 => buffer(size % 9, operations),
        1 => matrix(1 + size % 4, 1 + size / 4 % 5, operations),
        _ => letters(size % 17, u64::MAX - u64::from(which / 3), operations),
    }
});
