//! One run of a program, and what it used.
//!
//! The kernel's figure for the peak memory of a process includes that of the process it was forked
//! from, up to the moment of `exec`. A process of its own for each run, which has touched little memory
//! by then, keeps that share at a few megabytes at most.

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Instant;

use clap::Args;
use serde::{Deserialize, Serialize};
use wait4::Wait4;

use crate::error::Error;

/// The name of the hidden command.
pub(super) const COMMAND: &str = "run-once";

/// Files of a run: its input, and where its outputs go.
#[derive(Args, Clone, Debug)]
pub(super) struct Child {
    /// Where the report goes.
    report: PathBuf,
    /// The program's standard output.
    stdout: PathBuf,
    /// The program's standard error.
    stderr: PathBuf,
    /// The program's standard input.
    #[arg(long)]
    stdin: Option<PathBuf>,
    /// The program and its arguments.
    #[arg(last = true)]
    program: Vec<OsString>,
}

/// What a run took, and how it ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Usage {
    /// Wall time.
    pub(super) seconds: f64,
    /// Processor time of user and system together.
    pub(super) cpu_seconds: f64,
    /// Peak resident memory.
    pub(super) peak_bytes: u64,
    /// `exit 0`, `signal 9`.
    pub(super) end: String,
}

impl Child {
    /// Runs the program and writes the report.
    pub(super) fn run(&self) -> Result<(), Error> {
        let Some((program, arguments)) = self.program.split_first() else {
            return Err(Error::usage("no program is given"));
        };
        let create =
            |path: &Path| File::create(path).map_err(|error| Error::file("write", path, &error));
        let mut command = Command::new(program);
        command.args(arguments);
        command
            .stdout(create(&self.stdout)?)
            .stderr(create(&self.stderr)?);
        match &self.stdin {
            None => command.stdin(Stdio::null()),
            Some(path) => {
                let file = File::open(path).map_err(|error| Error::file("read", path, &error))?;
                command.stdin(file)
            }
        };
        let program = Path::new(program);
        let start = Instant::now();
        let child = command.spawn();
        let child = child.map_err(|error| Error::file("run", program, &error))?;
        let used = child
            .wait4()
            .map_err(|error| Error::file("wait for", program, &error))?;
        let usage = Usage {
            seconds: start.elapsed().as_secs_f64(),
            cpu_seconds: (used.rusage.utime + used.rusage.stime).as_secs_f64(),
            peak_bytes: used.rusage.maxrss,
            end: end(used.status),
        };
        let text = serde_json::to_string(&usage).unwrap_or_default();
        std::fs::write(&self.report, text)
            .map_err(|error| Error::file("write", &self.report, &error))
    }
}

#[cfg(unix)]
fn end(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;

    match status.signal() {
        Some(signal) => format!("signal {signal}"),
        None => format!("exit {}", status.code().unwrap_or(-1)),
    }
}

#[cfg(not(unix))]
fn end(status: ExitStatus) -> String {
    format!("exit {}", status.code().unwrap_or(-1))
}

/// What a program is run with, again and again.
#[derive(Clone, Debug)]
pub(super) struct Runner {
    pub(super) arguments: Vec<OsString>,
    pub(super) stdin: Option<PathBuf>,
    /// Where the files of runs lie.
    pub(super) folder: PathBuf,
}

impl Runner {
    /// A runner whose files lie in `folder`.
    pub(super) fn new(
        folder: PathBuf,
        arguments: &[OsString],
        stdin: Option<&PathBuf>,
    ) -> Result<Runner, Error> {
        std::fs::create_dir_all(&folder)
            .map_err(|error| Error::file("create the folder", &folder, &error))?;
        Ok(Runner {
            arguments: arguments.to_vec(),
            stdin: stdin.cloned(),
            folder,
        })
    }

    /// Where the standard output and error of the runs called `name` go.
    pub(super) fn outputs(&self, name: &str) -> [PathBuf; 2] {
        ["stdout", "stderr"].map(|kind| self.folder.join(format!("{name}.{kind}")))
    }

    /// Runs the program once. `threads` is what rayon is told; without it, nothing.
    pub(super) fn run(
        &self,
        program: &Path,
        name: &str,
        threads: Option<usize>,
        environment: &[(&str, &Path)],
    ) -> Result<Usage, Error> {
        let refused = |error| Error::System(format!("cannot start a process: {error}"));
        let report = self.folder.join(format!("{name}.usage"));
        let mut command = Command::new(std::env::current_exe().map_err(refused)?);
        command.arg(COMMAND).arg(&report).args(self.outputs(name));
        if let Some(stdin) = &self.stdin {
            command.arg("--stdin").arg(stdin);
        }
        command.arg("--").arg(program).args(&self.arguments);
        if let Some(threads) = threads {
            command.env("RAYON_NUM_THREADS", threads.to_string());
        }
        command.envs(environment.iter().copied());
        let output = command.stdin(Stdio::null()).output().map_err(refused)?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let why = said.trim().trim_start_matches("error: ");
            return Err(Error::System(why.to_owned()));
        }
        let text = std::fs::read_to_string(&report)
            .map_err(|error| Error::file("read", &report, &error))?;
        serde_json::from_str(&text)
            .map_err(|error| Error::System(format!("{} is damaged: {error}", report.display())))
    }
}
