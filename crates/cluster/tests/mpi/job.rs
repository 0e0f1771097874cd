//! Jobs: runs of `mpirun` with this program, and their outcome.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use locksley_workload::Uts;

use crate::poll::within;
use crate::rank;

/// Returns `true` if missing prerequisites make the tests fail instead of skipping them.
pub(crate) fn demanded() -> bool {
    std::env::var_os("LOCKSLEY_TEST_MPI").is_some()
}

/// A job that can be started. Its folder is removed when it is dropped.
pub(crate) struct Job {
    folder: Folder,
    options: Vec<OsString>,
    environment: Vec<(&'static str, OsString)>,
    /// Numbers of ranks, and the executables that they run.
    parts: Vec<(usize, PathBuf)>,
    /// The network namespace in which it starts.
    namespace: Option<String>,
}

struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl Job {
    pub(crate) fn new(program: &str) -> Job {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("locksley-mpi-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).unwrap();
        let environment = vec![
            (rank::PROGRAM, program.into()),
            (rank::FOLDER, folder.clone().into()),
        ];
        Job {
            folder: Folder(folder),
            options: Vec::new(),
            environment,
            parts: Vec::new(),
            namespace: None,
        }
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder.0
    }

    fn trace(&self) -> PathBuf {
        self.folder().join("trace.json")
    }

    pub(crate) fn traced(mut self) -> Job {
        self.environment.push((rank::TRACE, self.trace().into()));
        self
    }

    pub(crate) fn ranks(self, count: usize) -> Job {
        self.ranks_of(count, std::env::current_exe().unwrap())
    }

    pub(crate) fn ranks_of(mut self, count: usize, executable: PathBuf) -> Job {
        self.parts.push((count, executable));
        self
    }

    pub(crate) fn options(mut self, options: &[&str]) -> Job {
        self.options.extend(options.iter().map(OsString::from));
        self
    }

    pub(crate) fn inside(mut self, namespace: String) -> Job {
        self.namespace = Some(namespace);
        self
    }

    pub(crate) fn start(self) -> Running {
        let mut command = match &self.namespace {
            None => Command::new("mpirun"),
            Some(namespace) => {
                let mut command = Command::new("ip");
                command.args(["netns", "exec", namespace, "mpirun"]);
                command
            }
        };
        command.env("OMPI_ALLOW_RUN_AS_ROOT", "1");
        command.env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        command.args(["--oversubscribe", "--mca", "mpi_yield_when_idle", "1"]);
        command.args(&self.options);
        for (name, value) in &self.environment {
            command.env(name, value).arg("-x").arg(name);
        }
        for (number, (count, executable)) in self.parts.iter().enumerate() {
            if number > 0 {
                command.arg(":");
            }
            command.arg("-n").arg(count.to_string()).arg(executable);
        }
        let file = |name| File::create(self.folder().join(name)).unwrap();
        let child = command
            .stdin(Stdio::null())
            .stdout(file("out"))
            .stderr(file("err"))
            .spawn()
            .unwrap();
        Running {
            child,
            ranks: self.parts.iter().map(|(count, _)| count).sum(),
            job: self,
        }
    }
}

/// A job that was started.
pub(crate) struct Running {
    child: Child,
    ranks: usize,
    job: Job,
}

impl Running {
    /// Returns the processes of the ranks that have started.
    fn started(&self) -> Vec<u32> {
        let process = |rank: usize| {
            let file = self.job.folder().join(format!("rank.{rank}"));
            fs::read_to_string(file).ok()?.parse().ok()
        };
        (0..self.ranks).filter_map(process).collect()
    }

    /// Returns the processes of the ranks, when all of them have started.
    pub(crate) fn processes(&self) -> Vec<u32> {
        let all = within(20, || {
            Some(self.started()).filter(|started| started.len() == self.ranks)
        });
        all.expect("all ranks start")
    }

    /// Returns the process of `mpirun`.
    pub(crate) fn launcher(&self) -> u32 {
        self.child.id()
    }

    /// Waits until the job ends, which must take less than ten seconds and leave no process behind.
    pub(crate) fn end_soon(mut self) -> Done {
        let processes = self.processes();
        let status = within(10, || self.child.try_wait().unwrap());
        let done = self.done(status.is_some_and(|status| status.success()));
        assert!(status.is_some(), "it ends within 10 s: {done:?}");
        let gone = || {
            let mut processes = processes.iter();
            processes.all(|&process| !is_alive(process)).then_some(())
        };
        assert!(within(5, gone).is_some(), "no process is left: {done:?}");
        done
    }

    /// Waits until the job ends.
    pub(crate) fn end(mut self) -> Done {
        let status = within(60, || self.child.try_wait().unwrap());
        let done = self.done(status.is_some_and(|status| status.success()));
        assert!(status.is_some(), "it ends: {done:?}");
        done
    }

    fn done(&self, success: bool) -> Done {
        let read = |name| fs::read_to_string(self.job.folder().join(name)).unwrap();
        Done {
            success,
            out: read("out"),
            err: read("err"),
            trace: fs::read_to_string(self.job.trace()).ok(),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            for process in self.started() {
                let _ = signal(process, "KILL");
            }
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// Returns `true` if the process exists and is not a zombie.
fn is_alive(process: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat"));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

/// Sends a signal to a process.
pub(crate) fn signal(process: u32, name: &str) -> bool {
    let mut kill = Command::new("kill");
    kill.arg(format!("-{name}")).arg(process.to_string());
    kill.status().is_ok_and(|status| status.success())
}

/// The outcome of a job.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) success: bool,
    pub(crate) out: String,
    pub(crate) err: String,
    pub(crate) trace: Option<String>,
}

impl Done {
    /// Asserts that the program [`rank::SEARCH`] found the right counts, on this many ranks.
    pub(crate) fn assert_counted(&self, ranks: usize) {
        assert!(self.success, "{self:?}");
        let size = Uts::new(rank::tree()).size();
        let found = format!("result Counted({size:?})\n");
        assert!(self.out.contains(&found), "{found}: {self:?}");
        assert!(self.out.contains(&format!("ranks {ranks} ")), "{self:?}");
        let line = self
            .out
            .lines()
            .find_map(|line| line.strip_prefix("moved "));
        let (given, taken) = line.and_then(|line| line.split_once(' ')).unwrap();
        assert_eq!(given, taken, "{self:?}");
        assert_eq!(given != "0", ranks > 1, "{self:?}");
    }

    /// Asserts that the job has failed, and that exactly one of our ranks has printed why.
    pub(crate) fn assert_failed(&self, why: &[&str]) {
        assert!(!self.success, "{self:?}");
        let said: Vec<&str> = self
            .err
            .lines()
            .filter(|line| line.starts_with("error:"))
            .collect();
        assert_eq!(said.len(), 1, "one message: {self:?}");
        for why in why {
            assert!(said[0].contains(why), "{why}: {self:?}");
        }
    }
}
