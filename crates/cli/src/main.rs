//! The command `locksley`.

use std::process::ExitCode;

fn main() -> ExitCode {
    locksley_cli::locksley()
}
