//! A description of the machine, without which measurements say little.

use std::fmt;
use std::fs;
use std::thread;

use locksley_queue::barrier::{FenceMode, fence_mode};
use serde::Serialize;

/// The machine, the compiler and the rivals' versions.
///
/// ```
/// let machine = locksley_measure::Machine::here(&["rayon"]);
/// assert!(machine.to_string().contains("; rayon "), "{machine}");
/// ```
#[derive(Clone, Debug, Serialize)]
pub struct Machine {
    /// Name of the processor.
    pub cpu: String,
    /// Number of processors that this process may use.
    pub cores: usize,
    /// The operating system.
    pub os: String,
    /// Version of the kernel.
    pub kernel: String,
    /// Version of the compiler.
    pub rustc: &'static str,
    /// Load average of the last minute when the run began: other programs may have used the
    /// machine.
    pub load: Option<f64>,
    /// `membarrier` if it is available, otherwise `fences`.
    pub barrier: &'static str,
    /// Names and versions of the rivals.
    pub rivals: Vec<&'static str>,
}

impl Machine {
    /// Describes this machine in its current state, and these rivals.
    pub fn here(rivals: &[&str]) -> Machine {
        let unknown = || "unknown".to_owned();
        Machine {
            cpu: field("/proc/cpuinfo", "model name", ':').unwrap_or_else(unknown),
            cores: thread::available_parallelism().map_or(1, usize::from),
            os: field("/etc/os-release", "PRETTY_NAME", '=')
                .unwrap_or_else(|| std::env::consts::OS.to_owned()),
            kernel: fs::read_to_string("/proc/sys/kernel/osrelease")
                .map_or_else(|_| unknown(), |text| text.trim().to_owned()),
            rustc: env!("LOCKSLEY_RUSTC"),
            load: fs::read_to_string("/proc/loadavg")
                .ok()
                .and_then(|text| text.split(' ').next()?.parse().ok()),
            barrier: match fence_mode() {
                FenceMode::Asymmetric => "membarrier",
                FenceMode::Symmetric => "fences",
            },
            rivals: env!("LOCKSLEY_RIVALS")
                .split(',')
                .filter(|rival| {
                    rivals
                        .iter()
                        .any(|name| rival.split(' ').next() == Some(name))
                })
                .collect(),
        }
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}, {} cores, {}, {}",
            self.cpu, self.cores, self.os, self.kernel
        )?;
        if let Some(load) = self.load {
            write!(f, ", load {load}")?;
        }
        write!(
            f,
            "; {}; {}; {}",
            self.barrier,
            self.rustc,
            self.rivals.join(", ")
        )
    }
}

/// Returns the value in the first line of a file that begins with `key`.
fn field(file: &str, key: &str, separator: char) -> Option<String> {
    value(&fs::read_to_string(file).ok()?, key, separator)
}

fn value(text: &str, key: &str, separator: char) -> Option<String> {
    let line = text.lines().find(|line| line.starts_with(key))?;
    let (_, value) = line.split_once(separator)?;
    Some(value.trim().trim_matches('"').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_and_unquoted() {
        let text = "vendor_id\t: X\nmodel name\t: Fast CPU @ 3 GHz\nNAME=\"Some OS\"\n";
        assert_eq!(
            value(text, "model name", ':').as_deref(),
            Some("Fast CPU @ 3 GHz")
        );
        assert_eq!(value(text, "NAME", '=').as_deref(), Some("Some OS"));
        assert_eq!(value(text, "absent", ':'), None);
    }
}
