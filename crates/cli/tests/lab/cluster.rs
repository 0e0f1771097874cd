//! `locksley cluster run`: programs over threads, processes and hosts.

use crate::Lab;

/// A tree of 62 689 nodes, according to the serial search of `locksley-cluster`.
const SMALL: &str = "uts --type binomial --branching 2000 --q 0.12 --m 8 --seed 42";

#[test]
fn a_tree_is_counted_in_one_process() {
    let lab = Lab::new();
    let serial = lab.json(&format!("cluster run {SMALL} --workers 1"));
    assert_eq!(serial["command"], "cluster run");
    assert_eq!(serial["result"]["nodes"], 62_689);
    assert_eq!(serial["verified"], false, "its size is not published");
    let document = lab.json(&format!(
        "cluster run {SMALL} --workers 3 --strategy steal-half"
    ));
    assert_eq!(document["result"], serial["result"]);
    assert!(document["tasks"].as_u64().unwrap() > 1);
    assert!(document["efficiency"].as_f64().unwrap() > 0.0);
    let ran = lab.good(&format!("cluster run {SMALL} --workers 2 --trace t.json"));
    assert!(ran.out.contains("62 689 nodes"), "{}", ran.out);
    let trace: serde_json::Value = serde_json::from_str(&lab.read("t.json")).unwrap();
    assert!(!trace["traceEvents"].as_array().unwrap().is_empty());
    assert_eq!(lab.files(), ["t.json"]);
}

#[test]
fn ranks_in_one_process_count_the_same() {
    let lab = Lab::new();
    let line = format!("cluster run {SMALL} --ranks 3 --workers 1");
    let document = lab.json(&line);
    assert_eq!(document["result"]["nodes"], 62_689);
    assert_eq!(document["engine"], "threads");
    let ranks = document["ranks"].as_array().unwrap();
    assert_eq!(ranks.len(), 3);
    let sum = |key: &str| {
        let each = ranks.iter().map(|rank| rank[key].as_u64().unwrap());
        each.sum::<u64>()
    };
    assert_eq!(sum("given"), sum("taken"));
    assert_eq!(document["stolen"], sum("taken"));
    assert!(sum("steals") <= sum("requests") && sum("requests") > 0);
    assert!(document["bytes"].as_u64().unwrap() > 0);
    let ran = lab.good(&format!(
        "{line} --victims nearest --lifelines --trace t.json"
    ));
    for part in ["62 689 nodes", "3 ranks in one process", "requests"] {
        assert!(ran.out.contains(part), "{part}: {}", ran.out);
    }
    let trace: serde_json::Value = serde_json::from_str(&lab.read("t.json")).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let mut processes: Vec<u64> = events.iter().filter_map(|e| e["pid"].as_u64()).collect();
    processes.sort_unstable();
    processes.dedup();
    assert_eq!(processes.len(), 3, "one for each rank");
}

#[test]
fn mpirun_and_ranks_exclude_each_other() {
    let lab = Lab::new();
    let run = |arguments: &[&str]| {
        let mut command = lab.command(["cluster", "run", "uts", "--tree", "T1"]);
        command.args(arguments).env("OMPI_COMM_WORLD_RANK", "0");
        crate::Ran::from(command.output().unwrap())
    };
    let ran = run(&["--ranks", "2"]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(ran.err.contains("omit --ranks"), "{}", ran.err);
    if !cfg!(feature = "mpi") {
        let ran = run(&[]);
        assert_eq!(ran.code, 3, "{}", ran.err);
        assert!(ran.err.contains("--features mpi"), "{}", ran.err);
    }
}

/// Skipped if mpirun is missing, unless `LOCKSLEY_TEST_MPI` is set.
#[cfg(feature = "mpi")]
#[test]
fn mpirun_starts_ranks_that_are_processes() {
    let lab = Lab::new();
    let mut mpirun = std::process::Command::new("mpirun");
    mpirun
        .args(["--oversubscribe", "--mca", "mpi_yield_when_idle", "1"])
        .args(["-n", "3", env!("CARGO_BIN_EXE_locksley"), "cluster", "run"])
        .args(SMALL.split_whitespace())
        .args(["--workers", "1", "--json", "--trace", "t.json"])
        .current_dir(&lab.0)
        .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    let ran = match mpirun.output() {
        Ok(output) => crate::Ran::from(output),
        Err(error) if std::env::var_os("LOCKSLEY_TEST_MPI").is_none() => {
            eprintln!("skipped, mpirun cannot be started: {error}");
            return;
        }
        Err(error) => panic!("mpirun cannot be started: {error}"),
    };
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let document: serde_json::Value = serde_json::from_str(&ran.out).expect("one document");
    assert_eq!(document["engine"], "mpi");
    assert_eq!(document["result"]["nodes"], 62_689);
    assert_eq!(document["ranks"].as_array().unwrap().len(), 3);
    assert_eq!(lab.files(), ["t.json"]);
}
