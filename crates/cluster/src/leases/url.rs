//! The address of the server, and the credentials for it.
//!
//! | source | value |
//! |---|---|
//! | the command line, else [`URL`] | the address: `redis://[user@]host[:port][/database]`, `rediss://…` for TLS, `unix:///path` |
//! | the same | ... of sentinels: `redis-sentinel://[user@]host[:port],.../name[/database]`, `rediss-sentinel://…` if the servers have TLS. The sentinels themselves are asked without TLS and password |
//! | [`PASSWORD`], else the file that [`PASSWORD_FILE`] names, else the address in [`URL`] | the password |
//! | the file that [`CA_FILE`] names, else the system | the trusted authorities for a server with TLS |
//!
//! A command line can be read by all users of a machine, and appears in logs and histories. So an
//! address with a password is refused there. Secrets are never shown: not by `Debug`, not by
//! `Display`, and not in an error.

mod sentinel;

use std::fmt;
use std::fs;

use redis::{
    Client, ConnectionAddr, ConnectionInfo, IntoConnectionInfo, ProtocolVersion, TlsCertificates,
};

use sentinel::Sentinels;

/// The environment variable with the address of the server.
pub const URL: &str = "LOCKSLEY_REDIS_URL";

/// The environment variable with the password.
pub const PASSWORD: &str = "LOCKSLEY_REDIS_PASSWORD";

/// The environment variable with the path of a file that contains the password, and nothing else
/// but a line break.
pub const PASSWORD_FILE: &str = "LOCKSLEY_REDIS_PASSWORD_FILE";

/// The environment variable with the path of a file of certificates of authorities, in PEM format.
pub const CA_FILE: &str = "LOCKSLEY_REDIS_CA_FILE";

/// The address that is used if none is given.
pub const DEFAULT: &str = "redis://127.0.0.1:6379";

/// The address of a server, and the credentials for it.
#[derive(Clone)]
pub struct Server {
    info: ConnectionInfo,
    authorities: Option<Vec<u8>>,
    /// Sentinels that know the address of the primary, if they are used.
    sentinels: Option<Sentinels>,
    shown: String,
}

/// The error for a bad address or bad credentials. It contains no secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadServer(String);

impl fmt::Display for BadServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadServer {}

impl Server {
    /// Returns the server that the command line or the environment specifies.
    ///
    /// # Errors
    ///
    /// If an address is malformed or has a password where all users can read it, or a file cannot
    /// be read.
    ///
    /// ```
    /// use locksley_cluster::leases::Server;
    ///
    /// let server = Server::find(Some("rediss://tasks.example:6380/2"))?;
    /// assert_eq!(server.to_string(), "rediss://tasks.example:6380/2");
    /// assert!(Server::find(Some("redis://:secret@tasks.example")).is_err());
    /// # Ok::<(), locksley_cluster::leases::BadServer>(())
    /// ```
    pub fn find(given: Option<&str>) -> Result<Server, BadServer> {
        Server::from_environment(given, &|name| std::env::var(name).ok())
    }

