//! A server that a test starts, kills, and restarts.

use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use locksley_cluster::leases::{Redis, Server};

use crate::clock::Clock;
use crate::poll::within;
pub(crate) use crate::prerequisites::{demanded, free_port, program, there_is};

/// Waits until `come` returns `true`, up to a minute.
pub(crate) fn until(what: &str, mut come: impl FnMut() -> bool) {
    let came = within(60, || come().then_some(()));
    assert!(came.is_some(), "{what}: not after a minute");
}

/// A server with an append-only file that is written before each reply.
pub(crate) struct Started {
    process: Child,
    pub(crate) folder: PathBuf,
    port: u16,
    options: Vec<String>,
    address: String,
    /// Clock of its own, if it has one.
    clock: Option<Clock>,
}

impl Started {
    pub(crate) fn new() -> Option<Started> {
        Started::with(&[], "127.0.0.1")
    }

    /// Starts a server with a clock of its own, which can be [set](Started::step_clock).
    pub(crate) fn with_clock() -> Option<Started> {
        if !cfg!(target_os = "linux") {
            eprintln!("skipped: a clock of its own is for Linux");
            return None;
        }
        Started::build(&[], "127.0.0.1", true)
    }

    /// Starts a server with more options, which listens on this address.
    pub(crate) fn with(options: &[&str], address: &str) -> Option<Started> {
        Started::build(options, address, false)
    }

    fn build(options: &[&str], address: &str, clock: bool) -> Option<Started> {
        if !there_is(&program()) {
            return None;
        }
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("redis-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("there is room for a folder");
        let port = free_port();
        let options: Vec<String> = options.iter().map(|&option| option.to_owned()).collect();
        let clock = clock.then(|| Clock::new(&folder));
        let process = start(&folder, port, &options, address, clock.as_ref());
        Some(Started {
            process,
            folder,
            port,
            options,
            address: address.to_owned(),
            clock,
        })
    }

    /// Sets the server's clock ahead by this many milliseconds, or back.
    pub(crate) fn step_clock(&mut self, millis: i64) {
        let clock = self.clock.as_mut();
        clock.expect("it has a clock of its own").step(millis);
    }

    /// Makes the server's disk appear full, or not.
    #[cfg(target_os = "linux")]
    pub(crate) fn fill_disk(&self, full: bool) {
        use rustix::process::{Pid, Resource, Rlimit, prlimit};
        let limit = Rlimit {
            current: full.then_some(1),
            maximum: None,
        };
        let server = Pid::from_child(&self.process);
        prlimit(Some(server), Resource::Fsize, limit).expect("it is ours");
    }

    /// Kills the server, like `kill -9`.
    pub(crate) fn kill(&mut self) {
        self.process.kill().expect("it is there");
        self.process.wait().expect("it ends");
    }

    /// Restarts the server with the data of its file.
    pub(crate) fn restart(&mut self) {
        let clock = self.clock.as_ref();
        self.process = start(&self.folder, self.port, &self.options, &self.address, clock);
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://{}:{}", self.address, self.port)
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn connect(&self) -> Redis {
        let server = Server::find(Some(&self.url())).expect("it is an address");
        Redis::connect(server).expect("it is there")
    }

    /// Returns the answer of `redis-cli`.
    pub(crate) fn ask(&self, words: &[&str]) -> String {
        let output = Command::new("redis-cli")
            .args(["-h", &self.address, "-p", &self.port.to_string()])
            .args(words)
            .output()
            .expect("it comes with the server");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }
}

fn start(
    folder: &Path,
    port: u16,
    options: &[String],
    address: &str,
    clock: Option<&Clock>,
) -> Child {
    // Without XFSZ, writing beyond the limit of a file gives an error instead of a signal.
    let mut server = Command::new("sh");
    let ignoring = ["-c", "trap '' XFSZ; exec \"$0\" \"$@\""];
    server.args(ignoring).arg(program());
    if let Some(clock) = clock {
        clock.applies_to(&mut server);
    }
    let process = server
        .args(["--port", &port.to_string(), "--bind", address])
        .args([
            "--save",
            "",
            "--appendonly",
            "yes",
            "--appendfsync",
            "always",
        ])
        .args(["--protected-mode", "no", "--dir"])
        .arg(folder)
        .args(options)
        .stdout(Stdio::null())
        .spawn()
        .expect("it starts");
    let port = if options.contains(&"--tls-port".to_owned()) {
        None
    } else {
        Some(port)
    };
    if let Some(port) = port {
        until("the server listens", || {
            TcpStream::connect((address, port)).is_ok()
        });
    }
    process
}

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
