use std::error::Error;
use std::process::Output;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use locksley::{BuildError, Idle, Pool};

use crate::support::run_again;

/// Runs one of the ignored tests below in a process of its own.
fn child(test: &str, environment: &[(&str, &str)]) -> Output {
    let mut command = run_again(&format!("builder::{test}"));
    command
        .args(["--ignored", "--test-threads=1"])
        .env_remove("LOCKSLEY_NUM_THREADS")
        .envs(environment.iter().copied());
    let output = command.output().unwrap();
    assert!(
        String::from_utf8_lossy(&output.stdout).contains("1 passed"),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

/// Returns the text that a child printed after `answer: `.
fn answer(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stdout);
    let (_, rest) = text.split_once("answer: ").expect("the child answers");
    rest.lines().next().unwrap().to_owned()
}

#[test]
fn the_environment_sets_the_size() {
    let size = |value| answer(&child("child_size", &[("LOCKSLEY_NUM_THREADS", value)]));
    assert_eq!(size("3"), "3 3");
    assert_eq!(size(" 5 "), "5 5");
    let default = answer(&child("child_size", &[]));
    assert_eq!(size("0"), default, "zero leaves it to the machine");
}

#[test]
#[ignore = "a child process of `the_environment_sets_the_size`"]
fn child_size() {
    let pool = Pool::builder().build().unwrap();
    println!(
        "answer: {} {}",
        pool.workers(),
        locksley::current_num_workers()
    );
}

#[test]
fn a_number_in_the_builder_wins_over_the_environment() {
    child("child_wins", &[("LOCKSLEY_NUM_THREADS", "3")]);
}

#[test]
#[ignore = "a child process of `a_number_in_the_builder_wins_over_the_environment`"]
fn child_wins() {
    assert_eq!(Pool::builder().workers(2).build().unwrap().workers(), 2);
}

#[test]
fn a_bad_environment_is_an_error_and_leaves_the_global_pool_one_worker() {
    for bad in ["many", "-1", "1000000"] {
        let output = child("child_bad", &[("LOCKSLEY_NUM_THREADS", bad)]);
        let text = answer(&output);
        assert!(text.contains(bad), "{text}");
        let warning = String::from_utf8_lossy(&output.stderr);
        assert!(
            warning.contains("the global pool has one worker"),
            "{warning}"
        );
    }
}

#[test]
#[ignore = "a child process of the test above"]
fn child_bad() {
    let error = Pool::builder().build().unwrap_err();
    assert!(matches!(
        error,
        BuildError::Environment { .. } | BuildError::Workers { .. }
    ));
    println!("answer: {error}");
    assert_eq!(locksley::current_num_workers(), 1);
    assert_eq!(locksley::join(|| 1, || 2), (1, 2));
}

#[test]
fn the_global_pool_can_be_configured_once() {
    child("child_global", &[]);
}

#[test]
#[ignore = "a child process of `the_global_pool_can_be_configured_once`"]
fn child_global() {
    let configured = || {
        Pool::builder()
            .workers(3)
            .thread_name(|index| format!("global {index}"))
            .build_global()
    };
    configured().unwrap();
    assert_eq!(locksley::current_num_workers(), 3);
    let names = locksley::broadcast(|_| std::thread::current().name().map(str::to_owned));
    assert_eq!(names[2].as_deref(), Some("global 2"));
    assert!(matches!(configured(), Err(BuildError::GlobalExists)));
}

#[test]
fn the_global_pool_cannot_be_configured_after_use() {
    child("child_late", &[]);
}

#[test]
#[ignore = "a child process of `the_global_pool_cannot_be_configured_after_use`"]
fn child_late() {
    locksley::join(|| (), || ());
    let error = Pool::builder().build_global().unwrap_err();
    assert!(matches!(error, BuildError::GlobalExists));
    assert!(error.to_string().contains("before anything uses it"));
}

#[cfg(target_os = "linux")]
fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").unwrap().count()
}

