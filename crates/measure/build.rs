//! Provides what reports say about the build: the versions of the compiler and of the rivals.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

/// The crates that Locksley is compared with. Their versions come from the lock file.
const RIVALS: [&str; 7] = [
    "chili",
    "crossbeam-deque",
    "crossbeam-queue",
    "forte",
    "rayon",
    "rtrb",
    "st3",
];

fn main() {
    let root = Path::new(&env::var("CARGO_MANIFEST_DIR").unwrap()).join("../..");
    let lock_file = root.join("Cargo.lock");
    println!("cargo::rerun-if-changed={}", lock_file.display());

    let lock = fs::read_to_string(lock_file).unwrap_or_default();
    let rivals: Vec<String> = RIVALS
        .iter()
        .filter_map(|name| Some(format!("{name} {}", version(&lock, name)?)))
        .collect();
    println!("cargo::rustc-env=LOCKSLEY_RIVALS={}", rivals.join(","));

    let rustc = Command::new(env::var("RUSTC").unwrap())
        .arg("--version")
        .output()
        .map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
        .unwrap_or_else(|_| "unknown".to_owned());
    println!("cargo::rustc-env=LOCKSLEY_RUSTC={rustc}");
}

/// Returns the version of a package in a lock file, from the line after the package's name.
fn version<'a>(lock: &'a str, package: &str) -> Option<&'a str> {
    let name = format!("name = \"{package}\"");
    let mut lines = lock.lines().skip_while(|line| **line != name);
    lines
        .nth(1)?
        .strip_prefix("version = \"")?
        .strip_suffix('"')
}
