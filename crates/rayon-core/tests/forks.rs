//! Forked processes, and a library that is loaded and unloaded.
#![cfg(target_os = "linux")]

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::time::Duration;

/// Sums a range, in parallel.
fn sum(range: std::ops::Range<u64>) -> u64 {
    let length = range.end - range.start;
    if length < 100 {
        return range.sum();
    }
    let middle = range.start + length / 2;
    let (a, b) = rayon_core::join(|| sum(range.start..middle), || sum(middle..range.end));
    a + b
}

/// Forks a process that exits with 0 if `run` returns `true`. Returns its exit code, or `None` if
/// it had to be killed.
fn forked(run: impl FnOnce() -> bool) -> Option<i32> {
    // SAFETY: what the child calls is usable in a forked process: the pool, which says so, the
    // allocator and `_exit`.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "a process can be forked");
    if child == 0 {
        let done = catch_unwind(AssertUnwindSafe(run));
        // SAFETY: it ends the process at once.
        unsafe { libc::_exit(i32::from(!matches!(done, Ok(true)))) };
    }
    let mut status = 0;
    for _ in 0..20_000 {
        // SAFETY: `status` is a place for the result.
        if unsafe { libc::waitpid(child, &raw mut status, libc::WNOHANG) } == child {
            return libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    // SAFETY: the process was forked above and has not been waited for, so the number is its own.
    unsafe {
        libc::kill(child, libc::SIGKILL);
        libc::waitpid(child, &raw mut status, 0);
    }
    None
}

#[test]
fn a_forked_process_has_a_global_pool_of_its_own() {
    for _ in 0..1000 {
        assert_eq!(sum(0..10_000), 49_995_000);
        assert_eq!(forked(|| sum(0..10_000) == 49_995_000), Some(0));
    }
}

#[test]
fn a_pool_of_the_parents_panics_instead_of_hanging() {
    let pool = rayon_core::ThreadPoolBuilder::new()
        .num_threads(2)
        .build()
        .unwrap();
    let child = forked(|| {
        let refused = catch_unwind(AssertUnwindSafe(|| pool.install(|| 1)));
        let payload = refused.unwrap_err();
        let text = payload.downcast_ref::<&str>().copied().unwrap_or("");
        text.contains("forked") && pool.current_num_threads() == 2
    });
    assert_eq!(child, Some(0));
    assert_eq!(pool.install(|| 1), 1);
}

#[test]
fn the_global_pool_of_a_forked_process_can_be_configured() {
    assert_eq!(sum(0..1000), 499_500);
    let child = forked(|| {
        let builder = rayon_core::ThreadPoolBuilder::new().num_threads(5);
        builder.build_global().is_ok() && rayon_core::current_num_threads() == 5
    });
    assert_eq!(child, Some(0));
}

/// The standard library starts programs by `vfork` or `fork`, followed by `exec`.
#[test]
fn tasks_can_start_programs_and_go_on() {
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    let start = || {
        Command::new("true")
            .status()
            .is_ok_and(|status| status.success())
    };
    // A function to call before `exec` rules out `vfork`.
    let start_by_fork = || {
        let mut program = Command::new("true");
        // SAFETY: it does nothing.
        let program = unsafe { program.pre_exec(|| Ok(())) };
        program.status().is_ok_and(|status| status.success())
    };
    for _ in 0..20 {
        assert_eq!(rayon_core::join(start, start_by_fork), (true, true));
        assert_eq!(sum(0..10_000), 49_995_000);
    }
    // A process that has used its pool becomes another program.
    let child = forked(|| {
        assert_eq!(sum(0..10_000), 49_995_000);
        let error = Command::new("sh").args(["-c", "exit 0"]).exec();
        panic!("{error}");
    });
    assert_eq!(child, Some(0));
}

#[test]
fn a_daemon_has_a_global_pool_of_its_own() {
    use std::io::Read;
    use std::os::unix::net::UnixStream;

    assert_eq!(sum(0..10_000), 49_995_000);
    let (mut here, there) = UnixStream::pair().unwrap();
    let child = forked(|| {
        assert_eq!(sum(0..10_000), 49_995_000);
        // SAFETY: the process has no other thread that it would miss: the pool's are not asked for
        // anything. The first process ends, and the second one goes on.
        assert_eq!(unsafe { libc::daemon(1, 1) }, 0);
        std::io::Write::write_all(&mut &there, &sum(0..10_000).to_le_bytes()).is_ok()
    });
    assert_eq!(child, Some(0));
    drop(there);
    let mut answer = [0; 8];
    here.read_exact(&mut answer).expect("the daemon answers");
    assert_eq!(u64::from_le_bytes(answer), 49_995_000);
}

/// The example `plugin`, which cargo builds together with all tests, but not for `--test forks`
/// alone: then `cargo build --example plugin` comes first.
fn plugin() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let profile = test.parent().unwrap().parent().unwrap();
    profile.join("examples").join("libplugin.so")
}

#[test]
fn a_library_that_is_unloaded_leaves_no_thread() {
    // In a process of its own, whose threads can be counted.
    let child = forked(|| {
        let name = CString::new(plugin().as_os_str().as_bytes()).unwrap();
        let threads = || std::fs::read_dir("/proc/self/task").unwrap().count();
        let before = threads();
        for _ in 0..200 {
            // SAFETY: the library is our own, its functions have these types, and none of its
            // threads is left when it is closed.
            unsafe {
                let library = libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL);
                assert!(
                    !library.is_null(),
                    "{} cannot be loaded",
                    plugin().display()
                );
                let sum = libc::dlsym(library, c"plugin_sum".as_ptr());
                let end = libc::dlsym(library, c"plugin_end".as_ptr());
                assert!(!sum.is_null() && !end.is_null());
                let sum: extern "C" fn(u64) -> u64 = std::mem::transmute(sum);
                let end: extern "C" fn() = std::mem::transmute(end);
                assert_eq!(sum(10_000), 49_995_000);
                assert!(threads() > before);
                end();
                assert_eq!(libc::dlclose(library), 0);
            }
            // The system may list a thread for a moment after it was joined.
            while threads() > before {
                std::thread::yield_now();
            }
        }
        true
    });
    assert_eq!(child, Some(0));
}
