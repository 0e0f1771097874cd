//! An owner that works while a thief steals as much as it can. Measures how much the thief slows
//! the owner down.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::{Patience, contenders};
use crate::harness::{Sample, Tally, ThreadClock, Workload, WrongResult, verify};
use crate::queues::contenders::{CrossbeamLifo, Deque, Stealable};

/// Number of items that the owner pushes before it pops them, so that the thief finds some.
const BURST: usize = 8;

pub(crate) fn workload() -> Workload {
    Workload {
        name: "busy_owner",
        about: "push 8, pop 8 while one thief steals all it can, per item pushed, the owner's time",
        reference: CrossbeamLifo::NAME,
        note: Some("stolen per 1000"),
        contenders: contenders![
            turn;
            CrossbeamLifo, CrossbeamFifo, St3Lifo, St3Fifo,
            Abp, ChaseLev, Split, SemiPrivatePolling,
            Extended,
        ],
    }
}

fn turn<D: Stealable>(operations: u64) -> Result<Sample, WrongResult> {
    let mut deque = D::new();
    let mut thief = deque.thief();
    let bursts = (operations as usize).div_ceil(BURST);
    let (started, stop) = (AtomicBool::new(false), AtomicBool::new(false));

    let (elapsed, kept, stolen) = thread::scope(|scope| {
        let theft = scope.spawn(|| steal_until::<D>(&mut thief, &started, &stop));
        let mut patience = Patience::default();
        while !started.load(Ordering::Acquire) {
            patience.wait();
        }
        let start = ThreadClock::start();
        let kept = work(&mut deque, bursts);
        let elapsed = start.elapsed();
        stop.store(true, Ordering::Release);
        (elapsed, kept, theft.join().unwrap_or_default())
    });

    let items = bursts * BURST;
    verify(
        D::NAME,
        "the popped and the stolen items",
        Tally::up_to(items),
        kept.and(stolen),
    )?;
    let note = stolen.count as f64 * 1000.0 / items as f64;
    Ok(Sample {
        elapsed,
        operations: items as u64,
        note,
    })
}

/// If the deque is full, the owner runs the item at once: a bounded deque stays full while a thief
/// is interrupted in the middle of a steal.
#[inline(never)]
fn work<D: Stealable>(deque: &mut D, bursts: usize) -> Tally {
    let mut tally = Tally::default();
    let mut item = 0;
    for _ in 0..bursts {
        for _ in 0..BURST {
            item += 1;
            if !deque.push(item) {
                tally.add(item);
            }
        }
        while let Some(item) = deque.pop() {
            tally.add(item);
        }
    }
    tally
}

fn steal_until<D: Stealable>(
    thief: &mut D::Thief,
    started: &AtomicBool,
    stop: &AtomicBool,
) -> Tally {
    let mut tally = Tally::default();
    started.store(true, Ordering::Release);
    while !stop.load(Ordering::Acquire) {
        match D::steal(thief) {
            Some(item) => tally.add(item),
            None => std::hint::spin_loop(),
        }
    }
    tally
}
