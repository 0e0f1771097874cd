//! Errors of ranks.

use std::io;

use locksley::BuildError;
use locksley_policy::rank::ProtocolError;

use crate::local::Panicked;

/// Why ranks could not finish. Each message says what to do.
///
/// The ranks of a job succeed or fail together: the rank that detects an error tells the others,
/// and all end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RankError {
    /// The executable could not be read, so builds cannot be told apart.
    #[error(
        "the executable cannot be read, to compare it with that of other ranks ({0}): make it \
         readable, or give a build number"
    )]
    Executable(#[source] io::Error),
    /// The pool of this rank could not be started.
    #[error("{0}")]
    Pool(#[source] BuildError),
    /// The MPI library does not let a process have several threads.
    #[error(
        "this MPI library does not support threads (MPI_THREAD_FUNNELED): use a build of it that \
         does"
    )]
    Threading,
    /// MPI was started before in this process.
    #[error("MPI can be used once in a process: connect to it once, at the start")]
    Used,
    /// An error that the protocol between ranks has detected.
    #[error("{error} (noticed by rank {rank}{})", host_note(host))]
    Protocol {
        /// Rank that has detected it.
        rank: usize,
        /// Host of the rank that is to blame, if it is known.
        host: Option<String>,
        /// The error.
        #[source]
        error: ProtocolError,
    },
    /// A task panicked.
    #[error("on rank {rank} ({host}) {panicked}")]
    Panicked {
        /// Rank on which the task ran.
        rank: usize,
        /// Host of that rank.
        host: String,
        /// Kind of the task, and message of the panic.
        #[source]
        panicked: Panicked,
    },
    /// A message, a task in it or a result could not be read.
    #[error(
        "rank {rank} sent unreadable data: {why}; start all ranks from the same executable, or \
         change the build number with the format of tasks"
    )]
    Malformed {
        /// The sender.
        rank: usize,
        /// Why it could not be read.
        why: String,
    },
    /// Another rank gave up.
    #[error("rank {rank} gave up: {why}")]
    Told {
        /// Rank that gave up.
        rank: usize,
        /// Reason that it gave.
        why: String,
    },
    /// This rank is dead, according to its network.
    #[error("this rank has died")]
    Dead,
}

fn host_note(host: &Option<String>) -> String {
    let host = host.as_ref().map(|host| format!("; the host is {host}"));
    host.unwrap_or_default()
}
