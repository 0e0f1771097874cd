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
        contenders: contenders![turn; CrossbeamLifo, CrossbeamFifo, St3Lifo, St3Fifo, ChaseLev, SemiPrivate, SemiPrivatePolling],
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

#[inline(never)]
fn push_and_pop<D: Deque>(deque: &mut D, pairs: usize) -> usize {
    let mut sum = 0_usize;
    for item in 1..=pairs {
        push(deque, item);
        if let Some(item) = deque.pop() {
            sum = sum.wrapping_add(item);
        }
    }
    sum
}
