//! The files that commands write, and the format of their output.

use std::process::Stdio;

use crate::{COMPARE, Lab};

#[test]
fn a_comparison_is_written_in_four_forms_and_nowhere_else() {
    let lab = Lab::new();
    let ran = lab.good(COMPARE);
    let files = ["compare.csv", "compare.html", "compare.json", "compare.txt"];
    let files = files.map(|file| format!("locksley-out/{file}"));
    assert_eq!(lab.files(), files);
    for file in &files {
        assert!(
            ran.out.contains(file.as_str()),
            "{file} is not announced: {}",
            ran.out
        );
    }
    assert!(lab.read(&files[0]).contains("fib"));
    assert!(lab.read(&files[1]).starts_with("<!doctype html>"));
    assert!(lab.read(&files[2]).contains("locksley-results/1"));
    assert!(lab.read(&files[3]).contains("<- winner"));
}

#[test]
fn the_output_folder_can_be_chosen() {
    let lab = Lab::new();
    lab.good(&format!("{COMPARE} --out some/where"));
    assert!(
        lab.files()
            .iter()
            .all(|file| file.starts_with("some/where/")),
        "{:?}",
        lab.files()
    );
    let document = lab.json(&format!("--out else {COMPARE}"));
    let named: Vec<&str> = document["files"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|file| file.as_str())
        .collect();
    assert_eq!(named.len(), 4);
    assert!(
        named.iter().all(|file| lab.0.join(file).is_file()),
        "{named:?}"
    );
}

#[test]
fn the_tour_goes_through_three_programs() {
    let lab = Lab::new();
    let document = lab.json("");
    let comparisons = document["results"]["comparisons"].as_array().unwrap();
    assert_eq!(comparisons.len(), 3);
    for comparison in comparisons {
        assert_eq!(comparison["rows"].as_array().unwrap().len(), 3 + 8);
    }
    let files = ["tour.csv", "tour.html", "tour.json", "tour.txt"];
    assert_eq!(
        lab.files(),
        files.map(|file| format!("locksley-out/{file}"))
    );
}

#[test]
fn output_that_no_terminal_shows_is_plain() {
    let lab = Lab::new();
    for forced in [None, Some("1")] {
        let mut command = lab.command(COMPARE.split_whitespace());
        command.env_remove("NO_COLOR");
        if let Some(value) = forced {
            command.env("NO_COLOR", value);
        }
        let output = command.output().unwrap();
        assert!(output.status.success());
        for stream in [&output.stdout, &output.stderr] {
            assert!(
                !stream.contains(&0x1b),
                "{}",
                String::from_utf8_lossy(stream)
            );
            assert!(
                !stream.contains(&b'\r'),
                "{}",
                String::from_utf8_lossy(stream)
            );
        }
    }
}

/// Runs the command on a pseudo-terminal of util-linux's `script`, if that is installed.
#[cfg(target_os = "linux")]
#[test]
fn colours_are_for_terminals_and_no_color_forbids_them() {
    let lab = Lab::new();
    let line = format!("{} run fib:n=5 --workers 1", env!("CARGO_BIN_EXE_locksley"));
    let on_terminal = |no_color: &str| {
        let mut script = std::process::Command::new("script");
        script.args(["--quiet", "--return", "--command", &line, "/dev/null"]);
        script
            .env("NO_COLOR", no_color)
            .env("TERM", "xterm")
            .current_dir(&lab.0);
        script.stdin(Stdio::null()).output().ok()
    };
    let Some(coloured) = on_terminal("") else {
        eprintln!("there is no `script` here: nothing was looked at");
        return;
    };
    let painted = |out: &[u8]| String::from_utf8_lossy(out).contains("\u{1b}[32m");
    assert!(
        painted(&coloured.stdout),
        "{}",
        String::from_utf8_lossy(&coloured.stdout)
    );
    let plain = on_terminal("1").unwrap();
    assert!(
        !painted(&plain.stdout),
        "{}",
        String::from_utf8_lossy(&plain.stdout)
    );
}

#[test]
fn a_closed_pipe_is_no_reason_to_panic() {
    let lab = Lab::new();
    let mut command = lab.command(["completions", "bash"]);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(!String::from_utf8_lossy(&output.stderr).contains("panicked"));
}
