//! What can be wrong with a server, or with what is asked of it.

use std::fmt;

use super::{JobId, Oversized};

/// Why a server did not do what it was asked to do.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Trouble {
    /// It cannot be reached, or is not ready. It may be later.
    Away(String),
    /// It does not let us in.
    Denied(String),
    /// It cannot do that.
    Refused(String),
    /// A job of that name, which is another one, is there.
    Taken(JobId),
    /// It has lost the job.
    Vanished(JobId),
    /// Something is too large.
    Oversized(Oversized),
}

impl Trouble {
    /// May it help to try again a little later?
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

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trouble::Away(why) => write!(f, "the server cannot be used now: {why}"),
            Trouble::Denied(why) => write!(f, "the server does not let us in: {why}"),
            Trouble::Refused(why) => write!(f, "the server cannot do that: {why}"),
            Trouble::Taken(job) => write!(
                f,
                "there is another job of the name {job}, with another program, other arguments or another build: choose another name, \
                 or cancel it with --forget"
            ),
            Trouble::Vanished(job) => write!(
                f,
                "the server has lost the job {job}, or its tasks: it was forgotten, or the server lost its memory (does it have `appendonly \
                 yes` and `maxmemory-policy noeviction`?); cancel it with --forget, and submit it again"
            ),
            Trouble::Oversized(what) => {
                write!(
                    f,
                    "{what}: let the task spawn smaller ones, or raise the job's limits"
                )
            }
        }
    }
}

impl std::error::Error for Trouble {}

impl From<Oversized> for Trouble {
    fn from(what: Oversized) -> Trouble {
        Trouble::Oversized(what)
    }
}
