//! Ctrl-C: stops the process at once, and keeps the results so far.
//!
//! A long computation may be running that cannot be stopped. The thread that receives the signal
//! therefore does not wait for it, but writes the results so far and ends the process.

use std::io::{Write, stderr};
use std::process::exit;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Exit code of an interrupted process: 128 + SIGINT, as in shells.
const INTERRUPTED: i32 = 130;

/// Writes the results so far. Returns a message that says where they are.
type Keeper = Box<dyn FnMut() -> String + Send>;

/// Cleans up when the process is interrupted.
type Cleanup = Box<dyn FnMut() + Send>;

static KEEPER: Mutex<Option<Keeper>> = Mutex::new(None);

static CLEANUP: Mutex<Option<Cleanup>> = Mutex::new(None);

fn lock<T>(mutex: &'static Mutex<T>) -> MutexGuard<'static, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Installs the handler. If the system does not allow one, Ctrl-C ends the process as usual.
pub(crate) fn install() {
    let _ = ctrlc::set_handler(|| {
        let kept = match lock(&KEEPER).as_mut() {
            Some(keep) => keep(),
            None => "there are no results to keep".to_owned(),
        };
        if let Some(clean_up) = lock(&CLEANUP).as_mut() {
            clean_up();
        }
        // Not `eprintln`, which panics if standard error is closed: the process would not end.
        let _ = writeln!(stderr(), "\ninterrupted: {kept}");
        exit(INTERRUPTED);
    });
}

/// Sets the function that keeps results on Ctrl-C before [`finish`].
pub(crate) fn keep(keep: impl FnMut() -> String + Send + 'static) {
    *lock(&KEEPER) = Some(Box::new(keep));
}

/// Sets the function that cleans up on Ctrl-C.
pub(crate) fn at_end(clean_up: impl FnMut() + Send + 'static) {
    *lock(&CLEANUP) = Some(Box::new(clean_up));
}

/// Runs `write`, which writes the final results, and discards the keeper. Ctrl-C waits meanwhile.
pub(crate) fn finish<T>(write: impl FnOnce() -> T) -> T {
    let mut keeper = lock(&KEEPER);
    let written = write();
    *keeper = None;
    written
}
