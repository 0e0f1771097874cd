//! The battery: tests that every strategy must pass, run under each of them.
#![cfg(not(loom))]

mod broadcasts;
mod builder;
mod cancelling;
mod combinations;
mod fifo;
mod flow_corners;
mod flow_graphs;
mod flow_programs;
mod flows;
mod forks;
mod forms;
mod futures;
mod lifecycle;
mod panics;
mod random_graphs;
mod scopes;
#[path = "../support/mod.rs"]
mod support;
mod threads;
mod waiting;
mod yields;

use locksley::{Pool, Strategy};

/// Every strategy, and some more variants of those that have policies.
fn strategies() -> Vec<Strategy> {
    let more = [
        "flexible:skip",
        "flexible:sticky,theta_r=0.9",
        "flexible:longest,probes=3",
        "steal-half:probabilistic",
        "steal-half:factor,amount=half",
        "steal-half:probabilistic,amount=one",
        "sharing:greedy",
        "sharing:continuous-tit-for-tat,theta_s=0.25,theta_r=0.25,target=spread-back",
        "sharing:continuous-abort-for-tat",
        "dealing:locality,l=3",
        "dealing:adaptive,batch=2",
    ];
    let more = more.map(|text| text.parse().expect("a strategy"));
    Strategy::ALL.into_iter().chain(more).collect()
}

/// Runs a test under every strategy, with one worker, two, and more than there are cores.
fn everywhere(test: impl Fn(&Pool)) {
    let _limit = support::limit();
    for strategy in strategies() {
        for workers in [1, 2, 5] {
            let pool = Pool::builder()
                .workers(workers)
                .strategy(strategy)
                .stack_size(64 << 20)
                .build();
            test(&pool.expect("the pool starts"));
        }
    }
}
