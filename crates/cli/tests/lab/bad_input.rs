//! Invalid input is refused with an error that names valid input.

use crate::Lab;

/// Runs an invalid command line, and checks the exit code and that the error contains `parts`.
fn refused(line: &str, code: i32, parts: &[&str]) {
    let lab = Lab::new();
    let ran = lab.run(line);
    assert_eq!(ran.code, code, "{line}: {}{}", ran.out, ran.err);
    assert!(
        ran.err.starts_with("error: ") || ran.err.contains("\nerror: "),
        "{line}: {}",
        ran.err
    );
    for part in parts {
        assert!(
            ran.err.contains(part),
            "{line}: `{part}` is not in: {}",
            ran.err
        );
    }
    assert!(!ran.err.contains("panicked"), "{line}: {}", ran.err);
    assert!(lab.files().is_empty(), "{line} left {:?}", lab.files());
}

/// Runs a command whose standard output is a full disk.
#[cfg(target_os = "linux")]
pub(crate) fn cannot_be_written(mut command: std::process::Command) {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full");
    command.stdout(full.expect("it is there"));
    let output = command.stderr(std::process::Stdio::piped()).output();
    let output = output.expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{command:?}: {said}");
    assert!(said.contains("standard output"), "{command:?}: {said}");
}

/// Every command that needs no server, with text and with JSON.
#[cfg(target_os = "linux")]
#[test]
fn output_that_cannot_be_written_is_an_error() {
    let lab = Lab::new();
    lab.good(&format!("{} --out results", crate::COMPARE));
    for line in [
        "--help",
        "--version",
        "run --help",
        "cluster --help",
        "cluster run --help",
    ] {
        cannot_be_written(lab.command(line.split_whitespace()));
    }
    for line in [
        crate::COMPARE,
        "list",
        "run fib:n=10",
        "topology",
        "experiment batch --quick --threads 2 --tasks 4 --rounds 1",
        "profile fib:n=10 --workers 1 --rounds 1",
        "trace fib:n=10 --workers 1",
        "record fib:n=10",
        "replay fib:n=10 --processors 1,64 --strategies stealing --rounds 1",
        "simulate fib:n=12 --processors 4 --strategies lock-free",
        "theory --quick --only merge",
        "report results",
        "completions bash",
        "cluster run uts --type binomial --branching 10 --q 0.1 --m 2",
        "cluster simulate --hosts 1,2 --work 1ms",
    ] {
        cannot_be_written(lab.command(line.split_whitespace()));
        if line != "completions bash" {
            cannot_be_written(lab.command(line.split_whitespace().chain(["--json"])));
        }
    }
}

#[test]
fn times_have_units_and_limits() {
    refused("cluster run uts --patience 1y", 2, &["6h or 1d"]);
    refused("cluster run uts --patience 400d", 2, &["365d"]);
}

#[test]
fn unknown_names_come_with_the_nearest() {
    refused("run fibb", 2, &["did you mean `fib`?", "locksley list"]);
    refused("run qeuens", 2, &["did you mean `queens`?"]);
    refused(
        "compare fib:m=3",
        2,
        &["has no parameter `m`", "its parameters are n"],
    );
    refused("run fib:n=x", 2, &["a whole number"]);
    refused(
        "run fib --strategy chase-leave",
        2,
        &["did you mean `chase-lev`?"],
    );
    refused(
        "compare fib --strategies stealing,sharng",
        2,
        &["did you mean `sharing`?"],
    );
    refused("compare fib --rivals rayn", 2, &["did you mean `rayon`?"]);
    refused("simulate fibs", 2, &["did you mean `fib`?"]);
    refused(
        "simulate fib --strategies lockfree",
        2,
        &["did you mean `lock-free`?"],
    );
    refused(
        "simulate fib --costs stael=3",
        2,
        &["did you mean `steal`?"],
    );
    refused("simulate fib --topology ring", 2, &["flat, sockets"]);
    refused("theory --only sortt", 2, &["possible are"]);
    refused("topologie", 2, &["topology"]);
    refused("completions tcsh", 2, &["bash"]);
}

#[test]
fn impossible_numbers_are_refused() {
    refused("run fib --workers 0", 2, &["the least is 1", "the most"]);
    refused(
        "run fib --workers 1000000",
        2,
        &["the least is 1", "the most"],
    );
    refused("compare fib --workers 0:4", 2, &["the least is 1"]);
    refused("compare fib --workers 8:1", 2, &["1:8"]);
    refused("compare fib --workers two", 2, &["is not a number"]);
    refused("compare fib --workers 1000000", 2, &["the most"]);
    refused("compare fib --rounds 0", 2, &["1.."]);
    refused("compare fib --limit 5", 2, &["with its unit"]);
    refused("simulate fib --processors 0", 2, &["the least is 1"]);
    refused("simulate fib --processors 99999999999", 2, &["the most"]);
    refused(
        "simulate fib --strategies dealing --processors 1000000",
        2,
        &["too many"],
    );
    refused(
        "simulate fib --costs node=0",
        2,
        &["time would stand still"],
    );
    refused("record fib:n=45", 2, &["smaller parameters"]);
    refused("record queens --workers 1:4", 2, &["one number"]);
}

#[test]
fn programs_of_a_cluster_say_what_they_need() {
    refused("cluster run uts --tree T9", 2, &["possible are T1"]);
    refused("cluster run uts --depth 5", 2, &["--type"]);
    refused(
        "cluster run uts --type binomial --q 0.5 --m 4",
        2,
        &["less than 1"],
    );
    refused("cluster run utz", 2, &["uts"]);
    refused("cluster run uts --workers 0", 2, &["the least is 1"]);
    refused("cluster run uts --strategy abb", 2, &["`abp`"]);
    refused("cluster run uts --victims nearst", 2, &["`nearest`"]);
    refused("cluster run uts --ranks 0", 2, &["1.."]);
    refused("cluster run uts --patience 1ms", 2, &["at least 100ms"]);
    #[cfg(not(feature = "redis"))]
    for command in [
        "worker --linger 1s",
        "submit uts",
        "status",
        "cancel a",
        "dead list a",
    ] {
        refused(&format!("cluster {command}"), 2, &["--features redis"]);
    }
}

#[test]
fn files_that_cannot_be_read_are_named() {
    refused("report nowhere", 3, &["nowhere"]);
    refused("replay nowhere.json", 3, &["nowhere.json"]);
    refused("simulate file:nowhere.json", 3, &["nowhere.json"]);
    let lab = Lab::new();
    std::fs::write(lab.0.join("broken.json"), "{\"format\": \"locksley-dag/1\"").unwrap();
    let ran = lab.run("replay broken.json");
    assert_eq!(ran.code, 3, "{}", ran.err);
    assert!(ran.err.contains("broken.json"), "{}", ran.err);
    std::fs::create_dir(lab.0.join("empty")).unwrap();
    assert_eq!(lab.run("report empty").code, 3);
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let lab = Lab::new();
    std::fs::write(lab.0.join("taken"), "a file").unwrap();
    let ran = lab.run("simulate fib:n=5 --out taken/inside");
    assert_eq!(ran.code, 3, "{}", ran.err);
    assert!(ran.err.contains("taken"), "{}", ran.err);
}
