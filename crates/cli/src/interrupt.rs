//! Ctrl-C: stop at once, keep what was measured, say so.
//!
//! A run may be in the middle of something long that nothing can stop. So nobody waits for it: the thread
//! that receives the signal writes what there is, and ends the process.

use std::io::{Write, stderr};
use std::process::exit;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What the process tells its caller then: 128 + SIGINT, as shells have it.
const INTERRUPTED: i32 = 130;

/// Writes what was measured so far, and says what is where.
type Keeper = Box<dyn FnMut() -> String + Send>;

static KEEPER: Mutex<Option<Keeper>> = Mutex::new(None);

fn keeper() -> MutexGuard<'static, Option<Keeper>> {
    KEEPER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From now on Ctrl-C is heard. Where the system does not allow that, it ends the process as usual.
pub(crate) fn install() {
    let _ = ctrlc::set_handler(|| {
        let kept = match keeper().as_mut() {
            Some(keep) => keep(),
            None => "nothing had been measured that could be kept".to_owned(),
        };
        // Not `eprintln`, which panics if nobody reads it any more: then the process would stay.
        let _ = writeln!(stderr(), "\ninterrupted: {kept}");
        exit(INTERRUPTED);
    });
}

/// Says what is to be kept if Ctrl-C comes before [`finish`].
pub(crate) fn keep(keep: impl FnMut() -> String + Send + 'static) {
    *keeper() = Some(Box::new(keep));
}

/// The end of what could be interrupted: does this, which writes the outcome, undisturbed.
pub(crate) fn finish<T>(write: impl FnOnce() -> T) -> T {
    let mut keeper = keeper();
    let written = write();
    *keeper = None;
    written
}
