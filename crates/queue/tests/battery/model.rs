//! Random sequences of operations by one thread, compared with a `VecDeque`.

use std::collections::VecDeque;

use locksley_queue::{Consumer, Owner, Producer, Steal, Thief};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::scale;
use crate::subject::{ChannelSubject, DequeSubject, Ends, Room};

/// Number of sequences that each property is tested with.
const CASES: u32 = 4_000;

/// An operation on a deque.
#[derive(Clone, Copy, Debug)]
enum Op {
    Push,
    Pop,
    Steal,
    /// The thief asks the owner to expose work, if the deque has private items.
    Ask,
    /// The owner answers.
    Attend,
    /// Half of the items move to a second deque, if the deque has batches.
    StealHalf,
    /// The second deque's owner pops an item.
    PopBatch,
}

/// Weights of the operations in a sequence: pushes, pops or thefts prevail, so that deques grow,
/// fill and become empty.
const MIXES: [[(Op, u8); 7]; 4] = [mix(8, 2, 2), mix(4, 4, 4), mix(6, 1, 5), mix(5, 6, 1)];

const fn mix(push: u8, pop: u8, steal: u8) -> [(Op, u8); 7] {
    use Op::*;
    assert!(push + pop + steal == 12);
    [
        (Push, push),
        (Pop, pop),
        (Steal, steal),
        (Ask, 1),
        (Attend, 1),
        (StealHalf, 1),
        (PopBatch, 1),
    ]
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    (0..MIXES.len(), vec(0..16_u8, 1..80)).prop_map(|(mix, throws)| {
        let op = |mut throw| {
            for (op, weight) in MIXES[mix] {
                if throw < weight {
                    return op;
                }
                throw -= weight;
            }
            unreachable!("the weights add up to sixteen")
        };
        throws.into_iter().map(op).collect()
    })
}

fn check<T: std::fmt::Debug>(of: impl Strategy<Value = T>, test: impl Fn(T)) {
    let config = Config {
        cases: CASES * u32::try_from(scale()).expect("the scale is small"),
        failure_persistence: None,
        ..Config::default()
    };
    let result = TestRunner::new(config).run(&of, |value| {
        test(value);
        Ok(())
    });
    if let Err(failure) = result {
        panic!("the model disagrees: {failure}");
    }
}

/// A deque, and a model of its contents.
struct Pair<S: DequeSubject> {
    owner: S::Owner<u32>,
    thief: S::Thief<u32>,
    model: VecDeque<u32>,
    /// Set if the owner knows that the deque is empty (see [`Room::Drifts`]).
    known_empty: bool,
}

impl<S: DequeSubject> Pair<S> {
    fn new(owner: S::Owner<u32>) -> Self {
        let thief = owner.thief();
        Pair {
            owner,
            thief,
            model: VecDeque::new(),
            known_empty: true,
        }
    }

    fn push(&mut self, item: u32) {
        let inside = self.model.len();
        match (self.owner.push(item), S::ROOM) {
            (Ok(()), Room::Exactly(most) | Room::Drifts(most)) => {
                assert!(inside < most, "overfull")
            }
            (Ok(()), Room::Grows) => {}
            (Err(full), room) => {
                assert_eq!(full.0, item, "a refused push gave back another item");
                match room {
                    Room::Grows => panic!("a deque that grows refused a push"),
                    Room::Exactly(most) => assert_eq!(inside, most, "refused though there is room"),
                    Room::Drifts(_) => {
                        assert!(!self.known_empty, "refused though nothing is inside")
                    }
                }
                return;
            }
        }
        self.model.push_back(item);
        self.known_empty = false;
    }

    fn pop(&mut self) {
        let item = self.owner.pop();
        assert_eq!(item, self.model.pop_back(), "pop");
        self.known_empty = item.is_none();
    }

    /// Steals. `promised` is set if the owner has just answered a request, so that there must be
    /// public work.
    fn steal(&mut self, promised: bool) {
        match self.thief.steal() {
            Steal::Success(item) => assert_eq!(Some(item), self.model.pop_front(), "steal"),
            Steal::Empty => assert!(self.model.is_empty(), "told empty with {:?}", self.model),
            Steal::Retry => panic!("told to retry with no other thread there"),
            Steal::Private => {
                assert!(!self.model.is_empty(), "told private with nothing inside");
                assert!(
                    !promised,
                    "told private after the owner was asked and attended"
                );
            }
        }
    }

