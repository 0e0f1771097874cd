//! Errors of a server, and of requests to it.

use super::{JobId, Oversized};

/// Why a server did not carry out a request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LeaseError {
    /// The server cannot be reached, or is not ready. A later attempt may succeed.
    #[error("the server cannot be used now: {0}")]
    Away(String),
    /// The server refuses the connection because of a password or a certificate.
    #[error("the server refuses access: {0}")]
    Denied(String),
    /// The server cannot carry out the request.
    #[error("the server cannot do that: {0}")]
    Refused(String),
    /// Another job has that name.
    #[error(
        "there is another job of the name {0}, with another program, other arguments or another \
         build: choose another name, cancel it with --forget, or submit with --again if it is over"
    )]
    Taken(JobId),
    /// The server has lost the job.
    #[error(
        "the server has lost the job {0}, or its tasks: it was forgotten, or the server lost its \
         memory (does it have `appendonly yes` and `maxmemory-policy noeviction`?); cancel it with \
         --forget, and submit it again"
    )]
    Vanished(JobId),
    /// All workers of the pool are occupied by tasks that ran out of time and do not return.
    #[error(
        "all {0} threads of this worker are occupied by tasks that ran out of time and do not \
         return: restart it; such tasks should poll whether they are cancelled"
    )]
    Stuck(usize),
    /// A task, a result or a number of them is too large.
    #[error("{0}: let the task spawn smaller ones, or raise the job's limits")]
    Oversized(#[from] Oversized),
}

impl LeaseError {
    /// Returns `true` if a later attempt may succeed.
    ///
    /// ```
    /// use locksley_cluster::leases::LeaseError;
    ///
    /// assert!(LeaseError::Away("connection refused".to_owned()).passes());
    /// assert!(!LeaseError::Denied("no password".to_owned()).passes());
    /// ```
    pub fn passes(&self) -> bool {
        matches!(self, LeaseError::Away(_))
    }
}
