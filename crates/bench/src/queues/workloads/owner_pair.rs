//! The fast path of fork-join: the owner pushes a job and pops it before it is stolen.
//!
//! The deque is a local variable of the measured loop, as it is in a worker's main loop, so that
//! the compiler can keep a small handle in registers.

use std::hint::black_box;
use std::time::Duration;

use super::{contenders, push};
use crate::harness::{Sample, Tally, ThreadClock, Workload, WrongResult, verify};
use crate::queues::contenders::{CrossbeamLifo, Deque};

/// Name of the counted loop without a queue.
pub(crate) const NOTHING: &str = "nothing";

/// Number of pairs in a round of the counted loop.
pub(crate) const UNROLLED: u64 = 64;

const ITEM: usize = 7;

macro_rules! every_deque {
    ($turn:ident) => {
        contenders![
            $turn;
            CrossbeamLifo, CrossbeamFifo, St3Lifo, St3Fifo,
            Abp, ChaseLev, Split, SemiPrivate, SemiPrivatePolling,
            Extended,
        ]
    };
}

pub(crate) fn workload() -> Workload {
    Workload {
        name: "owner_pair",
        about: "push and pop on an otherwise empty deque, per pair",
        reference: CrossbeamLifo::NAME,
        note: None,
        contenders: every_deque![turn],
    }
}

/// The same workload for counting instructions instead of time: rounds of [`UNROLLED`] consecutive
/// pairs, each of which pushes the item that the previous one popped. [`NOTHING`] runs the rounds
/// without the pairs; its count is subtracted, which leaves the instructions of push and pop alone,
/// as the compiler generates them for consecutive pairs. It may keep values that are the same in
/// every pair, such as the slot's index, in a register.
pub(crate) fn counted() -> Workload {
    let mut contenders = every_deque![count];
    contenders.push(crate::harness::Contender::new(NOTHING, count_nothing));
    Workload {
        name: "owner_pair_counted",
        about: "push and pop on an otherwise empty deque, unrolled",
        reference: NOTHING,
        note: None,
        contenders,
    }
}

fn turn<D: Deque>(operations: u64) -> Result<Sample, WrongResult> {
    let mut deque = D::new();
    let pairs = operations as usize;
    let start = ThreadClock::start();
    // If an item is missing, the loop ends early with a wrong sum. It counts down, so that its own
    // instructions are only the addition, a decrement and a branch.
    let mut sum = 0_usize;
    let mut item = pairs;
    while item != 0 {
        push(&mut deque, item);
        match deque.pop() {
            Some(popped) => sum = sum.wrapping_add(popped),
            None => break,
        }
        item -= 1;
    }
    let elapsed = start.elapsed();
    verify(
        D::NAME,
        "sum of the popped items",
        Tally::up_to(pairs).sum,
        sum,
    )?;
    verify(D::NAME, "what is left", None, deque.pop())?;
    Ok(Sample {
        elapsed,
        operations,
        note: 0.0,
    })
}

/// Repeats its argument four times.
macro_rules! fourfold {
    ($($code:tt)*) => { $($code)* $($code)* $($code)* $($code)* };
}

#[inline(never)]
fn count<D: Deque>(operations: u64) -> Result<Sample, WrongResult> {
    let mut deque = D::new();
    let mut item = ITEM;
    'rounds: for _ in 0..operations / UNROLLED {
        item = black_box(item);
        fourfold! { fourfold! { fourfold! {
            push(&mut deque, item);
            match deque.pop() {
                Some(popped) => item = popped,
                None => {
                    item = !ITEM;
                    break 'rounds;
                }
            }
        } } }
    }
    verify(D::NAME, "the item that went through every pair", ITEM, item)?;
    Ok(untimed(operations))
}

#[inline(never)]
fn count_nothing(operations: u64) -> Result<Sample, WrongResult> {
    let mut item = ITEM;
    for _ in 0..operations / UNROLLED {
        item = black_box(item);
    }
    verify(NOTHING, "the item that went through nothing", ITEM, item)?;
    Ok(untimed(operations))
}

fn untimed(operations: u64) -> Sample {
    Sample {
        elapsed: Duration::ZERO,
        operations,
        note: 0.0,
    }
}
