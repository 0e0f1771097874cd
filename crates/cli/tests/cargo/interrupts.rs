//! Ctrl-C keeps what was measured, and restores the project's lock file.

use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};

use crate::Project;

/// Counts its runs in a file. The tenth and later ones never end.
const PROGRAM: &str = r#"
use rayon::prelude::*;

fn main() {
    let runs = std::fs::read_to_string("runs").map_or(0, |text| text.len());
    std::fs::write("runs", "x".repeat(runs + 1)).unwrap();
    println!("{}", (0..1000_u64).into_par_iter().sum::<u64>());
    while runs >= 10 {
        std::thread::sleep(std::time::Duration::from_millis(50));
        if !std::path::Path::new("runs").exists() {
            return;
        }
    }
}
"#;

#[test]
fn a_comparison_keeps_what_was_measured() {
    let project = Project::new("[dependencies]\nrayon = \"1.12\"\n", PROGRAM);
    let mut command = project.command("compare --profile dev --rounds 100");
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut child = command.spawn().expect("it runs");
    let mut said = BufReader::new(child.stderr.take().expect("a pipe"));
    let mut line = String::new();
    while !line.contains("measuring small") {
        line.clear();
        assert!(
            said.read_line(&mut line).expect("text") > 0,
            "it ended early"
        );
    }
    while project.read("runs").is_none_or(|runs| runs.len() < 11) {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    kill_process(Pid::from_child(&child), Signal::INT).expect("it is there");
    let status = child.wait().expect("it ends");
    // Ends the program's last run, which holds the pipe open.
    std::fs::remove_file(project.0.join("runs")).expect("it is there");
    let mut rest = String::new();
    said.read_to_string(&mut rest).expect("text");
    assert_eq!(status.code(), Some(130), "{rest}");
    assert!(
        rest.contains("the measurements so far are kept in"),
        "{rest}"
    );
    let kept = project
        .read("target/locksley/results/compare.json")
        .expect("a file");
    let kept: serde_json::Value = serde_json::from_str(&kept).expect("JSON");
    assert_eq!(kept["interrupted"], true);
    // Ten runs: two that are not timed, and four rounds.
    assert_eq!(kept["series"][0]["runs"].as_array().map(Vec::len), Some(4));
    assert_eq!(
        project.read("Cargo.lock"),
        None,
        "the project has no lock file"
    );
}
