//! Redis itself, started by the tests on a port of its own.

use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;

use super::*;
use crate::leases::battery::{World, battery};

/// A server, with a folder of its own, and without a file: it is gone with the tests.
struct Started {
    process: Child,
    folder: PathBuf,
    port: u16,
}

impl Started {
    /// Starts a server; nothing where there is none, unless `LOCKSLEY_TEST_REDIS` demands it.
    fn new(options: &[&str]) -> Option<Started> {
        let demanded = std::env::var_os("LOCKSLEY_TEST_REDIS").is_some_and(|value| value != "0");
        let there = Command::new("redis-server").arg("--version").output();
        if there.is_err() {
            assert!(
                !demanded,
                "LOCKSLEY_TEST_REDIS is set, and there is no redis-server"
            );
            eprintln!(
                "skipped: there is no redis-server; LOCKSLEY_TEST_REDIS=1 makes this an error"
            );
            return None;
        }
        let listener = TcpListener::bind("127.0.0.1:0").expect("there is a port");
        let port = listener.local_addr().expect("it has an address").port();
        drop(listener);
        let folder =
            std::env::temp_dir().join(format!("locksley-redis-{}-{port}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("there is room for a folder");
        let process = Command::new("redis-server")
            .args([
                "--port",
                &port.to_string(),
                "--bind",
                "127.0.0.1",
                "--save",
                "",
                "--dir",
            ])
            .arg(&folder)
            .args(options)
            .stdout(Stdio::null())
            .spawn()
            .expect("it starts");
        let server = Started {
            process,
            folder,
            port,
        };
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            sleep(Duration::from_millis(10));
        }
        Some(server)
    }

    fn server(&self) -> Server {
        Server::find(Some(&format!("redis://127.0.0.1:{}", self.port))).expect("it is an address")
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

struct Real {
    redis: Redis,
    _server: Started,
}

impl World for Real {
    fn pool(&self) -> &dyn LeasePool {
        &self.redis
    }

    fn pass(&self, time: Duration) {
        sleep(time);
    }
}

fn world() -> Option<Real> {
    let server = Started::new(&[])?;
    let redis = Redis::connect(server.server()).expect("it is there");
    Some(Real {
        redis,
        _server: server,
    })
}

mod the_battery {
    use super::*;

    battery!(world().as_ref());
}
