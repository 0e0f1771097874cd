//! Embeds the sources of the drop-in rayon-core and of the crates below it, for `cargo locksley`.
//!
//! The table is `$OUT_DIR/sources.rs`. Manifests are trimmed: members of the workspace that are not
//! carried, dev-dependencies and dependencies for loom are left out, so that a project that uses the
//! drop-in resolves nothing that it does not build.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// The crates that the drop-in is built from.
const CRATES: [&str; 5] = ["rayon-core", "locksley", "policy", "queue", "trace"];

/// Folders of a crate that a build of it as a dependency does not read.
const UNUSED: [&str; 7] = [
    "tests",
    "benches",
    "examples",
    "fuzz",
    "interface",
    "target",
    "deploy",
];

fn main() -> io::Result<()> {
    let root = Path::new(&variable("CARGO_MANIFEST_DIR")).join("../..");
    let out = PathBuf::from(variable("OUT_DIR"));
    println!("cargo::rerun-if-changed=build.rs");
    let mut files = Vec::new();
    let manifest = root.join("Cargo.toml");
    println!("cargo::rerun-if-changed={}", manifest.display());
    for name in CRATES {
        let folder = root.join("crates").join(name);
        println!("cargo::rerun-if-changed={}", folder.display());
        collect(&folder, &format!("crates/{name}"), &mut files)?;
    }
    files.sort();
    let mut table = String::from("&[\n");
    let trimmed = out.join("Cargo.toml");
    fs::write(&trimmed, trim(&read(&manifest)?))?;
    row(&mut table, "Cargo.toml", &trimmed);
    for (number, (name, path)) in files.iter().enumerate() {
        if name.ends_with("Cargo.toml") {
            let trimmed = out.join(format!("manifest-{number}.toml"));
            fs::write(&trimmed, trim(&read(path)?))?;
            row(&mut table, name, &trimmed);
        } else {
            row(&mut table, name, &path.canonicalize()?);
        }
    }
    table += "]\n";
    fs::write(out.join("sources.rs"), table)
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"))
}

fn read(path: &Path) -> io::Result<String> {
    fs::read_to_string(path)
        .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))
}

fn row(table: &mut String, name: &str, path: &Path) {
    let _ = writeln!(table, "    ({name:?}, include_str!({path:?})),");
}

/// Collects the files of a crate with their names in the unpacked tree.
fn collect(folder: &Path, name: &str, files: &mut Vec<(String, PathBuf)>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let file = entry.file_name().to_string_lossy().into_owned();
        let (path, name) = (entry.path(), format!("{name}/{file}"));
        if path.is_dir() {
            if !UNUSED.contains(&file.as_str()) && !file.starts_with('.') {
                collect(&path, &name, files)?;
            }
        } else if [".rs", ".toml", ".md", ".txt", ".json"]
            .iter()
            .any(|ending| file.ends_with(ending))
        {
            files.push((name, path));
        }
    }
    Ok(())
}

/// A manifest without the members of the workspace and the dependencies that are not carried.
fn trim(manifest: &str) -> String {
    let mut text = String::new();
    let mut skipped = false;
    let mut lists_members = false;
    for line in manifest.lines() {
        let start = line.trim();
        if start.starts_with('[') {
            skipped = start.starts_with("[dev-dependencies")
                || start.contains(".dev-dependencies")
                || start.contains("cfg(loom)");
        }
        if lists_members {
            lists_members = !start.starts_with(']');
            continue;
        }
        if skipped || start.starts_with("default-members") {
            continue;
        }
        if start.starts_with("members") {
            lists_members = !start.ends_with(']');
            if start.contains("interface") {
                continue;
            }
            let carried = CRATES.iter().filter(|name| **name != "rayon-core");
            let carried: Vec<String> = carried.map(|name| format!("\"crates/{name}\"")).collect();
            let _ = writeln!(text, "members = [{}]", carried.join(", "));
            continue;
        }
        text += line;
        text.push('\n');
    }
    text
}
