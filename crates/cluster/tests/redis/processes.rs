//! Workers and submitters as processes: this executable, in a role that the environment gives.

use std::io::Read;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use locksley_cluster::leases::{
    Catalogue, Ended, JobId, JobInfo, LeasePool, Redis, Server, Setup, Status, Stop, Terms,
    WorkerId, follow, serve, submit, worker_name,
};
use locksley_cluster::programs::uts::{self, Search};
use locksley_cluster::programs::{cholesky, merge_sort};
use locksley_cluster::{Build, Program, Sum, Task, Tasks};
use locksley_workload::{Shape, Size, Uts, UtsTree};
use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};

use crate::policies;
use crate::server::{Started, until};

/// Length of a lease: short enough for a test, and long enough for a busy machine.
pub(crate) const LEASE: Duration = Duration::from_millis(700);

/// Environment variable with the number of threads of a worker; the default is 1.
pub(crate) const THREADS: &str = "LOCKSLEY_THREADS";

/// Returns a tree that takes two workers a second or so, so that faults can happen meanwhile.
pub(crate) fn tree() -> (UtsTree, Size) {
    static KNOWN: OnceLock<(UtsTree, Size)> = OnceLock::new();
    *KNOWN.get_or_init(|| {
        let depth = if cfg!(debug_assertions) { 9 } else { 11 };
        let tree = UtsTree::geometric(Shape::Fixed, depth, 4.0, 19);
        (tree, Uts::new(tree).size())
    })
}

/// Returns a tree that takes almost no time.
pub(crate) fn small() -> (UtsTree, Size) {
    let tree = UtsTree::geometric(Shape::Fixed, 6, 4.0, 19);
    (tree, Uts::new(tree).size())
}

/// A task that succeeds, or kills its process.
#[derive(Serialize, Deserialize)]
pub(crate) struct Leaf {
    pub(crate) deadly: bool,
}

impl Task for Leaf {
    const KIND: &'static str = "deed";
    type Output = Sum<u64>;

    fn run(self, _: &Tasks<Sum<u64>>) -> Sum<u64> {
        if self.deadly {
            std::process::abort();
        }
        std::thread::sleep(Duration::from_millis(30));
        Sum(1)
    }
}

/// Spawns deeds, of which one is deadly.
#[derive(Serialize, Deserialize)]
pub(crate) struct Parent {
    pub(crate) deeds: u32,
    pub(crate) deadly: u32,
}

impl Task for Parent {
    const KIND: &'static str = "brood";
    type Output = Sum<u64>;

    fn run(self, tasks: &Tasks<Sum<u64>>) -> Sum<u64> {
        (0..self.deeds).for_each(|number| {
            let deadly = number == self.deadly;
            tasks.spawn(Leaf { deadly });
        });
        Sum(0)
    }
}

/// Sleeps, or spawns tasks that do.
#[derive(Serialize, Deserialize)]
pub(crate) struct Nap {
    pub(crate) leaves: u32,
    pub(crate) millis: u64,
}

impl Task for Nap {
    const KIND: &'static str = "nap";
    type Output = Sum<u64>;

    fn run(self, tasks: &Tasks<Sum<u64>>) -> Sum<u64> {
        let Nap { leaves, millis } = self;
        if leaves == 0 {
            std::thread::sleep(Duration::from_millis(millis));
            return Sum(1);
        }
        (0..leaves).for_each(|_| tasks.spawn(Nap { leaves: 0, millis }));
        Sum(0)
    }
}

/// Takes no time, and adds its number to the result.
#[derive(Serialize, Deserialize)]
pub(crate) struct Grain {
    pub(crate) number: u64,
}

impl Task for Grain {
    const KIND: &'static str = "grain";
    type Output = Sum<u64>;

    fn run(self, _: &Tasks<Sum<u64>>) -> Sum<u64> {
        Sum(self.number)
    }
}

/// Panics without a message, since the output of a worker is read only when it has ended.
#[derive(Serialize, Deserialize)]
pub(crate) struct Fails;

