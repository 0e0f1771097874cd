//! The project in which the command runs: its location, and rayon-core in its dependency tree.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use super::lock_file::LockFile;
use super::sources;
use crate::error::Error;

/// A project with the drop-in unpacked below its target folder.
#[derive(Debug)]
pub(super) struct Project {
    /// `target/locksley`.
    pub(super) folder: PathBuf,
    workspace: PathBuf,
    drop_in: PathBuf,
    /// Arguments that every call of cargo gets: `--manifest-path`, `--config`, `--offline`.
    common: Vec<OsString>,
    /// Feature options for `cargo metadata`.
    features: Vec<OsString>,
}

/// Dependencies of the drop-in that a project's lock file may have in too old a version.
const DEPENDENCIES: [&str; 2] = ["libc", "crossbeam-utils"];

/// The rayon-core of a project's dependency tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tree {
    /// The version of rayon-core that the project uses without the drop-in.
    pub(super) original: String,
    /// Set if the drop-in needed a newer rayon-core than the lock file has.
    pub(super) updated: bool,
}

/// A package named rayon-core of a resolved tree.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Found {
    version: String,
    /// Registry or repository; `None` for a path.
    source: Option<String>,
    manifest: PathBuf,
    id: String,
}

impl Project {
    /// Finds the project of the current folder, or that of `--manifest-path` in cargo's arguments,
    /// and unpacks the drop-in below its target folder.
    pub(super) fn open(arguments: &[OsString]) -> Result<Project, Error> {
        let common = picked(
            arguments,
            &["--manifest-path", "--config"],
            &["--offline", "--frozen"],
        );
        let features = picked(
            arguments,
            &["--features", "-F"],
            &["--all-features", "--no-default-features"],
        );
        let mut command = cargo();
        command.args(["metadata", "--no-deps", "--format-version", "1"]);
        let metadata = json_of(command.args(&common))?;
        let path = |name: &str| PathBuf::from(metadata[name].as_str().unwrap_or_default());
        let folder = path("target_directory").join("locksley");
        let drop_in = sources::unpack(&folder.join("sources"))?;
        Ok(Project {
            folder,
            workspace: path("workspace_root"),
            drop_in,
            common: common
                .into_iter()
                .map(|argument| match argument.to_str() {
                    // With the patch the lock file differs from the project's.
                    Some("--frozen") => "--offline".into(),
                    _ => argument,
                })
                .collect(),
            features,
        })
    }

    /// Starts a session in which cargo may write the lock file.
    pub(super) fn lock_file(&self) -> Result<LockFile, Error> {
        LockFile::keep(&self.workspace, &self.folder)
    }

    /// Returns the value of cargo's `--config` that replaces rayon-core by the drop-in.
    pub(super) fn patch(&self) -> String {
        // A TOML literal string, in which the backslashes of a path need no escaping.
        let path = self.drop_in.display();
        format!("patch.crates-io.rayon-core.path='{path}'")
    }

    /// Returns a cargo command with the patch.
    pub(super) fn patched_cargo(&self) -> Command {
        let mut cargo = cargo();
        cargo.arg("--config").arg(self.patch());
        cargo
    }

    /// Returns a cargo command without the patch.
    pub(super) fn plain_cargo(&self) -> Command {
        cargo()
    }

    /// Returns the target folder of these builds. The project's own is not touched.
    pub(super) fn build_folder(&self) -> PathBuf {
        self.folder.join("build")
    }

    /// Finds the project's rayon-core, and checks that the drop-in replaces it. Updates the lock
    /// file if its rayon-core is too old for that.
    pub(super) fn examine(&self, lock: &LockFile) -> Result<Tree, Error> {
        let plain = self.metadata(self.plain_cargo(), &self.features)?;
        let original = self.original(&plain)?;
        lock.use_patched()?;
        let mut updated = false;
        let resolved = self.metadata(self.patched_cargo(), &self.features);
        let metadata = match resolved {
            Ok(metadata) if self.is_used(&metadata) => metadata,
            _ => {
                lock.use_original()?;
                self.update(&original)?;
                updated = true;
                self.metadata(self.patched_cargo(), &self.features)?
            }
        };
        if !self.is_used(&metadata) {
            return Err(Error::Check(not_used(&metadata, &original)));
        }
        match &rayon_cores(&metadata)[..] {
            [_] => {}
            several => return Err(Error::Check(two(&metadata, several))),
        }
        lock.keep_patched()?;
        Ok(Tree {
            original: original.version,
            updated,
        })
    }

