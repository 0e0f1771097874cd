//! A server becomes a replica, and another server gets its address.

use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

use locksley_cluster::leases::State;

use crate::processes::{Process, check, command, status, submit_tree, this, tree};
use crate::server::{Started, until};

/// A proxy between the workers and their server, which can switch to another server.
struct Address {
    port: u16,
    to: Arc<AtomicU16>,
}

impl Address {
    fn of(server: &Started) -> Address {
        let listener = TcpListener::bind("127.0.0.1:0").expect("there is a port");
        let port = listener.local_addr().expect("it has an address").port();
        let to = Arc::new(AtomicU16::new(server.port()));
        let target = to.clone();
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let port = target.load(Ordering::SeqCst);
                let Ok(server) = TcpStream::connect(("127.0.0.1", port)) else {
                    continue;
                };
                for (mut from, mut into) in [
                    (client.try_clone(), server.try_clone()),
                    (server.try_clone(), client.try_clone()),
                ]
                .into_iter()
                .filter_map(|(from, into)| Some((from.ok()?, into.ok()?)))
                {
                    std::thread::spawn(move || {
                        let _ = std::io::copy(&mut from, &mut into);
                        let _ = into.shutdown(Shutdown::Both);
                    });
                }
            }
        });
        Address { port, to }
    }
}

/// RunOptions a former primary treats its clients.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Demotion {
    /// It follows the new primary, and refuses changes: `READONLY`; `UNBLOCKED` for blocked
    /// clients.
    Replica,
    /// It has not found the new primary, and refuses everything: `MASTERDOWN`.
    Alone,
}

/// Makes the second server the primary. Connections to the first one stay open.
fn fail_over(first: &Started, second: &Started, address: &Address, demotion: Demotion) {
    let port = |server: &Started| server.port().to_string();
    second.ask(&["REPLICAOF", "127.0.0.1", &port(first)]);
    until("it is a replica", || {
        second
            .ask(&["INFO", "replication"])
            .contains("master_link_status:up")
    });
    first.ask(&["CLIENT", "PAUSE", "500", "WRITE"]);
    let offset = |server: &Started| {
        let info = server.ask(&["INFO", "replication"]);
        let mut lines = info.lines();
        let found = lines.find_map(|line| line.strip_prefix("master_repl_offset:"));
        found.map(|number| number.trim().to_owned())
    };
    until("it has caught up", || offset(first) == offset(second));
    second.ask(&["REPLICAOF", "NO", "ONE"]);
    address.to.store(second.port(), Ordering::SeqCst);
    let primary = match demotion {
        Demotion::Replica => port(second),
        Demotion::Alone => {
            first.ask(&["CONFIG", "SET", "replica-serve-stale-data", "no"]);
            // No server listens there.
            "1".to_owned()
        }
    };
    first.ask(&["REPLICAOF", "127.0.0.1", &primary]);
}

/// Fails over while a worker is connected to the first server, and is busy or waits.
fn leaves(demotion: Demotion, busy: bool) {
    let Some(first) = Started::new() else { return };
    let second = Started::new().expect("the first one was there");
    let (tree, size) = tree();
    let address = Address::of(&first);
    let mut program = std::process::Command::new(this());
    let url = format!("redis://127.0.0.1:{}", address.port);
    command(&mut program, "worker", &url);
    let worker = Process::spawn(&mut program);
    if busy {
        let redis = first.connect();
        let job = submit_tree(&redis, tree);
        worker.until_it_works(&redis, &job.id);
    } else {
        until("it waits", || {
            first.ask(&["CLIENT", "LIST"]).contains("cmd=blpop")
        });
    }
    fail_over(&first, &second, &address, demotion);
    let redis = second.connect();
    // The job is there already if it was submitted to the first server.
    let job = submit_tree(&redis, tree);
    until("the job is over", || {
        status(&redis, &job.id).state == State::Done
    });
    check(&redis, &job.id, size);
    worker.stop();
}

#[test]
fn workers_leave_a_server_that_became_a_replica() {
    leaves(Demotion::Replica, true);
}

#[test]
fn workers_that_wait_leave_a_server_that_became_a_replica() {
    leaves(Demotion::Replica, false);
}

#[test]
fn workers_leave_a_server_that_is_a_replica_of_none() {
    leaves(Demotion::Alone, true);
    leaves(Demotion::Alone, false);
}
