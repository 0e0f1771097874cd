//! The HTTP interface of `locksley cluster worker --http`: metrics, JSON, and the page in Chromium.

#[path = "../../../report/tests/browser/chromium.rs"]
#[allow(dead_code)]
mod chromium;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use chromium::Browser;
use serde_json::Value;

use crate::cluster_redis::{SMALL, Site};

/// A worker with an HTTP interface, and its address.
struct Shown {
    worker: Child,
    address: String,
}

impl Shown {
    fn start(site: &Site) -> Shown {
        let mut worker = site.command("worker --workers 1 --http 127.0.0.1:0");
        let worker = worker.stdout(Stdio::null()).stderr(Stdio::piped());
        let mut worker = worker.spawn().expect("it runs");
        let mut said = BufReader::new(worker.stderr.take().expect("it is a pipe")).lines();
        let address = said.find_map(|line| {
            let line = line.expect("it is text");
            let (_, rest) = line.split_once("http://")?;
            Some(rest.trim_end_matches('/').to_owned())
        });
        // Drains the rest of its messages, so that the pipe does not fill up.
        std::thread::spawn(move || said.for_each(drop));
        let address = address.expect("it says where");
        Shown { worker, address }
    }

    fn get(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        let rest = "HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n";
        write!(stream, "GET {path} {rest}").expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        answer
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        let _ = self.worker.kill();
        let _ = self.worker.wait();
    }
}

fn until(what: &str, mut true_now: impl FnMut() -> bool) {
    let start = Instant::now();
    while !true_now() {
        assert!(start.elapsed() < Duration::from_secs(60), "{what}: not yet");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn metrics_say_what_waits_and_what_was_done() {
    let Some(site) = Site::new() else { return };
    let taken = site.run("worker --http 192.0.2.1:9");
    assert!(taken.code == 3 && taken.err.contains("--http"), "{taken:?}");
    site.json(&format!(
        "submit --job later --after 6h --urgent --detach {SMALL}"
    ));
    let later = site.json("status later");
    assert_eq!(
        (&later["delayed"], &later["urgent"]),
        (&1.into(), &true.into())
    );
    let shown = Shown::start(&site);
    site.json(&format!("submit --job now {SMALL}"));
    until("the worker has counted it", || {
        let metrics = shown.get("/metrics");
        let value = |name: &str| {
            let mut lines = metrics.lines();
            let line = lines.find_map(|line| line.strip_prefix(name));
            line.and_then(|value| value.trim().parse::<u64>().ok())
        };
        let delayed = "locksley_job_tasks{job=\"later\",program=\"uts\",state=\"delayed\"}";
        value("locksley_worker_leases_total{outcome=\"completed\"}") >= Some(1)
            && value("locksley_worker_tasks_total{outcome=\"run\"}") >= Some(1)
            && value("locksley_queue_depth") == Some(0)
            && value("locksley_workers") == Some(1)
            && value(delayed) == Some(1)
    });
    assert!(shown.get("/healthz").starts_with("HTTP/1.1 200"));
    let document = shown.get("/status.json");
    let (_, body) = document.split_once("\r\n\r\n").expect("it has a body");
    let document: Value = serde_json::from_str(body).expect("it is JSON");
    assert_eq!(document["schema"], 1);
    assert_eq!(document["jobs"][0]["job"], "later");
}

/// Returns `true` if there is a browser. Panics if there is none but `LOCKSLEY_TEST_BROWSER` is
/// set.
fn has_browser() -> bool {
    let program = std::env::var("CHROMIUM").unwrap_or_else(|_| "chromium".into());
    let there = Command::new(&program).arg("--version").output().is_ok();
    let wish = std::env::var_os("LOCKSLEY_TEST_BROWSER").is_some();
    assert!(there || !wish, "there is no {program}");
    if !there {
        eprintln!("skipped: there is no {program}; LOCKSLEY_TEST_BROWSER=1 makes this an error");
    }
    there
}

#[test]
fn the_page_shows_jobs_and_says_when_the_server_or_the_worker_is_gone() {
    if !has_browser() {
        return;
    }
    let Some(mut site) = Site::new() else { return };
    site.json(&format!(
        "submit --job later --after 6h --urgent --detach {SMALL}"
    ));
    let shown = Shown::start(&site);
    let browser = Browser::start();
    let text = |expression: &str| {
        let value = browser.evaluate(expression);
        value.as_str().map(str::to_owned).unwrap_or_default()
    };
    let row = || text("document.querySelector('tbody')?.innerText ?? ''");
    let trouble = || {
        text(
            "(() => { const it = document.getElementById('trouble'); return it.hidden ? '' : it.textContent; })()",
        )
    };
    for (width, theme) in [(1200, "light"), (380, "dark")] {
        browser.emulate(width, 900, theme);
        browser.load(&format!("http://{}/", shown.address));
        until("the job is shown", || row().contains("later (urgent)"));
        let cells: Vec<String> = row().split_whitespace().map(str::to_owned).collect();
        let numbers: Vec<&str> = cells[2..].iter().map(String::as_str).collect();
        assert_eq!(numbers[..4], ["uts", "0", "1", "0"], "{cells:?}");
        assert_eq!(trouble(), "");
        let wide = "document.documentElement.scrollWidth > document.documentElement.clientWidth";
        assert_eq!(browser.evaluate(wide), false, "it is wider than the window");
        assert!(text("document.getElementById('worker').innerText").contains("threads"));
    }
    assert!(browser.events("Log.entryAdded").is_empty(), "no complaints");
    // The page follows changes without being reloaded.
    site.json("cancel later --forget");
    until("no job is shown", || {
        text("getComputedStyle(document.getElementById('none')).display") != "none"
    });
    site.server.kill().expect("it is there");
    site.server.wait().expect("it ends");
    until("the server is gone", || trouble().contains("server"));
    drop(shown);
    until("the worker is gone", || {
        trouble().contains("does not answer")
    });
}
