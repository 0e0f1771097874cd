//! Errors of ranks.

use std::io;

use locksley::BuildError;
use locksley_policy::rank::Trouble;

use crate::local::Panicked;

/// Why ranks could not finish. Each says what to do.
///
/// The ranks of a job stand or fall together: the rank that meets one of these tells the others,
/// and all end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RankError {
    /// The executable could not be read, so that builds cannot be told apart.
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
    /// MPI was in use in this process before.
    #[error("MPI can be used once in a process: connect to it once, at the start")]
    Used,
    /// What the protocol between ranks has found out.
    #[error("{trouble} (noticed by rank {rank}{})", blamed(host))]
    Trouble {
        /// The rank that has found it out.
        rank: usize,
        /// The host of the rank that is to blame, if it is known.
        host: Option<String>,
        /// What it is.
        #[source]
        trouble: Trouble,
    },
    /// A task panicked.
    #[error("on rank {rank} ({host}) {panicked}")]
    Panicked {
        /// On which rank.
        rank: usize,
        /// On which host.
        host: String,
        /// Which one, and what it said.
        #[source]
        panicked: Panicked,
    },
    /// A message, a task in it or a result could not be read.
    #[error(
        "rank {rank} sent what cannot be read: {why}; start all ranks from the same executable, or \
         change the build number with the format of tasks"
    )]
    Malformed {
        /// The sender.
        rank: usize,
        /// What is wrong with it.
        why: String,
    },
    /// Another rank gave up, and said this.
    #[error("rank {rank} gave up: {why}")]
    Told {
        /// Which one.
        rank: usize,
        /// Why.
        why: String,
    },
    /// This rank is dead: its network says so.
    #[error("this rank has died")]
    Dead,
}

fn blamed(host: &Option<String>) -> String {
    let host = host.as_ref().map(|host| format!("; the host is {host}"));
    host.unwrap_or_default()
}
