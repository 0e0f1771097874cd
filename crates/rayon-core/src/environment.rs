//! What the environment says of pools.

use std::env;
use std::ffi::OsString;
use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering};

use locksley::{Strategy, Waiting};

/// The number of threads of a pool that is not told otherwise: by the environment, or one for each CPU.
pub(crate) fn num_threads() -> usize {
    let number = |name| env::var(name).ok()?.parse::<usize>().ok();
    let wanted = number("RAYON_NUM_THREADS").or_else(|| number("RAYON_RS_NUM_CPUS"));
    match wanted {
        None | Some(0) => std::thread::available_parallelism().map_or(1, usize::from),
        Some(wanted) => wanted,
    }
}

/// The strategy of all pools. A name that there is not is reported once, and ignored.
pub(crate) fn strategy() -> Strategy {
    static REPORT: Once = Once::new();
    let Ok(name) = env::var("LOCKSLEY_STRATEGY") else {
        return Strategy::default();
    };
    let default = Strategy::default();
    if !locksley::HAS_STRATEGIES {
        REPORT.call_once(|| {
            eprintln!(
                "locksley: LOCKSLEY_STRATEGY: this program was built without the feature \
                 `strategies` of rayon-core; using the default strategy"
            );
        });
        return default;
    }
    name.parse().unwrap_or_else(|unknown| {
        REPORT.call_once(|| eprintln!("locksley: LOCKSLEY_STRATEGY: {unknown}; using {default}"));
        default
    })
}

/// What a thread does while it waits: by default it takes any work, as rayon's do. A value that there is
/// not is reported once, and ignored.
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
                eprintln!(
                    "locksley: LOCKSLEY_WAITING: `{value}` is neither `any` nor `own`; using any"
                );
            });
            Waiting::TakeAny
        }
    }
}

/// What `LOCKSLEY_REPRODUCIBLE` said when the last pool was built; 0 if it is not set.
static REPRODUCIBLE: AtomicUsize = AtomicUsize::new(0);

/// The number of threads that rayon's iterators are told of, whatever the number is, if the way in which
/// they split their work is not to depend on it.
#[inline]
pub(crate) fn reproducible() -> Option<usize> {
    match REPRODUCIBLE.load(Ordering::Relaxed) {
        0 => None,
        number => Some(number),
    }
}

/// Reads `LOCKSLEY_REPRODUCIBLE`, and returns how many threads a pool may have for it: as many as it
/// says. What is no number is reported once, and ignored.
pub(crate) fn read_reproducible() -> usize {
    static REPORT: Once = Once::new();
    let value = env::var("LOCKSLEY_REPRODUCIBLE").unwrap_or_default();
    let number = match value.trim() {
        "" => 0,
        text => text.parse().unwrap_or_else(|_| {
            REPORT.call_once(|| {
                eprintln!(
                    "locksley: LOCKSLEY_REPRODUCIBLE: `{value}` is no number of threads; ignored"
                );
            });
            0
        }),
    };
    REPRODUCIBLE.store(number, Ordering::Relaxed);
    match number {
        0 => usize::MAX,
        number => number,
    }
}

/// What is to be written when the program ends.
#[derive(Default)]
pub(crate) struct Outputs {
    pub(crate) stats: bool,
    pub(crate) trace: Option<OsString>,
    pub(crate) profile: Option<OsString>,
    pub(crate) record: Option<OsString>,
}

impl Outputs {
    pub(crate) fn are_none(&self) -> bool {
        !self.stats && self.trace.is_none() && self.profile.is_none() && self.record.is_none()
    }
}

/// What `LOCKSLEY_STATS` and the variables with names of files ask for.
pub(crate) fn outputs() -> Outputs {
    let file = |name| env::var_os(name).filter(|file| !file.is_empty());
    Outputs {
        stats: file("LOCKSLEY_STATS").is_some_and(|value| value != "0"),
        trace: file("LOCKSLEY_TRACE"),
        profile: file("LOCKSLEY_PROFILE"),
        record: file("LOCKSLEY_RECORD"),
    }
}
