//! The theorems of the steal-half paper as tests: the number of the owner's compare-and-swaps, and
//! the share of the deque that can be stolen at once.
#![cfg(not(loom))]

use std::collections::VecDeque;

use locksley_queue::steal_half::Inspection;
use locksley_queue::steal_half::extended::Deque;
use locksley_queue::{Owner, Steal, StealBatch, Thief, counts};
use proptest::prelude::*;

fn rmws(f: impl FnOnce()) -> u64 {
    let before = counts::of_this_thread();
    f();
    (counts::of_this_thread() - before).rmws
}

#[test]
fn theorem_4_3_owner_alone() {
    for k in 1..=1024_u64 {
        let mut deque = Deque::starting_at(1024, k << 13);
        let log = u64::from(k.ilog2());
        assert_eq!(
            rmws(|| (0..k).for_each(|i| deque.push(i).unwrap())),
            log + 1,
            "{k} pushes"
        );
        let pops = rmws(|| (0..k).rev().for_each(|i| assert_eq!(deque.pop(), Some(i))));
        assert_eq!(pops, log + 2, "{k} pops");
        assert_eq!(rmws(|| assert_eq!(deque.pop(), None)), 0);
    }
}

fn eighth(seen: Inspection) {
    assert!(8 * seen.range >= seen.len, "stealRange too short: {seen:?}");
    assert!(seen.range <= seen.len, "phantoms: {seen:?}");
}

/// Asserts what holds right after a compare-and-swap of the owner.
fn after_owner(seen: Inspection, pushed: bool) {
    let Inspection { len, range } = seen;
    if len < 2 {
        assert_eq!(range, len, "{seen:?}");
    } else {
        assert!(2 * range <= len, "{seen:?}");
        assert!(
            if pushed {
                len < 4 * range
            } else {
                len <= 4 * range
            },
            "{seen:?}"
        );
    }
}

#[derive(Clone, Copy, Debug)]
enum Op {
    Push,
    Pop,
    Steal,
    StealHalf,
    /// The thief's own deque is used, so that its room varies.
    OwnPop,
    /// A theft from the thief.
    StealBack,
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    use Op::*;
    let op = prop_oneof![
        6 => Just(Push), 3 => Just(Pop), 2 => Just(Steal),
        1 => Just(StealHalf), 2 => Just(OwnPop), 1 => Just(StealBack),
    ];
    // Runs of the same operation reach lengths that single operations would not.
    proptest::collection::vec((op, 1..12_usize), 1..60).prop_map(|runs| {
        runs.into_iter()
            .flat_map(|(op, n)| std::iter::repeat_n(op, n))
            .collect()
    })
}

/// Moves the batch of a theft in the models as it was moved in the deques.
fn model_half(from: &mut VecDeque<u64>, to: &mut VecDeque<u64>, stolen: Steal<u64>, left: usize) {
    match stolen {
        Steal::Success(newest) => {
            let before = from.len();
            let n = before - left;
            assert!(n >= 1 && n <= before.div_ceil(2), "{n} of {before}");
            to.extend(from.drain(..n - 1));
            assert_eq!(from.pop_front(), Some(newest));
        }
        Steal::Empty => assert!(from.is_empty()),
        other => panic!("no other thread interfered: {other:?}"),
    }
}

fn against_the_model(capacity: usize, start: u64, ops: &[Op]) {
    let (mut deque, mut own) = (
        Deque::starting_at(capacity, start),
        Deque::starting_at(8, start),
    );
    let (mut model, mut own_model) = (VecDeque::new(), VecDeque::new());
    for (i, op) in ops.iter().enumerate() {
        let i = i as u64;
        let mut cas = counts::of_this_thread().rmws;
        match op {
            Op::Push => {
                let full = model.len() == capacity;
                assert_eq!(deque.push(i).is_err(), full);
                if !full {
                    model.push_back(i);
                }
            }
            Op::Pop => assert_eq!(deque.pop(), model.pop_back()),
            Op::OwnPop => assert_eq!(own.pop(), own_model.pop_back()),
            Op::Steal => {
                let expected = model.pop_front().map_or(Steal::Empty, Steal::Success);
                assert_eq!(deque.thief().steal(), expected);
            }
            Op::StealHalf => {
                let stolen = deque.thief().steal_half(&mut own);
                model_half(&mut model, &mut own_model, stolen, deque.len());
            }
            Op::StealBack => {
                let stolen = own.thief().steal_half(&mut deque);
                model_half(&mut own_model, &mut model, stolen, own.len());
            }
        }
        cas = counts::of_this_thread().rmws - cas;
        assert_eq!((deque.len(), own.len()), (model.len(), own_model.len()));
        eighth(deque.inspect());
        eighth(own.inspect());
        if cas > 0 && matches!(op, Op::Push | Op::Pop) {
            after_owner(deque.inspect(), matches!(op, Op::Push));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn theorem_3_10(ops in ops(), log in 0..8_u32, near in 0..20_u64) {
        against_the_model(1 << log, near.wrapping_neg(), &ops);
    }
}

/// Thieves alone empty a deque whose owner does nothing, and each finds at least an eighth.
#[test]
fn theorem_3_10_thieves_alone() {
    for len in 0..200_u64 {
        let mut deque = Deque::starting_at(256, 65_500);
        (0..len).for_each(|i| deque.push(i).unwrap());
        let (mut own, mut left) = (Deque::starting_at(256, 0), len as usize);
        while let Steal::Success(_) = deque.thief().steal_half(&mut own) {
            let n = left - deque.len();
            assert!(
                n >= 1 && n <= left.div_ceil(2) && 8 * n >= left,
                "{n} of {left}"
            );
            eighth(deque.inspect());
            left -= n;
        }
        assert_eq!(left, 0);
    }
}

/// The owner needs O(log k + m) compare-and-swaps with m thefts in between.
#[test]
fn theorem_4_3_with_thefts() {
    for (k, every) in [(500_u64, 7_u64), (1000, 50), (1000, 3)] {
        let mut deque = Deque::starting_at(1024, 0);
        let (mut stolen, mut cas) = (0, 0);
        for i in 0..k {
            cas += rmws(|| deque.push(i).unwrap());
            if i % every == 0 {
                stolen += u64::from(deque.thief().steal().is_success());
            }
        }
        // A theft can cost the owner one attempt that fails and one that succeeds.
        let bound = u64::from(k.ilog2()) + 1 + 2 * stolen;
        assert!(cas <= bound, "{cas} for {k} pushes and {stolen} thefts");
        assert_eq!(stolen + deque.len() as u64, k);
    }
}
