//! A pool of connections to a server, one for each thread that uses it at the same time.

use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use redis::{Client, Cmd, Connection, ErrorKind, FromRedisValue, RedisError, RedisResult};

use crate::leases::url::{PASSWORD, PASSWORD_FILE, Server};
use crate::leases::{LeaseError, plain};

/// Time limit for the server to accept a connection, and to answer: a link that is cut gives no
/// error. Scripts take far less than a millisecond, and a server that loads its file answers
/// `LOADING`.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Error codes of a server that was the primary one and has become a replica.
const MOVED_ON: [&str; 3] = ["READONLY", "UNBLOCKED", "MASTERDOWN"];

pub(super) struct Connections {
    server: Server,
    idle: Mutex<Vec<Connection>>,
}

impl Connections {
    pub(super) fn new(server: Server) -> Connections {
        Connections {
            server,
            idle: Mutex::default(),
        }
    }

    pub(super) fn query<T: FromRedisValue>(&self, command: &Cmd) -> Result<T, LeaseError> {
        self.with(Duration::ZERO, |connection| command.query(connection))
    }

    /// Calls `act` with a connection on which the server may block for `wait`. It may call it more
    /// than once.
    pub(super) fn with<T>(
        &self,
        wait: Duration,
        act: impl Fn(&mut Connection) -> RedisResult<T>,
    ) -> Result<T, LeaseError> {
        loop {
            match self.once(wait, &act) {
                // A blocking call returns `Interrupted` in a process that was stopped and
                // continued. The server is not affected, but its answer is lost.
                Err(error) if kind(&error) == Some(io::ErrorKind::Interrupted) => {}
                done => return done.map_err(|error| self.error(&error)),
            }
        }
    }

    fn once<T>(
        &self,
        wait: Duration,
        act: impl Fn(&mut Connection) -> RedisResult<T>,
    ) -> RedisResult<T> {
        let idle = self.idle().pop();
        let mut connection = idle.map_or_else(|| self.open(), Ok)?;
        let done = connection
            .set_read_timeout(Some(wait + TIMEOUT))
            .and_then(|()| act(&mut connection));
        let stale = |error: &RedisError| match code(error) {
            // A reply may still be in transit on it; and if one connection is broken, all are.
            None => true,
            // The server does not accept changes any more: another one has its address, or soon
            // will.
            Some(code) => MOVED_ON.contains(&code.as_str()),
        };
        match &done {
            Err(error) if stale(error) => self.idle().clear(),
            _ => self.idle().push(connection),
        }
        done
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open(&self) -> RedisResult<Connection> {
        let client: Client = self.server.client()?;
        let connection = client.get_connection_with_timeout(TIMEOUT)?;
        connection.set_write_timeout(Some(TIMEOUT))?;
        Ok(connection)
    }

    fn error(&self, error: &RedisError) -> LeaseError {
        let text = plain(&format!("{}: {error}", self.server));
        let code = code(error).unwrap_or_default();
        match (error.kind(), code.as_str()) {
            (_, "NOAUTH") => LeaseError::Denied(format!(
                "{} requires a password: put it into the environment as {PASSWORD}, or into a file \
                 that {PASSWORD_FILE} names",
                self.server
            )),
            (ErrorKind::AuthenticationFailed, _) | (_, "WRONGPASS" | "NOPERM") => {
                LeaseError::Denied(text)
            }
            (
                _,
                "LOADING" | "READONLY" | "UNBLOCKED" | "MASTERDOWN" | "TRYAGAIN" | "CLUSTERDOWN"
                | "BUSY" | "OOM" | "MISCONF" | "NOREPLICAS",
            ) => LeaseError::Away(text),
            (_, "MOVED" | "ASK" | "CROSSSLOT") => LeaseError::Refused(format!(
                "{text}; it is part of a Redis Cluster, over which jobs cannot be spread: use a \
                 single server"
            )),
            (ErrorKind::Io, _) if certificate(error) => LeaseError::Denied(format!(
                "{text}; does the environment name the right authority in {}?",
                crate::leases::url::CA_FILE
            )),
            (ErrorKind::Io, _) => LeaseError::Away(text),
            (ErrorKind::Parse, _) => LeaseError::Refused(format!("{text}; is it a Redis server?")),
            _ => LeaseError::Refused(text),
        }
    }
}

/// Returns the error code of the server's answer, if it is an error: that of a command, or of the
/// first failed command of several.
fn code(error: &RedisError) -> Option<String> {
    let of_several = || {
        let errors = error.clone().into_server_errors()?;
        errors.first().map(|(_, error)| error.code().to_owned())
    };
    error.code().map(str::to_owned).or_else(of_several)
}

/// Returns the kind of the underlying I/O error, if there is one.
fn kind(error: &RedisError) -> Option<io::ErrorKind> {
    use std::error::Error;
    let cause: &Arc<dyn Error + Send + Sync> = error.source()?.downcast_ref()?;
    cause.downcast_ref().map(io::Error::kind)
}

/// Returns `true` if the server's certificate is wrong.
fn certificate(error: &RedisError) -> bool {
    error.to_string().contains("certificate")
}

impl fmt::Debug for Connections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connections")
            .field("server", &self.server)
            .field("idle", &self.idle().len())
            .finish()
    }
}
