//! Pinning of workers to CPUs, and victims by distance.
#![cfg(all(target_os = "linux", not(loom)))]

mod support;

use std::sync::Mutex;

use locksley::policy::{Theta, Victims};
use locksley::{BuildError, Pinning, Pool, Strategy, available_cpus};

use support::fib;

/// Returns the CPUs that the calling thread may run on, in the kernel's notation.
fn mask_of_this_thread() -> String {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    line.unwrap().trim().to_owned()
}

fn masks(pinning: Pinning, workers: usize) -> Vec<String> {
    static MASKS: Mutex<Vec<(usize, String)>> = Mutex::new(Vec::new());
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _turn = ONE_AT_A_TIME.lock().unwrap();
    let pool = Pool::builder()
        .workers(workers)
        .pinning(pinning)
        .start_handler(|index| MASKS.lock().unwrap().push((index, mask_of_this_thread())))
        .build()
        .unwrap();
    assert_eq!(pool.install(|| fib(15)), 610);
    pool.shutdown();
    let mut masks = std::mem::take(&mut *MASKS.lock().unwrap());
    masks.sort();
    masks.truncate(workers);
    masks.into_iter().map(|(_, mask)| mask).collect()
}

#[test]
fn workers_are_where_they_are_pinned_to() {
    let available = available_cpus();
    let cpus = available.affinity().unwrap();
    let last = *cpus.last().unwrap();
    assert_eq!(
        masks(Pinning::List(vec![last, cpus[0]]), 3),
        [last, cpus[0], last].map(|cpu| cpu.to_string())
    );
    for pinning in [Pinning::Compact, Pinning::Spread] {
        let mut masks = masks(pinning.clone(), cpus.len());
        let mut all: Vec<String> = cpus.iter().map(usize::to_string).collect();
        masks.sort();
        all.sort();
        assert_eq!(masks, all, "{pinning}: one each");
    }
    let free = mask_of_this_thread();
    assert_eq!(masks(Pinning::None, 2), [free.clone(), free]);
}

#[test]
fn a_cpu_that_may_not_be_used_is_an_error_that_says_which_may() {
    let error = Pool::builder()
        .workers(2)
        .pinning(Pinning::List(vec![0, 4000]))
        .build()
        .unwrap_err();
    let BuildError::Pinning { cpu, allowed } = &error else {
        panic!("{error}");
    };
    assert_eq!(*cpu, Some(4000));
    assert_eq!(Some(&allowed[..]), available_cpus().affinity());
    let text = error.to_string();
    assert!(text.contains("CPU 4000"), "{text}");
    assert!(text.contains(&mask_of_this_thread()), "{text}");
}

#[test]
fn every_choice_of_victims_works() {
    let always = Theta::new(0.99).unwrap();
    let mut all = Victims::ALL.to_vec();
    all.extend(Victims::ALL.map(|victims| victims.with_theta(always)));
    for victims in all {
        for pinning in [Pinning::None, Pinning::Compact] {
            for strategy in Strategy::ALL {
                let pool = Pool::builder()
                    .workers(5)
                    .victims(victims)
                    .pinning(pinning.clone())
                    .strategy(strategy)
                    .build()
                    .unwrap();
                assert_eq!(pool.install(|| fib(18)), 2584);
            }
        }
    }
}
