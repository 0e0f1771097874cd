//! How a guest that uses rayon is built twice: with rayon's own rayon-core, and with ours in its
//! place.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::Wrong;

/// One of the two.
#[derive(Clone, Copy)]
pub(crate) struct Build {
    /// Its name in tables and bars.
    pub(crate) name: &'static str,
    /// The folder of its source, below `guests`.
    guest: &'static str,
    /// The folder of its package, below that.
    package: &'static str,
}

/// Where the linker happens to put a short loop over memory can make a tenth of its time, and the
/// two programs are laid out differently. So in both every loop starts a cache line.
const FLAGS: &str = "-Cllvm-args=-align-loops=64";

impl Build {
    /// The names of the two.
    pub(crate) const RAYON: &str = "rayon";
    pub(crate) const LOCKSLEY: &str = "locksley";

    /// Both builds of the guest in this folder.
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

    /// Has cargo build it, if need be, next to this binary's own folder.
    pub(crate) fn make(&self) -> Result<(), Wrong> {
        let status = self.cargo().and_then(|mut cargo| cargo.status());
        let got = match status {
            Ok(status) if status.success() => return Ok(()),
            Ok(status) => format!("cargo ended with {status}"),
            Err(error) => format!("cargo could not be run: {error}"),
        };
        Err(Wrong::new(self.name, "build", "a program".to_owned(), got))
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
