//! A storm of random programs, each of which must end with every leaf counted.
//!
//! | variable | meaning |
//! |---|---|
//! | `LOCKSLEY_STORM_SECONDS` | duration of the storm; 3 by default |
//! | `LOCKSLEY_STORM_PROGRAMS` | number of programs, whatever their duration |
//! | `LOCKSLEY_STORM_FROM` | the first seed; random by default |
//! | `LOCKSLEY_STORM_SEED` | runs only the program of this seed, once or as often as set above |
//! | `LOCKSLEY_STORM_CUT` | numbers of nodes that are left out of that program |
//! | `LOCKSLEY_STORM_SHRINK` | shrinks that program; the value is the number of runs per try |
//! | `LOCKSLEY_STORM_PATIENCE` | seconds without progress that count as a hang; 10 by default |
//! | `LOCKSLEY_STORM_SHOW` | prints each program before it runs |
//! | `LOCKSLEY_STORM_WITHOUT` | names of [`Feature`]s to leave out, such as `Crowd,Fresh` |
//!
//! If a program hangs, the process prints the seed, the program, its threads and the statistics of
//! the pools, and exits with [`EXIT_STANDSTILL`]. A program that ends with a wrong count, or a
//! panic that was not planned, fails the test.
#![cfg(not(loom))]

mod generate;
mod plan;
mod random;
mod run;
mod shrink;
#[path = "../support/mod.rs"]
mod support;
mod watchdog;

use std::hash::{BuildHasher, RandomState};
use std::io::Write;
use std::str::FromStr;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use generate::generate;

/// Exit code of a process that hangs.
const EXIT_STANDSTILL: i32 = 86;

/// Parts of programs that can be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Feature {
    /// Three to nine workers on two processors.
    Crowd,
    /// More blocked tasks than spares.
    FewSpares,
    /// Broadcasts whose closures fork or broadcast.
    WaitingBroadcasts,
    /// Broadcasts whose closures meet at a barrier.
    Barriers,
    /// First closures that wait on a channel for the second.
    Channels,
    /// Pools that are made and dropped inside of tasks.
    Fresh,
    /// Checks that tasks do not see `thread::panicking()` of another task.
    Unwinding,
}

/// Returns `true` if programs must not use a feature.
fn is_left_out(feature: Feature) -> bool {
    static LEFT_OUT: OnceLock<String> = OnceLock::new();
    let left_out = LEFT_OUT.get_or_init(|| std::env::var(WITHOUT).unwrap_or_default());
    let name = format!("{feature:?}");
    let mut names = left_out.split(',');
    names.any(|one| one.eq_ignore_ascii_case(&name))
}

/// Name of the variable that lists the features to leave out.
const WITHOUT: &str = "LOCKSLEY_STORM_WITHOUT";

/// The settings from the environment.
struct Storm {
    seconds: Duration,
    programs: Option<u64>,
    from: Option<u64>,
    seed: Option<u64>,
    cuts: Vec<usize>,
    /// Number of runs of each try of the shrinker; 0 if it does not shrink.
    repeats: u64,
    patience: Duration,
    show: bool,
}

/// Returns the value of a variable, or `None` if it is not set.
fn variable<T: FromStr>(name: &str) -> Option<T> {
    let text = std::env::var(name).ok()?;
    let value = text.trim().parse();
    Some(value.unwrap_or_else(|_| panic!("{name} is not a number: {text}")))
}

