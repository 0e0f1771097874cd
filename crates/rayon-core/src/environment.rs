//! What the environment says of pools.

use std::env;
use std::sync::Once;

use locksley::Strategy;

/// The number of threads of a pool that is not told otherwise: by the environment, or one for each CPU.
pub(crate) fn num_threads() -> usize {
    let number = |name| env::var(name).ok()?.parse::<usize>().ok();
    let wanted = number("RAYON_NUM_THREADS").or_else(|| number("RAYON_RS_NUM_CPUS"));
    match wanted {
        None | Some(0) => locksley::available_cpus().count(),
        Some(wanted) => wanted,
    }
}

/// The strategy of all pools. A name that there is not is reported once, and ignored.
pub(crate) fn strategy() -> Strategy {
    static REPORT: Once = Once::new();
    let Ok(name) = env::var("LOCKSLEY_STRATEGY") else {
        return Strategy::default();
    };
    name.parse().unwrap_or_else(|unknown| {
        let default = Strategy::default();
        REPORT.call_once(|| eprintln!("locksley: LOCKSLEY_STRATEGY: {unknown}; using {default}"));
        default
    })
}

/// Are statistics to be printed at the end?
pub(crate) fn wants_stats() -> bool {
    env::var_os("LOCKSLEY_STATS").is_some_and(|value| !value.is_empty() && value != "0")
}
