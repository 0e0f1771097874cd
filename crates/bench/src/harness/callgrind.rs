//! Counts instructions: valgrind runs this binary with a hidden subcommand.
//!
//! The count is the difference of two runs divided by the difference of their operations, so that
//! everything but the loop cancels out: start-up, construction, and so on. The caller has to
//! subtract the cost of the loop itself.

use std::process::{Child, Command, Stdio};

/// Operations of the two runs, which are multiples of an unrolled loop's length.
const OPERATIONS: [u64; 2] = [6_400, 134_400];

/// Reason why nothing was counted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum Unavailable {
    /// valgrind is not installed.
    #[error(
        "instructions are not counted: valgrind is not installed \
         (Debian and Ubuntu: apt install valgrind; Fedora: dnf install valgrind)"
    )]
    Missing,
    /// valgrind did not run to its end.
    #[error("instructions are not counted: {0}")]
    Failed(String),
}

/// Returns the instructions per operation of `subcommand`, to which the number of operations is
/// appended.
pub(crate) fn per_operation(subcommand: &[&str]) -> Result<f64, Unavailable> {
    per_operation_of(subcommand, OPERATIONS)
}

/// Like [`per_operation`], for two runs with given numbers of operations.
pub(crate) fn per_operation_of(
    subcommand: &[&str],
    [few, many]: [u64; 2],
) -> Result<f64, Unavailable> {
    // Both run at once: counts do not depend on how busy the processors are.
    let (larger, smaller) = (start(subcommand, many)?, start(subcommand, few)?);
    let difference = total(larger)?.saturating_sub(total(smaller)?);
    Ok(difference as f64 / (many - few) as f64)
}

fn failed(why: impl ToString) -> Unavailable {
    Unavailable::Failed(why.to_string())
}

fn start(subcommand: &[&str], operations: u64) -> Result<Child, Unavailable> {
    let this = std::env::current_exe().map_err(failed)?;
    let mut valgrind = Command::new("valgrind");
    valgrind
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(this)
        .args(subcommand)
        .arg(operations.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    valgrind.spawn().map_err(|_| Unavailable::Missing)
}

fn total(valgrind: Child) -> Result<u64, Unavailable> {
    let output = valgrind.wait_with_output().map_err(failed)?;
    let log = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(failed(format!(
            "valgrind ended with {}: {}",
            output.status,
            log.trim()
        )));
    }
    collected(&log).ok_or_else(|| failed(format!("valgrind told no total: {}", log.trim())))
}

/// Parses the number of instructions in callgrind's closing lines: `==1234== Collected : 567`.
fn collected(log: &str) -> Option<u64> {
    let line = log.lines().find(|line| line.contains("Collected :"))?;
    line.rsplit(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_is_found_in_the_log() {
        let log = "==7== Events    : Ir\n==7== Collected : 1234567\n==7== \n";
        assert_eq!(collected(log), Some(1_234_567));
        assert_eq!(collected("==7== Events : Ir\n"), None);
    }

    #[test]
    fn a_missing_valgrind_comes_with_the_remedy() {
        assert!(
            Unavailable::Missing
                .to_string()
                .contains("apt install valgrind")
        );
    }
}
