//! The mailboxes of CFWSS (thesis, Algorithm 13): bounded queues of pointers to entries.
//!
//! The queue of the thesis may lose letters that two processors leave at the same time, and then
//! returns garbage. This one, like that of the runtime, handles them one after the other.

use std::collections::VecDeque;

/// A pointer to an entry of a donor that may be taken from the time `from` on, if it still has the
/// same age.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pointer {
    pub(super) entry: u32,
    pub(super) age: u32,
    pub(super) donor: u32,
    pub(super) from: u64,
}

/// The mailboxes of all processors, if there are any.
#[derive(Debug)]
pub(super) struct Mail {
    capacity: usize,
    boxes: Vec<VecDeque<Pointer>>,
}

impl Mail {
    /// Creates mailboxes that hold `capacity` letters each; none if that is 0.
    pub(super) fn new(capacity: u32, count: usize) -> Mail {
        let boxes = if capacity == 0 { 0 } else { count };
        Mail {
            capacity: capacity as usize,
            boxes: vec![VecDeque::new(); boxes],
        }
    }

    /// Returns `true` if processors have mailboxes.
    pub(super) fn is_there(&self) -> bool {
        self.capacity > 0
    }

    /// Returns `true` if the mailbox of a processor is full.
    pub(super) fn is_full(&self, p: usize) -> bool {
        self.boxes
            .get(p)
            .is_none_or(|letters| letters.len() >= self.capacity)
    }

    /// Returns `true` if the mailbox of a processor has letters, arrived or not.
    pub(super) fn waits(&self, p: usize) -> bool {
        self.boxes.get(p).is_some_and(|letters| !letters.is_empty())
    }

    /// Puts a letter into the mailbox of a processor, which must not be full.
    pub(super) fn leave(&mut self, to: usize, letter: Pointer) {
        if let Some(letters) = self.boxes.get_mut(to) {
            letters.push_back(letter);
        }
    }

    /// Returns the index of the oldest letter that has arrived. Later letters may arrive earlier,
    /// since latencies differ.
    fn due(&self, p: usize, now: u64) -> Option<usize> {
        let letters = self.boxes.get(p)?;
        letters.iter().position(|letter| letter.from <= now)
    }

    /// Returns `true` if a letter has arrived.
    pub(super) fn is_due(&self, p: usize, now: u64) -> bool {
        self.due(p, now).is_some()
    }

    /// Takes the oldest letter that has arrived.
    pub(super) fn next(&mut self, p: usize, now: u64) -> Option<Pointer> {
        let place = self.due(p, now)?;
        self.boxes.get_mut(p)?.remove(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letter(entry: u32, from: u64) -> Pointer {
        Pointer {
            entry,
            age: 0,
            donor: 0,
            from,
        }
    }

    #[test]
    fn letters_come_in_order_when_they_are_due_and_no_more_than_there_is_room_for() {
        let mut mail = Mail::new(3, 2);
        for (entry, from) in [(1, 50), (2, 10), (3, 10)] {
            assert!(!mail.is_full(1));
            mail.leave(1, letter(entry, from));
        }
        assert!(mail.is_full(1) && !mail.is_full(0));
        assert!(!mail.is_due(1, 9) && mail.is_due(1, 10) && !mail.is_due(0, 99));
        let mut read = |now| mail.next(1, now).map(|letter| letter.entry);
        assert_eq!([read(20), read(20), read(20)], [Some(2), Some(3), None]);
        assert_eq!([read(50), read(50)], [Some(1), None]);
    }

    #[test]
    fn without_mailboxes_there_is_no_mail() {
        let mut mail = Mail::new(0, 2);
        assert!(!mail.is_there() && mail.is_full(0));
        mail.leave(0, letter(1, 0));
        assert_eq!(mail.next(0, 1), None);
    }
}
