//! Errors of commands, and the exit code of each.

use std::fmt;
use std::path::Path;
use std::process::ExitCode;

use locksley::BuildError;
use locksley_measure::WrongResult;
use locksley_workload::Mismatch;

/// The exit codes, for every `--help`.
pub(crate) const EXIT_CODES: &str = "\
Exit codes:
  0    success
  1    a program gave a wrong result, or a claim that was checked does not hold
  2    the command line is invalid
  3    a file could not be read or written, or a system call failed
  130  interrupted (Ctrl-C); the results so far are kept";

/// Why a command ended early.
#[derive(Debug)]
pub(crate) enum Error {
    /// A result is wrong, or a claim does not hold.
    Check(String),
    /// The command line is invalid.
    Usage(String),
    /// A file could not be accessed, or the system refused something.
    System(String),
}

impl Error {
    /// Returns an error of the command line.
    pub(crate) fn usage(why: impl fmt::Display) -> Error {
        Error::Usage(why.to_string())
    }

    /// Returns the error for a wrong result of a program.
    pub(crate) fn wrong(what: impl fmt::Display, wrong: &Mismatch) -> Error {
        Error::Check(format!("{what} gave a wrong result: {wrong}"))
    }

    /// Returns the error for a file that could not be read, written or created.
    pub(crate) fn file(doing: &str, path: &Path, error: &std::io::Error) -> Error {
        Error::System(format!("cannot {doing} {}: {error}", path.display()))
    }

    /// Returns the exit code of the process.
    pub(crate) fn code(&self) -> ExitCode {
        match self {
            Error::Check(_) => 1.into(),
            Error::Usage(_) => 2.into(),
            Error::System(_) => 3.into(),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Error::Check(why) | Error::Usage(why) | Error::System(why)) = self;
        f.write_str(why)
    }
}

impl From<WrongResult> for Error {
    fn from(wrong: WrongResult) -> Error {
        Error::Check(wrong.to_string())
    }
}

impl From<BuildError> for Error {
    fn from(error: BuildError) -> Error {
        match error {
            BuildError::Workers { .. } => Error::usage(error),
            _ => Error::System(error.to_string()),
        }
    }
}

impl From<locksley_report::Error> for Error {
    fn from(error: locksley_report::Error) -> Error {
        Error::System(error.to_string())
    }
}
