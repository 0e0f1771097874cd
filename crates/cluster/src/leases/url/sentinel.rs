//! Servers that watch a primary and its replicas, and say which one is the primary now.

use std::time::Duration;

use redis::{Client, ConnectionAddr, ErrorKind, RedisError, RedisResult};

/// So long a sentinel may take to answer before the next one is asked.
const PATIENCE: Duration = Duration::from_secs(2);

/// The sentinels of a primary server.
#[derive(Clone)]
pub(super) struct Sentinels {
    /// Hosts and ports.
    addresses: Vec<(String, u16)>,
    /// What they call it.
    name: String,
}

impl Sentinels {
    /// Takes `redis-sentinel://[user@]host[:port],.../name[/database]` apart: the sentinels, and
    /// the address of a server that has the rest. Nothing if it is another address.
    pub(super) fn parse(text: &str) -> Option<(Option<Sentinels>, String)> {
        let schemes = [
            ("redis-sentinel://", "redis"),
            ("rediss-sentinel://", "rediss"),
        ];
        let found = schemes
            .into_iter()
            .find_map(|(long, short)| Some((text.strip_prefix(long)?, short)));
        let (rest, scheme) = found?;
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (user, hosts) = match authority.rsplit_once('@') {
            Some((user, hosts)) => (format!("{user}@"), hosts),
            None => (String::new(), authority),
        };
        let (name, database) = path.split_once('/').unwrap_or((path, "0"));
        let addresses: Option<Vec<_>> = hosts.split(',').map(host_and_port).collect();
        let sentinels = addresses
            .filter(|_| !name.is_empty())
            .map(|addresses| Sentinels {
                addresses,
                name: name.to_owned(),
            });
        // Where the server is will be known when it is connected to.
        Some((sentinels, format!("{scheme}://{user}primary/{database}")))
    }

    /// Asks where the primary is, one sentinel after the other. TLS is kept.
    pub(super) fn primary(&self, like: &ConnectionAddr) -> RedisResult<ConnectionAddr> {
        let mut last = None;
        for (host, port) in &self.addresses {
            match self.ask(host, *port) {
                Ok((host, port)) => {
                    return Ok(match like {
                        ConnectionAddr::TcpTls {
                            insecure,
                            tls_params,
                            ..
                        } => ConnectionAddr::TcpTls {
                            host,
                            port,
                            insecure: *insecure,
                            tls_params: tls_params.clone(),
                        },
                        _ => ConnectionAddr::Tcp(host, port),
                    });
                }
                Err(error) => last = Some(error),
            }
        }
        let reason = last.map_or_else(String::new, |error| error.to_string());
        Err(RedisError::from((
            ErrorKind::Io,
            "no sentinel says where the primary server is",
            reason,
        )))
    }

    fn ask(&self, host: &str, port: u16) -> RedisResult<(String, u16)> {
        let client = Client::open(ConnectionAddr::Tcp(host.to_owned(), port))?;
        let mut connection = client.get_connection_with_timeout(PATIENCE)?;
        connection.set_read_timeout(Some(PATIENCE))?;
        let mut ask = redis::cmd("SENTINEL");
        ask.arg("GET-MASTER-ADDR-BY-NAME").arg(&self.name);
        let found: Option<(String, u16)> = ask.query(&mut connection)?;
        found.ok_or_else(|| {
            let what = "the sentinel knows no primary server of that name";
            RedisError::from((ErrorKind::Io, what, self.name.clone()))
        })
    }

    /// The addresses and the name, as in the address.
    pub(super) fn shown(&self) -> String {
        let host = |(host, port): &(String, u16)| format!("{host}:{port}");
        let hosts: Vec<String> = self.addresses.iter().map(host).collect();
        format!("{}/{}", hosts.join(","), self.name)
    }
}

/// The port is 26379 if there is none.
fn host_and_port(text: &str) -> Option<(String, u16)> {
    let (host, port) = match text.rsplit_once(':') {
        // The colons of an address of version 6 are in brackets.
        Some((host, port)) if !port.ends_with(']') => (host, port.parse().ok()?),
        _ => (text, 26379),
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    (!host.is_empty()).then(|| (host.to_owned(), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_taken_apart() {
        let (sentinels, rest) =
            Sentinels::parse("rediss-sentinel://robin@a:1,[::1]:2,c/tasks/3").expect("it is one");
        let sentinels = sentinels.expect("it is complete");
        assert_eq!(sentinels.shown(), "a:1,::1:2,c:26379/tasks");
        assert_eq!(rest, "rediss://robin@primary/3");
        assert!(Sentinels::parse("redis://a:1/3").is_none());
        for bad in [
            "redis-sentinel://a",
            "redis-sentinel://a/",
            "redis-sentinel:///tasks",
            "redis-sentinel://a:x/tasks",
            "redis-sentinel://a,,b/tasks",
        ] {
            let (sentinels, _) = Sentinels::parse(bad).expect("it is one");
            assert!(sentinels.is_none(), "{bad}");
        }
    }
}