/// Waits until `expected` threads are left: a joined thread may stay visible for a moment.
#[cfg(target_os = "linux")]
fn come_down_to(expected: usize) {
    for _ in 0..1000 {
        if threads() == expected {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    panic!("{} threads are left, not {expected}", threads());
}

#[cfg(target_os = "linux")]
#[test]
fn a_refused_thread_is_an_error_and_leaves_none_behind() {
    child("child_refused", &[]);
}

#[cfg(target_os = "linux")]
#[test]
#[ignore = "a child process of `a_refused_thread_is_an_error_and_leaves_none_behind`"]
fn child_refused() {
    const STACK: usize = 256 << 20;
    let before = threads();
    // More than the largest gap in an address space, of 32 bits too.
    let stack = usize::MAX - (64 << 20);
    let absurd = Pool::builder().workers(2).stack_size(stack).build();
    let error = absurd.unwrap_err();
    assert!(
        matches!(error, BuildError::Thread { started: 0, .. }),
        "{error}"
    );
    assert!(error.source().is_some());
    assert!(error.to_string().contains("smaller stacks"), "{error}");
    come_down_to(before);

    // There is room for two or three stacks, so starting the pool fails half-way.
    let pages: usize = std::fs::read_to_string("/proc/self/statm")
        .unwrap()
        .split(' ')
        .next()
        .unwrap()
        .parse()
        .unwrap();
    let room = (pages * 4096 + 3 * STACK + STACK / 2) as libc::rlim_t;
    let limit = libc::rlimit {
        rlim_cur: room,
        rlim_max: room,
    };
    // SAFETY: the call reads the structure, and limits this process.
    let answer = unsafe { libc::setrlimit(libc::RLIMIT_AS, &raw const limit) };
    assert_eq!(answer, 0);
    let (started, ended) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (at_start, at_end) = (started.clone(), ended.clone());
    let half_way = Pool::builder()
        .workers(8)
        .stack_size(STACK)
        .start_handler(move |_| {
            at_start.fetch_add(1, Ordering::Relaxed);
        })
        .exit_handler(move |_| {
            at_end.fetch_add(1, Ordering::Relaxed);
        })
        .build();
    let error = half_way.unwrap_err();
    assert!(
        matches!(error, BuildError::Thread { started: 1..8, .. }),
        "{error:?}"
    );
    come_down_to(before);
    let started = started.load(Ordering::Relaxed);
    assert_eq!(
        started,
        ended.load(Ordering::Relaxed),
        "all have ended in order"
    );
    assert!(started > 0);
    let pool = Pool::builder().workers(2).stack_size(1 << 20).build();
    assert_eq!(pool.unwrap().install(|| 7), 7, "a smaller one can be had");
    come_down_to(before);
}

#[test]
fn names_and_indices() {
    let pool = Pool::builder()
        .workers(3)
        .thread_name(|index| format!("archer {index}"))
        .build()
        .unwrap();
    let names = pool.broadcast(|context| {
        assert_eq!(pool.current_worker_index(), Some(context.index()));
        std::thread::current().name().map(str::to_owned).unwrap()
    });
    assert_eq!(names, ["archer 0", "archer 1", "archer 2"]);
    assert_eq!(pool.current_worker_index(), None);
    let default = Pool::builder().workers(1).build().unwrap();
    let name = default.install(|| std::thread::current().name().map(str::to_owned));
    assert_eq!(name.as_deref(), Some("locksley-0"));
    assert_eq!(default.install(|| pool.current_worker_index()), None);
}

#[test]
#[cfg_attr(panic = "abort", ignore = "it unwinds")]
fn handlers_get_the_index_and_may_panic() {
    let (starts, ends) = (Arc::new(Mutex::new(vec![])), Arc::new(Mutex::new(vec![])));
    let panics = Arc::new(AtomicUsize::new(0));
    let (at_start, at_end, at_panic) = (starts.clone(), ends.clone(), panics.clone());
    let pool = Pool::builder()
        .workers(3)
        .start_handler(move |index| {
            at_start.lock().unwrap().push(index);
            assert_eq!(locksley::current_worker_index(), Some(index));
            assert!(index != 1, "at the start");
        })
        .exit_handler(move |index| {
            at_end.lock().unwrap().push(index);
            assert!(index != 2, "at the end");
        })
        .panic_handler(move |payload| {
            assert!(payload.is::<&str>());
            at_panic.fetch_add(1, Ordering::Relaxed);
            panic!("even the handler itself");
        })
        .build()
        .unwrap();
    assert_eq!(pool.broadcast(|context| context.index()), [0, 1, 2]);
    pool.shutdown();
    for indices in [starts, ends] {
        let mut indices = std::mem::take(&mut *indices.lock().unwrap());
        indices.sort_unstable();
        assert_eq!(indices, [0, 1, 2]);
    }
    assert_eq!(panics.load(Ordering::Relaxed), 2);
}

#[test]
fn the_stack_is_as_large_as_asked() {
    fn deep(levels: usize) -> usize {
        let frame = std::hint::black_box([levels as u8; 4096]);
        if levels == 0 {
            return 0;
        }
        deep(levels - 1) + usize::from(std::hint::black_box(frame)[0] == levels as u8)
    }
    let pool = Pool::builder()
        .workers(1)
        .stack_size(64 << 20)
        .build()
        .unwrap();
    assert_eq!(pool.install(|| deep(1000)), 1000);
}

#[test]
fn pending_tasks_of_a_worker() {
    crate::everywhere(|pool| {
        assert_eq!(pool.current_worker_has_pending_tasks(), None);
        pool.install(|| assert!(pool.current_worker_has_pending_tasks().is_some()));
        assert!(pool.workers() <= locksley::max_num_workers());
    });
}

#[test]
fn a_pool_that_sleeps_at_once_and_one_that_never_does() {
    for idle in [
        Idle {
            spins: 0,
            yields: 0,
        },
        Idle {
            spins: 1000,
            yields: 1000,
        },
    ] {
        let pool = Pool::builder().workers(3).idle(idle).build().unwrap();
        for round in 0..200 {
            assert_eq!(
                pool.join(|| round, || pool.broadcast(|_| 1).len()),
                (round, 3)
            );
        }
    }
}
