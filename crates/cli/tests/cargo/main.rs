//! `cargo locksley` on small projects. Nothing here needs a network: rayon is in cargo's cache,
//! because this package depends on it.

#[cfg(unix)]
mod interrupts;
#[path = "../common/ran.rs"]
mod ran;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::Value;

use ran::Ran;

/// A program that prints a parallel sum over the numbers below its first argument, and exits with
/// its second argument.
const PROGRAM: &str = r#"
use rayon::prelude::*;

fn main() {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<u64>().unwrap());
    let n = arguments.next().unwrap_or(1000);
    let sum: u64 = (0..n).into_par_iter().map(|i| i % 7).sum();
    println!("sum {sum}, {} threads", rayon::current_num_threads());
    std::process::exit(arguments.next().unwrap_or(0) as i32);
}

#[test]
fn sums() {
    assert_eq!((0..1000_u64).into_par_iter().sum::<u64>(), 499_500);
}
"#;

/// A project in a folder of its own, removed when the test ends.
struct Project(PathBuf);

impl Project {
    fn new(dependencies: &str, program: &str) -> Project {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = format!("project-{}-{number}", std::process::id());
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder);
        let manifest = format!(
            "[package]\nname = \"small\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n\
             [workspace]\n\n{dependencies}"
        );
        let project = Project(path);
        project.write("Cargo.toml", &manifest);
        project.write("src/main.rs", program);
        project
    }

    fn with_rayon() -> Project {
        Project::new("[dependencies]\nrayon = \"1.12\"\n", PROGRAM)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.0.join(name);
        std::fs::create_dir_all(path.parent().expect("it is in the project"))
            .expect("there is room");
        std::fs::write(path, text).expect("there is room");
    }

    fn read(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.0.join(name)).ok()
    }

    /// Returns the command, to be run in the project without a network.
    fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-locksley"));
        command.arg("locksley").args(line.split_whitespace());
        command
            .current_dir(&self.0)
            .env("CARGO_NET_OFFLINE", "true");
        command.env("CARGO_TARGET_DIR", self.target());
        command.env("CARGO_BUILD_TARGET_DIR", self.target());
        command.env_remove("RAYON_NUM_THREADS");
        // cargo sets these for tests, and build scripts of the project must not see them.
        command
            .env_remove("CARGO_MANIFEST_DIR")
            .env_remove("RUSTFLAGS");
        command
    }

    fn target(&self) -> PathBuf {
        self.0.join("target")
    }

    fn run(&self, line: &str) -> Ran {
        self.command(line).output().expect("it runs").into()
    }

    /// Returns the files of the project without its target folder.
    fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).expect("it is a folder");
        let mut names: Vec<String> = entries
            .map(|entry| {
                entry
                    .expect("it is there")
                    .file_name()
                    .to_string_lossy()
                    .into_owned()
            })
            .filter(|name| name != "target")
            .collect();
        names.sort();
        names
    }
}

impl Drop for Project {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_project_runs_is_compared_and_stays_as_it_was() {
    let project = Project::with_rayon();
    let ran = project.run("run --quiet -- 1000 3");
    assert_eq!(
        ran.code, 3,
        "the program's exit code: {}{}",
        ran.out, ran.err
    );
    assert!(ran.out.starts_with("sum 2997"), "{}", ran.out);
    assert!(
        ran.err
            .contains("rayon-core 1.13.0 is replaced by the drop-in"),
        "{}",
        ran.err
    );
    assert_eq!(
        project.files(),
        ["Cargo.toml", "src"],
        "no lock file is left"
    );

    let line = "compare --profile dev --rounds 2 --threads 1,2 --json -- 5000";
    let ran = project.run(line);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let document: Value = serde_json::from_str(&ran.out).expect("one JSON document");
    assert_eq!(document["output"], "same");
    assert_eq!(document["correct"], true);
    assert_eq!(document["series"].as_array().map(Vec::len), Some(4));
    assert_eq!(document["ratios"].as_array().map(Vec::len), Some(6));
    for series in document["series"].as_array().expect("a list") {
        assert_eq!(series["runs"].as_array().map(Vec::len), Some(2));
        assert!(series["runs"][0]["peak_bytes"].as_u64().expect("a number") > 100_000);
    }
    let page = project.read("target/locksley/results/compare.html");
    assert!(page.expect("a page").contains("processor time"));
    assert_eq!(project.files(), ["Cargo.toml", "src"]);

    examine(&project);
    let ran = project.run("test --quiet");
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("1 passed"), "{}", ran.out);
}

