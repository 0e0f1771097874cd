//! Errors of a server, and of what is asked of it.

use super::{JobId, Oversized};

/// Why a server did not do what it was asked to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Trouble {
    /// It cannot be reached, or is not ready. It may be later.
    #[error("the server cannot be used now: {0}")]
    Away(String),
    /// It refuses the connection: a password, a certificate.
    #[error("the server does not let us in: {0}")]
    Denied(String),
    /// It cannot do that.
    #[error("the server cannot do that: {0}")]
    Refused(String),
    /// A job of that name, which is another one, is there.
    #[error(
        "there is another job of the name {0}, with another program, other arguments or another \
         build: choose another name, cancel it with --forget, or submit with --again if it is over"
    )]
    Taken(JobId),
    /// It has lost the job.
    #[error(
        "the server has lost the job {0}, or its tasks: it was forgotten, or the server lost its \
         memory (does it have `appendonly yes` and `maxmemory-policy noeviction`?); cancel it with \
         --forget, and submit it again"
    )]
    Vanished(JobId),
    /// All workers of the pool run tasks that ran out of time and do not return.
    #[error(
        "all {0} threads of this worker are occupied by tasks that ran out of time and do not \
         return: start it anew; such tasks should look whether they are cancelled"
    )]
    Stuck(usize),
    /// Something is too large.
    #[error("{0}: let the task spawn smaller ones, or raise the job's limits")]
    Oversized(#[from] Oversized),
}

impl Trouble {
    /// Returns `true` if it may help to try again a little later.
    ///
    /// ```
    /// use locksley_cluster::leases::Trouble;
    ///
    /// assert!(Trouble::Away("connection refused".to_owned()).passes());
    /// assert!(!Trouble::Denied("no password".to_owned()).passes());
    /// ```
    pub fn passes(&self) -> bool {
        matches!(self, Trouble::Away(_))
    }
}
