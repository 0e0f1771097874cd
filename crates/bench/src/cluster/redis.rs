//! The cost of leasing tasks from a Redis server.
//!
//! Each task spins until its thread has used a given processor time, so that the work is known
//! exactly. Everything else that this process and the server use is overhead: leasing, completing,
//! renewing and following. A worker with one thread runs all tasks. The server has an append-only
//! file, which it flushes to the disk once a second, which is the default, or after every task
//! (`appendfsync always`), which depends on the disk. The limit applies to both.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use locksley_cluster::leases::{
    Catalogue, JobInfo, Redis, Server, Setup, Stop, Terms, WorkerId, follow, serve, submit,
    worker_name,
};
use locksley_cluster::{Build, Program, Sum, Task, Tasks};
use locksley_measure::clock;
use serde::{Deserialize, Serialize};

use crate::harness::progress::Progress;
use crate::harness::report::{Figures, Outcome};
use crate::harness::{Plan, ThreadClock, WrongResult, verify};

pub(super) const NAME: &str = "redis";

/// Microseconds of a task, the server's `appendfsync`, and the name in the table.
const SIZES: [(u64, &str, &str); 5] = [
    (200, "everysec", "tasks of 0.2 ms"),
    (1_000, "everysec", "tasks of 1 ms"),
    (LIMITED, "everysec", "tasks of 10 ms"),
    (100_000, "everysec", "tasks of 100 ms"),
    (LIMITED, "always", "tasks of 10 ms, appendfsync always"),
];

/// Length of the tasks that have a limit, in microseconds.
const LIMITED: u64 = 10_000;

#[derive(Serialize, Deserialize)]
struct Spin {
    micros: u64,
}

impl Task for Spin {
    const KIND: &'static str = "spin";
    type Output = Sum<u64>;

    fn run(self, _: &Tasks<Sum<u64>>) -> Sum<u64> {
        let (clock, end) = (ThreadClock::start(), Duration::from_micros(self.micros));
        while clock.elapsed() < end {
            std::hint::spin_loop();
        }
        Sum(1)
    }
}

fn program() -> Program<Sum<u64>> {
    Program::new("spin").with::<Spin>()
}

/// Measures the overhead of tasks of 10 ms relative to their work, with the more expensive
/// `appendfsync`. Returns `None` without a server.
pub(super) fn measure(plan: &Plan, outcome: &mut Outcome) -> Result<Option<f64>, WrongResult> {
    let progress = Progress::start(NAME, SIZES.len() as u64);
    let mut figures = Figures::new("Processor time beyond the work, as a part of it (Redis)");
    let mut limited: Option<f64> = None;
    let work = Duration::from_millis(if plan.quick { 100 } else { 3_000 });
    for (micros, durability, name) in SIZES {
        let Some(server) = Started::new(durability) else {
            eprintln!("skipped: there is no redis-server, or it does not start");
            return Ok(None);
        };
        let tasks = (work.as_micros() as u64 / micros).clamp(2, 4_000);
        let overhead = overhead(&server, micros, tasks)?;
        figures.add(name, overhead);
        if micros == LIMITED {
            limited = Some(limited.map_or(overhead, |other| other.max(overhead)));
        }
        progress.step();
    }
    outcome.figures.push(figures);
    Ok(limited)
}

/// Runs `tasks` tasks of `micros` microseconds. Returns the overhead relative to the work.
fn overhead(server: &Started, micros: u64, tasks: u64) -> Result<f64, WrongResult> {
    let wrong = |why: String| WrongResult::new(NAME, "a job", "a result".into(), why);
    let redis = || Server::find(Some(&server.url())).map(Redis::later);
    let ours = Arc::new(redis().map_err(|error| wrong(error.to_string()))?);
    let build = Build::current().map_err(|error| wrong(error.to_string()))?;
    let id = format!("spin-{micros}");
    let job = JobInfo {
        id: id.parse().map_err(|_| wrong(id.clone()))?,
        build,
        program: "spin".to_owned(),
        terms: Terms::default(),
    };
    let pool = locksley::Pool::builder().workers(1).build();
    let pool = pool.map_err(|error| wrong(error.to_string()))?;
    let name = worker_name();
    let setup = Setup::new(
        WorkerId { name, build },
        pool,
        Catalogue::default().with(program()),
    );
    let stop = Stop::default();
    let (told, leases) = (stop.clone(), ours.clone());
    let worker = thread::spawn(move || serve(leases, setup, &told, |notice| eprintln!("{notice}")));
    let before = server.used(clock::process());
    let ended = submit(&*ours, &job, (0..tasks).map(|_| Spin { micros }))
        .and_then(|_| follow(&*ours, &job.id, Duration::ZERO, |_| {}));
    let after = server.used(clock::process());
    stop.stop();
    let _ = worker.join();
    let ended = ended.map_err(|trouble| wrong(trouble.to_string()))?;
    let Sum(done) = ended
        .result(&program())
        .map_err(|why| wrong(why.to_string()))?;
    verify(NAME, "tasks", tasks, done)?;
    let work = (tasks * micros) as f64 * 1e-6;
    Ok((after - before) / work - 1.0)
}

/// A server that ends with the measurement.
pub(super) struct Started {
    process: Child,
    folder: PathBuf,
    port: u16,
}

impl Started {
    pub(super) fn new(durability: &str) -> Option<Started> {
        let port = TcpListener::bind("127.0.0.1:0")
            .ok()?
            .local_addr()
            .ok()?
            .port();
        let folder =
            std::env::temp_dir().join(format!("locksley-bench-{}-{port}", std::process::id()));
        fs::create_dir_all(&folder).ok()?;
        let process = Command::new("redis-server")
            .args([
                "--port",
                &port.to_string(),
                "--bind",
                "127.0.0.1",
                "--save",
                "",
            ])
            .args(["--appendonly", "yes", "--appendfsync", durability, "--dir"])
            .arg(&folder)
            .stdout(Stdio::null())
            .spawn();
        let process = match process {
            Ok(process) => process,
            Err(_) => {
                let _ = fs::remove_dir_all(&folder);
                return None;
            }
        };
        let server = Started {
            process,
            folder,
            port,
        };
        for _ in 0..500 {
            if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return Some(server);
            }
            thread::sleep(Duration::from_millis(10));
        }
        None
    }

    pub(super) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Returns the processor time of the server plus `ours`, in seconds.
    pub(super) fn used(&self, ours: Option<Duration>) -> f64 {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.process.id()));
        let nanoseconds = |entry: std::io::Result<fs::DirEntry>| {
            let text = fs::read_to_string(entry.ok()?.path().join("schedstat")).ok()?;
            text.split_whitespace().next()?.parse::<u64>().ok()
        };
        let theirs: u64 = tasks.into_iter().flatten().filter_map(nanoseconds).sum();
        theirs as f64 * 1e-9 + ours.unwrap_or_default().as_secs_f64()
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}
