//! A link is cut. The worker runs on a host of its own, emulated by a network namespace.

use std::process::Command;

use locksley_cluster::leases::LeasePool;

use crate::processes::{Process, check, command, status, submit_tree, this, tree};
use crate::server::{Started, demanded, there_is, until};

/// Another host, with a link to this one.
struct Host {
    name: String,
    /// This host's end of the link.
    link: String,
    address: String,
}

/// Runs `ip` with these arguments. Returns `true` if it succeeds.
fn ip(line: &str) -> bool {
    let output = Command::new("ip").args(line.split_whitespace()).output();
    output.is_ok_and(|output| output.status.success())
}

impl Host {
    /// Creates a host; `None` if that is not permitted.
    fn new() -> Option<Host> {
        let number = std::process::id() % 10_000;
        let (name, link) = (format!("lockC{number}"), format!("lkC{number}"));
        // Addresses from the network 198.18.0.0/15, which is reserved for tests.
        let (third, address) = (number % 250, |last: u32| {
            format!("198.19.{}.{last}", number % 250)
        });
        assert!(third < 250);
        let host = Host {
            name: name.clone(),
            link: link.clone(),
            address: address(1),
        };
        let peer = format!("{link}p");
        let made = ip(&format!("netns add {name}"))
            && ip(&format!("link add {link} type veth peer name {peer}"))
            && ip(&format!("link set {peer} netns {name}"))
            && ip(&format!("addr add {}/24 dev {link}", address(1)))
            && ip(&format!("link set {link} up"))
            && ip(&format!("-n {name} addr add {}/24 dev {peer}", address(2)))
            && ip(&format!("-n {name} link set {peer} up"));
        if !made {
            assert!(
                !demanded(),
                "LOCKSLEY_TEST_REDIS is set, and a network namespace cannot be made"
            );
            eprintln!(
                "skipped: a network namespace cannot be made here; it needs the rights of the administrator"
            );
            return None;
        }
        Some(host)
    }

    fn cut(&self) {
        assert!(ip(&format!("link set {} down", self.link)));
    }

    fn mend(&self) {
        assert!(ip(&format!("link set {} up", self.link)));
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        ip(&format!("link del {}", self.link));
        ip(&format!("netns del {}", self.name));
    }
}

#[test]
fn a_link_is_cut_and_mended() {
    if !there_is("ip") {
        return;
    }
    let Some(host) = Host::new() else { return };
    let Some(server) = Started::with(&[], &host.address) else {
        return;
    };
    let (tree, size) = tree();
    let redis = server.connect();
    let job = submit_tree(&redis, tree);
    let mut program = Command::new("ip");
    program.args(["netns", "exec", &host.name]).arg(this());
    command(&mut program, "worker", &server.url());
    let far = Process::spawn(&mut program);
    far.until_it_works(&redis, &job.id);
    host.cut();
    let near = Process::worker(&server);
    until("what it holds is taken over", || {
        !far.holds(&status(&redis, &job.id))
    });
    let ended = check(&redis, &job.id, size);
    assert_eq!(ended.status.shares.len(), 2, "{:?}", ended.status);
    near.stop();
    host.mend();
    // The worker is still alive, and reconnects: there is a second job for it.
    redis.cancel(&job.id, true).expect("the server is there");
    let job = submit_tree(&redis, tree);
    let ended = check(&redis, &job.id, size);
    assert_eq!(ended.status.shares.len(), 1, "{:?}", ended.status);
    far.stop();
}
