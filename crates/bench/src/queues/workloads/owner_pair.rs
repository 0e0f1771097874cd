//! The fast path of fork-join: push a job, and nobody has stolen it by the time it is popped.

use super::{contenders, push};
use crate::harness::{Sample, Tally, ThreadClock, Workload, Wrong, verify};
use crate::queues::contenders::{CrossbeamLifo, Deque};

pub(crate) fn workload() -> Workload {
    Workload {
        name: "owner_pair",
        about: "push and pop on an otherwise empty deque, per pair",
        reference: CrossbeamLifo::NAME,
        note: None,
        contenders: contenders![
            turn;
            CrossbeamLifo, CrossbeamFifo, St3Lifo, St3Fifo,
            Abp, ChaseLev, Asymmetric, SemiPrivate, SemiPrivatePolling,
            Extended,
        ],
    }
}

fn turn<D: Deque>(operations: u64) -> Result<Sample, Wrong> {
    let mut deque = D::new();
    let pairs = operations as usize;
    let start = ThreadClock::start();
    let sum = push_and_pop(&mut deque, pairs);
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

/// The sum of the popped items; it ends early, with a sum that is wrong, if one is missing. Counting
/// down, the loop itself is the addition, a decrement and a branch.
#[inline(never)]
fn push_and_pop<D: Deque>(deque: &mut D, pairs: usize) -> usize {
    let mut sum = 0_usize;
    let mut item = pairs;
    while item != 0 {
        push(deque, item);
        match deque.pop() {
            Some(popped) => sum = sum.wrapping_add(popped),
            None => break,
        }
        item -= 1;
    }
    sum
}
