//! Models of the mailbox. Letters are boxes around a cell that the sender writes and the receiver
//! reads, so that a missing edge is a data race on the cell.
//!
//! The receiver is a spawned thread, which loom first runs after the main thread's sends. loom
//! considers only the last access to an atomic when it searches for orders to try. A sender loads
//! the atomic that it then swaps, so loom would miss most of the orders if the receiver came first.

use locksley_queue::{Consumer, mailbox};
use loom::cell::UnsafeCell;
use loom::thread;

struct Letter(UnsafeCell<u32>);

// SAFETY: loom checks that the accesses do not race, which is the purpose of the tests.
unsafe impl Send for Letter {}

fn write(content: u32) -> Box<Letter> {
    let letter = Box::new(Letter(UnsafeCell::new(0)));
    // SAFETY: the letter is not sent yet.
    letter.0.with_mut(|cell| unsafe { *cell = content });
    letter
}

fn read(letter: &Letter) -> u32 {
    // SAFETY: the letter was received, by this thread alone if the mailbox is correct.
    letter
        .0
        .with_mut(|cell| unsafe { std::mem::replace(&mut *cell, 0) })
}

type Sender = mailbox::Sender<Box<Letter>>;
type Mailbox = mailbox::Mailbox<Box<Letter>>;

fn receive(mailbox: &mut Mailbox, tries: usize, into: &mut Vec<u32>) {
    into.extend(
        (0..tries)
            .filter_map(|_| mailbox.consume())
            .map(|letter| read(&letter)),
    );
}

/// Sends the letters; returns those that were refused.
fn send(sender: &Sender, letters: &[u32]) -> Vec<u32> {
    let refused = |&letter: &u32| {
        sender
            .send(write(letter))
            .err()
            .map(|full| read(&full.into_inner()))
    };
    letters.iter().filter_map(refused).collect()
}

/// Runs two senders with these letters against a receiver that tries `tries` times. Every letter is
/// received or refused, once, and those of one sender arrive in order.
fn model(capacity: usize, letters: [&'static [u32]; 2], tries: usize) {
    loom::model(move || {
        let (sender, mut mailbox) = mailbox::starting_at(capacity, u64::MAX);
        let receiver = thread::spawn(move || {
            let mut received = Vec::new();
            receive(&mut mailbox, tries, &mut received);
            (mailbox, received)
        });
        let other = sender.clone();
        let other = thread::spawn(move || send(&other, letters[1]));
        let refused = [send(&sender, letters[0]), other.join().unwrap()];
        let (mut mailbox, mut received) = receiver.join().unwrap();
        receive(&mut mailbox, letters.concat().len(), &mut received);
        assert!(mailbox.consume().is_none());
        for (letters, refused) in letters.iter().zip(refused) {
            let of = |l: &u32| letters.contains(l);
            let mine: Vec<u32> = received.iter().copied().filter(of).collect();
            let sent: Vec<u32> = letters
                .iter()
                .copied()
                .filter(|l| !refused.contains(l))
                .collect();
            assert_eq!(mine, sent);
        }
    });
}

#[test]
fn two_senders() {
    model(2, [&[1], &[2]], 2);
}

#[test]
fn letters_of_one_sender_stay_in_order() {
    model(2, [&[1, 2], &[]], 1);
    model(3, [&[2, 3], &[1]], 1);
}

#[test]
fn full_mailbox() {
    model(1, [&[1], &[2]], 1);
}

#[test]
fn senders_reuse_the_slot() {
    model(1, [&[1, 2], &[]], 1);
}

#[test]
fn two_senders_go_round_the_ring() {
    model(2, [&[1, 2], &[3]], 1);
}

/// There is room for both letters: neither sender may be refused, and a receiver that knows that a
/// letter was sent must find one.
#[test]
fn sent_mail_is_found_although_another_sender_is_on_its_way() {
    loom::model(|| {
        let (sender, mut mailbox) = mailbox::bounded(2);
        let other = sender.clone();
        let receiver = thread::spawn(move || {
            assert!(other.send(write(2)).is_ok());
            let first = read(&mailbox.consume().expect("the letter 2 is there"));
            (mailbox, first)
        });
        assert!(sender.send(write(1)).is_ok());
        let (mut mailbox, first) = receiver.join().unwrap();
        let second = read(&mailbox.consume().expect("the other letter is there"));
        assert_eq!(first + second, 3);
    });
}

#[test]
fn mail_left_inside_is_dropped() {
    loom::model(|| {
        let (sender, mailbox) = mailbox::bounded(1);
        let thread = thread::spawn(move || sender.send(write(1)).is_ok());
        drop(mailbox);
        assert!(thread.join().unwrap());
    });
}