impl Task for Fails {
    const KIND: &'static str = "fails";
    type Output = Sum<u64>;

    fn run(self, _: &Tasks<Sum<u64>>) -> Sum<u64> {
        std::panic::resume_unwind(Box::new("as it does"));
    }
}

pub(crate) fn deeds() -> Program<Sum<u64>> {
    let program = Program::new("deeds").with::<Leaf>();
    program
        .with::<Parent>()
        .with::<Fails>()
        .with::<Grain>()
        .with::<Nap>()
}

pub(crate) fn job(name: &str, program: &str) -> JobInfo {
    JobInfo {
        id: name.parse().expect("it is plain"),
        build: Build::current().expect("it can be read"),
        program: program.to_owned(),
        terms: Terms {
            lease: LEASE,
            ..Terms::default()
        },
    }
}

/// Submits a tree as the job `tree`.
pub(crate) fn submit_tree(redis: &Redis, tree: UtsTree) -> JobInfo {
    let mut job = job("tree", "uts");
    // Enough tries for a busy machine, on which leases expire for no other reason.
    job.terms.tries = 100;
    submit(redis, &job, [Search::whole(tree)]).expect("it is new");
    job
}

pub(crate) fn status(redis: &Redis, id: &JobId) -> Status {
    let status = redis.status(id).expect("the server is there");
    status.expect("the job is there")
}

/// Waits for the end of a tree, and checks the result.
pub(crate) fn check(redis: &Redis, id: &JobId, size: Size) -> Ended {
    let ended = follow(redis, id, Duration::from_secs(30), |_| {}).expect("it ends");
    let counted = ended.result(&uts::program()).expect("it is a result");
    assert_eq!(
        (counted.0, ended.status.aside),
        (size, 0),
        "{:?}",
        ended.status
    );
    let shares: u64 = ended.status.shares.iter().map(|share| share.done).sum();
    assert_eq!(shares, ended.status.done);
    ended
}

/// A process in a role.
pub(crate) struct Process {
    child: Child,
}

/// The output and the exit status of a process.
pub(crate) struct Said {
    pub(crate) status: ExitStatus,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Said {
    /// Returns a number of its counts.
    pub(crate) fn count(&self, name: &str) -> u64 {
        let mut words = self.out.split_whitespace();
        let number =
            words.find_map(|word| word.strip_prefix(name)?.strip_prefix('=')?.parse().ok());
        number.unwrap_or_else(|| panic!("no {name} in {}{}", self.out, self.err))
    }
}

/// Sets the arguments and the environment for a role.
pub(crate) fn command(program: &mut Command, role: &str, url: &str) {
    program
        .args([
            "--exact",
            "processes::in_a_role",
            "--ignored",
            "--nocapture",
        ])
        .env("LOCKSLEY_ROLE", role)
        .env("LOCKSLEY_REDIS_URL", url)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
}

pub(crate) fn this() -> PathBuf {
    std::env::current_exe().expect("it has a path")
}

impl Process {
    pub(crate) fn spawn(program: &mut Command) -> Process {
        let child = program.spawn().expect("it runs");
        Process { child }
    }

    pub(crate) fn worker(server: &Started) -> Process {
        let mut program = Command::new(this());
        command(&mut program, "worker", &server.url());
        Process::spawn(&mut program)
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("it is there");
    }

    /// Returns `true` if the worker in this process holds a lease of a job.
    pub(crate) fn holds(&self, status: &Status) -> bool {
        let mark = format!("-{}-", self.child.id());
        status
            .shares
            .iter()
            .any(|share| share.worker.contains(&mark) && share.in_flight > 0)
    }

    /// Returns the number of leases of a job that the worker in this process has completed.
    fn completed(&self, status: &Status) -> u64 {
        let mark = format!("-{}-", self.child.id());
        let ours = status
            .shares
            .iter()
            .filter(|share| share.worker.contains(&mark));
        ours.map(|share| share.done).sum()
    }

