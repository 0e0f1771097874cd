//! Builds and runs a crate outside of this workspace that has a program of its own, offline.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The program of the README, in a crate of its own.
const MAIN: &str = r#"
use locksley_cluster::ranks::{self, Options};
use locksley_cluster::{Build, Local, Program, Sum, Task, Tasks};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Count(u32);

impl Task for Count {
    const KIND: &'static str = "count";
    type Output = Sum<u64>;

    fn run(self, tasks: &Tasks<Sum<u64>>) -> Sum<u64> {
        if self.0 == 0 {
            return Sum(1);
        }
        (0..2).for_each(|_| tasks.spawn(Count(self.0 - 1)));
        Sum(0)
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let program = Program::new("leaves").with::<Count>();
    let pool = locksley::Pool::builder().workers(2).build()?;
    let (Sum(here), _) = Local::new(pool, &program).run([Count(8)])?;
    let build = Some(Build::named("leaves 1"));
    let options = Options { workers: 1, build, ..Options::default() };
    let outcome = ranks::run_threads(&program, [Count(8)], &options, ranks::threads(2))?;
    println!("{here} {}", outcome.result.0);
    Ok(())
}
"#;

struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn cargo(folder: &Path, arguments: &[&str]) -> Output {
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .args(arguments)
        .arg("--offline")
        .current_dir(folder)
        .env("CARGO_TARGET_DIR", folder.join("target"));
    let output = cargo.output().expect("cargo runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo {arguments:?}: {said}");
    output
}

#[test]
fn a_crate_elsewhere_builds_and_runs_its_own_program() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = format!("locksley-outside-{}", std::process::id());
    let folder = Folder(std::env::temp_dir().join(folder));
    let manifest = format!(
        "[package]\nname = \"outside\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n\n\
         [dependencies]\nlocksley = {{ path = {:?} }}\nlocksley-cluster = {{ path = {here:?} }}\n\
         serde = {{ version = \"1\", features = [\"derive\"] }}\n",
        here.with_file_name("locksley"),
    );
    fs::create_dir_all(folder.0.join("src")).expect("there is room for a folder");
    fs::write(folder.0.join("Cargo.toml"), manifest).expect("it can be written");
    fs::write(folder.0.join("src/main.rs"), MAIN).expect("it can be written");
    // The lock file names versions that are available offline.
    let lock = here.join("../../Cargo.lock");
    fs::copy(lock, folder.0.join("Cargo.lock")).expect("it can be copied");
    let ran = cargo(&folder.0, &["run", "--quiet"]);
    assert_eq!(String::from_utf8_lossy(&ran.stdout).trim(), "256 256");
    let tree = cargo(
        &folder.0,
        &["tree", "--edges", "normal", "--prefix", "none"],
    );
    let tree = String::from_utf8_lossy(&tree.stdout).into_owned();
    assert!(tree.contains("locksley-cluster"), "{tree}");
    for unwanted in [
        "locksley-workload",
        "serde_json",
        "redis",
        "prometheus",
        "tiny_http",
        "rustls",
        "image",
    ] {
        let found = tree
            .lines()
            .any(|line| line.starts_with(&format!("{unwanted} ")));
        assert!(!found, "{unwanted} is not asked for:\n{tree}");
    }
}
