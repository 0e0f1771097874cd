//! A burst of pushes, then a burst of pops, so that the deque holds many items.

use super::{BATCH, contenders, push};
use crate::harness::{Sample, Tally, ThreadClock, Workload, WrongResult, verify};
use crate::queues::contenders::{CrossbeamLifo, Deque};

pub(crate) fn workload() -> Workload {
    Workload {
        name: "push_all_pop_all",
        about: "push 64, pop 64, per pair",
        reference: CrossbeamLifo::NAME,
        note: None,
        contenders: contenders![
            turn;
            CrossbeamLifo, CrossbeamFifo, St3Lifo, St3Fifo,
            Abp, ChaseLev, Split, SemiPrivate, SemiPrivatePolling,
            Extended,
        ],
    }
}

fn turn<D: Deque>(operations: u64) -> Result<Sample, WrongResult> {
    let mut deque = D::new();
    let batches = (operations as usize).div_ceil(BATCH);
    let start = ThreadClock::start();
    let tally = push_all_pop_all(&mut deque, batches);
    let elapsed = start.elapsed();
    let items = batches * BATCH;
    verify(D::NAME, "the popped items", Tally::up_to(items), tally)?;
    Ok(Sample {
        elapsed,
        operations: items as u64,
        note: 0.0,
    })
}

#[inline(never)]
fn push_all_pop_all<D: Deque>(deque: &mut D, batches: usize) -> Tally {
    let mut tally = Tally::default();
    let mut item = 0;
    for _ in 0..batches {
        for _ in 0..BATCH {
            item += 1;
            push(deque, item);
        }
        while let Some(item) = deque.pop() {
            tally.add(item);
        }
    }
    tally
}
