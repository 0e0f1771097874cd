//! Balancing two deques: half of the work moves, then both owners finish theirs.

use super::{BATCH, contenders, push};
use crate::harness::{Sample, Tally, ThreadClock, Workload, Wrong, verify};
use crate::queues::contenders::{CrossbeamLifo, Deque, Halvable};

pub(crate) fn workload() -> Workload {
    Workload {
        name: "steal_half",
        about: "push 64, steal half, drain both deques, in one thread, per item",
        reference: CrossbeamLifo::NAME,
        note: Some("items per steal"),
        contenders: contenders![
            turn;
            CrossbeamLifo, CrossbeamFifo, St3Lifo, St3Fifo,
            Extended, ClaimFirst,
        ],
    }
}

fn turn<D: Halvable>(operations: u64) -> Result<Sample, Wrong> {
    let (mut victim, mut own) = (D::new(), D::new());
    let mut thief = victim.thief();
    let batches = (operations as usize).div_ceil(BATCH);
    let start = ThreadClock::start();
    let (kept, stolen) = halve(&mut victim, &mut own, &mut thief, batches);
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

/// What the victim kept, and what was stolen.
#[inline(never)]
fn halve<D: Halvable>(
    victim: &mut D,
    own: &mut D,
    thief: &mut D::Thief,
    batches: usize,
) -> (Tally, Tally) {
    let (mut kept, mut stolen) = (Tally::default(), Tally::default());
    let mut item = 0;
    for _ in 0..batches {
        for _ in 0..BATCH {
            item += 1;
            push(victim, item);
        }
        if let Some(item) = D::steal_half(thief, own) {
            stolen.add(item);
        }
        while let Some(item) = own.pop() {
            stolen.add(item);
        }
        while let Some(item) = victim.pop() {
            kept.add(item);
        }
    }
    (kept, stolen)
}
