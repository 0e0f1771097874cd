//! Builds the project with rayon and with Locksley.

use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use super::project::Project;
use crate::error::Error;

/// The rayon-core that a program is built with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Variant {
    Rayon,
    Locksley,
}

impl Variant {
    pub(super) const BOTH: [Variant; 2] = [Variant::Rayon, Variant::Locksley];

    pub(super) fn name(self) -> &'static str {
        match self {
            Variant::Rayon => "rayon",
            Variant::Locksley => "locksley",
        }
    }
}

/// Artifacts of a build.
#[derive(Debug, Default)]
struct Built {
    /// Programs and examples by name.
    programs: Vec<(String, PathBuf)>,
    /// Manifests of the packages named rayon-core that were compiled or found fresh.
    cores: Vec<PathBuf>,
}

/// Builds the selected program, copies it to a folder that cargo does not write to, and returns the
/// path of the copy.
pub(super) fn program(
    project: &Project,
    variant: Variant,
    arguments: &[OsString],
) -> Result<PathBuf, Error> {
    eprintln!("building with {}", variant.name());
    let mut cargo = match variant {
        Variant::Rayon => project.plain_cargo(),
        Variant::Locksley => project.patched_cargo(),
    };
    cargo.arg("build").args(arguments);
    cargo.arg("--message-format=json-render-diagnostics");
    cargo.arg("--target-dir").arg(project.build_folder());
    let built = build(&mut cargo)?;
    if variant == Variant::Locksley {
        check_cores(project, &built)?;
    }
    let (name, path) = choose(built.programs)?;
    let folder = project.folder.join("programs").join(variant.name());
    let copy = folder.join(path.file_name().unwrap_or(name.as_ref()));
    fs::create_dir_all(&folder)
        .map_err(|error| Error::file("create the folder", &folder, &error))?;
    // The file of a running program cannot be overwritten, but it can be removed and replaced.
    let _ = fs::remove_file(&copy);
    fs::copy(&path, &copy).map_err(|error| Error::file("write", &copy, &error))?;
    Ok(copy)
}

/// Runs cargo and collects the artifacts. Human-readable messages go to standard error.
fn build(cargo: &mut Command) -> Result<Built, Error> {
    let refused = |error| Error::System(format!("cannot run cargo: {error}"));
    let mut child = cargo
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(refused)?;
    let mut built = Built::default();
    if let Some(messages) = child.stdout.take() {
        let lines = BufReader::new(messages).lines().map_while(Result::ok);
        lines.for_each(|line| note(&mut built, &line));
    }
    let status = child.wait().map_err(refused)?;
    if !status.success() {
        return Err(Error::System(
            "the build failed; see the messages of cargo and the compiler above".to_owned(),
        ));
    }
    Ok(built)
}

/// Adds the artifact that a message of cargo describes, if any, to `built`.
fn note(built: &mut Built, line: &str) {
    let Ok(message) = serde_json::from_str::<Value>(line) else {
        return;
    };
    if message["reason"] != "compiler-artifact" {
        return;
    }
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let kinds = message["target"]["kind"].as_array();
    let is = |kind: &str| kinds.is_some_and(|kinds| kinds.iter().any(|k| k == kind));
    if let Some(executable) = message["executable"].as_str()
        && (is("bin") || is("example"))
    {
        let name = text(&message["target"]["name"]);
        built.programs.push((name, executable.into()));
    }
    let name = text(&message["target"]["name"]).replace('-', "_");
    if name == "rayon_core" && !is("custom-build") {
        built.cores.push(text(&message["manifest_path"]).into());
    }
}

/// Returns an error unless the drop-in is the only rayon-core of the build.
fn check_cores(project: &Project, built: &Built) -> Result<(), Error> {
    let ours = |manifest: &&PathBuf| manifest.starts_with(project.folder.join("sources"));
    if !built.cores.iter().any(|manifest| ours(&manifest)) {
        return Err(Error::Check(
            "the patch was not used: this build has no rayon-core, so the program does not use \
             rayon (perhaps its tests do, or another program of the workspace)"
                .to_owned(),
        ));
    }
    match built.cores.iter().find(|manifest| !ours(manifest)) {
        None => Ok(()),
        Some(other) => Err(Error::Check(format!(
            "a second rayon-core is in the build: {}",
            other.display()
        ))),
    }
}

/// Returns the only program of a build, or an error if there are none or several.
fn choose(mut programs: Vec<(String, PathBuf)>) -> Result<(String, PathBuf), Error> {
    match programs.len() {
        0 => Err(Error::usage(
            "this project has no program: give one with --bin or --example",
        )),
        1 => Ok(programs.remove(0)),
        _ => {
            let names: Vec<&str> = programs.iter().map(|(name, _)| name.as_str()).collect();
            Err(Error::usage(format!(
                "this project has several programs: give one of {} with --bin",
                names.join(", ")
            )))
        }
    }
}

/// Returns a program's name for display.
pub(super) fn name(program: &Path) -> String {
    let stem = program.file_stem().unwrap_or_default();
    stem.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_and_cores_are_noted() {
        let mut built = Built::default();
        for line in [
            r#"{"reason":"compiler-artifact","manifest_path":"/t/sources/x/Cargo.toml",
                "target":{"name":"rayon_core","kind":["lib"]},"executable":null}"#,
            r#"{"reason":"compiler-artifact","manifest_path":"/p/Cargo.toml",
                "target":{"name":"tool","kind":["bin"]},"executable":"/t/release/tool"}"#,
            r#"{"reason":"compiler-artifact","manifest_path":"/p/Cargo.toml",
                "target":{"name":"build-script-build","kind":["custom-build"]},"executable":null}"#,
            "no message",
        ] {
            note(&mut built, line);
        }
        assert_eq!(built.cores, [PathBuf::from("/t/sources/x/Cargo.toml")]);
        let (name, path) = choose(built.programs).unwrap();
        assert_eq!(
            (&*name, path.as_path()),
            ("tool", Path::new("/t/release/tool"))
        );
    }

    #[test]
    fn one_of_several_programs_has_to_be_named() {
        let program = |name: &str| (name.to_owned(), PathBuf::from(name));
        let error = choose(vec![program("a"), program("b")]).unwrap_err();
        assert!(error.to_string().contains("a, b with --bin"), "{error}");
        assert!(choose(Vec::new()).is_err());
    }
}
