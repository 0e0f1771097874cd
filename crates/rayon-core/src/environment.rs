//! Environment variables for rayon's pools, in addition to those for all pools
//! (`locksley::Builder`).

use std::env;
use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering};

use locksley::{Waiting, report};

/// Returns the default number of threads of a pool: from the environment, or one for each CPU.
pub(crate) fn num_threads() -> usize {
    let wanted = number("RAYON_NUM_THREADS").or_else(|| number("RAYON_RS_NUM_CPUS"));
    match wanted {
        None | Some(0) => std::thread::available_parallelism().map_or(1, usize::from),
        Some(wanted) => wanted,
    }
}

/// Returns the number to which a variable is set.
#[inline(never)]
fn number(name: &str) -> Option<usize> {
    env::var(name).ok()?.parse().ok()
}

/// Returns what a thread runs while it waits: by default any task, as in rayon. An invalid value is
/// reported once, and ignored.
pub(crate) fn waiting() -> Waiting {
    static REPORT: Once = Once::new();
    let Ok(value) = env::var("LOCKSLEY_WAITING") else {
        return Waiting::TakeAny;
    };
    match value.as_str() {
        "" | "any" => Waiting::TakeAny,
        "own" => Waiting::Own,
        _ => {
            REPORT.call_once(|| {
                report(format_args!(
                    "LOCKSLEY_WAITING: `{value}` is neither `any` nor `own`; using any"
                ));
            });
            Waiting::TakeAny
        }
    }
}

/// Value of `LOCKSLEY_REPRODUCIBLE` when the last pool was built; 0 if it was not set.
static REPRODUCIBLE: AtomicUsize = AtomicUsize::new(0);

/// Returns the number of threads to report to rayon's iterators instead of the real one, so that
/// they split their work in the same way with any number. `None` means the real number.
#[inline]
pub(crate) fn reproducible() -> Option<usize> {
    match REPRODUCIBLE.load(Ordering::Relaxed) {
        0 => None,
        number => Some(number),
    }
}

/// Reads `LOCKSLEY_REPRODUCIBLE`, and returns the largest number of threads that a pool may have,
/// which is its value. A value that is not a number is reported once, and ignored.
pub(crate) fn read_reproducible() -> usize {
    static REPORT: Once = Once::new();
    let name = "LOCKSLEY_REPRODUCIBLE";
    let value = env::var(name).unwrap_or_default();
    let number = number(name).unwrap_or_else(|| {
        if !value.is_empty() {
            REPORT.call_once(|| {
                report(format_args!(
                    "{name}: `{value}` is no number of threads; ignored"
                ));
            });
        }
        0
    });
    REPRODUCIBLE.store(number, Ordering::Relaxed);
    match number {
        0 => usize::MAX,
        number => number,
    }
}
