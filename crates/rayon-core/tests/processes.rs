//! What shows only from outside of the process: the environment, aborts, what is printed at exit.

use std::process::{Command, Output};

/// Runs one of the tests below that are marked `ignore` in a process of its own.
fn child(test: &str, environment: &[(&str, &str)]) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([
        "--exact",
        "--ignored",
        "--nocapture",
        "--test-threads=1",
        test,
    ]);
    for name in [
        "RAYON_NUM_THREADS",
        "RAYON_RS_NUM_CPUS",
        "LOCKSLEY_STRATEGY",
        "LOCKSLEY_STATS",
    ] {
        command.env_remove(name);
    }
    command.envs(environment.iter().copied());
    command.output().unwrap()
}

/// What a child printed behind `answer: `.
fn answer(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stdout);
    let (_, rest) = text.split_once("answer: ").expect("the child answers");
    rest.lines().next().unwrap().to_owned()
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn the_environment_sets_the_number_of_threads() {
    let threads = |environment: &[_]| answer(&child("child_threads", environment));
    let default = threads(&[]);
    assert_eq!(threads(&[("RAYON_NUM_THREADS", "3")]), "3 3");
    assert_eq!(threads(&[("RAYON_RS_NUM_CPUS", "3")]), "3 3");
    let both = [("RAYON_NUM_THREADS", "5"), ("RAYON_RS_NUM_CPUS", "3")];
    assert_eq!(threads(&both), "5 5");
    assert_eq!(threads(&[("RAYON_NUM_THREADS", "0")]), default);
    assert_eq!(threads(&[("RAYON_NUM_THREADS", "many")]), default);
    // Zero asks for the default, whatever the older variable says.
    let zero = [("RAYON_NUM_THREADS", "0"), ("RAYON_RS_NUM_CPUS", "3")];
    assert_eq!(threads(&zero), default);
}

#[test]
#[ignore = "a child process of `the_environment_sets_the_number_of_threads`"]
fn child_threads() {
    let pool = rayon_core::ThreadPoolBuilder::new().build().unwrap();
    println!(
        "answer: {} {}",
        pool.current_num_threads(),
        rayon_core::current_num_threads()
    );
}

#[test]
fn the_environment_selects_the_strategy() {
    for strategy in locksley::Strategy::ALL {
        let name = strategy.to_string();
        let output = child("child_strategy", &[("LOCKSLEY_STRATEGY", &name)]);
        let wanted = format!("strategy: {strategy:?}");
        assert!(answer(&output).contains(&wanted), "{}", answer(&output));
        assert!(!errors(&output).contains("locksley"), "{}", errors(&output));
    }
}

#[test]
fn a_strategy_that_there_is_not_is_reported_once_with_those_that_there_are() {
    let output = child("child_strategy", &[("LOCKSLEY_STRATEGY", "robbery")]);
    assert!(output.status.success());
    let errors = errors(&output);
    assert_eq!(errors.matches("LOCKSLEY_STRATEGY").count(), 1, "{errors}");
    assert!(
        errors.contains("robbery") && errors.contains("chase-lev"),
        "{errors}"
    );
}

#[test]
#[ignore = "a child process of `the_environment_selects_the_strategy`"]
fn child_strategy() {
    let pool = rayon_core::ThreadPoolBuilder::new().num_threads(2).build();
    assert_eq!(rayon_core::join(|| 1, || 2), (1, 2));
    println!("answer: {pool:?}");
}

#[test]
fn statistics_are_printed_at_exit_if_asked_for() {
    let output = child("child_stats", &[("LOCKSLEY_STATS", "1")]);
    assert!(output.status.success());
    let errors = errors(&output);
    // Two pools, of which one has ended long ago, with a line for each worker.
    assert_eq!(errors.matches("locksley: pool").count(), 2, "{errors}");
    assert_eq!(errors.matches("tasks").count(), 2, "{errors}");
    assert_eq!(errors.matches("total").count(), 2, "{errors}");
    for environment in [&[][..], &[("LOCKSLEY_STATS", "0")]] {
        let output = child("child_stats", environment);
        assert!(!self::errors(&output).contains("locksley"));
    }
}

#[test]
#[ignore = "a child process of `statistics_are_printed_at_exit_if_asked_for`"]
fn child_stats() {
    let pool = rayon_core::ThreadPoolBuilder::new().num_threads(3).build();
    assert_eq!(pool.unwrap().install(|| 1), 1);
    assert_eq!(rayon_core::join(|| 1, || 2), (1, 2));
}

/// Did the process abort, having said why?
fn aborts(test: &str, why: &str) {
    let output = child(test, &[]);
    assert!(!output.status.success());
    assert!(errors(&output).contains(why), "{}", errors(&output));
    #[cfg(unix)]
    {
        use std::os::unix::process::ExitStatusExt;
        assert!(output.status.signal().is_some(), "{:?}", output.status);
    }
}

#[test]
fn a_panic_that_nobody_handles_aborts() {
    aborts("child_spawn_panics", "the pool has no panic handler");
    aborts("child_broadcast_panics", "the pool has no panic handler");
    aborts("child_start_panics", "the pool has no panic handler");
    aborts("child_handler_panics", "the panic handler panicked");
}

/// Longer than an abort takes.
fn wait() {
    std::thread::sleep(std::time::Duration::from_secs(20));
}

#[test]
#[ignore = "a child process of `a_panic_that_nobody_handles_aborts`"]
fn child_spawn_panics() {
    rayon_core::spawn(|| panic!("lost"));
    wait();
}

#[test]
#[ignore = "a child process of `a_panic_that_nobody_handles_aborts`"]
fn child_broadcast_panics() {
    rayon_core::spawn_broadcast(|_| panic!("lost"));
    wait();
}

#[test]
#[ignore = "a child process of `a_panic_that_nobody_handles_aborts`"]
fn child_start_panics() {
    let builder = rayon_core::ThreadPoolBuilder::new().start_handler(|_| panic!("lost"));
    let _pool = builder.build();
    wait();
}

#[test]
#[ignore = "a child process of `a_panic_that_nobody_handles_aborts`"]
fn child_handler_panics() {
    let builder = rayon_core::ThreadPoolBuilder::new();
    let builder = builder.panic_handler(|_| panic!("lost too"));
    builder.build().unwrap().spawn(|| panic!("lost"));
    wait();
}

#[test]
fn the_thread_that_builds_the_global_pool_can_be_part_of_it() {
    let output = child("child_current_thread", &[]);
    assert!(output.status.success(), "{}", errors(&output));
    assert_eq!(answer(&output), "Some(0) 1 [0] done");
}

#[test]
#[ignore = "a child process of `the_thread_that_builds_the_global_pool_can_be_part_of_it`"]
fn child_current_thread() {
    let builder = rayon_core::ThreadPoolBuilder::new().num_threads(1);
    builder.use_current_thread().build_global().unwrap();
    let (sender, receiver) = std::sync::mpsc::channel();
    rayon_core::spawn(move || sender.send("done").unwrap());
    let indices = rayon_core::broadcast(|context| context.index());
    while rayon_core::yield_now() == Some(rayon_core::Yield::Executed) {}
    println!(
        "answer: {:?} {} {indices:?} {}",
        rayon_core::current_thread_index(),
        rayon_core::current_num_threads(),
        receiver.try_recv().unwrap()
    );
}
