//! The error of building a pool.

use std::error::Error;
use std::fmt;
use std::io;

use locksley::BuildError;

/// Error of a pool that could not be built.
///
/// ```
/// let _ = rayon_core::ThreadPoolBuilder::new().build_global();
/// let error = rayon_core::ThreadPoolBuilder::new().build_global().unwrap_err();
/// assert_eq!(error.to_string(), "The global thread pool has already been initialized.");
/// ```
#[derive(Debug)]
pub struct ThreadPoolBuildError {
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    GlobalExists,
    AlreadyWorker,
    Io(io::Error),
}

impl ThreadPoolBuildError {
    pub(crate) const GLOBAL_EXISTS: Self = ThreadPoolBuildError {
        kind: Kind::GlobalExists,
    };
}

impl From<BuildError> for ThreadPoolBuildError {
    fn from(error: BuildError) -> Self {
        let kind = match error {
            BuildError::AlreadyWorker => Kind::AlreadyWorker,
            BuildError::Thread { source, .. } => Kind::Io(source),
            // As text, because the `Debug` code of all kinds of errors takes 30 KB.
            other => Kind::Io(io::Error::other(other.to_string())),
        };
        ThreadPoolBuildError { kind }
    }
}

impl fmt::Display for ThreadPoolBuildError {
    /// Uses rayon's messages, since programs may compare them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::GlobalExists => {
                f.write_str("The global thread pool has already been initialized.")
            }
            Kind::AlreadyWorker => {
                f.write_str("The current thread is already part of another thread pool.")
            }
            Kind::Io(error) => error.fmt(f),
        }
    }
}

impl Error for ThreadPoolBuildError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.kind {
            Kind::Io(error) => Some(error),
            _ => None,
        }
    }
}
