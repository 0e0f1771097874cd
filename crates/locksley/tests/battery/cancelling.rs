use std::sync::atomic::{AtomicUsize, Ordering};

use locksley::CancelToken;

use crate::everywhere;

#[test]
fn a_task_stops_when_its_token_is_cancelled() {
    everywhere(|pool| {
        let all = CancelToken::new();
        let tasks: Vec<_> = (0..pool.workers())
            .map(|_| {
                let token = all.child();
                pool.spawn(move || {
                    let mut rounds = 0_u64;
                    while !token.is_cancelled() {
                        rounds += 1;
                        std::thread::yield_now();
                    }
                    rounds
                })
            })
            .collect();
        all.cancel();
        let rounds: Vec<u64> = tasks.into_iter().map(|task| task.join()).collect();
        assert_eq!(rounds.len(), pool.workers());
    });
}

#[test]
fn the_token_of_a_scope_is_the_scope() {
    everywhere(|pool| {
        let runs = AtomicUsize::new(0);
        let token = pool.scope(|s| {
            let token = s.token();
            assert!(!s.is_cancelled() && !token.is_cancelled());
            let child = token.child();
            token.cancel();
            assert!(s.is_cancelled() && child.is_cancelled());
            s.spawn(|_| {
                runs.fetch_add(1, Ordering::Relaxed);
            });
            token
        });
        assert!(token.is_cancelled(), "it outlives the scope");
        assert_eq!(runs.into_inner(), 0);
        let token = pool.scope_fifo(|s| {
            s.cancel();
            s.spawn_fifo(|_| unreachable!());
            s.token()
        });
        assert!(token.is_cancelled());
    });
}

/// The first task that finds the value cancels the others.
#[test]
fn a_search_that_ends_early() {
    everywhere(|pool| {
        let found = AtomicUsize::new(usize::MAX);
        pool.scope(|s| {
            for part in 0..100 {
                let found = &found;
                s.spawn(move |s| {
                    if part == 50 {
                        found.store(part, Ordering::Relaxed);
                        s.cancel();
                    }
                });
            }
        });
        assert_eq!(found.into_inner(), 50);
    });
}
