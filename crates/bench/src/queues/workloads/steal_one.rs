//! The thief's cost of a steal when no other thread interferes.

use super::{contenders, push};
use crate::harness::{Sample, Tally, ThreadClock, Workload, WrongResult, verify};
use crate::queues::contenders::{CrossbeamLifo, Deque, Stealable};

pub(crate) fn workload() -> Workload {
    Workload {
        name: "steal_one",
        about: "push one (and expose it), steal it, in one thread, per item",
        reference: CrossbeamLifo::NAME,
        note: None,
        contenders: contenders![
            turn;
            CrossbeamLifo, CrossbeamFifo, St3Lifo, St3Fifo,
            Abp, ChaseLev, Split, SemiPrivate,
            Extended,
        ],
    }
}

fn turn<D: Stealable>(operations: u64) -> Result<Sample, WrongResult> {
    let mut deque = D::new();
    let mut thief = deque.thief();
    let items = operations as usize;
    let start = ThreadClock::start();
    let tally = push_and_steal(&mut deque, &mut thief, items);
    let elapsed = start.elapsed();
    verify(D::NAME, "the stolen items", Tally::up_to(items), tally)?;
    Ok(Sample {
        elapsed,
        operations,
        note: 0.0,
    })
}

#[inline(never)]
fn push_and_steal<D: Stealable>(deque: &mut D, thief: &mut D::Thief, items: usize) -> Tally {
    let mut tally = Tally::default();
    let mut item = 0;
    while item < items {
        item += 1;
        push(deque, item);
        deque.expose(1);
        match D::steal(thief) {
            Some(item) => tally.add(item),
            None => break,
        }
    }
    tally
}
