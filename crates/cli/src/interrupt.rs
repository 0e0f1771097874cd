//! Ctrl-C: the process stops at once, keeps what was measured, and says so.
//!
//! A run may be in the middle of something long that nothing can stop. The thread that receives the
//! signal therefore does not wait for it: it writes what there is and ends the process.

use std::io::{Write, stderr};
use std::process::exit;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The exit code of an interrupted process: 128 + SIGINT, as shells have it.
const INTERRUPTED: i32 = 130;

/// Writes what was measured so far. Returns what it kept and where.
type Keeper = Box<dyn FnMut() -> String + Send>;

/// Undoes something when the process is interrupted.
type Cleanup = Box<dyn FnMut() + Send>;

static KEEPER: Mutex<Option<Keeper>> = Mutex::new(None);

static CLEANUP: Mutex<Option<Cleanup>> = Mutex::new(None);

fn lock<T>(mutex: &'static Mutex<T>) -> MutexGuard<'static, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Installs the handler. Where the system does not allow one, Ctrl-C ends the process as usual.
pub(crate) fn install() {
    let _ = ctrlc::set_handler(|| {
        let kept = match lock(&KEEPER).as_mut() {
            Some(keep) => keep(),
            None => "nothing had been measured that could be kept".to_owned(),
        };
        if let Some(clean_up) = lock(&CLEANUP).as_mut() {
            clean_up();
        }
        // Not `eprintln`, which panics if standard error is closed: the process would stay.
        let _ = writeln!(stderr(), "\ninterrupted: {kept}");
        exit(INTERRUPTED);
    });
}

/// Sets what is kept if Ctrl-C comes before [`finish`].
pub(crate) fn keep(keep: impl FnMut() -> String + Send + 'static) {
    *lock(&KEEPER) = Some(Box::new(keep));
}

/// Sets what is undone if Ctrl-C comes.
pub(crate) fn at_end(clean_up: impl FnMut() + Send + 'static) {
    *lock(&CLEANUP) = Some(Box::new(clean_up));
}

/// Runs `write`, which writes the outcome, and discards the keeper; Ctrl-C waits meanwhile.
pub(crate) fn finish<T>(write: impl FnOnce() -> T) -> T {
    let mut keeper = lock(&KEEPER);
    let written = write();
    *keeper = None;
    written
}
