//! Behaviour that needs a process of its own: the environment, aborts, outputs at exit.

use std::process::{Command, Output};

/// Runs one of the tests below that are marked `ignore` in a process of its own.
fn child(test: &str, environment: &[(&str, &str)]) -> Output {
    command(test, environment).output().unwrap()
}

fn command(test: &str, environment: &[(&str, &str)]) -> Command {
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
        "LOCKSLEY_WAITING",
        "LOCKSLEY_REPRODUCIBLE",
        "LOCKSLEY_TRACE",
        "LOCKSLEY_PROFILE",
        "LOCKSLEY_RECORD",
        "MAKEFLAGS",
        "CARGO_MAKEFLAGS",
    ] {
        command.env_remove(name);
    }
    command.envs(environment.iter().copied());
    command
}

/// Returns what a child printed after `answer: `.
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
        let wanted = format!("strategy: {strategy}");
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
fn a_waiter_runs_only_what_it_waits_for_if_asked_to() {
    let strangers = |environment: &[_]| answer(&child("child_waiting", environment));
    assert_eq!(strangers(&[("LOCKSLEY_WAITING", "own")]), "false");
    assert_eq!(strangers(&[("LOCKSLEY_WAITING", "any")]), "true");
    assert_eq!(strangers(&[]), "true");
    let output = child("child_waiting", &[("LOCKSLEY_WAITING", "patiently")]);
    assert_eq!(answer(&output), "true");
    let errors = errors(&output);
    assert_eq!(errors.matches("LOCKSLEY_WAITING").count(), 1, "{errors}");
    assert!(
        errors.contains("patiently") && errors.contains("own"),
        "{errors}"
    );
}

/// Lets the only thread of a pool wait for another pool while its own has a task, and prints
/// whether the task ran on top of the wait.
#[test]
#[ignore = "a child process of `a_waiter_runs_only_what_it_waits_for_if_asked_to`"]
fn child_waiting() {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Arc, mpsc};

    let pool = |threads| {
        let builder = rayon_core::ThreadPoolBuilder::new().num_threads(threads);
        builder.build().unwrap()
    };
    let (here, there) = (pool(1), pool(1));
    let ran = Arc::new(AtomicBool::new(false));
    let (sender, receiver) = mpsc::channel();
    let on_top = here.install(|| {
        let ran_too = ran.clone();
        rayon_core::spawn(move || {
            ran_too.store(true, Ordering::SeqCst);
            let _ = sender.send(());
        });
        // Waits until the task has run; under `own`, long enough that it would have run otherwise.
        let own = std::env::var("LOCKSLEY_WAITING").as_deref() == Ok("own");
        let limit = std::time::Duration::from_millis(if own { 300 } else { 60_000 });
        there.install(move || {
            let _ = receiver.recv_timeout(limit);
        });
        ran.load(Ordering::SeqCst)
    });
    println!("answer: {on_top}");
}

#[test]
fn sums_are_reproducible_if_asked_for() {
    let sums = |threads, environment: &[_]| {
        let threads = [("RAYON_NUM_THREADS", threads)];
        let environment = [&threads, environment].concat();
        answer(&child("child_sums", &environment))
    };
    // The sum has the same bits with any number of threads, and no index is too large.
    let wanted = sums("1", &[("LOCKSLEY_REPRODUCIBLE", "16")]);
    for threads in ["2", "3", "7", "16", "40"] {
        assert_eq!(sums(threads, &[("LOCKSLEY_REPRODUCIBLE", "16")]), wanted);
    }
    assert_ne!(sums("1", &[("LOCKSLEY_REPRODUCIBLE", "64")]), wanted);
    assert_ne!(sums("1", &[]), wanted);
    let output = child("child_sums", &[("LOCKSLEY_REPRODUCIBLE", "often")]);
    let errors = errors(&output);
    assert_eq!(errors.matches("REPRODUCIBLE").count(), 1, "{errors}");
}

/// Computes a sum that is split as rayon's iterators do it.
fn sum(numbers: &[f64], mut splits: usize, migrated: bool) -> f64 {
    if migrated {
        splits = rayon_core::current_num_threads().max(splits / 2);
    } else if splits == 0 || numbers.len() < 2 {
        return numbers.iter().sum();
    } else {
        splits /= 2;
    }
    let (left, right) = numbers.split_at(numbers.len() / 2);
    let (a, b) = rayon_core::join_context(
        |context| sum(left, splits, context.migrated()),
        |context| sum(right, splits, context.migrated()),
    );
    a + b
}

#[test]
#[ignore = "a child process of `sums_are_reproducible_if_asked_for`"]
fn child_sums() {
    let number =
        |i: u32| f64::from(i).sin() * 2_f64.powi(i.wrapping_mul(2_654_435_761) as i32 >> 26);
    let numbers: Vec<f64> = (0..100_000).map(number).collect();
    let split = || sum(&numbers, rayon_core::current_num_threads(), false);
    let first = split();
    for _ in 0..20 {
        if std::env::var_os("LOCKSLEY_REPRODUCIBLE").is_some_and(|value| value == "16") {
            assert_eq!(split().to_bits(), first.to_bits());
        }
    }
    let indices = rayon_core::broadcast(|context| context.index());
    assert!(indices.len() <= rayon_core::current_num_threads());
    println!("answer: {:x}", first.to_bits());
}

