//! Why ranks could not finish.

use std::fmt;
use std::io;

use locksley::BuildError;
use locksley_policy::rank::Trouble;

use crate::local::Panicked;

/// Why ranks could not finish. Each says what to do.
///
/// The ranks of a job stand or fall together: whoever meets one of these tells the others, and all end.
#[derive(Debug)]
#[non_exhaustive]
pub enum RankError {
    /// The executable could not be read, so that nobody can tell whether all ranks run the same.
    Executable(io::Error),
    /// The pool of this rank could not be started.
    Pool(BuildError),
    /// The MPI library does not let a process have several threads.
    Threading,
    /// MPI was in use in this process before.
    Used,
    /// What the protocol between ranks has found out.
    Trouble {
        /// Who has found it out.
        rank: usize,
        /// The host of the rank that is to blame, if it has said so far.
        host: Option<String>,
        /// What it is.
        trouble: Trouble,
    },
    /// A task panicked.
    Panicked {
        /// On which rank.
        rank: usize,
        /// On which host.
        host: String,
        /// Which one, and what it said.
        panicked: Panicked,
    },
    /// A message, a task in it or a result could not be read.
    Malformed {
        /// Who sent it.
        rank: usize,
        /// What is wrong with it.
        why: String,
    },
    /// Another rank gave up, and said this.
    Told {
        /// Which one.
        rank: usize,
        /// Why.
        why: String,
    },
    /// This rank is dead: its network says so.
    Dead,
}

impl fmt::Display for RankError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RankError::Executable(error) => write!(
                f,
                "the executable cannot be read, to compare it with that of other ranks ({error}): make it readable"
            ),
            RankError::Pool(error) => write!(f, "{error}"),
            RankError::Threading => f.write_str(
                "this MPI library does not support threads (MPI_THREAD_FUNNELED): use a build of it that does",
            ),
            RankError::Used => {
                f.write_str("MPI can be used once in a process: connect to it once, at the start")
            }
            RankError::Trouble {
                rank,
                host,
                trouble,
            } => {
                write!(f, "{trouble} (noticed by rank {rank}")?;
                if let Some(host) = host {
                    write!(f, "; the host is {host}")?;
                }
                f.write_str(")")
            }
            RankError::Panicked {
                rank,
                host,
                panicked,
            } => write!(f, "on rank {rank} ({host}) {panicked}"),
            RankError::Malformed { rank, why } => write!(
                f,
                "rank {rank} sent what cannot be read: {why}; start all ranks from the same executable"
            ),
            RankError::Told { rank, why } => write!(f, "rank {rank} gave up: {why}"),
            RankError::Dead => f.write_str("this rank has died"),
        }
    }
}

impl std::error::Error for RankError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            RankError::Executable(error) => Some(error),
            RankError::Pool(error) => Some(error),
            RankError::Trouble { trouble, .. } => Some(trouble),
            RankError::Panicked { panicked, .. } => Some(panicked),
            _ => None,
        }
    }
}