    /// Returns the project's only rayon-core.
    fn original(&self, metadata: &Value) -> Result<Found, Error> {
        match &rayon_cores(metadata)[..] {
            [one] if one.source.is_none() => Err(Error::Check(format!(
                "this project already replaces rayon-core, by {}: remove that replacement to try \
                 the drop-in",
                one.manifest.display()
            ))),
            [one] => Ok(one.clone()),
            [] => Err(Error::Check(self.no_rayon())),
            several => Err(Error::Check(two(metadata, several))),
        }
    }

    /// Explains why there is no rayon-core: none at all, or only with a feature that is off.
    fn no_rayon(&self) -> String {
        let all = self.metadata(self.plain_cargo(), &["--all-features".into()]);
        match all.map(|metadata| !rayon_cores(&metadata).is_empty()) {
            Ok(true) => {
                "rayon is in the tree of this project only with a feature that is off: enable it, \
                 for example with --features rayon"
                    .to_owned()
            }
            _ => {
                "rayon is not in the tree of this project, so there is nothing to replace: `cargo \
                  tree -i rayon-core` would show who uses it"
                    .to_owned()
            }
        }
    }

    /// Updates rayon-core in the lock file of the session, and the drop-in's dependencies if they
    /// are too old as well.
    fn update(&self, original: &Found) -> Result<(), Error> {
        eprintln!(
            "the lock file has rayon-core {}, the drop-in is {}: updating a copy of the lock file",
            original.version,
            sources::version()
        );
        let update = |mut cargo: Command, package: &str| {
            cargo
                .args(["update", "--package", package])
                .args(&self.common);
            cargo
        };
        let rayon_core = || {
            let mut cargo = update(self.patched_cargo(), "rayon-core");
            run(cargo.args(["--precise", sources::version()]))
        };
        if rayon_core().is_ok() {
            return Ok(());
        }
        for package in DEPENDENCIES {
            // This fails if the project does not have the package; it then gets the newest version.
            if run(&mut update(self.plain_cargo(), package)).is_ok() {
                eprintln!("{package} is updated in the copy too");
            }
        }
        rayon_core()
    }

    fn metadata(&self, mut cargo: Command, features: &[OsString]) -> Result<Value, Error> {
        cargo.args(["metadata", "--format-version", "1"]);
        json_of(cargo.args(&self.common).args(features))
    }

    /// Returns `true` if the resolved tree has the drop-in.
    fn is_used(&self, metadata: &Value) -> bool {
        let ours = self.drop_in.join("Cargo.toml");
        rayon_cores(metadata)
            .iter()
            .any(|found| found.manifest == ours)
    }
}

/// Returns a command for the cargo that started this process, or the one in `PATH`.
fn cargo() -> Command {
    Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Returns the options `with_value` and the `flags` among cargo's arguments, up to a `--`.
fn picked(arguments: &[OsString], with_value: &[&str], flags: &[&str]) -> Vec<OsString> {
    let mut picked = Vec::new();
    let mut rest = arguments.iter().take_while(|argument| *argument != "--");
    while let Some(argument) = rest.next() {
        let text = argument.to_string_lossy();
        let name = text.split('=').next().unwrap_or_default();
        if flags.contains(&&*text) || (with_value.contains(&name) && text.contains('=')) {
            picked.push(argument.clone());
        } else if with_value.contains(&&*text) {
            picked.push(argument.clone());
            picked.extend(rest.next().cloned());
        }
    }
    picked
}

/// Runs cargo and parses its output. An error quotes cargo's message.
fn json_of(command: &mut Command) -> Result<Value, Error> {
    let output = command.stdin(Stdio::null()).output();
    let output = output.map_err(|error| Error::System(format!("cannot run cargo: {error}")))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(Error::System(explained(said.trim())));
    }
    serde_json::from_slice(&output.stdout)
        .map_err(|error| Error::System(format!("cargo metadata printed no JSON: {error}")))
}

/// Quotes cargo's message and adds what it means for the drop-in.
fn explained(said: &str) -> String {
    let why = if said.contains("links to the native library `rayon-core`") {
        "\ntwo versions of rayon-core are in the tree, and only one can be replaced: `cargo tree \
         -i rayon-core` shows which package requires which"
    } else if said.contains("rust-version") || said.contains("requires rustc") {
        "\nthe drop-in needs the Rust version that is named above"
    } else if said.contains("--offline") || said.contains("offline") {
        "\nthe drop-in needs libc and crossbeam-utils: run once with a network, or `cargo fetch`"
    } else {
        ""
    };
    format!("cargo says:\n{said}{why}")
}

/// Runs cargo to its end and prints its messages to standard error.
fn run(command: &mut Command) -> Result<(), Error> {
    let output = command.stdin(Stdio::null()).output();
    let output = output.map_err(|error| Error::System(format!("cannot run cargo: {error}")))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.success() {
        eprint!("{said}");
        return Ok(());
    }
    Err(Error::System(explained(said.trim())))
}

