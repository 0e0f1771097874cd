//! The matrix of work dealing: processes that all deal to all.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use locksley_queue::{Consumer, pcb};

use crate::items::{Item, Ledger};
use crate::rng::Rng;
use crate::scale;

/// Runs a process: deals its items to random processes, and takes the items that it is dealt.
/// Returns the first item that came out of order, if any.
fn work(
    mut process: pcb::Process<Item>,
    ledger: &'static Ledger,
    left: &AtomicUsize,
) -> Option<usize> {
    let (n, id) = (process.processes(), process.id());
    let each = ledger.count() / n;
    let mut rng = Rng::new(id as u64);
    let mut newest = vec![None; n];
    let mut disorder = None;
    let mut dealt = 0;
    loop {
        let last = left.load(Ordering::Acquire) == 0;
        for _ in 0..rng.below(4).min((each - dealt) as u64) {
            let target = rng.below(n as u64) as usize;
            let item = ledger.item(id * each + dealt);
            assert!(process.produce(target, item).is_ok());
            dealt += 1;
            if dealt == each {
                left.fetch_sub(1, Ordering::AcqRel);
            }
        }
        let mut came = false;
        for _ in 0..rng.below(4) + 1 {
            let Some(item) = process.consume().map(Item::take) else {
                break;
            };
            came = true;
            let newest = &mut newest[item / each];
            if newest.replace(item).is_some_and(|before| before > item) {
                disorder.get_or_insert(item);
            }
        }
        if !came && last {
            return disorder;
        }
        if !came || rng.below(64) == 0 {
            thread::yield_now();
        }
    }
}

/// Every item comes out once, and the items from one process to another in their order.
#[test]
fn every_item_comes_once_and_in_order() {
    for (processes, granularity) in [(1, 1), (2, 1), (3, 2), (4, 5), (4, 64)] {
        let each = 10_000 * scale();
        let ledger = Ledger::new(each * processes);
        let team = pcb::matrix_starting_at(processes, granularity, u32::MAX - 3);
        let left = &AtomicUsize::new(processes);
        thread::scope(|scope| {
            let workers: Vec<_> = team
                .into_iter()
                .map(|process| scope.spawn(move || work(process, ledger, left)))
                .collect();
            for worker in workers {
                assert_eq!(worker.join().unwrap(), None, "an item came out of order");
            }
        });
        ledger.assert_each_taken_once();
    }
}

/// Processes are dropped while others still deal to them; items that are not taken are dropped
/// once.
#[test]
fn what_is_inside_is_dropped_once() {
    const PROCESSES: usize = 4;
    for round in 0..100 * scale() {
        let each = 64;
        let ledger = Ledger::new(each * PROCESSES);
        thread::scope(|scope| {
            for mut process in pcb::matrix(PROCESSES, 3) {
                scope.spawn(move || {
                    let id = process.id();
                    let mut rng = Rng::new((round * PROCESSES + id) as u64);
                    for item in id * each..(id + 1) * each {
                        let target = rng.below(PROCESSES as u64) as usize;
                        assert!(process.produce(target, ledger.item(item)).is_ok());
                        if rng.below(3) == 0 {
                            process.consume().map(Item::take);
                        }
                    }
                });
            }
        });
        ledger.assert_each_dropped_once();
    }
}

/// Items that own memory: a checker of memory sees a leak or a double free here.
#[test]
fn boxes_come_through() {
    const PROCESSES: usize = 3;
    let each = 5_000 * scale() as u64;
    let sum: u64 = thread::scope(|scope| {
        let workers: Vec<_> = pcb::matrix(PROCESSES, 4)
            .into_iter()
            .map(|mut process| {
                scope.spawn(move || {
                    let mut sum = 0;
                    for item in 1..=each {
                        let target = item as usize % PROCESSES;
                        assert!(process.produce(target, Box::new(item)).is_ok());
                        sum += process.consume().map_or(0, |item| *item);
                    }
                    (process, sum)
                })
            })
            .collect();
        let (mut team, sums): (Vec<_>, Vec<u64>) = workers
            .into_iter()
            .map(|worker| worker.join().unwrap())
            .unzip();
        let left = team.iter_mut().flat_map(|process| {
            std::iter::from_fn(|| process.consume())
                .map(|item| *item)
                .collect::<Vec<_>>()
        });
        left.sum::<u64>() + sums.iter().sum::<u64>()
    });
    assert_eq!(sum, PROCESSES as u64 * each * (each + 1) / 2);
}
