//! `locksley experiment`.

use crate::Lab;

const SMALL: &str = "experiment batch --threads 2,3 --tasks 4 --heavy 6 --rounds 2 --seed 1";

#[test]
fn all_variants_are_measured_and_written() {
    let lab = Lab::new();
    let document = lab.json(&format!("{SMALL} --arrival both"));
    let experiment = &document["results"]["experiments"][0];
    let batches = experiment["batches"].as_array().expect("a list");
    // Two loads, two ways of arriving, two numbers of threads, two deques, with stealing and
    // without.
    assert_eq!(batches.len(), 32);
    for batch in batches {
        let repetitions = batch["repetitions"].as_array().expect("a list");
        assert_eq!(repetitions.len(), 2);
        for once in repetitions {
            assert!(once["waiting"].as_f64() <= once["seconds"].as_f64());
            assert!(batch["stealing"] == true || once["steals"] == 0);
        }
    }
    let conclusions = experiment["conclusions"].as_array().expect("a list");
    // And one more of each way of arriving where there are at most as many processors as heavy
    // threads.
    assert!([10, 12].contains(&conclusions.len()), "{conclusions:#?}");
    let files = lab.files();
    for kind in ["json", "csv", "txt"] {
        let file = format!("locksley-out/experiment.{kind}");
        assert!(files.contains(&file), "{files:?}");
    }
}

#[test]
fn a_person_reads_tables_and_conclusions() {
    let lab = Lab::new();
    let ran = lab.good(SMALL);
    let parts = [
        "even load, batch, 4 tasks a thread",
        "skewed load, batch, 4 tasks a thread",
        "no stealing, unbounded",
        "bounded deques are faster than unbounded ones",
    ];
    for part in parts {
        assert!(ran.out.contains(part), "{part}: {}", ran.out);
    }
    assert!(lab.read("locksley-out/experiment.txt").contains(parts[0]));
}

#[test]
fn what_makes_no_sense_is_refused() {
    let lab = Lab::new();
    let refused = [
        ("experiment batch --threads 0", "the least is 1"),
        ("experiment batch --threads 1000000", "the most 1024"),
        ("experiment batch --tasks 0", "1..=10000"),
        ("experiment batch --arrival later", "running"),
        ("experiment batches", "batch"),
        (
            "experiment batch --threads 1024 --tasks 10000 --heavy 36 --rounds 1000",
            "hours on this machine",
        ),
    ];
    for (line, why) in refused {
        let ran = lab.run(line);
        assert_eq!(ran.code, 2, "{line}: {}", ran.err);
        assert!(ran.err.contains(why), "{line}: {}", ran.err);
    }
    assert!(lab.files().is_empty());
}