/// Under make, the pool runs one task more at a time than there are bytes in make's pipe. It
/// finishes with any number of bytes, and returns all of them.
#[test]
#[cfg(target_os = "linux")]
fn a_program_that_make_runs_gives_back_what_it_took() {
    use std::io::{Read, Write};
    use std::os::unix::fs::OpenOptionsExt;

    let path = std::env::temp_dir().join(format!("locksley-jobs-{}", std::process::id()));
    let name = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
    // SAFETY: the name ends with a zero.
    assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
    let mut options = std::fs::OpenOptions::new();
    options.read(true).write(true);
    options.custom_flags(libc::O_NONBLOCK);
    let mut pipe = options.open(&path).unwrap();
    let flags = format!(" -j4 --jobserver-auth=fifo:{}", path.display());
    let environment = [("MAKEFLAGS", &*flags), ("RAYON_NUM_THREADS", "4")];
    for bytes in [&b""[..], b"a", b"abcdef"] {
        for test in ["child_waits_for_another_task", "child_exits_inside"] {
            pipe.write_all(bytes).unwrap();
            let output = child(test, &environment);
            assert!(output.status.success(), "{}", errors(&output));
            let mut left = Vec::new();
            // Reading from the empty, non-blocking pipe is an error.
            assert!(pipe.read_to_end(&mut left).is_err());
            left.sort_unstable();
            assert_eq!(left, bytes, "{test}");
        }
    }
    std::fs::remove_file(&path).unwrap();
}

/// A task waits for another one, which only another thread can run.
#[test]
#[ignore = "a child process of `a_program_that_make_runs_gives_back_what_it_took`"]
fn child_waits_for_another_task() {
    let (sender, receiver) = std::sync::mpsc::channel();
    let (receiver, sender) = (
        std::sync::Mutex::new(receiver),
        std::sync::Mutex::new(sender),
    );
    rayon_core::scope(|scope| {
        scope.spawn(|_| sender.lock().unwrap().send(fib(10)).unwrap());
        assert_eq!(receiver.lock().unwrap().recv(), Ok(55));
    });
}

