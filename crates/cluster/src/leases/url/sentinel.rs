//! Sentinels: servers that watch a primary and its replicas, and report which one is the primary.

use std::time::Duration;

use redis::{Client, ConnectionAddr, ErrorKind, RedisError, RedisResult};

/// Time limit for a sentinel to answer before the next one is asked.
const TIMEOUT: Duration = Duration::from_secs(2);

/// The sentinels of a primary server.
#[derive(Clone)]
pub(super) struct Sentinels {
    /// Hosts and ports.
    addresses: Vec<(String, u16)>,
    /// Name by which they know the primary.
    name: String,
}

impl Sentinels {
    /// Parses `redis-sentinel://[user@]host[:port],.../name[/database]`: returns the sentinels, and
    /// the address of a server with the remaining parts. `None` for another kind of address.
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
        // `primary` is a placeholder: the real address is determined at each connection.
        Some((sentinels, format!("{scheme}://{user}primary/{database}")))
    }

    /// Asks for the address of the primary, one sentinel after the other. TLS is kept.
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
            "no sentinel reports the primary server",
            reason,
        )))
    }

    fn ask(&self, host: &str, port: u16) -> RedisResult<(String, u16)> {
        let client = Client::open(ConnectionAddr::Tcp(host.to_owned(), port))?;
        let mut connection = client.get_connection_with_timeout(TIMEOUT)?;
        connection.set_read_timeout(Some(TIMEOUT))?;
        let mut ask = redis::cmd("SENTINEL");
        ask.arg("GET-MASTER-ADDR-BY-NAME").arg(&self.name);
        let found: Option<(String, u16)> = ask.query(&mut connection)?;
        found.ok_or_else(|| {
            let what = "the sentinel knows no primary server of that name";
            RedisError::from((ErrorKind::Io, what, self.name.clone()))
        })
    }

    /// Returns the addresses and the name, as they appear in the address.
    pub(super) fn shown(&self) -> String {
        let host = |(host, port): &(String, u16)| format!("{host}:{port}");
        let hosts: Vec<String> = self.addresses.iter().map(host).collect();
        format!("{}/{}", hosts.join(","), self.name)
    }
}

/// Splits an address of a sentinel. The port is 26379 if there is none.
fn host_and_port(text: &str) -> Option<(String, u16)> {
    let (host, port) = match text.rsplit_once(':') {
        // The colons of an IPv6 address are in brackets.
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
