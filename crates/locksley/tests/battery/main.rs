//! What every strategy must do, run under each of them.
#![cfg(not(loom))]

mod broadcasts;
mod builder;
mod cancelling;
mod fifo;
mod forks;
mod futures;
mod lifecycle;
mod panics;
mod random_graphs;
mod scopes;
mod threads;
mod waiting;
mod yields;

use locksley::{Pool, Strategy};

/// Runs a test under every strategy, with one worker, two, and more than there are cores.
fn everywhere(test: impl Fn(&Pool)) {
    for strategy in Strategy::ALL {
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