#[test]
fn statistics_are_printed_at_exit_if_asked_for() {
    let output = child("child_stats", &[("LOCKSLEY_STATS", "1")]);
    assert!(output.status.success());
    let errors = errors(&output);
    // Two pools, of which one has ended before the exit.
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

#[test]
fn timeline_profile_and_recording_are_written_at_exit_if_asked_for() {
    let folder = std::env::temp_dir().join(format!("locksley-outputs-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let names = ["trace", "profile", "record"];
    let files = names.map(|name| folder.join(name).display().to_string());
    let variables = ["LOCKSLEY_TRACE", "LOCKSLEY_PROFILE", "LOCKSLEY_RECORD"];
    let environment: Vec<_> = variables
        .into_iter()
        .zip(files.iter().map(|f| &**f))
        .collect();
    let output = child("child_outputs", &environment);
    assert!(output.status.success(), "{}", errors(&output));
    assert!(!errors(&output).contains("locksley"), "{}", errors(&output));
    let [trace, profile, record] = files.map(|file| std::fs::read_to_string(file).unwrap());
    // The trace has both pools, with two and with three threads.
    assert!(
        trace.starts_with('{') && trace.contains("traceEvents"),
        "{trace}"
    );
    assert_eq!(trace.matches("process_name").count(), 2, "{trace}");
    assert_eq!(trace.matches("thread_name").count(), 5, "{trace}");
    // 89 leaves have 88 forks, and the other pool has one.
    assert!(profile.contains("locksley-profile/1"), "{profile}");
    assert!(profile.contains("\"spawns\": 89,"), "{profile}");
    assert!(
        record.starts_with("{\"format\": \"locksley-dag/1\""),
        "{record}"
    );
    assert_eq!(forks(&record), 89, "{record}");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_program_that_exits_inside_of_the_pool_is_recorded() {
    let file = std::env::temp_dir().join(format!("locksley-exit-{}", std::process::id()));
    let name = file.display().to_string();
    let output = child("child_exits_inside", &[("LOCKSLEY_RECORD", &name)]);
    assert!(output.status.success(), "{}", errors(&output));
    let record = std::fs::read_to_string(&file).unwrap();
    assert_eq!(forks(&record), 88, "{record}");
    std::fs::remove_file(&file).unwrap();
}

#[test]
#[ignore = "a child process of `a_program_that_exits_inside_of_the_pool_is_recorded`"]
fn child_exits_inside() {
    let builder = rayon_core::ThreadPoolBuilder::new().num_threads(2);
    builder.build().unwrap().install(|| {
        assert_eq!(fib(10), 55);
        std::process::exit(0)
    })
}

/// Returns the number of nodes of a recorded graph with two successors.
fn forks(record: &str) -> usize {
    let forks = record.lines().filter(|line| {
        let next = line.split(['[', ']']).nth(1);
        next.is_some_and(|next| next.contains(','))
    });
    forks.count()
}

#[test]
fn an_output_that_cannot_be_written_is_reported_once() {
    for variable in ["LOCKSLEY_TRACE", "LOCKSLEY_PROFILE", "LOCKSLEY_RECORD"] {
        let output = child("child_outputs", &[(variable, "/no such folder/file")]);
        assert!(output.status.success());
        assert_eq!(answer(&output), "55");
        let errors = errors(&output);
        let lines: Vec<_> = errors
            .lines()
            .filter(|line| line.contains("locksley"))
            .collect();
        assert_eq!(lines.len(), 1, "{errors}");
        assert!(lines[0].contains(variable) && lines[0].contains("/no such folder/file"));
    }
}

/// Errors that cannot be reported are dropped, and the other outputs are written.
#[test]
#[cfg(target_os = "linux")]
fn a_standard_error_that_is_full_stops_nothing() {
    let file = std::env::temp_dir().join(format!("locksley-full-{}", std::process::id()));
    let name = file.display().to_string();
    let environment = [
        ("LOCKSLEY_STRATEGY", "nonsense"),
        ("LOCKSLEY_WAITING", "nonsense"),
        ("LOCKSLEY_REPRODUCIBLE", "nonsense"),
        ("LOCKSLEY_STATS", "1"),
        ("LOCKSLEY_TRACE", "/no such folder/file"),
        ("LOCKSLEY_PROFILE", &name),
    ];
    let mut command = command("child_outputs", &environment);
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full");
    let output = command.stderr(full.unwrap()).output().unwrap();
    assert!(output.status.success());
    assert_eq!(answer(&output), "55");
    assert!(
        std::fs::read_to_string(&file)
            .unwrap()
            .contains("locksley-profile/1")
    );
    std::fs::remove_file(&file).unwrap();
}

/// A forked process writes its own files.
#[test]
#[cfg(unix)]
fn a_forked_process_leaves_its_parents_files_alone() {
    let folder = std::env::temp_dir().join(format!("locksley-forked-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("record").display().to_string();
    let output = child("child_forks", &[("LOCKSLEY_RECORD", &file)]);
    assert!(output.status.success(), "{}", errors(&output));
    let forked = format!("{file}.{}", answer(&output));
    for (file, wanted) in [(file, 88), (forked, 1)] {
        let text = std::fs::read_to_string(&file).unwrap();
        assert_eq!(forks(&text), wanted, "{file}: {text}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
#[cfg(unix)]
#[ignore = "a child process of `a_forked_process_leaves_its_parents_files_alone`"]
fn child_forks() {
    assert_eq!(fib(10), 55);
    // SAFETY: what the child calls is usable in a forked process.
    let child = unsafe { libc::fork() };
    if child == 0 {
        assert_eq!(rayon_core::join(|| 1, || 2), (1, 2));
        // SAFETY: no other thread of this process ends it.
        unsafe { libc::exit(0) };
    }
    // SAFETY: the status is not asked for.
    let ended = unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
    assert_eq!(ended, child);
    println!("answer: {child}");
}

fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = rayon_core::join(|| fib(n - 1), || fib(n - 2));
    a + b
}

#[test]
#[ignore = "a child process of `timeline_profile_and_recording_are_written_at_exit_if_asked_for`"]
fn child_outputs() {
    let pool = |threads| {
        let builder = rayon_core::ThreadPoolBuilder::new().num_threads(threads);
        builder.build().unwrap()
    };
    assert_eq!(pool(3).install(|| rayon_core::join(|| 1, || 2)), (1, 2));
    println!("answer: {}", pool(2).install(|| fib(10)));
}

/// Checks that a child aborts with a message that contains `why`.
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
fn a_panic_without_a_handler_aborts() {
    aborts("child_spawn_panics", "the pool has no panic handler");
    aborts("child_broadcast_panics", "the pool has no panic handler");
    aborts("child_start_panics", "the pool has no panic handler");
    aborts("child_handler_panics", "the panic handler panicked");
}

/// Waits longer than an abort takes.
fn wait() {
    std::thread::sleep(std::time::Duration::from_secs(20));
}

#[test]
#[ignore = "a child process of `a_panic_without_a_handler_aborts`"]
fn child_spawn_panics() {
    rayon_core::spawn(|| panic!("lost"));
    wait();
}

#[test]
#[ignore = "a child process of `a_panic_without_a_handler_aborts`"]
fn child_broadcast_panics() {
    rayon_core::spawn_broadcast(|_| panic!("lost"));
    wait();
}

#[test]
#[ignore = "a child process of `a_panic_without_a_handler_aborts`"]
fn child_start_panics() {
    let builder = rayon_core::ThreadPoolBuilder::new().start_handler(|_| panic!("lost"));
    let _pool = builder.build();
    wait();
}

#[test]
#[ignore = "a child process of `a_panic_without_a_handler_aborts`"]
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
