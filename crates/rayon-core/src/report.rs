//! Statistics at the end of a program that does not know where it runs.
//!
//! Every pool that is built leaves an observer here, if `LOCKSLEY_STATS` asks for it. When the process exits, by
//! returning from `main` or by `exit`, the C library calls back, and the tables are printed. A program that is
//! killed or aborts prints none.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use locksley::{Observer, PerProcess};

use crate::environment;

/// How many pools are kept: a program that makes them by the thousand would have them all in memory.
const MOST: usize = 16;

/// A forked process reports its own pools only.
static POOLS: PerProcess<Mutex<Pools>> = PerProcess::new();

/// Whether the C library calls back at exit.
static REGISTERED: AtomicBool = AtomicBool::new(false);

#[derive(Default)]
struct Pools {
    kept: Vec<(String, Observer)>,
    others: usize,
}

/// Keeps a pool for the report, if there is to be one.
pub(crate) fn keep(pool: &locksley::Pool) {
    if !environment::wants_stats() {
        return;
    }
    let Ok(mut pools) = POOLS.get_or_init(Mutex::default).lock() else {
        return;
    };
    if pools.kept.len() == MOST {
        pools.others += 1;
        return;
    }
    // A forked process has its parent's handlers.
    if !REGISTERED.swap(true, Ordering::Relaxed) {
        // SAFETY: the function does not unwind, and is there as long as the process: a library that
        // is unloaded before takes what it has registered with it.
        unsafe { libc::atexit(print) };
    }
    let name = format!("locksley: pool {}: {pool:?}", pools.kept.len() + 1);
    pools.kept.push((name, pool.observer()));
}

/// Prints what was kept. Nothing here may panic, and the thread's own variables may be gone.
extern "C" fn print() {
    use std::io::Write;

    // Somebody who builds a pool while the process ends may have the lock for ever.
    let Some(Ok(pools)) = POOLS.get().map(Mutex::try_lock) else {
        return;
    };
    let mut text = String::new();
    for (name, observer) in &pools.kept {
        text += &format!("{name}\n{}\n", observer.stats());
    }
    if pools.others > 0 {
        text += &format!("locksley: and {} more pools\n", pools.others);
    }
    let _ = std::io::stderr().write_all(text.as_bytes());
}