    fn steal_half(&mut self, batch_deque: &mut Self) {
        let before = self.model.len();
        match S::steal_half(&self.thief, &mut batch_deque.owner) {
            Steal::Success(item) => {
                let batch = before - self.owner.len();
                assert!(
                    batch >= 1 && batch <= before.div_ceil(2),
                    "took {batch} of {before}"
                );
                batch_deque.model.extend(self.model.drain(..batch));
                assert_eq!(
                    Some(item),
                    batch_deque.model.pop_back(),
                    "not the newest of the batch"
                );
            }
            Steal::Empty => assert!(self.model.is_empty(), "told empty with {:?}", self.model),
            Steal::Private => assert!(!self.model.is_empty(), "told private with nothing inside"),
            Steal::Retry => panic!("told to retry with no other thread there"),
        }
    }

    fn check_len(&self) {
        let inside = self.model.len();
        assert_eq!(self.owner.len(), inside, "the owner's len");
        assert_eq!(self.owner.is_empty(), inside == 0);
        assert!(
            self.thief.len() <= inside,
            "the thief sees {} of {inside}",
            self.thief.len()
        );
    }
}

/// A deque behaves like a `VecDeque`.
pub(crate) fn deque<S: DequeSubject>(make: fn() -> S::Owner<u32>) {
    check(ops(), |ops| {
        let mut pair = Pair::<S>::new(make());
        let mut batch_deque = Pair::<S>::new(make());
        let (mut asked, mut promised) = (false, false);
        for (item, op) in (0..).zip(ops) {
            match op {
                Op::Push => pair.push(item),
                Op::Pop => pair.pop(),
                Op::Steal => pair.steal(promised),
                Op::Ask => S::ask(&pair.thief),
                Op::Attend => S::attend(&mut pair.owner),
                Op::StealHalf if S::BATCHES => pair.steal_half(&mut batch_deque),
                Op::PopBatch if S::BATCHES => batch_deque.pop(),
                Op::StealHalf | Op::PopBatch => {}
            }
            promised = asked && matches!(op, Op::Attend);
            asked = matches!(op, Op::Ask);
            pair.check_len();
            batch_deque.check_len();
        }
        while !pair.model.is_empty() || !batch_deque.model.is_empty() {
            pair.pop();
            batch_deque.pop();
        }
        pair.pop();
    });
}

/// A channel behaves like a `VecDeque`.
pub(crate) fn channel<S: ChannelSubject>(make: fn(usize) -> Ends<S, u32>) {
    check(vec(0..5_u8, 1..200), |ops| {
        let (mut producers, mut consumer) = make(if S::MANY { 2 } else { 1 });
        let mut model = VecDeque::new();
        // The first operation selects whether produces or consumes prevail.
        let fills = 2 + ops[0] % 2;
        for (item, op) in (0..).zip(ops) {
            if op > fills {
                assert_eq!(consumer.consume(), model.pop_front(), "consume");
                continue;
            }
            let producer = usize::from(op) % producers.len();
            match (producers[producer].produce(item), S::ROOM) {
                (Ok(()), Room::Exactly(most) | Room::Drifts(most)) => {
                    assert!(model.len() < most, "overfull");
                    model.push_back(item);
                }
                (Ok(()), Room::Grows) => model.push_back(item),
                (Err(full), room) => {
                    assert_eq!(full.0, item, "a refused produce gave back another item");
                    match room {
                        Room::Grows => panic!("a channel that grows refused an item"),
                        Room::Exactly(most) => assert_eq!(model.len(), most, "refused with room"),
                        Room::Drifts(_) => {
                            assert!(!model.is_empty(), "refused with nothing inside")
                        }
                    }
                }
            }
        }
        while let Some(item) = model.pop_front() {
            assert_eq!(consumer.consume(), Some(item), "consume");
        }
        assert_eq!(consumer.consume(), None, "consume");
    });
}