/// Returns the packages named rayon-core in the resolved tree.
fn rayon_cores(metadata: &Value) -> Vec<Found> {
    let nodes = list(&metadata["resolve"]["nodes"]);
    let resolved: Vec<&str> = nodes
        .iter()
        .filter_map(|node| node["id"].as_str())
        .collect();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    list(&metadata["packages"])
        .iter()
        .filter(|package| package["name"] == "rayon-core")
        .filter(|package| resolved.contains(&package["id"].as_str().unwrap_or_default()))
        .map(|package| Found {
            version: text(&package["version"]),
            source: package["source"].as_str().map(str::to_owned),
            manifest: Path::new(&text(&package["manifest_path"])).to_owned(),
            id: text(&package["id"]),
        })
        .collect()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Returns the packages that depend on package `id`, with the rayon-core version they require.
fn dependents(metadata: &Value, id: &str) -> Vec<String> {
    let uses = |node: &&Value| list(&node["deps"]).iter().any(|dep| dep["pkg"] == *id);
    let nodes = list(&metadata["resolve"]["nodes"]).iter().filter(uses);
    nodes
        .filter_map(|node| {
            let packages = list(&metadata["packages"]);
            let package = packages
                .iter()
                .find(|package| package["id"] == node["id"])?;
            let asked = list(&package["dependencies"])
                .iter()
                .find(|dependency| dependency["name"] == "rayon-core")?;
            let [name, version] =
                ["name", "version"].map(|key| package[key].as_str().unwrap_or("?"));
            let wish = asked["req"].as_str().unwrap_or("?");
            Some(format!("{name} {version} asks for rayon-core {wish}"))
        })
        .collect()
}

fn not_used(metadata: &Value, original: &Found) -> String {
    let who = dependents(metadata, &original.id).join(", ");
    format!(
        "the patch was not used: the project has rayon-core {}, and the drop-in is rayon-core {}; \
         {}",
        original.version,
        sources::version(),
        if who.is_empty() {
            "`cargo tree -i rayon-core` shows who uses it"
        } else {
            &who
        }
    )
}

fn two(metadata: &Value, several: &[Found]) -> String {
    let lines: Vec<String> = several
        .iter()
        .map(|found| {
            let from = match &found.source {
                Some(source) => source.clone(),
                None => found.manifest.display().to_string(),
            };
            let who = dependents(metadata, &found.id).join(", ");
            format!("  rayon-core {} from {from}: {who}", found.version)
        })
        .collect();
    format!(
        "{} packages named rayon-core are in the tree, and the drop-in replaces one from crates.io \
         only:\n{}",
        several.len(),
        lines.join("\n")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn metadata() -> Value {
        let core = |version: &str, source: Value| {
            json!({
                "name": "rayon-core", "version": version, "source": source,
                "id": format!("rayon-core {version}"), "manifest_path": "/x/Cargo.toml",
                "dependencies": [],
            })
        };
        json!({
            "packages": [
                core("1.12.1", "registry".into()),
                core("1.13.0", Value::Null),
                core("1.0.0", "registry".into()),
                {
                    "name": "rayon", "version": "1.10.0", "id": "rayon", "source": "registry",
                    "dependencies": [{ "name": "rayon-core", "req": "^1.12.1" }],
                },
            ],
            "resolve": { "nodes": [
                { "id": "rayon-core 1.12.1", "deps": [] },
                { "id": "rayon-core 1.13.0", "deps": [] },
                { "id": "rayon", "deps": [{ "pkg": "rayon-core 1.12.1" }] },
            ] },
        })
    }

    #[test]
    fn what_is_resolved_counts() {
        let found = rayon_cores(&metadata());
        let versions: Vec<&str> = found.iter().map(|found| &*found.version).collect();
        assert_eq!(versions, ["1.12.1", "1.13.0"]);
        let text = two(&metadata(), &found);
        assert!(text.contains("2 packages named rayon-core"), "{text}");
        assert!(
            text.contains("rayon 1.10.0 asks for rayon-core ^1.12.1"),
            "{text}"
        );
        let text = not_used(&metadata(), &found[0]);
        assert!(text.contains("the project has rayon-core 1.12.1"), "{text}");
    }

    #[test]
    fn options_for_all_of_cargo_are_picked_out() {
        let arguments: Vec<OsString> =
            "--bin a --manifest-path x --offline --features=y -- --offline"
                .split(' ')
                .map(OsString::from)
                .collect();
        let common = picked(&arguments, &["--manifest-path"], &["--offline"]);
        assert_eq!(common, ["--manifest-path", "x", "--offline"]);
        assert_eq!(picked(&arguments, &["--features"], &[]), ["--features=y"]);
    }
}
