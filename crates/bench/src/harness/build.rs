//! Builds a guest program that uses rayon twice: with rayon's own rayon-core, and with ours.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::WrongResult;

/// One of the two builds.
#[derive(Clone, Copy)]
pub(crate) struct Build {
    /// Name in tables and bars.
    pub(crate) name: &'static str,
    /// Folder of the source, below `guests`.
    guest: &'static str,
    /// Folder of the package, below that.
    package: &'static str,
}

/// Aligns every loop to a cache line: the address of a short loop can change its time by a tenth,
/// and the two programs are laid out differently.
const FLAGS: &str = "-Cllvm-args=-align-loops=64";

impl Build {
    /// Names of the two builds.
    pub(crate) const RAYON: &str = "rayon";
    pub(crate) const LOCKSLEY: &str = "locksley";

    /// Returns both builds of the guest in this folder.
    pub(crate) const fn both(guest: &'static str) -> [Build; 2] {
        let rayon = Build {
            name: Build::RAYON,
            guest,
            package: "with-rayon",
        };
        let locksley = Build {
            name: Build::LOCKSLEY,
            guest,
            package: "with-locksley",
        };
        [rayon, locksley]
    }

    /// Builds the program with cargo, if necessary, next to this binary's own folder.
    pub(crate) fn make(&self) -> Result<(), WrongResult> {
        let status = self.cargo().and_then(|mut cargo| cargo.status());
        let got = match status {
            Ok(status) if status.success() => return Ok(()),
            Ok(status) => format!("cargo ended with {status}"),
            Err(error) => format!("cargo could not be run: {error}"),
        };
        Err(WrongResult::new(
            self.name,
            "build",
            "a program".to_owned(),
            got,
        ))
    }

    fn cargo(&self) -> io::Result<Command> {
        let guests = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("guests")
            .join(self.guest);
        let mut cargo = Command::new("cargo");
        cargo
            .args([
                "build",
                "--quiet",
                "--release",
                "--locked",
                "--manifest-path",
            ])
            .arg(guests.join(self.package).join("Cargo.toml"))
            .arg("--target-dir")
            .arg(self.target()?)
            .env("RUSTFLAGS", FLAGS);
        Ok(cargo)
    }

    fn target(&self) -> io::Result<PathBuf> {
        let this = std::env::current_exe()?;
        let target = this.ancestors().nth(2).ok_or(io::ErrorKind::NotFound)?;
        Ok(target.join("guests").join(self.package))
    }

    pub(crate) fn binary(&self) -> io::Result<PathBuf> {
        let name = format!("{}-guest{}", self.guest, std::env::consts::EXE_SUFFIX);
        Ok(self.target()?.join("release").join(name))
    }
}
