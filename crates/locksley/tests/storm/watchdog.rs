//! Detects that a program hangs, prints its state, and ends the process.

use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use crate::run::RunState;
use crate::{EXIT_STANDSTILL, Storm};

/// Interval between checks. Checks are counted instead of time, so that a suspended process or
/// machine does not look like a hang.
const TICK: Duration = Duration::from_millis(50);

static PROGRESS: AtomicU64 = AtomicU64::new(0);
static CURRENT: Mutex<Option<(String, Weak<RunState>)>> = Mutex::new(None);

/// Notes progress.
pub(crate) fn progress() {
    PROGRESS.fetch_add(1, Ordering::Relaxed);
}

fn current() -> std::sync::MutexGuard<'static, Option<(String, Weak<RunState>)>> {
    CURRENT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Notes that the next program starts. `title` says how to run it again.
pub(crate) fn announce(title: String) {
    progress();
    *current() = Some((title, Weak::new()));
}

/// Notes that the program's pools are built.
pub(crate) fn watch(run_state: &Arc<RunState>) {
    progress();
    if let Some((_, watched)) = &mut *current() {
        *watched = Arc::downgrade(run_state);
    }
}

/// Notes that no program runs.
pub(crate) fn rest() {
    *current() = None;
}

/// Starts the watchdog.
pub(crate) fn start(storm: &Storm) {
    let patience = storm.patience.as_millis() / TICK.as_millis();
    thread::spawn(move || {
        let (mut seen, mut ticks) = (0, 0);
        loop {
            thread::sleep(TICK);
            let now = PROGRESS.load(Ordering::Relaxed);
            ticks = if now == seen { ticks + 1 } else { 0 };
            seen = now;
            if ticks > patience {
                report();
                ticks = 0;
            }
        }
    });
}

/// Prints the state of the program, and ends the process. Does nothing if no program runs.
fn report() {
    let Some((title, run_state)) = current().take() else {
        return;
    };
    // Piece by piece, since printing the later parts may hang too.
    say(&format!("\nNo task makes progress.\n{title}\n"));
    say(&threads());
    match run_state.upgrade() {
        Some(run_state) => {
            for (number, pool) in run_state.pools.iter().enumerate() {
                say(&format!("pool {number}: {}", pool.state()));
                #[cfg(feature = "stats")]
                say(&format!("{}\n", pool.stats()));
            }
        }
        None => say("The pools have been taken apart, or are not there yet.\n"),
    }
    std::process::exit(EXIT_STANDSTILL);
}

fn say(text: &str) {
    // Not a macro: the test's output may be captured and never printed.
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// Returns the threads of this process: name, state, and where each waits in the kernel, if that is
/// known.
fn threads() -> String {
    let mut text = String::from("threads:\n");
    let Ok(tasks) = std::fs::read_dir("/proc/self/task") else {
        return text;
    };
    for task in tasks.flatten() {
        let read = |name| std::fs::read_to_string(task.path().join(name)).unwrap_or_default();
        let status = read("stat");
        let state = status.rsplit(") ").next().unwrap_or_default();
        let state = state.get(..1).unwrap_or("?");
        let (name, place) = (read("comm"), read("wchan"));
        let _ = writeln!(text, "  {:16} {state} {place}", name.trim());
    }
    text
}
