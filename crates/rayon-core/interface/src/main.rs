//! Compares the public interfaces of two packages, item by item, as rustdoc describes them.
//!
//! ```sh
//! interface PUBLISHED OURS SCRATCH
//! ```
//!
//! Every public item of the package at `PUBLISHED` must be in the one at `OURS`, with the same
//! signature; `OURS` may have more. `SCRATCH` is a folder for build artifacts. rustdoc's JSON is
//! unstable, so `RUSTC_BOOTSTRAP` is set.

#![forbid(unsafe_code)]

mod describe;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use serde_json::Value;

fn main() -> ExitCode {
    let arguments: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let [published, ours, scratch] = &arguments[..] else {
        eprintln!("usage: interface PUBLISHED OURS SCRATCH");
        return 64.into();
    };
    match compare(published, ours, scratch) {
        Ok(differences) if differences.is_empty() => ExitCode::SUCCESS,
        Ok(differences) => {
            for difference in differences {
                println!("{difference}");
            }
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("error: {error}");
            2.into()
        }
    }
}

fn compare(published: &Path, ours: &Path, scratch: &Path) -> Result<Vec<String>, String> {
    let mut theirs = describe::interface(&document(published, &scratch.join("published"))?);
    theirs.retain(|item, _| is_promised(item));
    let ours = describe::interface(&document(ours, &scratch.join("ours"))?);
    println!(
        "interface: {} public items, {} of them here too",
        theirs.len(),
        theirs
            .keys()
            .filter(|item| ours.contains_key(*item))
            .count()
    );
    if theirs.is_empty() {
        return Err("rustdoc describes no public item; has its format changed?".to_owned());
    }
    Ok(differences(&theirs, &ours))
}

/// Returns `false` for negative implementations: a type that implements more breaks no program.
fn is_promised(item: &str) -> bool {
    !item.starts_with("impl !")
}

/// Describes the items that are missing in `ours` or have another signature.
fn differences(theirs: &BTreeMap<String, String>, ours: &BTreeMap<String, String>) -> Vec<String> {
    theirs
        .iter()
        .filter_map(|(item, signature)| match ours.get(item) {
            None => Some(format!("missing: {item}\n  theirs: {signature}")),
            Some(other) if other != signature => Some(format!(
                "different: {item}\n  theirs: {signature}\n  ours:   {other}"
            )),
            Some(_) => None,
        })
        .collect()
}

/// Runs rustdoc on a package's library and returns its JSON.
fn document(package: &Path, target: &Path) -> Result<Value, String> {
    let status = Command::new("cargo")
        .args(["rustdoc", "--quiet", "--lib", "--manifest-path"])
        .arg(package.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(target)
        .args(["--", "-Zunstable-options", "--output-format=json"])
        .env("RUSTC_BOOTSTRAP", "1")
        .status()
        .map_err(|error| format!("cargo cannot be run: {error}"))?;
    if !status.success() {
        return Err(format!("rustdoc of {} failed", package.display()));
    }
    let file = target.join("doc").join("rayon_core.json");
    let text = std::fs::read_to_string(&file)
        .map_err(|error| format!("{} cannot be read: {error}", file.display()))?;
    serde_json::from_str(&text).map_err(|error| format!("{}: {error}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interface(items: &[(&str, &str)]) -> BTreeMap<String, String> {
        let own = |&(item, signature): &(&str, &str)| (item.to_owned(), signature.to_owned());
        items.iter().map(own).collect()
    }

    #[test]
    fn what_is_missing_or_different_is_told_and_more_is_not() {
        let theirs = interface(&[("a", "fn()"), ("b", "fn()"), ("c", "fn()")]);
        let ours = interface(&[("a", "fn()"), ("c", "fn(bool)"), ("d", "fn()")]);
        let told = differences(&theirs, &ours);
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(told[0].starts_with("missing: b"), "{told:?}");
        assert!(told[1].starts_with("different: c"), "{told:?}");
        assert!(is_promised("impl Send for Pool") && !is_promised("impl !Send for Pool"));
    }
}
