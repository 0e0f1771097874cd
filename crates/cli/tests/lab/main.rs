//! Tests of the binary `locksley`: its output as text and as JSON, its files and its exit codes.

mod bad_input;
mod cluster;
#[cfg(all(unix, feature = "redis"))]
mod cluster_redis;
#[cfg(all(unix, feature = "redis"))]
mod cluster_redis_http;
mod commands;
mod experiments;
mod files;
#[cfg(unix)]
mod interrupts;
#[path = "../common/ran.rs"]
mod ran;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::Value;

use ran::Ran;

/// An empty folder for one test, removed when the test ends.
struct Lab(PathBuf);

impl Lab {
    fn new() -> Lab {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = format!("lab-{}-{number}", std::process::id());
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder);
        std::fs::create_dir_all(&path).expect("there is room for a folder");
        Lab(path)
    }

    /// Returns the command, to be run in the folder.
    fn command<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_locksley"));
        command.args(arguments).current_dir(&self.0);
        command
    }

    /// Runs a command line, whose words are separated by spaces.
    fn run(&self, line: &str) -> Ran {
        self.command(line.split_whitespace())
            .output()
            .expect("it runs")
            .into()
    }

    /// Runs a command line that must succeed.
    fn good(&self, line: &str) -> Ran {
        let ran = self.run(line);
        assert_eq!(ran.code, 0, "{line}: {}{}", ran.out, ran.err);
        ran
    }

    /// Runs a command line with `--json`, and returns the document.
    fn json(&self, line: &str) -> Value {
        let ran = self.good(&format!("{line} --json"));
        assert!(ran.out.starts_with("{\n  \"schema\": 1,"), "{}", ran.out);
        let document: Value = serde_json::from_str(&ran.out)
            .unwrap_or_else(|error| panic!("{line}: {error}: {}", ran.out));
        document
    }

    /// Returns the paths of all files below the folder, sorted and separated by `/`.
    fn files(&self) -> Vec<String> {
        let mut files = Vec::new();
        let mut folders = vec![self.0.clone()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).expect("it is a folder") {
                let path = entry.expect("it is there").path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let inside = path.strip_prefix(&self.0).expect("it is below");
                    files.push(inside.to_string_lossy().replace('\\', "/"));
                }
            }
        }
        files.sort();
        files
    }

    fn read(&self, file: &str) -> String {
        std::fs::read_to_string(self.0.join(file)).expect("it can be read")
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A short comparison.
const COMPARE: &str =
    "compare fib:n=12 --strategies stealing,sharing --workers 1:2 --rounds 2 --seed 1";