impl Storm {
    fn from_environment() -> Storm {
        let cuts: String = variable("LOCKSLEY_STORM_CUT").unwrap_or_default();
        let cuts = cuts.split(',').filter(|cut| !cut.is_empty());
        let repeats = variable("LOCKSLEY_STORM_SHRINK").unwrap_or(0);
        let usual = if repeats > 0 { 600 } else { 3 };
        let seconds = variable("LOCKSLEY_STORM_SECONDS");
        let seed = variable("LOCKSLEY_STORM_SEED");
        let once = (seed.is_some() && seconds.is_none()).then_some(1);
        Storm {
            seconds: Duration::from_secs(seconds.unwrap_or(usual)),
            programs: variable("LOCKSLEY_STORM_PROGRAMS").or(once),
            from: variable("LOCKSLEY_STORM_FROM"),
            seed,
            cuts: cuts.map(|cut| cut.parse().expect("a number")).collect(),
            repeats,
            patience: Duration::from_secs(variable("LOCKSLEY_STORM_PATIENCE").unwrap_or(10)),
            show: std::env::var_os("LOCKSLEY_STORM_SHOW").is_some(),
        }
    }

    /// Returns the variables that run a program again.
    fn again(&self, seed: u64, cuts: &[usize]) -> String {
        let mut text = format!("again: LOCKSLEY_STORM_SEED={seed}");
        if let Ok(without) = std::env::var(WITHOUT) {
            text += &format!(" {WITHOUT}={without}");
        }
        if !cuts.is_empty() {
            let cuts: Vec<String> = cuts.iter().map(usize::to_string).collect();
            text += &format!(" LOCKSLEY_STORM_CUT={}", cuts.join(","));
        }
        text
    }

    /// Runs the programs. Returns their number.
    fn run(&self) -> u64 {
        let first = self.seed.or(self.from);
        let first = first.unwrap_or_else(|| RandomState::new().hash_one(0) >> 16);
        let start = Instant::now();
        let (mut count, mut leaves) = (0, 0);
        while match self.programs {
            Some(programs) => count < programs,
            None => start.elapsed() < self.seconds,
        } {
            leaves += self.run_one(if self.seed.is_some() {
                first
            } else {
                first + count
            });
            count += 1;
        }
        let last = format!("{count} programs from seed {first} on, {leaves} leaves, in");
        say(&format!("storm: {last} {:.1?}\n", start.elapsed()));
        count
    }

    /// Runs the program of a seed. Returns the number of its leaves.
    fn run_one(&self, seed: u64) -> u64 {
        let program = Arc::new(generate(seed).cut(&self.cuts));
        let title = format!("{}\n{program}", self.again(seed, &self.cuts));
        if self.show {
            say(&title);
        }
        watchdog::announce(title);
        let outcome = run::run(&program);
        watchdog::rest();
        outcome.unwrap_or_else(|fault| {
            let title = self.again(seed, &self.cuts);
            panic!("{fault}\n{title}\n{program}");
        })
    }
}

/// Prints at once, even if the test's output is captured.
fn say(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}

#[test]
fn storm() {
    let storm = Storm::from_environment();
    if storm.repeats > 0 {
        return shrink::shrink(&storm, storm.seed.expect("LOCKSLEY_STORM_SEED is set"));
    }
    watchdog::start(&storm);
    assert!(storm.run() > 0, "no program was run");
}

/// A seed always generates the same program, and the programs of many seeds use all features.
#[test]
fn a_seed_makes_one_program() {
    let mut all = String::new();
    for seed in 0..3000 {
        let text = generate(seed).to_string();
        assert_eq!(text, generate(seed).to_string());
        all += &text;
    }
    for part in [
        "join",
        "scope",
        "spawn",
        "meet",
        "flow",
        "yield",
        "broadcast",
        "pool 2:",
        "caught",
        "locked",
        "Leapfrog",
        "TakeAny",
    ] {
        assert!(all.contains(part), "no program has {part}");
    }
}

/// A cut node becomes a leaf, and other nodes keep their numbers.
#[test]
fn cuts_leave_the_other_numbers_alone() {
    for seed in 0..200 {
        let program = generate(seed);
        let sizes = program.sizes();
        for node in 0..sizes.len() {
            let cut = program.cut(&[node]);
            assert_eq!(cut.sizes().len(), sizes.len() - sizes[node] + 1);
            assert_eq!(cut.sizes()[node], 1);
        }
        assert_eq!(program.cut(&[]).to_string(), program.to_string());
    }
}
