//! Methods that do the same as a free function or another type's method.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use locksley::Pool;

use crate::everywhere;

#[test]
fn joins_of_a_pool() {
    everywhere(|pool| {
        assert_eq!(pool.join(|| 1, || 2), (1, 2));
        let migrated = pool.join_context(|c| c.migrated(), |c| c.migrated());
        assert_eq!(migrated, (true, true), "both come from outside");
        let stayed = pool.run(|worker| worker.join_context(|c| c.migrated(), |_| ()).0);
        assert!(!stayed);
    });
}

#[test]
fn flows_of_a_pool() {
    everywhere(|pool| {
        let mut copy = [0; 3];
        pool.flow(|f| {
            let (original, copy) = (f.value([4, 5, 6]), f.object(&mut copy[..]));
            let (token, written) = (f.token(), f.value(1));
            f.fork((original.read(), copy.write()), |(from, mut to)| {
                to.copy_from_slice(from)
            });
            f.fork((copy.read(), written.update()), move |_| token.cancel());
            f.fork(written.update(), |_| unreachable!("the flow is cancelled"));
        });
        assert_eq!(copy, [4, 5, 6]);
    });
}

#[test]
fn keys_name_workers_of_the_pool() {
    everywhere(|pool| {
        let worker = pool.worker_for_key("tile 7");
        assert!(worker < pool.workers());
        assert_eq!(pool.install(|| locksley::worker_for_key("tile 7")), worker);
    });
}

#[test]
fn a_scope_in_order_is_cancelled_like_any_other() {
    everywhere(|pool| {
        pool.scope_fifo(|s| {
            let token = s.token();
            assert!(!s.is_cancelled());
            s.cancel();
            assert!(s.is_cancelled() && token.is_cancelled());
            s.spawn_fifo(|_| unreachable!("it is not started any more"));
        });
    });
}

#[test]
fn a_scope_in_order_reaches_every_worker() {
    everywhere(|pool| {
        let runs = AtomicUsize::new(0);
        pool.scope_fifo(|s| {
            s.spawn_broadcast(|_, context| {
                runs.fetch_add(1 + context.index(), Ordering::Relaxed);
            });
        });
        assert_eq!(runs.into_inner(), (1..=pool.workers()).sum::<usize>());
    });
}

#[test]
fn a_thread_builder_knows_what_the_pool_was_told() {
    let seen = Mutex::new(Vec::new());
    let built = Pool::builder()
        .workers(2)
        .thread_name(|index| format!("solver-{index}"))
        .stack_size(1 << 20)
        .build_with(|thread| {
            let told = (thread.index(), thread.name(), thread.stack_size());
            seen.lock().expect("no test panics with it").push(told);
            thread.spawn()
        });
    drop(built.expect("the pool starts"));
    let mut seen = seen.into_inner().expect("no test panics with it");
    seen.sort();
    let wanted = [0, 1].map(|index| (index, format!("solver-{index}"), Some(1 << 20)));
    assert_eq!(seen, wanted);
}

#[test]
fn a_pool_without_options_has_workers() {
    let pool = Pool::new().expect("the pool starts");
    assert!(pool.workers() >= 1 && pool.loads().len() >= pool.workers());
}

#[cfg(feature = "stats")]
#[test]
fn an_observer_has_what_the_pool_left() {
    let builder = Pool::builder().workers(1).trace(1000).record(true);
    let pool = builder.build().expect("the pool starts");
    let observer = pool.observer();
    pool.join(|| 1, || 2);
    pool.shutdown();
    assert!(!observer.take_trace().is_empty());
    let recording = observer.take_recording().expect("the join was recorded");
    assert_eq!(recording.forks(), 1);
}
