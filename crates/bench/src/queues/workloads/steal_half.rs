//! Balances two deques: half of the items move to the other deque, then each owner pops its own.
//!
//! As in `owner_pair`, a deque is a local variable of the loop that works on it, so that the
//! compiler can keep a small handle in registers: each phase takes its deque by value and returns
//! it.

use super::{BATCH, contenders, push};
use crate::harness::{Sample, Tally, ThreadClock, Workload, WrongResult, verify};
use crate::queues::contenders::{CrossbeamLifo, Deque, Halvable};

pub(crate) fn workload() -> Workload {
    Workload {
        name: "steal_half",
        about: "push 64 (and expose them), steal half, drain both deques, in one thread, per item",
        reference: CrossbeamLifo::NAME,
        note: Some("items per steal"),
        contenders: contenders![
            turn;
            CrossbeamLifo, CrossbeamFifo, St3Lifo, St3Fifo,
            Split, Extended,
        ],
    }
}

fn turn<D: Halvable>(operations: u64) -> Result<Sample, WrongResult> {
    let (mut victim, mut own) = (D::new(), D::new());
    let mut thief = victim.thief();
    let batches = (operations as usize).div_ceil(BATCH);
    let (mut kept, mut stolen) = (Tally::default(), Tally::default());
    let start = ThreadClock::start();
    for batch in 0..batches {
        victim = fill(victim, batch * BATCH);
        victim.expose(BATCH);
        if let Some(item) = D::steal_half(&mut thief, &mut own) {
            stolen.add(item);
        }
        (own, stolen) = drain(own, stolen);
        (victim, kept) = drain(victim, kept);
    }
    let elapsed = start.elapsed();
    let items = batches * BATCH;
    verify(
        D::NAME,
        "the items of both deques",
        Tally::up_to(items),
        kept.and(stolen),
    )?;
    let note = stolen.count as f64 / batches as f64;
    Ok(Sample {
        elapsed,
        operations: items as u64,
        note,
    })
}

/// Pushes a batch of items, beginning after `last`.
#[inline(never)]
fn fill<D: Deque>(mut deque: D, last: usize) -> D {
    for item in last + 1..last + BATCH + 1 {
        push(&mut deque, item);
    }
    deque
}

/// Pops all items.
#[inline(never)]
fn drain<D: Deque>(mut deque: D, mut tally: Tally) -> (D, Tally) {
    while let Some(item) = deque.pop() {
        tally.add(item);
    }
    (deque, tally)
}
