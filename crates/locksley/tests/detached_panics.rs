//! Panics of tasks that no caller waits for, each in a process of its own.
#![cfg(not(loom))]

mod support;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Output;
use std::sync::mpsc;

use locksley::Pool;

/// Environment variable that is set in the child process.
const CHILD: &str = "LOCKSLEY_DETACHED_PANICS_CHILD";

/// Runs `program` in a child process, and returns its output; returns `None` in the child.
fn child(name: &str, program: impl FnOnce()) -> Option<Output> {
    if std::env::var_os(CHILD).is_some() {
        program();
        return None;
    }
    let output = support::run_again(name).env(CHILD, "1").output();
    Some(output.expect("the test can be started again"))
}

fn aborts(name: &str, program: impl FnOnce()) {
    if let Some(output) = child(name, program) {
        let printed = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "it went on: {printed}");
        assert!(
            printed.contains("no caller waits for panicked: out of luck"),
            "{printed}"
        );
    }
}

fn pool() -> Pool {
    Pool::builder().workers(2).build().unwrap()
}

#[test]
fn a_detached_task_aborts() {
    aborts("a_detached_task_aborts", || {
        pool().spawn_detached(|| panic!("out of luck"));
    });
}

#[test]
fn a_detached_task_in_order_aborts() {
    aborts("a_detached_task_in_order_aborts", || {
        let pool = pool();
        pool.install(|| locksley::spawn_fifo_detached(|| panic!("out of luck")));
    });
}

#[test]
fn a_task_whose_handle_was_dropped_aborts() {
    aborts("a_task_whose_handle_was_dropped_aborts", || {
        drop(pool().spawn(|| panic!("out of luck")));
    });
}

#[test]
fn a_handle_that_is_dropped_with_a_panic_in_it_aborts() {
    aborts("a_handle_that_is_dropped_with_a_panic_in_it_aborts", || {
        let pool = pool();
        let handle = pool.spawn(|| panic!("out of luck"));
        while !handle.is_finished() {
            std::thread::yield_now();
        }
        drop(handle);
    });
}

#[test]
fn a_spawned_broadcast_aborts() {
    aborts("a_spawned_broadcast_aborts", || {
        pool().spawn_broadcast(|_| panic!("out of luck"));
    });
}

/// Of several tasks that panic, one panic reaches the caller. The other handles are dropped while
/// it unwinds, and the panics of their tasks do not abort the process.
#[test]
fn handles_that_a_panic_drops_are_silent() {
    let name = "handles_that_a_panic_drops_are_silent";
    let output = child(name, || {
        let pool = pool();
        let handles: Vec<_> = (0..100)
            .map(|_| pool.spawn(|| panic!("out of luck")))
            .collect();
        let joined = catch_unwind(AssertUnwindSafe(|| {
            for handle in handles {
                let () = handle.join();
            }
        }));
        assert!(joined.is_err());
    });
    if let Some(output) = output {
        let printed = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{printed}");
    }
}

#[test]
fn a_handler_gets_the_payload_instead() {
    let (sender, payloads) = mpsc::channel();
    let builder = Pool::builder().workers(1).panic_handler(move |payload| {
        let text = payload.downcast_ref::<&str>().copied();
        sender.send(text).unwrap();
    });
    let pool = builder.build().unwrap();
    pool.spawn_detached(|| panic!("out of luck"));
    assert_eq!(payloads.recv(), Ok(Some("out of luck")));
    drop(pool.spawn(|| panic!("again")));
    assert_eq!(payloads.recv(), Ok(Some("again")));
}

#[test]
fn a_handle_can_be_joined_without_a_panic() {
    let pool = pool();
    let joined: std::thread::Result<()> = pool.spawn(|| panic!("out of luck")).try_join();
    let payload = joined.unwrap_err();
    assert_eq!(payload.downcast_ref(), Some(&"out of luck"));
    let inside: std::thread::Result<()> =
        pool.install(|| locksley::spawn(|| panic!("inside")).try_join());
    let payload = inside.unwrap_err();
    assert_eq!(payload.downcast_ref(), Some(&"inside"));
    assert_eq!(pool.spawn(|| 7).try_join().unwrap(), 7);
}
