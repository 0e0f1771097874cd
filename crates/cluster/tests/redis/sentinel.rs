//! Sentinels that elect another primary server when theirs dies.

use std::process::{Child, Command, Stdio};

use locksley_cluster::leases::{LeaseError, Redis, Server};
use rustix::process::Signal;

use crate::processes::{Process, check, command, submit_tree, this, tree};
use crate::server::{Started, free_port, program, there_is, until};

/// Returns the program of a sentinel, which comes with the server: `redis-sentinel`,
/// `valkey-sentinel`.
fn sentinel() -> String {
    program().replace("-server", "-sentinel")
}

/// A sentinel with a quorum of one.
struct Sentinel {
    process: Child,
    port: u16,
}

impl Sentinel {
    fn of(primary: &Started) -> Sentinel {
        let port = free_port();
        let file = primary.folder.join("sentinel.conf");
        let watched = primary.port();
        let settings = format!(
            "port {port}\nbind 127.0.0.1\nsentinel monitor tasks 127.0.0.1 {watched} 1\n\
             sentinel down-after-milliseconds tasks 500\nsentinel failover-timeout tasks 5000\n"
        );
        std::fs::write(&file, settings).expect("there is room for a file");
        let mut process = Command::new(sentinel());
        let process = process.arg(&file).stdout(Stdio::null());
        let process = process.spawn().expect("it starts");
        Sentinel { process, port }
    }

    fn ask(&self, words: &[&str]) -> String {
        let mut cli = Command::new("redis-cli");
        cli.args(["-p", &self.port.to_string()]).args(words);
        let output = cli.output().expect("it comes with the server");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// Returns the address, preceded by one without a sentinel.
    fn url(&self) -> String {
        format!("redis-sentinel://127.0.0.1:1,127.0.0.1:{}/tasks", self.port)
    }
}

impl Drop for Sentinel {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn workers_and_submitters_follow_what_sentinels_say() {
    let Some(mut first) = Started::new() else {
        return;
    };
    if !there_is(&sentinel()) {
        return;
    }
    let second = Started::new().expect("the first one was there");
    let port = first.port().to_string();
    second.ask(&["REPLICAOF", "127.0.0.1", &port]);
    until("it is a replica", || {
        let about = second.ask(&["INFO", "replication"]);
        about.contains("master_link_status:up")
    });
    let sentinel = Sentinel::of(&first);
    let replicas = || sentinel.ask(&["SENTINEL", "REPLICAS", "tasks"]);
    let known = second.port().to_string();
    until("it knows the replica", || replicas().contains(&known));

    let nameless = Server::find(Some(&sentinel.url().replace("tasks", "others")));
    let nameless = Redis::connect(nameless.expect("it is an address"));
    assert!(matches!(nameless, Err(LeaseError::Away(_))), "{nameless:?}");
    let server = Server::find(Some(&sentinel.url())).expect("it is an address");
    let redis = Redis::connect(server).expect("it is there");
    let (tree, size) = tree();
    let job = submit_tree(&redis, tree);
    let mut program = Command::new(this());
    command(&mut program, "worker", &sentinel.url());
    let worker = Process::spawn(&mut program);
    worker.until_it_works(&redis, &job.id);
    // Everything acknowledged is on the replica; anything else is done again.
    let wait = first.ask(&["WAIT", "1", "5000"]);
    assert_eq!(wait, "1", "the replica is there");
    first.kill();
    until("the second one is the primary", || {
        second.ask(&["ROLE"]).starts_with("master")
    });
    check(&redis, &job.id, size);
    worker.signal(Signal::TERM);
    assert!(worker.end().status.success());
}
