//! Several hosts, emulated by network namespaces with a bridge between them. Each host and `mpirun`
//! have a namespace of their own, so that nothing is visible outside.
//!
//! ```text
//!   mpirun in NAME-0 (10.77.7.1, the bridge) ──┬── NAME-1 (10.77.7.2): orted, rank 0
//!                                              └── NAME-2 (10.77.7.3): orted, rank 1
//! ```

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::job::{Job, demanded, signal};
use crate::poll::within;
use crate::rank;

/// Network of the bridge. Processes outside the namespaces do not see it.
const NETWORK: &str = "10.77.7.0/24";

/// MPI's parameters for hosts on the bridge. With the last three its daemons notice within seconds
/// that a link is gone.
const PARAMETERS: [(&str, &str); 7] = [
    ("pml", "ob1"),
    ("btl", "tcp,self"),
    ("btl_tcp_if_include", NETWORK),
    ("oob_tcp_if_include", NETWORK),
    ("oob_tcp_keepalive_time", "1"),
    ("oob_tcp_keepalive_intvl", "1"),
    ("oob_tcp_keepalive_probes", "2"),
];

/// Two hosts, and one that starts the job.
struct Hosts {
    name: String,
}

impl Hosts {
    /// Sets the hosts up, where that is possible.
    fn new() -> Option<Hosts> {
        let hosts = Hosts {
            name: format!("lk{}", std::process::id()),
        };
        match hosts.set_up() {
            Ok(()) => Some(hosts),
            Err(error) => {
                assert!(!demanded(), "hosts cannot be imitated: {error}");
                println!("skipped: hosts cannot be imitated: {error}");
                None
            }
        }
    }

    fn set_up(&self) -> Result<(), String> {
        let first = self.host(0);
        ip(&format!("netns add {first}"))?;
        ip(&format!("-n {first} link set lo up"))?;
        ip(&format!("-n {first} link add bridge type bridge"))?;
        ip(&format!("-n {first} addr add 10.77.7.1/24 dev bridge"))?;
        ip(&format!("-n {first} link set bridge up"))?;
        for number in 1..=2 {
            let host = self.host(number);
            let address = format!("10.77.7.{}/24", number + 1);
            ip(&format!("netns add {host}"))?;
            ip(&format!("-n {host} link set lo up"))?;
            ip(&format!(
                "-n {first} link add port{number} type veth peer name eth0 netns {host}"
            ))?;
            ip(&format!(
                "-n {first} link set port{number} master bridge up"
            ))?;
            ip(&format!("-n {host} addr add {address} dev eth0"))?;
            ip(&format!("-n {host} link set eth0 up"))?;
        }
        Ok(())
    }

    fn host(&self, number: usize) -> String {
        format!("{}-{number}", self.name)
    }

    /// Returns a job with a rank on each host.
    fn job(&self, program: &str) -> Job {
        let job = Job::new(program).ranks(2);
        let agent = job.folder().join("agent");
        let script = "#!/bin/sh\nhost=$1\nshift\n\
                      exec ip netns exec $host unshare --uts sh -c \"hostname $host; $*\"\n";
        fs::write(&agent, script).unwrap();
        fs::set_permissions(&agent, fs::Permissions::from_mode(0o755)).unwrap();
        let list = format!("{}:1,{}:1", self.host(1), self.host(2));
        let agent = agent.to_string_lossy().into_owned();
        let mut job = job.options(&["--host", &list, "--mca", "plm_rsh_agent", &agent]);
        for (name, value) in PARAMETERS {
            job = job.options(&["--mca", name, value]);
        }
        job.inside(self.host(0))
    }

    /// Returns the numbers of the processes on all hosts.
    fn processes(&self) -> String {
        let pids = |number| {
            let host = self.host(number);
            let output = Command::new("ip").args(["netns", "pids", &host]).output();
            String::from_utf8_lossy(&output.unwrap().stdout).into_owned()
        };
        (0..=2).map(pids).collect()
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for process in self.processes().split_whitespace() {
            signal(process.parse().unwrap(), "KILL");
        }
        for number in 0..=2 {
            let _ = ip(&format!("netns del {}", self.host(number)));
        }
    }
}

fn ip(arguments: &str) -> Result<(), String> {
    let output = Command::new("ip").args(arguments.split(' ')).output();
    let output = output.map_err(|error| error.to_string())?;
    if output.status.success() {
        Ok(())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

pub(crate) fn counts() {
    let Some(hosts) = Hosts::new() else { return };
    let done = hosts.job(rank::SEARCH).start().end();
    done.assert_counted(2);
    let names = format!("hosts {},{}", hosts.host(1), hosts.host(2));
    assert!(done.out.contains(&names), "{done:?}");
}

pub(crate) fn cut() {
    let Some(hosts) = Hosts::new() else { return };
    let job = hosts.job(rank::ENDLESS).start();
    job.processes();
    ip(&format!("-n {} link set port2 down", hosts.host(0))).unwrap();
    let done = job.end_soon();
    assert!(!done.success, "{done:?}");
    // MPI has two messages for this, depending on what it believes about its daemons.
    let said = ["lost communication", "has been silent", "daemons"];
    assert!(said.iter().any(|said| done.err.contains(said)), "{done:?}");
    let gone = || hosts.processes().is_empty().then_some(());
    assert!(within(5, gone).is_some(), "{} are left", hosts.processes());
}
