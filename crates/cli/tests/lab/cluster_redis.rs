//! `locksley cluster worker`, `submit`, `status` and `cancel`, with a server that the tests start.

use std::io::{BufRead, BufReader};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

#[cfg(target_os = "linux")]
use crate::bad_input::cannot_be_written;
use crate::{Lab, Ran};

pub(crate) const SMALL: &str = "uts --type binomial --branching 2000 --q 0.12 --m 8 --seed 42";

const PASSWORD: &str = "nottingham";

/// A test folder, and a server with a password.
pub(crate) struct Site {
    lab: Lab,
    pub(crate) server: Child,
    port: u16,
}

/// Starts a server.
fn start(lab: &Lab, port: u16) -> std::io::Result<Child> {
    Command::new("redis-server")
        .args(["--port", &port.to_string(), "--bind", "127.0.0.1"])
        .args(["--save", "", "--requirepass", PASSWORD])
        .current_dir(&lab.0)
        .stdout(Stdio::null())
        .spawn()
}

impl Site {
    /// Starts a server. Returns `None` if `LOCKSLEY_TEST_REDIS` is 0, or if there is no
    /// redis-server; the latter is an error if the variable is set.
    pub(crate) fn new() -> Option<Site> {
        let wish = std::env::var_os("LOCKSLEY_TEST_REDIS");
        if wish.as_ref().is_some_and(|wish| wish == "0") {
            eprintln!("skipped: LOCKSLEY_TEST_REDIS is 0");
            return None;
        }
        let lab = Lab::new();
        let listener = TcpListener::bind("127.0.0.1:0").expect("there is a port");
        let port = listener.local_addr().expect("it has an address").port();
        drop(listener);
        let Ok(server) = start(&lab, port) else {
            assert!(
                wish.is_none(),
                "LOCKSLEY_TEST_REDIS is set, and there is no redis-server"
            );
            eprintln!(
                "skipped: there is no redis-server; LOCKSLEY_TEST_REDIS=1 makes this an error"
            );
            return None;
        };
        let start = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(
                start.elapsed() < Duration::from_secs(60),
                "it does not listen"
            );
            std::thread::sleep(Duration::from_millis(10));
        }
        Some(Site { lab, server, port })
    }

    fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    pub(crate) fn command(&self, line: &str) -> Command {
        let mut command = self
            .lab
            .command(format!("cluster {line}").split_whitespace());
        command
            .env("LOCKSLEY_REDIS_URL", self.url())
            .env("LOCKSLEY_REDIS_PASSWORD", PASSWORD);
        command
    }

    pub(crate) fn run(&self, line: &str) -> Ran {
        let ran: Ran = self.command(line).output().expect("it runs").into();
        let secret = ran.out.contains(PASSWORD) || ran.err.contains(PASSWORD);
        assert!(!secret, "{ran:?}");
        ran
    }

    pub(crate) fn json(&self, line: &str) -> Value {
        let ran = self.run(&format!("{line} --json"));
        assert_eq!(ran.code, 0, "{line}: {ran:?}");
        assert!(
            ran.out.starts_with("{\n  \"schema\": 1,"),
            "{line}: {ran:?}"
        );
        serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{line}: {error}: {ran:?}"))
    }

    fn worker(&self) -> Child {
        let mut worker = self.command("worker --workers 1 --json");
        worker.stdout(Stdio::piped()).stderr(Stdio::piped());
        worker.spawn().expect("it runs")
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

#[test]
fn a_submitter_waits_for_a_server_that_is_away() {
    let Some(mut site) = Site::new() else { return };
    site.server.kill().expect("it is there");
    site.server.wait().expect("it ends");
    let gone = site.run(&format!("submit --patience 1s {SMALL}"));
    assert!(gone.code == 3 && gone.err.contains("trying"), "{gone:?}");
    let mut waits = site.command(&format!("submit --detach --job a {SMALL}"));
    let mut waits = waits.stderr(Stdio::piped()).spawn().expect("it runs");
    let mut said = BufReader::new(waits.stderr.take().expect("it is a pipe"));
    let mut line = String::new();
    said.read_line(&mut line).expect("it says something");
    assert!(line.contains("trying again"), "{line}");
    site.server = start(&site.lab, site.port).expect("it started before");
    assert!(waits.wait().expect("it ends").success());
    assert_eq!(site.json("status a")["state"], "running");
}

#[test]
fn workers_do_what_is_submitted_and_stop_when_they_are_told() {
    let Some(site) = Site::new() else { return };
    let detached = site.json(&format!("submit --job a --detach {SMALL}"));
    assert_eq!(
        (&detached["job"], &detached["new"]),
        (&"a".into(), &true.into())
    );
    let lonely = site.run("status a");
    assert!(
        lonely.out.contains("no worker of its build is alive"),
        "{lonely:?}"
    );
    let worker = site.worker();
    let done = site.json(&format!("submit --job a --attach {SMALL}"));
    assert_eq!(
        (&done["result"]["nodes"], &done["new"]),
        (&62_689.into(), &false.into())
    );
    assert_eq!(
        (&done["state"], &done["set_aside"]),
        (&"done".into(), &0.into())
    );
    let over = site.run(&format!("submit --job a {SMALL}"));
    assert!(
        over.code == 1 && over.err.contains("--again") && !over.out.contains("62 689"),
        "{over:?}"
    );
    let again = site.json(&format!("submit --job a --again {SMALL}"));
    assert_eq!(
        (&again["result"]["nodes"], &again["new"]),
        (&62_689.into(), &true.into())
    );
    // `--again` takes the name of another job that is over; without it the name is refused.
    let other = "uts --type binomial --branching 50 --q 0.12 --m 8 --seed 42";
    let taken = site.run(&format!("submit --job a {other}"));
    assert!(
        taken.code == 2 && taken.err.contains("another job"),
        "{taken:?}"
    );
    let renamed = site.json(&format!("submit --job a --again {other}"));
    assert_eq!(
        (&renamed["job"], &renamed["new"]),
        (&"a".into(), &true.into())
    );
    let ran = site.run(&format!("submit {SMALL}"));
    assert!(ran.code == 0 && ran.out.contains("62 689 nodes"), "{ran:?}");
    assert!(ran.err.contains("in flight"), "{ran:?}");
    let status = site.json("status");
    assert_eq!(status["jobs"], Value::Array(Vec::new()));
    assert_eq!(
        status["workers"].as_array().map(Vec::len),
        Some(1),
        "{status}"
    );
    kill_process(Pid::from_child(&worker), Signal::TERM).expect("it is there");
    let ended: Ran = worker.wait_with_output().expect("it ends").into();
    assert_eq!(ended.code, 0, "{ended:?}");
    let tally: Value = serde_json::from_str(&ended.out).expect("it is JSON");
    assert!(tally["completed"].as_u64() >= Some(2), "{tally}");
    assert!(!ended.err.contains(PASSWORD));
    assert_eq!(
        site.json("status")["workers"],
        Value::Array(Vec::new()),
        "it said good-bye"
    );
}

#[test]
fn jobs_are_cancelled_and_names_are_freed() {
    let Some(site) = Site::new() else { return };
    site.json(&format!("submit --job a --detach {SMALL}"));
    let taken = site.run("submit --job a --detach uts --tree T1");
    assert!(
        taken.code == 2 && taken.err.contains("another job of the name a"),
        "{taken:?}"
    );
    assert_eq!(site.json("status")["jobs"][0]["job"], "a");
    assert_eq!(site.json("cancel a")["state"], "cancelled");
    assert_eq!(site.json("status a")["state"], "cancelled");
    let attached = site.run(&format!("submit --job a {SMALL}"));
    assert!(
        attached.code == 1 && attached.err.contains("was cancelled"),
        "{attached:?}"
    );
    let result = site.run(&format!("submit --job a --attach {SMALL}"));
    assert!(
        result.code == 1 && result.err.contains("was cancelled"),
        "{result:?}"
    );
    site.json("cancel a --forget");
    let gone = site.run("status a");
    assert!(
        gone.code == 2 && gone.err.contains("no job of the name a"),
        "{gone:?}"
    );
    assert_eq!(
        site.json("submit --job a --detach uts --tree T1")["new"],
        true
    );
}

#[test]
fn secrets_stay_out_of_command_lines_and_who_lacks_one_is_told() {
    let Some(site) = Site::new() else { return };
    let line = format!(
        "status --server redis://:{PASSWORD}@127.0.0.1:{}",
        site.port
    );
    let refused = site.run(&line);
    assert!(
        refused.code == 2 && refused.err.contains("can be read by all users"),
        "{refused:?}"
    );
    for line in ["status", "worker", "cancel a", "submit uts"] {
        let denied: Ran = site
            .command(line)
            .env_remove("LOCKSLEY_REDIS_PASSWORD")
            .output()
            .expect("it runs")
            .into();
        assert_eq!(denied.code, 3, "{line}: {denied:?}");
        assert!(
            denied.err.contains("LOCKSLEY_REDIS_PASSWORD_FILE"),
            "{line}: {denied:?}"
        );
    }
    let unreachable = site.run("status --server redis://127.0.0.1:1");
    assert!(
        unreachable.code == 3 && unreachable.err.contains("cannot be used now"),
        "{unreachable:?}"
    );
    let nonsense = site.run("status --server http://127.0.0.1");
    assert!(
        nonsense.code == 2 && nonsense.err.contains("rediss://"),
        "{nonsense:?}"
    );
    let name = site.run("status not/a/name");
    assert!(
        name.code == 2 && name.err.contains("1 to 64 letters"),
        "{name:?}"
    );
}

#[test]
fn a_job_is_watched_until_it_is_over() {
    let Some(site) = Site::new() else { return };
    site.json(&format!("submit --job a --detach {SMALL}"));
    let mut watching = site.command("status a --watch=50ms");
    let watching = watching.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut watching = watching.spawn().expect("it runs");
    let mut lines = BufReader::new(watching.stdout.take().expect("it is a pipe")).lines();
    // There is no worker yet, so the job is shown as running more than once.
    let running = |line: &std::io::Result<String>| {
        line.as_ref().is_ok_and(|line| line.contains("running for"))
    };
    assert_eq!(lines.by_ref().filter(running).take(2).count(), 2);
    let mut worker = site.worker();
    let rest: Vec<String> = lines.map_while(Result::ok).collect();
    assert!(watching.wait().expect("it ends").success());
    assert!(
        rest.iter().any(|line| line.contains("done after")),
        "{rest:?}"
    );
    let refused = site.run("status a --watch --json");
    assert_eq!(refused.code, 2, "{refused:?}");
    worker.kill().expect("it is there");
    worker.wait().expect("it ends");
}

#[test]
fn what_was_set_aside_is_listed_shown_and_tried_again() {
    let Some(site) = Site::new() else { return };
    site.json(&format!("submit --job a --detach {SMALL}"));
    // Another program writes to the server's keys.
    let cli = |words: &[&str]| {
        let mut cli = Command::new("redis-cli");
        cli.args([
            "-p",
            &site.port.to_string(),
            "-a",
            PASSWORD,
            "--no-auth-warning",
        ]);
        let said = cli.args(words).output().expect("it comes with the server");
        String::from_utf8_lossy(&said.stdout).trim().to_owned()
    };
    let entry = cli(&["HKEYS", "locksley:{a}:tasks"]);
    let task = cli(&["HGET", "locksley:{a}:tasks", &entry]);
    assert!(!task.is_empty());
    cli(&["HSET", "locksley:{a}:tasks", &entry, "garbage"]);
    let mut worker = site.worker();
    let start = Instant::now();
    while site.json("status a")["set_aside"] != 1 {
        assert!(start.elapsed() < Duration::from_secs(60), "it is none");
    }
    let listed = site.json("dead list a");
    let name = listed["tasks"][0]["task"]
        .as_str()
        .expect("it has a name")
        .to_owned();
    assert_eq!(listed["tasks"][0]["whole"], true, "{listed}");
    let shown = site.run(&format!("dead show a {name}"));
    // "garbage" in bytes.
    assert!(shown.out.contains("67 61 72 62 61 67 65"), "{shown:?}");
    assert_eq!(site.run("dead show a 0-0").code, 2);
    assert_eq!(site.run("dead retry a").code, 2, "which ones?");
    assert_eq!(site.json("dead retry a --all")["retried"], 1);
    while site.json("status a")["state"] != "done" {
        assert!(start.elapsed() < Duration::from_secs(60), "it does not end");
    }
    let again = site.json("dead list a");
    assert_ne!(
        again["tasks"][0]["task"],
        name.as_str(),
        "it failed again: {again}"
    );
    let gone = site.run(&format!("dead retry a {name}"));
    assert!(
        gone.code == 2 && gone.err.contains("dead list a"),
        "{gone:?}"
    );
    worker.kill().expect("it is there");
    worker.wait().expect("it ends");
}

/// Every command that needs a server, with text and with JSON.
#[cfg(target_os = "linux")]
#[test]
fn output_that_cannot_be_written_is_an_error() {
    let Some(site) = Site::new() else { return };
    for json in ["", " --json"] {
        for line in [
            format!("submit --job a --detach {SMALL}"),
            "status".to_owned(),
            "status a".to_owned(),
            "dead list a".to_owned(),
            "dead retry a --all".to_owned(),
            "cancel a --forget".to_owned(),
            "worker --workers 1 --linger 100ms".to_owned(),
        ] {
            cannot_be_written(site.command(&format!("{line}{json}")));
        }
    }
    cannot_be_written(site.command("status --watch"));
    let mut worker = site.worker();
    cannot_be_written(site.command(&format!("submit {SMALL}")));
    worker.kill().expect("it is there");
    worker.wait().expect("it ends");
}
