//! Shrinks a program as long as it still fails, with each try in a process of its own.

use std::process::Stdio;
use std::time::Instant;

use crate::generate::generate;
use crate::support::run_again;
use crate::{EXIT_STANDSTILL, Storm, say};

/// Shrinks the program of a seed, and prints the result.
pub(crate) fn shrink(storm: &Storm, seed: u64) {
    let program = generate(seed);
    let sizes = program.sizes();
    let mut cuts = storm.cuts.clone();
    if !fails(storm, seed, &cuts) {
        return say("The program has not failed, so there is nothing to shrink.\n");
    }
    let mut order: Vec<usize> = (0..sizes.len()).filter(|&node| sizes[node] > 1).collect();
    order.sort_by_key(|&node| std::cmp::Reverse(sizes[node]));
    let start = Instant::now();
    for node in order {
        let inside = |&cut: &usize| (cut..cut + sizes[cut]).contains(&node);
        if start.elapsed() > storm.seconds || cuts.iter().any(inside) {
            continue;
        }
        cuts.push(node);
        if fails(storm, seed, &cuts) {
            say(&format!("without node {node} it fails\n"));
        } else {
            cuts.pop();
        }
    }
    say(&format!(
        "{}\n{}",
        storm.again(seed, &cuts),
        program.cut(&cuts)
    ));
}

fn fails(storm: &Storm, seed: u64, cuts: &[usize]) -> bool {
    let cuts: Vec<String> = cuts.iter().map(usize::to_string).collect();
    let status = run_again("storm")
        .env("LOCKSLEY_STORM_SEED", seed.to_string())
        .env("LOCKSLEY_STORM_CUT", cuts.join(","))
        .env("LOCKSLEY_STORM_PROGRAMS", storm.repeats.to_string())
        .env("LOCKSLEY_STORM_PATIENCE", "3")
        .env_remove("LOCKSLEY_STORM_SHRINK")
        .env_remove("LOCKSLEY_STORM_SECONDS")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .expect("the test can be started again");
    status.code() == Some(EXIT_STANDSTILL) || !status.success()
}
