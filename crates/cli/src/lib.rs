//! The commands `locksley` and `cargo locksley`.

#![forbid(unsafe_code)]

mod cargo;
mod cli;
mod commands;
mod error;
mod interrupt;
mod measure;
mod parse;
mod render;

use std::process::ExitCode;

/// Runs the command `locksley`.
pub fn locksley() -> ExitCode {
    let cli = cli::Cli::read();
    interrupt::install();
    exit_code(commands::dispatch(cli))
}

/// Runs the command `cargo locksley`.
pub fn cargo_locksley() -> ExitCode {
    exit_code(cargo::run())
}

/// Reports an error on standard error. Returns the exit code of the process.
fn exit_code(result: Result<(), error::Error>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            error.code()
        }
    }
}
