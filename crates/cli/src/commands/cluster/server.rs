//! What `worker`, `submit`, `status` and `cancel` have in common: a server.

use clap::Args;
use locksley_cluster::Build;
use locksley_cluster::leases::{JobId, Redis, Server, Trouble};

use crate::error::Error;

/// For the help of each: where the server and its password come from.
pub(crate) const ENVIRONMENT: &str = "\
The server and its secrets come from the environment:
  LOCKSLEY_REDIS_URL            its address, if there is no --server: redis://host:6379, rediss://host:6380 (TLS)
  LOCKSLEY_REDIS_PASSWORD       its password
  LOCKSLEY_REDIS_PASSWORD_FILE  or a file with it
  LOCKSLEY_REDIS_CA_FILE        certificates of whom to trust with TLS, else those of the system";

/// The server.
#[derive(Args, Clone, Debug)]
pub(crate) struct ServerOptions {
    /// The address of a Redis server, without a password [default: LOCKSLEY_REDIS_URL, or
    /// redis://127.0.0.1:6379].
    #[arg(long, value_name = "URL", global = true)]
    server: Option<String>,
}

impl ServerOptions {
    /// The server, if the address makes sense.
    pub(crate) fn find(&self) -> Result<Server, Error> {
        Server::find(self.server.as_deref()).map_err(Error::usage)
    }

    /// The server, connected.
    pub(crate) fn connect(&self) -> Result<Redis, Error> {
        Ok(Redis::connect(self.find()?)?)
    }
}

impl From<Trouble> for Error {
    fn from(trouble: Trouble) -> Error {
        match trouble {
            Trouble::Taken(_) | Trouble::Oversized(_) => Error::usage(trouble),
            _ => Error::System(trouble.to_string()),
        }
    }
}

/// A job's name, for clap.
pub(crate) fn job(text: &str) -> Result<JobId, String> {
    text.parse::<JobId>().map_err(|error| error.to_string())
}

/// The build of this executable.
pub(crate) fn build() -> Result<Build, Error> {
    Build::current().map_err(|error| Error::System(format!("cannot read this executable: {error}")))
}

/// There is no such job.
pub(crate) fn unknown(job: &JobId) -> Error {
    Error::usage(format!(
        "the server knows no job of the name {job}; `locksley cluster status` lists those that are running"
    ))
}
