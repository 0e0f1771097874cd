//! Environment variables for pools. Elsewhere only those of make (`locksley_machine::jobserver`)
//! and `LOCKSLEY_NO_MEMBARRIER` (`locksley_queue::barrier`) are read.

use std::env;
#[cfg(all(feature = "stats", not(loom)))]
use std::ffi::OsString;
use std::sync::{Once, OnceLock};

use crate::error::{BuildError, report};
use crate::strategy::{HAS_STRATEGIES, Strategy};

const NUM_THREADS: &str = "LOCKSLEY_NUM_THREADS";

/// Returns the default number of workers: that of the environment, or the number of CPUs that this
/// process may use, according to affinity and cgroup quota.
pub(super) fn workers() -> Result<usize, BuildError> {
    let available = || std::thread::available_parallelism().map_or(1, usize::from);
    let Ok(value) = env::var(NUM_THREADS) else {
        return Ok(available());
    };
    match value.trim().parse() {
        Ok(0) => Ok(available()),
        Ok(workers) => Ok(workers),
        Err(_) => Err(BuildError::Environment {
            name: NUM_THREADS,
            value,
        }),
    }
}

/// Returns the default strategy, which the environment may name. An unknown name is reported once,
/// and ignored.
pub(super) fn strategy() -> Strategy {
    static REPORT: Once = Once::new();
    let default = Strategy::default();
    let Ok(name) = env::var("LOCKSLEY_STRATEGY") else {
        return default;
    };
    let parsed = match name.trim() {
        "" => Ok(default),
        _ if !HAS_STRATEGIES => {
            Err("this program was built without the feature `strategies`".to_owned())
        }
        name => name.parse::<Strategy>().map_err(|error| error.to_string()),
    };
    parsed.unwrap_or_else(|error| {
        let used = default.shown();
        REPORT.call_once(|| report(format_args!("LOCKSLEY_STRATEGY: {error}; using {used}")));
        default
    })
}

/// Returns `true` if loops are to split by their length alone. Read once, since loops outside of
/// any pool ask, too.
pub(crate) fn is_deterministic() -> bool {
    static SET: OnceLock<bool> = OnceLock::new();
    *SET.get_or_init(|| is_on("LOCKSLEY_REPRODUCIBLE"))
}

fn is_on(name: &str) -> bool {
    env::var_os(name).is_some_and(|value| !value.is_empty() && value != "0")
}

/// What is to be written when the program ends.
#[cfg(all(feature = "stats", not(loom)))]
#[derive(Default)]
pub(crate) struct Outputs {
    pub(crate) stats: bool,
    pub(crate) trace: Option<OsString>,
    pub(crate) profile: Option<OsString>,
    pub(crate) record: Option<OsString>,
}

#[cfg(all(feature = "stats", not(loom)))]
impl Outputs {
    /// Returns what `LOCKSLEY_STATS` and the variables with names of files ask for.
    pub(crate) fn wanted() -> Outputs {
        let value = |name| env::var_os(name).filter(|value| !value.is_empty());
        Outputs {
            stats: is_on("LOCKSLEY_STATS"),
            trace: value("LOCKSLEY_TRACE"),
            profile: value("LOCKSLEY_PROFILE"),
            record: value("LOCKSLEY_RECORD"),
        }
    }

    pub(crate) fn records(&self) -> bool {
        self.profile.is_some() || self.record.is_some()
    }

    pub(crate) fn are_none(&self) -> bool {
        !self.stats && self.trace.is_none() && !self.records()
    }
}
