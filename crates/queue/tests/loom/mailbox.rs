//! Models of the mailbox. A letter is a cell that the sender writes and the receiver reads, so that
//! a missing edge is a data race.
//!
//! The receiver is a spawned thread, which loom first runs after the main thread's sends. loom
//! considers only the last access to an atomic when it searches for orders to try. A sender loads
//! the atomic that it then swaps, so loom would miss most of the orders if the receiver came first.

use locksley_queue::{Consumer, mailbox};
use loom::thread;

use crate::support::Payload;

type Sender = mailbox::Sender<Payload>;
type Mailbox = mailbox::Mailbox<Payload>;

fn receive(mailbox: &mut Mailbox, tries: usize, into: &mut Vec<usize>) {
    into.extend(
        (0..tries)
            .filter_map(|_| mailbox.consume())
            .map(Payload::open),
    );
}

/// Sends the letters; returns those that were refused.
fn send(sender: &Sender, letters: &[usize]) -> Vec<usize> {
    let refused = |&letter: &usize| {
        sender
            .send(Payload::new(letter))
            .err()
            .map(|full| full.into_inner().open())
    };
    letters.iter().filter_map(refused).collect()
}

/// Runs two senders with these letters against a receiver that tries `tries` times. Every letter is
/// received or refused, once, and those of one sender arrive in order.
fn model(capacity: usize, letters: [&'static [usize]; 2], tries: usize) {
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
            let of = |l: &usize| letters.contains(l);
            let mine: Vec<usize> = received.iter().copied().filter(of).collect();
            let sent: Vec<usize> = letters
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
            assert!(other.send(Payload::new(2)).is_ok());
            let first = mailbox.consume().expect("the letter 2 is there").open();
            (mailbox, first)
        });
        assert!(sender.send(Payload::new(1)).is_ok());
        let (mut mailbox, first) = receiver.join().unwrap();
        let second = mailbox.consume().expect("the other letter is there").open();
        assert_eq!(first + second, 3);
    });
}

#[test]
fn mail_left_inside_is_dropped() {
    loom::model(|| {
        let (sender, mailbox) = mailbox::bounded(1);
        let thread = thread::spawn(move || sender.send(Payload::new(1)).is_ok());
        drop(mailbox);
        assert!(thread.join().unwrap());
    });
}