    fn from_environment(
        given: Option<&str>,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Server, BadServer> {
        let variable = |name: &str| variable(name).filter(|value| !value.is_empty());
        let mut server = match (given, variable(URL)) {
            (Some(given), _) => Server::public(given)?,
            (None, Some(url)) => Server::parse(&url, URL)?,
            (None, None) => Server::parse(DEFAULT, "the default")?,
        };
        let password = match (variable(PASSWORD), variable(PASSWORD_FILE)) {
            (None, Some(file)) => Some(
                read(PASSWORD_FILE, &file)?
                    .trim_end_matches(['\r', '\n'])
                    .to_owned(),
            ),
            (password, _) => password,
        };
        if let Some(password) = password {
            let settings = server.info.redis_settings().clone();
            server.info = server
                .info
                .set_redis_settings(settings.set_password(password));
        }
        if let Some(file) = variable(CA_FILE) {
            let authorities = read(CA_FILE, &file)?;
            let useless = |why: &str| {
                BadServer(format!(
                    "the file {file}, which {CA_FILE} names, cannot be used: {why}"
                ))
            };
            if !authorities.contains("-----BEGIN CERTIFICATE-----") {
                return Err(useless("there is no certificate in PEM format in it"));
            }
            server.authorities = Some(authorities.into_bytes());
            server
                .client_of(server.info.clone())
                .map_err(|error| useless(&error.to_string()))?;
        }
        Ok(server)
    }

    /// Parses an address that is public, and so must not contain a password.
    fn public(given: &str) -> Result<Server, BadServer> {
        let server = Server::parse(given, "--server")?;
        if server.info.redis_settings().password().is_some() {
            return Err(BadServer(format!(
                "a password on a command line can be read by all users of this machine: leave it \
                 out of --server, and put it into the environment as {PASSWORD}, or into a file \
                 that {PASSWORD_FILE} names"
            )));
        }
        Ok(server)
    }

    fn parse(text: &str, whence: &str) -> Result<Server, BadServer> {
        let forms = "an address is like redis://host:6379, rediss://user@host:6380/0 (with TLS), \
            unix:///path, or redis-sentinel://host:26379,host2/name";
        let bad = |what: &str| BadServer(format!("{whence} {what}; {forms}"));
        let (sentinels, text) = match Sentinels::parse(text) {
            Some((None, _)) => return Err(bad("lacks the name of the server for the sentinels")),
            Some((sentinels, rest)) => (sentinels, rest),
            None => (None, text.to_owned()),
        };
        let text = text.as_str();
        let url = redis::parse_redis_url(text).ok_or_else(|| bad("is not a server address"))?;
        if url.fragment().is_some() {
            // `#insecure` would mean that any process may pretend to be the server.
            return Err(bad("contains a `#`, which is not supported"));
        }
        let scheme = url.scheme().to_owned();
        let info = text
            .into_connection_info()
            .map_err(|_| bad("is not a server address"))?;
        // Answers are read in their older form.
        let settings = info.redis_settings().clone();
        let info = info.set_redis_settings(settings.set_protocol(ProtocolVersion::RESP2));
        let database = match info.redis_settings().db() {
            0 => String::new(),
            number => format!("/{number}"),
        };
        let user = info
            .redis_settings()
            .username()
            .map(|user| format!("{user}@"));
        let shown = match (info.addr(), &sentinels) {
            (_, Some(sentinels)) => {
                let (user, shown) = (user.unwrap_or_default(), sentinels.shown());
                format!("{scheme}-sentinel://{user}{shown}{database}")
            }
            (ConnectionAddr::Unix(path), None) => format!("unix://{}", path.display()),
            (address, None) => {
                format!("{scheme}://{}{address}{database}", user.unwrap_or_default())
            }
        };
        Ok(Server {
            info,
            authorities: None,
            sentinels,
            shown,
        })
    }

    /// Returns a client of the server at its present address.
    pub(super) fn client(&self) -> redis::RedisResult<Client> {
        let Some(sentinels) = &self.sentinels else {
            return self.client_of(self.info.clone());
        };
        let primary = sentinels.primary(self.info.addr())?;
        self.client_of(self.info.clone().set_addr(primary))
    }

    fn client_of(&self, info: ConnectionInfo) -> redis::RedisResult<Client> {
        let tls = matches!(info.addr(), ConnectionAddr::TcpTls { .. });
        match (&self.authorities, tls) {
            (Some(authorities), true) => {
                let certificates = TlsCertificates {
                    client_tls: None,
                    root_cert: Some(authorities.clone()),
                };
                Client::build_with_tls(info, certificates)
            }
            _ => Client::open(info),
        }
    }
}

fn read(variable: &str, file: &str) -> Result<String, BadServer> {
    fs::read_to_string(file).map_err(|error| {
        BadServer(format!(
            "cannot read {file}, which {variable} names: {error}"
        ))
    })
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Server").field(&self.shown).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(given: Option<&str>, variables: &[(&str, &str)]) -> Result<Server, BadServer> {
        Server::from_environment(given, &|name| {
            let found = variables.iter().find(|(variable, _)| *variable == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    fn password(server: &Server) -> Option<&str> {
        server.info.redis_settings().password()
    }

    #[test]
    fn the_command_line_comes_before_the_environment() {
        let url = (URL, "redis://there:1/3");
        let shown = |given, variables: &[_]| with(given, variables).unwrap().to_string();
        assert_eq!(shown(None, &[]), DEFAULT);
        assert_eq!(shown(None, &[url]), "redis://there:1/3");
        assert_eq!(shown(Some("redis://here"), &[url]), "redis://here:6379");
        let watched = "rediss-sentinel://robin@a:26379,b:1/tasks/3";
        assert_eq!(shown(Some(watched), &[url]), watched);
    }

    #[test]
    fn secrets_are_taken_and_not_shown() {
        let url = (URL, "redis://robin:hood1@there");
        let server = with(None, &[url]).unwrap();
        assert_eq!(password(&server), Some("hood1"));
        assert_eq!(server.to_string(), "redis://robin@there:6379");
        let server = with(None, &[url, (PASSWORD, "hood2")]).unwrap();
        assert_eq!(password(&server), Some("hood2"));
        let texts = [
            format!("{server:?}"),
            server.to_string(),
            format!("{:?}", super::super::Redis::later(server)),
        ];
        assert!(texts.iter().all(|text| !text.contains("hood")), "{texts:?}");
    }

    #[test]
    fn a_password_comes_from_a_file_without_its_line_break() {
        let file = std::env::temp_dir().join(format!("locksley-password-{}", std::process::id()));
        fs::write(&file, "hood3 \n").unwrap();
        let server = with(None, &[(PASSWORD_FILE, file.to_str().unwrap())]).unwrap();
        assert_eq!(password(&server), Some("hood3 "));
        fs::remove_file(&file).unwrap();
        let gone = with(None, &[(PASSWORD_FILE, file.to_str().unwrap())]).unwrap_err();
        assert!(gone.to_string().contains(PASSWORD_FILE), "{gone}");
    }

    #[test]
    fn a_file_without_certificates_is_refused() {
        let file = std::env::temp_dir().join(format!("locksley-ca-{}", std::process::id()));
        for content in [
            "",
            "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
        ] {
            fs::write(&file, content).unwrap();
            let path = file.to_str().unwrap();
            let error = with(Some("rediss://there"), &[(CA_FILE, path)]).unwrap_err();
            assert!(error.to_string().contains(CA_FILE), "{error}");
        }
        fs::remove_file(&file).unwrap();
    }

    #[test]
    fn what_makes_no_sense_is_refused_and_not_repeated() {
        for bad in [
            "redis://:hood@there",
            "redis://robin:hood@there",
            "hood",
            "http://robin:hood@there",
            "rediss://there#insecure",
            "redis-sentinel://robin:hood@there",
            "redis-sentinel://robin:hood@there/tasks",
        ] {
            let error = with(Some(bad), &[]).unwrap_err().to_string();
            assert!(
                !error.contains("hood") && !error.contains("robin:"),
                "{error}"
            );
        }
    }
}
