//! Recorded runs on the real machine, checked against the relaxed semantics of a deque.
//!
//! One owner and two thieves work on a deque and note when each invocation began and completed
//! (`record.rs`, `clock.rs`); a search then looks for a linearization (`wgl.rs`). This covers what
//! a model checker cannot: the processor's own reordering, and `membarrier`.
//!
//! Set `LOCKSLEY_SCALE` to a whole number to multiply the number of runs.

#![cfg(not(loom))]

mod clock;
#[path = "../battery/noise.rs"]
mod noise;
mod record;
#[path = "../battery/reference.rs"]
mod reference;
#[path = "../battery/rng.rs"]
mod rng;
#[macro_use]
#[path = "../battery/subject.rs"]
mod subject;
mod self_test;
#[path = "../battery/subjects.rs"]
mod subjects;
mod wgl;

use record::Mode;
use subject::DequeSubject;
use wgl::Aborts;

/// Number of runs that are recorded for each structure.
const RUNS: u64 = 400;

fn scale() -> u64 {
    std::env::var("LOCKSLEY_SCALE").map_or(1, |s| s.parse().expect("LOCKSLEY_SCALE is a number"))
}

/// Returns the mode of a run: all modes that the structure supports, in turn.
fn mode<S: DequeSubject>(run: u64) -> Mode {
    match run % 4 {
        1 | 3 if S::TAKES_BACK => Mode::TakeBacks,
        1 | 3 if S::BATCHES => Mode::Batches,
        2 if S::TAKES_BACK && S::BATCHES => Mode::Batches,
        _ => Mode::Plain,
    }
}

/// Records `runs` runs. The error describes the first one that is not linearizable.
fn first_bad_run<S: DequeSubject>(runs: u64, aborts: Aborts) -> Result<(), String> {
    for run in 0..runs {
        let history = record::run::<S>(run, mode::<S>(run));
        wgl::check(&history, aborts).map_err(|why| format!("run {run}: {why}"))?;
    }
    Ok(())
}

macro_rules! linearizable {
    ($($structure:ident: $subject:ident, $aborts:ident;)*) => {$(
        #[test]
        fn $structure() {
            let found = first_bad_run::<subjects::$subject>(RUNS * scale(), Aborts::$aborts);
            if let Err(why) = found {
                panic!("not linearizable: {why}");
            }
        }
    )*};
}

linearizable! {
    reference_grows: Grows, Justified;
    reference_bounded: Bounded, Justified;
    reference_private: Private, Justified;
    chase_lev: ChaseLev, Justified;
    semi_private: SemiPrivate, Justified;
    semi_private_by_halves: SemiPrivateByHalves, Justified;
    split: Split, Always;
    split_forced: SplitForced, Always;
    abp: Abp, Justified;
    steal_half_extended: Extended, Always;
}
