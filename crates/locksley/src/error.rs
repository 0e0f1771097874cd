//! The error of building a pool, and messages on standard error.

use std::fmt;
use std::io::{self, Write};

use crate::machine::pinning::PinningError;
use crate::strategy::Strategy;

/// Writes a line to standard error. Unlike `eprintln!`, it does not panic if standard error is full
/// or closed. Public for the drop-in `rayon-core`.
#[doc(hidden)]
pub fn report(message: fmt::Arguments<'_>) {
    let _ = io::stderr().write_all(format!("locksley: {message}\n").as_bytes());
}

/// Error of [`Builder::build`](crate::Builder::build). Nothing of the failed pool is left behind.
#[derive(Debug)]
#[non_exhaustive]
pub enum BuildError {
    /// The number of workers asked for is out of range.
    Workers {
        /// The number that was asked for.
        wanted: usize,
        /// The largest number that is allowed.
        most: usize,
    },
    /// The value of an environment variable is invalid.
    Environment {
        /// The variable.
        name: &'static str,
        /// Its value.
        value: String,
    },
    /// The operating system refused a thread.
    Thread {
        /// Number of threads that had been started.
        started: usize,
        /// The operating system's error.
        source: io::Error,
    },
    /// Workers were to be pinned to a CPU that this process may not use, or to an empty list of
    /// CPUs.
    Pinning {
        /// The CPU; `None` if the list was empty.
        cpu: Option<usize>,
        /// CPUs that the process may use.
        allowed: Vec<usize>,
    },
    /// Workers cannot be pinned on this platform.
    PinningUnsupported,
    /// The operating system refused to pin a worker.
    Pin {
        /// The CPU it was to be pinned to.
        cpu: usize,
        /// The operating system's error.
        source: io::Error,
    },
    /// The calling thread was to become one of the pool's workers, but is already a worker of a
    /// pool.
    AlreadyWorker,
    /// The global pool exists already.
    GlobalExists,
    /// A [donor](crate::Builder::donor) was set, but the strategy does not consult donors.
    Donor {
        /// The strategy.
        strategy: Strategy,
    },
    /// With `mode=dedicated`, tasks would be dealt to the calling thread, which may never run them.
    Dedicated,
    /// The program was built without the requested strategy.
    StrategyLeftOut,
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BuildError::Workers { wanted, most } => write!(
                f,
                "a pool cannot have {wanted} workers: ask for 1 to {most}, or for 0 to have one \
                 per CPU"
            ),
            BuildError::Environment { name, value } => write!(
                f,
                "the environment variable {name} is `{value}`: set it to a number of workers, or \
                 unset it"
            ),
            BuildError::Thread { started, source } => write!(
                f,
                "the operating system refused worker thread number {} ({source}): \
                 ask for fewer workers or smaller stacks, or raise the process's limits",
                started + 1
            ),
            BuildError::Pinning { cpu, allowed } => {
                let (cpu, allowed) = (*cpu, allowed.clone());
                PinningError::NotAllowed { cpu, allowed }.fmt(f)
            }
            BuildError::PinningUnsupported => PinningError::Unsupported.fmt(f),
            BuildError::Pin { cpu, source } => write!(
                f,
                "the operating system refused to pin a worker to CPU {cpu} ({source}): \
                 choose another one, or leave it to the operating system (`Pinning::None`)"
            ),
            BuildError::AlreadyWorker => f.write_str(
                "the calling thread is a worker already: build the pool on another one, \
                 or without `use_current_thread`",
            ),
            BuildError::Donor { strategy } => write!(
                f,
                "the strategy {} does not consult a donor: \
                 use `sharing`, or leave the donor out",
                // Without its parameters: a program that only reports errors need not contain the
                // code that formats them.
                strategy.name()
            ),
            BuildError::Dedicated => f.write_str(
                "with `mode=dedicated` each task is dealt to one worker, and the calling thread \
                 may never run it: leave out `use_current_thread`, or the mode",
            ),
            BuildError::StrategyLeftOut => f.write_str(
                "this program was built without the requested strategy: \
                 use `stealing`, or enable the feature `strategies`",
            ),
            BuildError::GlobalExists => {
                f.write_str("the global pool exists already: configure it before anything uses it")
            }
        }
    }
}

impl From<PinningError> for BuildError {
    fn from(error: PinningError) -> BuildError {
        match error {
            PinningError::NotAllowed { cpu, allowed } => BuildError::Pinning { cpu, allowed },
            _ => BuildError::PinningUnsupported,
        }
    }
}

impl std::error::Error for BuildError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            BuildError::Thread { source, .. } | BuildError::Pin { source, .. } => Some(source),
            _ => None,
        }
    }
}
