//! Notices of a worker, and the signal to stop it.

use std::fmt;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::Build;
use crate::leases::{GiveUp, JobId, LeaseError, Ticket, plain};

/// Tells a worker to stop, from any thread.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<(Mutex<bool>, Condvar)>);

impl Stop {
    /// Tells the worker to stop.
    pub fn stop(&self) {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.0.1.notify_all();
    }

    /// Returns `true` if the worker has been told to stop.
    pub fn is_set(&self) -> bool {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sleeps for `time`, or until the worker is told to stop. Returns `true` if it is.
    pub(super) fn sleep(&self, time: Duration) -> bool {
        let told = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        let slept = self.0.1.wait_timeout_while(told, time, |told| !*told);
        *slept.unwrap_or_else(PoisonError::into_inner).0
    }
}

/// An event that a worker reports.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// A job of another build is running, whose tasks the worker does not take.
    OtherBuild {
        /// The job.
        job: JobId,
        /// The job's build.
        build: Build,
        /// The worker's build.
        ours: Build,
    },
    /// The server cannot be used; the worker keeps trying.
    Away(LeaseError),
    /// The server can be used again.
    Back,
    /// A lease was lost: the work that was done for it does not count.
    Lost(Ticket),
    /// A task was given up.
    GivenUp(Ticket, GiveUp),
    /// A task of a lease failed. Tasks that ran beside it count.
    Failed {
        /// The job.
        job: JobId,
        /// Why it failed.
        reason: String,
        /// Whether it was set aside, instead of being tried again.
        aside: bool,
    },
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Notice::OtherBuild { job, build, ours } => write!(
                f,
                "the job {job} is of build {build}, and this worker of build {ours}: it takes none \
                 of its tasks; submit the job with the build number of the workers (the same \
                 executable, or Build::named)"
            ),
            Notice::Away(error) => write!(f, "{error}; trying again"),
            Notice::Back => f.write_str("the server is back"),
            Notice::Lost(ticket) => write!(
                f,
                "the lease of task {} of the job {} is lost, or the job is over: what was done for \
                 it does not count here",
                ticket.entry, ticket.job
            ),
            Notice::Failed { job, reason, aside } => {
                let what = if *aside {
                    "is set aside"
                } else {
                    "failed, and will be tried again"
                };
                write!(f, "a task of the job {job} {what}: {}", plain(reason))
            }
            Notice::GivenUp(ticket, why) => {
                let (task, job) = (&ticket.entry, &ticket.job);
                match why {
                    GiveUp::Stopping => write!(f, "task {task} of the job {job} is given back"),
                    GiveUp::NotBegun => {
                        write!(
                            f,
                            "task {task} of the job {job} is given back: it was not begun"
                        )
                    }
                    GiveUp::Failed(reason) => {
                        write!(f, "task {task} of the job {job} failed: {}", plain(reason))
                    }
                    GiveUp::Hopeless(reason) => {
                        write!(
                            f,
                            "task {task} of the job {job} is set aside: {}",
                            plain(reason)
                        )
                    }
                }
            }
        }
    }
}
