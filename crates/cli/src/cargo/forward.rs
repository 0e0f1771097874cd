//! `cargo locksley run|test|bench`: cargo's own commands, with the drop-in.

use std::ffi::OsString;

use super::project::Project;
use super::sources;
use crate::error::Error;

/// Runs a command of cargo with the drop-in. Exits with cargo's exit code if that is not 0.
pub(super) fn run(command: &str, arguments: &[OsString]) -> Result<(), Error> {
    let project = Project::open(arguments)?;
    let lock = project.lock_file()?;
    let tree = project.examine(&lock)?;
    eprintln!(
        "on Locksley: rayon-core {} is replaced by the drop-in {}",
        tree.original,
        sources::version()
    );
    let mut cargo = project.patched_cargo();
    cargo
        .arg(command)
        .arg("--target-dir")
        .arg(project.build_folder());
    // The project's lock file does not have the drop-in, so cargo must be free to change it.
    let mut ours = true;
    for argument in arguments {
        ours &= argument != "--";
        match argument.to_str() {
            Some("--locked") if ours => {}
            Some("--frozen") if ours => drop(cargo.arg("--offline")),
            _ => drop(cargo.arg(argument)),
        }
    }
    let status = cargo.status();
    let status = status.map_err(|error| Error::System(format!("cannot run cargo: {error}")))?;
    drop(lock);
    match status.code() {
        Some(0) => Ok(()),
        // cargo, the compiler or the program has printed the reason.
        Some(code) => std::process::exit(code),
        None => Err(Error::System(format!("cargo {command} ended by {status}"))),
    }
}
