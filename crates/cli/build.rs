//! Embeds the sources of the drop-in rayon-core and of the crates below it, for `cargo locksley`.
//!
//! The table is `$OUT_DIR/sources.rs`. Manifests are rewritten so that each crate stands alone:
//! inherited values are filled in, because cargo would look for them in the workspace of the
//! project in which the sources are unpacked. Dev-dependencies and dependencies for loom are left
//! out, so that the project resolves nothing that it does not build.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// The crates that the drop-in is built from.
const CRATES: [&str; 7] = [
    "rayon-core",
    "locksley",
    "machine",
    "policy",
    "queue",
    "strategy",
    "trace",
];

/// Folders that cargo does not read when it builds a crate as a dependency.
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
    let manifest = root.join("Cargo.toml");
    println!("cargo::rerun-if-changed={}", manifest.display());
    let workspace = Workspace::new(&read(&manifest)?);
    let mut files = Vec::new();
    for name in CRATES {
        let folder = root.join("crates").join(name);
        println!("cargo::rerun-if-changed={}", folder.display());
        collect(&folder, &format!("crates/{name}"), &mut files)?;
    }
    files.sort();
    let mut table = String::from("&[\n");
    for (number, (name, path)) in files.iter().enumerate() {
        let mut path = path.canonicalize()?;
        if name.ends_with("Cargo.toml") {
            let alone = workspace.fill_in(&read(&path)?);
            path = out.join(format!("manifest-{number}.toml"));
            fs::write(&path, alone)?;
        }
        let _ = writeln!(table, "    ({name:?}, include_str!({path:?})),");
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

/// Sections of the workspace's manifest, from which crates inherit, with their `key = value` lines.
struct Workspace(Vec<(String, Vec<(String, String)>)>);

impl Workspace {
    fn new(manifest: &str) -> Workspace {
        let mut sections: Vec<(String, Vec<(String, String)>)> = Vec::new();
        for line in manifest.lines().map(str::trim) {
            if line.starts_with('[') {
                let name = line.trim_matches(['[', ']']).to_owned();
                sections.push((name, Vec::new()));
            } else if let (Some((key, value)), Some((_, pairs))) =
                (line.split_once('='), sections.last_mut())
            {
                pairs.push((key.trim().to_owned(), value.trim().to_owned()));
            }
        }
        Workspace(sections)
    }

    fn section(&self, name: &str) -> &[(String, String)] {
        let found = self.0.iter().find(|(section, _)| section == name);
        found.map_or(&[], |(_, pairs)| pairs)
    }

    fn value(&self, section: &str, key: &str) -> &str {
        let pair = self.section(section).iter().find(|(name, _)| name == key);
        let (_, value) = pair.unwrap_or_else(|| panic!("[{section}] has {key}"));
        value
    }

    /// Returns a crate's manifest with the inherited values filled in.
    fn fill_in(&self, manifest: &str) -> String {
        let mut text = String::new();
        let mut section = String::new();
        let mut has_workspace = false;
        for line in manifest.lines() {
            let start = line.trim();
            if start.starts_with('[') {
                section = start.trim_matches(['[', ']']).to_owned();
                has_workspace |= section == "workspace";
            }
            let left_out = section.contains("dev-dependencies")
                || section.contains("cfg(loom)")
                || section == "lints"
                || start.starts_with("members =");
            if left_out {
                if start == "workspace = true" {
                    self.write_lints(&mut text);
                }
                continue;
            }
            text += &self.line(&section, line);
            text.push('\n');
        }
        if !has_workspace {
            text += "\n[workspace]\n";
        }
        assert!(!text.contains("workspace = true"), "not filled in: {text}");
        text
    }

    fn line(&self, section: &str, line: &str) -> String {
        let kind = if section == "package" {
            "workspace.package"
        } else {
            "workspace.dependencies"
        };
        if let Some(key) = line.trim().strip_suffix(".workspace = true") {
            return format!("{key} = {}", beside(self.value(kind, key)));
        }
        match line.split_once("= { workspace = true") {
            None => line.to_owned(),
            Some((key, rest)) => {
                let value = beside(self.value(kind, key.trim()));
                match value.strip_suffix('}') {
                    Some(table) => format!("{key}= {}{rest}", table.trim_end()),
                    None => format!("{key}= {{ version = {value}{rest}"),
                }
            }
        }
    }

    fn write_lints(&self, text: &mut String) {
        for kind in ["rust", "clippy"] {
            let _ = writeln!(text, "[lints.{kind}]");
            for (key, value) in self.section(&format!("workspace.lints.{kind}")) {
                let _ = writeln!(text, "{key} = {value}");
            }
        }
    }
}

/// Rewrites a dependency's path, relative to the workspace, to be relative to a sibling crate.
fn beside(dependency: &str) -> String {
    dependency.replace("path = \"crates/", "path = \"../")
}
