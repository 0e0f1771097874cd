//! The lab: one command that runs, compares, profiles, simulates and draws.

#![forbid(unsafe_code)]

mod cli;
mod commands;
mod contest;
mod experiment;
mod failure;
mod interrupt;
mod machines;
mod names;
mod output;
mod ranges;
mod recorder;
mod style;
mod tables;
mod timeline;
mod units;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let cli = cli::Cli::parse();
    interrupt::install();
    match commands::dispatch(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {failure}");
            failure.code()
        }
    }
}
