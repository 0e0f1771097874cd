//! The theorems of the paper on work dealing, about its buffers and the recycling scheme RS.

#![cfg(not(loom))]

#[path = "battery/rng.rs"]
mod rng;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use locksley_queue::counts::{self, Counts};
use locksley_queue::pcb::{self, Process};
use locksley_queue::{Consumer, Producer};
use rng::Rng;

/// Returns the bound of Theorem 2, with the dummies, if at most `live` items hold a value.
fn bound(n: usize, g: usize, live: usize) -> usize {
    live + (2 * n + 1) * g + n * n
}

#[test]
fn memory_under_random_dealing() {
    let mut random = Rng::new(0x5eed);
    for n in [1, 2, 3, 5, 9] {
        for g in [1, 2, 7, 64] {
            let mut team: Vec<Process<usize>> = pcb::matrix(n, g);
            let (mut live, mut most) = (0_usize, 0);
            for step in 0..20_000 {
                // The probability changes over time, so that the matrix fills and empties.
                let produce = random.below(100) < 30 + 40 * (step as u64 / 2_000 % 2);
                let process = random.below(n as u64) as usize;
                if produce {
                    team[process]
                        .produce(random.below(n as u64) as usize, step)
                        .unwrap();
                    live += 1;
                } else if team[process].consume().is_some() {
                    live -= 1;
                }
                most = most.max(live);
                assert!(
                    team[0].allocated() <= bound(n, g, most),
                    "n {n}, G {g}, step {step}"
                );
            }
        }
    }
}

/// One process deals to all, and each of them keeps almost a whole list of consumed items; then
/// each produces one item, for which it needs a list. At most n items are ever in use.
#[test]
fn memory_under_the_worst_dealing_is_almost_the_bound() {
    for n in [2, 4, 8] {
        for g in [4, 16, 100] {
            let mut team: Vec<Process<usize>> = pcb::matrix(n, g);
            for target in 0..n {
                for item in 1..g {
                    team[0].produce(target, item).unwrap();
                    assert_eq!(team[target].consume_from(0), Some(item));
                }
            }
            for (id, process) in team.iter_mut().enumerate() {
                process.produce(id, 0).unwrap();
            }
            let allocated = team[0].allocated();
            assert!(
                allocated <= bound(n, g, n),
                "{allocated} items, n {n}, G {g}"
            );
            let least = (2 * n - 1) * (g - 1) + n * n;
            assert!(
                allocated >= least,
                "{allocated} items, n {n}, G {g}: not the worst case"
            );
        }
    }
}

/// One process produces all items and another consumes all: only the pool brings items back.
#[test]
fn memory_of_a_one_way_stream_stays_bounded() {
    let (n, g, live) = (4, 16, 10);
    let mut team: Vec<Process<usize>> = pcb::matrix(n, g);
    for item in 0..100_000 {
        team[1].produce(3, item).unwrap();
        if item >= live - 1 {
            assert_eq!(team[3].consume(), Some(item + 1 - live));
        }
        assert!(team[0].allocated() <= bound(n, g, live));
    }
}

#[test]
fn memory_with_threads() {
    const LIVE: usize = 200;
    let (n, g, items) = (4, 8, 50_000);
    let live = Arc::new(AtomicUsize::new(0));
    let running: Vec<_> = pcb::matrix::<usize>(n, g)
        .into_iter()
        .map(|mut process| {
            let live = live.clone();
            thread::spawn(move || {
                let mut random = Rng::new(process.id() as u64 + 1);
                let mut taken = 0_usize;
                for step in 0..items {
                    if live.fetch_add(1, Ordering::Relaxed) < LIVE {
                        process
                            .produce(random.below(n as u64) as usize, step)
                            .unwrap();
                    } else {
                        live.fetch_sub(1, Ordering::Relaxed);
                    }
                    if random.below(4) > 0 && process.consume().is_some() {
                        live.fetch_sub(1, Ordering::Relaxed);
                        taken += 1;
                    }
                    assert!(process.allocated() <= bound(n, g, LIVE));
                }
                (process, taken)
            })
        })
        .collect();
    let team: Vec<_> = running
        .into_iter()
        .map(|thread| thread.join().unwrap())
        .collect();
    assert!(team.iter().map(|(_, taken)| taken).sum::<usize>() > 0);
}

/// Produce and consume issue no read-modify-write except one for each list of G items that goes to
/// the pool and one for each that comes from it.
#[test]
fn one_read_modify_write_per_list() {
    let (g, lists) = (64, 100);
    let mut process = pcb::matrix(1, g).pop().unwrap();
    for item in 0..2 * g {
        process.produce(0, item).unwrap();
        process.consume().unwrap();
    }
    let before = counts::of_this_thread();
    for item in 0..lists * g {
        process.produce(0, item).unwrap();
        process.consume().unwrap();
    }
    let spent = counts::of_this_thread() - before;
    assert_eq!(
        spent,
        Counts {
            rmws: 2 * lists as u64,
            ..Counts::default()
        }
    );
}

#[test]
fn no_read_modify_write_between_lists() {
    let g = 64;
    let mut process = pcb::matrix(1, g).pop().unwrap();
    process.produce(0, 0).unwrap();
    let before = counts::of_this_thread();
    for item in 1..g - 1 {
        process.produce(0, item).unwrap();
        process.consume().unwrap();
    }
    assert_eq!(counts::of_this_thread() - before, Counts::default());
}

#[test]
fn a_channel_in_use_has_no_read_modify_write_and_does_not_grow() {
    let (mut producer, mut consumer) = pcb::channel();
    for item in 0..1_000 {
        producer.produce(item).unwrap();
    }
    let allocated = producer.allocated();
    assert!(allocated <= 1_001 + pcb::GRANULARITY);
    let before = counts::of_this_thread();
    for item in 0..100_000 {
        assert_eq!(consumer.consume(), Some(item));
        producer.produce(item + 1_000).unwrap();
    }
    assert_eq!(counts::of_this_thread() - before, Counts::default());
    assert_eq!(producer.allocated(), allocated);
}

/// The item at the front of a buffer waits for at most n items of each other buffer, however full
/// those are.
#[test]
fn consume_is_fair() {
    let n = 5;
    let mut team = pcb::matrix(n, 16);
    for process in &mut team[1..] {
        for _ in 0..1_000 {
            process.produce(0, 0_u8).unwrap();
        }
    }
    for _ in 0..100 {
        team[0].produce(0, 1).unwrap();
        let waited = (0..).take_while(|_| team[0].consume() == Some(0)).count();
        assert!(waited <= n * (n - 1), "waited for {waited} items");
    }
}
