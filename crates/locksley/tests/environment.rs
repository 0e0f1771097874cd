//! The environment variables of pools. Each case runs in a process of its own.
#![cfg(all(feature = "stats", feature = "strategies", not(loom)))]

mod support;

use std::path::PathBuf;
use std::process::Output;

use locksley::{Pool, Strategy};

/// Runs one of the ignored tests below in a process of its own.
fn child(test: &str, environment: &[(&str, &str)]) -> Output {
    let mut command = support::run_again(test);
    command.arg("--ignored").envs(environment.iter().copied());
    command.output().expect("the child runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_pool_that_sets_no_strategy_has_that_of_the_environment() {
    for strategy in Strategy::ALL {
        let name = strategy.to_string();
        let output = child("child_strategy", &[("LOCKSLEY_STRATEGY", &name)]);
        let wanted = format!("strategy: {strategy}");
        assert!(text(&output.stdout).contains(&wanted), "{output:?}");
    }
    let output = child("child_strategy", &[("LOCKSLEY_STRATEGY", "robbery")]);
    let default = format!("strategy: {}", Strategy::default());
    assert!(text(&output.stdout).contains(&default), "{output:?}");
    let errors = text(&output.stderr);
    assert_eq!(errors.matches("LOCKSLEY_STRATEGY").count(), 1, "{errors}");
    assert!(errors.contains("robbery"), "{errors}");
}

#[test]
#[ignore = "a child process of `a_pool_that_sets_no_strategy_has_that_of_the_environment`"]
fn child_strategy() {
    println!("{:?}", Pool::builder().workers(1).build().expect("a pool"));
    let abp = Pool::builder().workers(1).strategy(Strategy::Abp).build();
    let abp = format!("{:?}", abp.expect("a pool"));
    assert!(
        abp.contains("strategy: abp"),
        "the program's choice counts: {abp}"
    );
}

#[test]
fn results_are_written_at_exit_if_asked_for() {
    let file = |name: &str| -> PathBuf {
        let name = format!("locksley-environment-{}-{name}", std::process::id());
        std::env::temp_dir().join(name)
    };
    let files = ["trace", "profile", "record"].map(file);
    let [trace, profile, record] = files.each_ref().map(|file| file.to_str().expect("UTF-8"));
    let environment = [
        ("LOCKSLEY_STATS", "1"),
        ("LOCKSLEY_TRACE", trace),
        ("LOCKSLEY_PROFILE", profile),
        ("LOCKSLEY_RECORD", record),
    ];
    let output = child("child_join", &environment);
    let errors = text(&output.stderr);
    // The global pool, and another one, which ended before.
    assert_eq!(errors.matches("locksley: pool").count(), 2, "{errors}");
    let contents = files.map(|file| {
        let text = std::fs::read_to_string(&file).expect("the file was written");
        std::fs::remove_file(&file).expect("it can be removed");
        text
    });
    let [trace, profile, record] = contents;
    assert_eq!(trace.matches("process_name").count(), 2, "{trace}");
    assert!(profile.contains("\"spawns\": 2,"), "{profile}");
    assert!(record.contains("\"unit_ns\": 200,"), "{record}");
    let output = child("child_join", &[("LOCKSLEY_STATS", "0")]);
    assert!(!text(&output.stderr).contains("locksley"), "{output:?}");
}

#[test]
#[ignore = "a child process of `results_are_written_at_exit_if_asked_for`"]
fn child_join() {
    let pool = Pool::builder().workers(2).build().expect("a pool");
    assert_eq!(pool.join(|| 1, || 2), (1, 2));
    drop(pool);
    assert_eq!(locksley::join(|| 1, || 2), (1, 2));
}
