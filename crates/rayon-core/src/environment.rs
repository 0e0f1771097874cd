//! What the environment says of rayon's pools, beside what it says of all pools
//! (`locksley::Builder`).

use std::env;
use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering};

use locksley::{Waiting, report};

/// The number of threads of a pool that is not told otherwise: by the environment, or one for each
/// CPU.
pub(crate) fn num_threads() -> usize {
    let wanted = number("RAYON_NUM_THREADS").or_else(|| number("RAYON_RS_NUM_CPUS"));
    match wanted {
        None | Some(0) => std::thread::available_parallelism().map_or(1, usize::from),
        Some(wanted) => wanted,
    }
}

/// The number that a variable is set to.
#[inline(never)]
fn number(name: &str) -> Option<usize> {
    env::var(name).ok()?.parse().ok()
}

/// What a thread does while it waits: by default it takes any work, as rayon's do. A value that
/// there is not is reported once, and ignored.
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

/// What `LOCKSLEY_REPRODUCIBLE` said when the last pool was built; 0 if it is not set.
static REPRODUCIBLE: AtomicUsize = AtomicUsize::new(0);

/// The number of threads that rayon's iterators are told of, whatever the number is, if the way in
/// which they split their work is not to depend on it.
#[inline]
pub(crate) fn reproducible() -> Option<usize> {
    match REPRODUCIBLE.load(Ordering::Relaxed) {
        0 => None,
        number => Some(number),
    }
}

/// Reads `LOCKSLEY_REPRODUCIBLE`, and returns how many threads a pool may have for it: as many as
/// it says. What is no number is reported once, and ignored.
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
