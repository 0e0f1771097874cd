//! Sequences of operations by one thread on every deque, compared with a `VecDeque`.
//!
//! The first byte selects the first index, the second the deque; each further byte is an
//! operation. Items are small numbers with some zeros among them, which look like empty slots.
#![no_main]

use std::collections::VecDeque;

use libfuzzer_sys::fuzz_target;
use locksley_queue::semi_private::{self, Exposure};
use locksley_queue::steal_half::extended;
use locksley_queue::{Owner, Steal, StealBatch, Thief, abp, chase_lev, split};

/// Properties in which a deque differs from a `VecDeque`.
struct Traits {
    /// The largest number of items, unless the deque grows.
    most: usize,
    /// Set if thefts use up room until the owner finds the deque empty.
    drifts: bool,
}

const GROWS: Traits = Traits {
    most: usize::MAX,
    drifts: false,
};

/// Runs the operations. `extra` runs the operations (6 and 7) that only this deque has, and updates
/// the model.
fn run<D: Owner<Item = usize>>(
    mut deque: D,
    traits: Traits,
    operations: &[u8],
    extra: impl Fn(&mut D, &D::Thief, u8, &mut VecDeque<usize>),
) {
    let thief = deque.thief();
    let mut model = VecDeque::new();
    for (nth, &operation) in operations.iter().enumerate() {
        match operation % 8 {
            0..=2 => {
                let item = if operation & 64 == 0 { nth } else { 0 };
                match deque.push(item) {
                    Ok(()) => model.push_back(item),
                    Err(full) => {
                        assert_eq!(full.into_inner(), item);
                        assert!(model.len() == traits.most || traits.drifts);
                    }
                }
                assert!(model.len() <= traits.most);
            }
            3 | 4 => assert_eq!(deque.pop(), model.pop_back()),
            5 => match thief.steal() {
                Steal::Success(item) => assert_eq!(Some(item), model.pop_front()),
                Steal::Empty => assert!(model.is_empty()),
                Steal::Private => assert!(!model.is_empty()),
                Steal::Retry => panic!("retry, with no other thread there"),
            },
            special => extra(
                &mut deque,
                &thief,
                special ^ operation >> 6 << 1,
                &mut model,
            ),
        }
        assert_eq!(deque.len(), model.len());
        assert!(thief.len() <= model.len());
    }
    while let Some(item) = model.pop_back() {
        assert_eq!(deque.pop(), Some(item));
    }
    assert_eq!(deque.pop(), None);
    assert!(matches!(thief.steal(), Steal::Empty));
}

fn nothing<D: Owner>(_: &mut D, _: &D::Thief, _: u8, _: &mut VecDeque<usize>) {}

/// Runs operations on a split deque, with take-backs. The deque may hold holes besides the model's
/// items, so its lengths are upper bounds, and a thief that finds only holes is told to retry.
fn run_split(mut deque: split::Deque<usize>, operations: &[u8]) {
    let thief = deque.thief();
    let (mut model, mut tokens) = (VecDeque::new(), Vec::new());
    for (nth, &operation) in operations.iter().enumerate() {
        let amount = usize::from(operation >> 4);
        match operation % 16 {
            0..=3 => {
                tokens.push((nth, deque.push_for_take_back(nth)));
                model.push_back(nth);
            }
            4..=6 => assert_eq!(deque.pop(), model.pop_back()),
            7..=9 if !tokens.is_empty() => {
                let newest = tokens.len() - 1;
                let (item, token) = tokens.remove(newest - amount.min(newest));
                let taken = deque.take_back(token);
                let at = model.iter().position(|&other| Some(other) == taken);
                assert_eq!(
                    at.is_some(),
                    taken.is_some(),
                    "an item that is gone came back"
                );
                assert!(taken.is_some() || !model.contains(&item), "an item is gone");
                at.map(|at| model.remove(at));
            }
            10 => _ = deque.expose(amount),
            11 => {
                thief.request();
                deque.poll();
            }
            12 => _ = thief.force(),
            _ => {
                let mut stolen = Vec::new();
                let answer =
                    thief.steal_some(|public| public.min(amount), |item| stolen.push(item));
                assert_eq!(answer.success().unwrap_or(0), stolen.len());
                for item in stolen {
                    assert_eq!(Some(item), model.pop_front());
                }
            }
        }
        assert!(deque.len() >= model.len() && thief.len() >= model.len());
    }
    while let Some(item) = model.pop_back() {
        assert_eq!(deque.pop(), Some(item));
    }
    assert_eq!(deque.pop(), None);
    assert!(matches!(thief.steal(), Steal::Empty));
}

fuzz_target!(|data: &[u8]| {
    let [start, which, operations @ ..] = data else {
        return;
    };
    // Near the end of the indices, or at their beginning.
    let start = if start % 2 == 0 {
        u64::from(*start)
    } else {
        u64::MAX - u64::from(*start)
    };
    let capacity = usize::from(which >> 3);
    match which % 8 {
        0 => run(
            chase_lev::Deque::starting_at(capacity, start),
            GROWS,
            operations,
            nothing,
        ),
        1 => run(
            semi_private::Deque::starting_at(capacity, start),
            GROWS,
            operations,
            |deque, thief, special, _| {
                let exposure = if special & 2 == 0 {
                    Exposure::One
                } else {
                    Exposure::Half
                };
                if special & 1 == 0 {
                    deque.expose(exposure);
                } else {
                    thief.request();
                    assert!(deque.is_requested());
                    let private = deque.private_len();
                    assert_eq!(deque.poll(exposure) > 0, private > 0);
                }
            },
        ),
        2 => {
            let deque = abp::Deque::starting_at(capacity, start);
            let traits = Traits {
                most: deque.capacity(),
                drifts: true,
            };
            run(deque, traits, operations, nothing);
        }
        3 => {
            let deque = extended::Deque::starting_at(capacity, start);
            let traits = Traits {
                most: deque.capacity(),
                drifts: false,
            };
            run(deque, traits, operations, |_, thief, special, model| {
                let mut own = extended::Deque::with_capacity(1 << (special & 7));
                match thief.steal_half(&mut own) {
                    Steal::Success(newest) => {
                        let taken: Vec<_> = model.drain(..=own.len()).collect();
                        assert_eq!(taken.last(), Some(&newest));
                        for item in taken.into_iter().rev().skip(1) {
                            assert_eq!(own.pop(), Some(item));
                        }
                        assert_eq!(own.pop(), None);
                    }
                    answer => assert!(matches!(answer, Steal::Empty) && model.is_empty()),
                }
            });
        }
        // The 40 bits of top that share a word with the length wrap around soon, or not.
        _ => run_split(
            split::Deque::starting_at(capacity, start % (1 << 43)),
            operations,
        ),
    }
});
