//! What can go wrong, and what the process tells its caller then.

use std::fmt;
use std::path::Path;
use std::process::ExitCode;

use locksley::BuildError;
use locksley_measure::Wrong;
use locksley_workload::Mismatch;

/// For every `--help`.
pub(crate) const EXIT_CODES: &str = "\
Exit codes:
  0    all is well
  1    a program gave a wrong result, or a claim that was checked does not hold
  2    the command line makes no sense
  3    a file could not be read or written, or the system refused something
  130  interrupted (Ctrl-C); what was measured until then is kept";

/// Why a command ended early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// A result is wrong, or a claim does not hold.
    Check(String),
    /// The command line makes no sense.
    Usage(String),
    /// A file, or the system.
    System(String),
}

impl Failure {
    /// The command line makes no sense, because of this.
    pub(crate) fn usage(why: impl fmt::Display) -> Failure {
        Failure::Usage(why.to_string())
    }

    /// What was run gave a wrong result.
    pub(crate) fn wrong(what: impl fmt::Display, wrong: &Mismatch) -> Failure {
        Failure::Check(format!("{what} gave a wrong result: {wrong}"))
    }

    /// Something could not be done to a file.
    pub(crate) fn file(doing: &str, path: &Path, error: &std::io::Error) -> Failure {
        Failure::System(format!("cannot {doing} {}: {error}", path.display()))
    }

    /// What the process tells its caller.
    pub(crate) fn code(&self) -> ExitCode {
        match self {
            Failure::Check(_) => 1.into(),
            Failure::Usage(_) => 2.into(),
            Failure::System(_) => 3.into(),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Failure::Check(why) | Failure::Usage(why) | Failure::System(why)) = self;
        f.write_str(why)
    }
}

impl From<Wrong> for Failure {
    fn from(wrong: Wrong) -> Failure {
        Failure::Check(wrong.to_string())
    }
}

impl From<BuildError> for Failure {
    fn from(error: BuildError) -> Failure {
        match error {
            BuildError::Workers { .. } => Failure::usage(error),
            _ => Failure::System(error.to_string()),
        }
    }
}

impl From<locksley_report::Error> for Failure {
    fn from(error: locksley_report::Error) -> Failure {
        Failure::System(error.to_string())
    }
}
