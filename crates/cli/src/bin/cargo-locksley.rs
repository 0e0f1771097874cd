//! The command `cargo locksley`.

use std::process::ExitCode;

fn main() -> ExitCode {
    locksley_cli::cargo_locksley()
}