/// Checks an X-ray of the project, as far as the drop-in writes the files for it.
fn examine(project: &Project) {
    let ran = project.run("xray --profile dev --rounds 2 --threads 1,2 --json -- 5000");
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let document: Value = serde_json::from_str(&ran.out).expect("one JSON document");
    let results = &document["results"];
    let notes = results["notes"].to_string();
    assert!(notes.contains("1 thread instead of 2 would"), "{notes}");
    if !knows_files(project) {
        assert!(
            notes.contains("There is no timeline") && notes.contains("no forecast"),
            "{notes}"
        );
        return;
    }
    assert_eq!(results["timelines"][0]["program"], "small");
    assert!(results["profiles"][0]["work"].as_f64().expect("a number") > 0.0);
    let points = results["replays"][0]["points"].as_array().expect("a list");
    let processors: Vec<u64> = points
        .iter()
        .filter_map(|point| point["workers"].as_u64())
        .collect();
    assert_eq!(processors, [1, 2, 4, 8, 16, 32, 64, 128]);
    let measured = |point: &Value| point["measured"].as_array().map_or(0, Vec::len);
    assert_eq!(
        [&points[0], &points[1], &points[2]].map(measured),
        [2, 2, 0]
    );
}

/// Returns `true` if the drop-in writes timelines and recordings on demand of the environment.
fn knows_files(project: &Project) -> bool {
    let sources = project.target().join("locksley/sources");
    let mut folders = std::fs::read_dir(sources).expect("it is unpacked");
    folders.any(|folder| {
        let folder = folder
            .expect("it is there")
            .path()
            .join("crates/rayon-core/src");
        let files = std::fs::read_dir(folder).expect("it is a folder");
        let mut texts = files.filter_map(|file| std::fs::read_to_string(file.ok()?.path()).ok());
        texts.any(|text| text.contains("LOCKSLEY_RECORD"))
    })
}

#[test]
fn the_lock_file_is_restored() {
    let project = Project::with_rayon();
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
    cargo
        .args(["generate-lockfile", "--offline"])
        .current_dir(&project.0);
    assert!(cargo.output().expect("cargo runs").status.success());
    let before = project.read("Cargo.lock").expect("a lock file");
    // The program does not compile: the session ends early.
    project.write("src/main.rs", "fn main() { let x: u32 = \"text\"; }");
    let ran = project.run("run --locked");
    assert_eq!(ran.code, 101, "{}", ran.err);
    assert!(
        ran.err.contains("expected `u32`, found `&str`"),
        "the compiler's words: {}",
        ran.err
    );
    assert_eq!(project.read("Cargo.lock"), Some(before.clone()));
    let ran = project.run("compare --profile dev");
    assert_eq!(ran.code, 3, "{}", ran.err);
    assert!(
        ran.err.contains("expected `u32`, found `&str`"),
        "{}",
        ran.err
    );
    assert!(ran.err.contains("the build failed"), "{}", ran.err);
    assert_eq!(project.read("Cargo.lock"), Some(before));
}

#[test]
fn a_project_without_rayon_is_told_so() {
    let project = Project::new("", "fn main() {}");
    let ran = project.run("run");
    assert_eq!(ran.code, 1, "{}", ran.err);
    assert!(ran.err.contains("rayon is not in the tree"), "{}", ran.err);
    let optional = "[dependencies]\nrayon = { version = \"1.12\", optional = true }\n";
    let project = Project::new(optional, "fn main() {}");
    let ran = project.run("run");
    assert_eq!(ran.code, 1, "{}", ran.err);
    assert!(
        ran.err.contains("only with a feature that is off"),
        "{}",
        ran.err
    );
}

#[test]
fn a_program_that_does_not_use_rayon_is_told_so() {
    let project = Project::new("[dev-dependencies]\nrayon = \"1.12\"\n", "fn main() {}");
    let ran = project.run("compare --profile dev");
    assert_eq!(ran.code, 1, "{}", ran.err);
    assert!(ran.err.contains("the patch was not used"), "{}", ran.err);
    assert!(ran.err.contains("does not use rayon"), "{}", ran.err);
}

#[test]
fn a_project_that_replaces_rayon_core_itself_is_told_so() {
    let patched = "[dependencies]\nrayon = \"1.12\"\n\n\
                   [patch.crates-io]\nrayon-core = { path = \"core\" }\n";
    let project = Project::new(patched, PROGRAM);
    project.write(
        "core/Cargo.toml",
        "[package]\nname = \"rayon-core\"\nversion = \"1.13.5\"\nedition = \"2021\"\n\
         links = \"rayon-core\"\nbuild = \"build.rs\"\n\n[features]\nweb_spin_lock = []\n",
    );
    project.write("core/src/lib.rs", "");
    project.write("core/build.rs", "fn main() {}");
    let ran = project.run("run");
    assert_eq!(ran.code, 1, "{}", ran.err);
    assert!(
        ran.err.contains("already replaces rayon-core"),
        "{}",
        ran.err
    );
}

#[test]
fn what_makes_no_sense_is_refused() {
    let project = Project::new("", "fn main() {}");
    for (line, code, part) in [
        ("run --manifest-path nowhere/Cargo.toml", 3, "nowhere"),
        ("compare --rounds 0", 2, "1.."),
        ("compare --threads 0", 2, "the least is 1"),
        ("compete", 2, "compare"),
    ] {
        let ran = project.run(line);
        assert_eq!(ran.code, code, "{line}: {}", ran.err);
        assert!(ran.err.contains(part), "{line}: {}", ran.err);
    }
    let help = project.run("--help").out;
    assert!(
        help.contains("cargo locksley compare") && help.contains("130"),
        "{help}"
    );
}
