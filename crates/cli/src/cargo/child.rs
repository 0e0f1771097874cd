//! Runs a program once and measures its time and memory.
//!
//! The kernel's figure for the peak memory of a process includes that of the process that started
//! it, up to `exec`. Each run is therefore started by an intermediate process: this program again,
//! which does nothing else and has touched little memory by then.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Instant;

use serde::{Deserialize, Serialize};
use wait4::Wait4;

use crate::error::Error;

/// First argument of the intermediate process. The others are the files for the report, for
/// standard output and error, and for standard input (empty if there is none), then the program and
/// its arguments.
const COMMAND: &str = "run-once";

/// Resources that a run used, and how it ended.
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

/// Acts as the intermediate process if the first argument is [`COMMAND`]. Otherwise returns `None`.
pub(super) fn run_once(arguments: &[OsString]) -> Option<Result<(), Error>> {
    match arguments {
        [
            _,
            command,
            report,
            stdout,
            stderr,
            stdin,
            program,
            arguments @ ..,
        ] if command == COMMAND => {
            let [report, stdout, stderr, stdin, program] =
                [report, stdout, stderr, stdin, program].map(Path::new);
            let usage = measured(program, arguments, [stdin, stdout, stderr]);
            Some(usage.and_then(|usage| {
                let text = serde_json::to_string(&usage).unwrap_or_default();
                std::fs::write(report, text).map_err(|error| Error::file("write", report, &error))
            }))
        }
        _ => None,
    }
}

/// Runs a program to its end.
fn measured(
    program: &Path,
    arguments: &[OsString],
    [stdin, stdout, stderr]: [&Path; 3],
) -> Result<Usage, Error> {
    let create =
        |path: &Path| File::create(path).map_err(|error| Error::file("write", path, &error));
    let mut command = Command::new(program);
    command.args(arguments);
    command.stdout(create(stdout)?).stderr(create(stderr)?);
    if stdin == Path::new("") {
        command.stdin(Stdio::null());
    } else {
        let file = File::open(stdin).map_err(|error| Error::file("read", stdin, &error))?;
        command.stdin(file);
    }
    let start = Instant::now();
    let child = command.spawn();
    let mut child = child.map_err(|error| Error::file("run", program, &error))?;
    let used = child.wait4();
    let used = used.map_err(|error| Error::file("wait for", program, &error))?;
    Ok(Usage {
        seconds: start.elapsed().as_secs_f64(),
        cpu_seconds: (used.rusage.utime + used.rusage.stime).as_secs_f64(),
        peak_bytes: used.rusage.maxrss,
        end: end(used.status),
    })
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

/// What all runs of a program have in common.
#[derive(Clone, Debug)]
pub(super) struct Runner {
    pub(super) arguments: Vec<OsString>,
    pub(super) stdin: Option<PathBuf>,
    /// Folder for the files of the runs.
    pub(super) folder: PathBuf,
}

impl Runner {
    /// Creates a runner that writes its files to `folder`.
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

    /// Returns the files for standard output and standard error of the runs called `name`.
    pub(super) fn outputs(&self, name: &str) -> [PathBuf; 2] {
        ["stdout", "stderr"].map(|kind| self.folder.join(format!("{name}.{kind}")))
    }

    /// Runs the program once, with `RAYON_NUM_THREADS` set to `threads` if there is a number.
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
        let stdin = self
            .stdin
            .as_ref()
            .map_or(OsStr::new(""), |path| path.as_ref());
        command.arg(COMMAND).arg(&report).args(self.outputs(name));
        command.arg(stdin).arg(program).args(&self.arguments);
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