    /// Waits until it holds a lease, and has completed others.
    pub(crate) fn until_it_works(&self, redis: &Redis, id: &JobId) {
        until("it has work", || {
            let status = status(redis, id);
            self.completed(&status) > 2 && self.holds(&status)
        });
    }

    /// Reads the first line of its standard error.
    pub(crate) fn first_words(&mut self) -> String {
        let mut line = Vec::new();
        let pipe = self.child.stderr.as_mut().expect("it is a pipe");
        let mut byte = [0];
        while pipe.read(&mut byte).is_ok_and(|read| read == 1) && byte != *b"\n" {
            line.push(byte[0]);
        }
        String::from_utf8_lossy(&line).into_owned()
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("it is a child").is_some()
    }

    /// Waits until the process ends.
    pub(crate) fn end(mut self) -> Said {
        let (mut out, mut err) = (String::new(), String::new());
        let mut pipes = (self.child.stdout.take(), self.child.stderr.take());
        // Little is written, so neither pipe fills up while the other is read.
        pipes.0.as_mut().map(|pipe| pipe.read_to_string(&mut out));
        pipes.1.as_mut().map(|pipe| pipe.read_to_string(&mut err));
        let status = self.child.wait().expect("it ends");
        Said { status, out, err }
    }

    /// Stops the process by SIGTERM, and waits until it ends.
    pub(crate) fn stop(self) -> Said {
        self.signal(Signal::TERM);
        let said = self.end();
        assert!(said.status.success(), "{}{}", said.out, said.err);
        said
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The entry point of a process with a role. Without a role it does nothing.
#[test]
#[ignore = "the other tests start it"]
fn in_a_role() {
    let Ok(role) = std::env::var("LOCKSLEY_ROLE") else {
        return;
    };
    let server = Server::find(None).expect("it is an address");
    match role.as_str() {
        "worker" => work(Redis::later(server)),
        _ => hand_in(&Redis::connect(server).expect("it is there"), &role),
    }
}

fn work(redis: Redis) {
    let threads = std::env::var(THREADS).ok();
    let threads = threads.map_or(1, |threads| threads.parse().expect("it is a number"));
    let pool = locksley::Pool::builder()
        .workers(threads)
        .build()
        .expect("it is small");
    let worker = WorkerId {
        name: worker_name(),
        build: Build::current().expect("it can be read"),
    };
    let catalogue = Catalogue::default().with(uts::program()).with(deeds());
    let catalogue = catalogue
        .with(policies::program())
        .with(merge_sort::program())
        .with(cholesky::program());
    let mut setup = Setup::new(worker, pool, catalogue);
    setup.quantum = Duration::from_millis(25);
    setup.slots = threads.max(2);
    setup.grace = Duration::from_secs(3);
    let stop = Stop::default();
    let told = stop.clone();
    ctrlc::set_handler(move || told.stop()).expect("it is the first");
    let counts = serve(Arc::new(redis), setup, &stop, |notice| {
        eprintln!("{notice}")
    });
    match counts {
        Ok(counts) => println!(
            "\ncompleted={} lost={} children={} given_up={}",
            counts.completed, counts.lost, counts.children, counts.given_up
        ),
        Err(error) => {
            eprintln!("error: {error}");
            std::process::exit(3);
        }
    }
}

/// Submits a small tree under a name, and prints the result.
fn hand_in(redis: &Redis, name: &str) {
    let (tree, _) = small();
    let mut job = job(name, "uts");
    job.terms.tries = 100;
    let submitted = submit(redis, &job, [Search::whole(tree)]).expect("it is accepted");
    let ended = follow(redis, &job.id, Duration::from_secs(30), |_| {}).expect("it ends");
    let Size { nodes, leaves, .. } = ended.result(&uts::program()).expect("it is a result").0;
    let done = ended.status.done;
    println!("\nsubmitted={submitted:?} nodes={nodes} leaves={leaves} done={done}");
}
