//! The server, which `worker`, `submit`, `status`, `cancel` and `dead` have in common.

use clap::Args;
use locksley_cluster::Build;
use locksley_cluster::leases::{JobId, LeaseError, Redis, Server};

use crate::error::Error;

/// Variables that set the server and its password, for the help of these commands.
pub(crate) const ENVIRONMENT: &str = "\
The server and its secrets come from the environment:
  LOCKSLEY_REDIS_URL            address, without --server: redis://host:6379, rediss://host (TLS)
  LOCKSLEY_REDIS_PASSWORD       password
  LOCKSLEY_REDIS_PASSWORD_FILE  file with the password
  LOCKSLEY_REDIS_CA_FILE        CA certificates to trust for TLS [default: those of the system]";

/// Options that select the server.
#[derive(Args, Clone, Debug)]
pub(crate) struct ServerOptions {
    /// Address of a Redis server, without a password [default: LOCKSLEY_REDIS_URL, or
    /// redis://127.0.0.1:6379].
    #[arg(long, value_name = "URL", global = true)]
    server: Option<String>,
}

impl ServerOptions {
    /// Returns the server, or an error if its address is invalid.
    pub(crate) fn find(&self) -> Result<Server, Error> {
        Server::find(self.server.as_deref()).map_err(Error::usage)
    }

    /// Connects to the server.
    pub(crate) fn connect(&self) -> Result<Redis, Error> {
        Ok(Redis::connect(self.find()?)?)
    }
}

impl From<LeaseError> for Error {
    fn from(error: LeaseError) -> Error {
        match error {
            LeaseError::Taken(_) | LeaseError::Oversized(_) => Error::usage(error),
            _ => Error::System(error.to_string()),
        }
    }
}

/// Parses a job's name, for clap.
pub(crate) fn job(text: &str) -> Result<JobId, String> {
    text.parse::<JobId>().map_err(|error| error.to_string())
}

/// Returns the build of this executable.
pub(crate) fn build() -> Result<Build, Error> {
    Build::current().map_err(|error| Error::System(format!("cannot read this executable: {error}")))
}

/// Returns the error for a job that does not exist.
pub(crate) fn unknown(job: &JobId) -> Error {
    Error::usage(format!(
        "the server has no job of the name {job}; `locksley cluster status` lists those that are \
         running"
    ))
}
