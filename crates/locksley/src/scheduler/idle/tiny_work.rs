//! Decides when a thief leaves tiny work to its owner.
//!
//! A steal moves some cache lines between two processors, and so does the end of the stolen job,
//! for which its owner waits. Together that takes several times as long as the attempt itself,
//! which takes 0.1 us between near processors and 0.5 us between far ones. If the job is shorter,
//! its owner alone is faster.
//!
//! So a thief measures what its steals cost, and what they bring: how long the stolen jobs run. A
//! short job out of many is worth its steal, since the owner does not wait for it. A short job that
//! was the last one is not. After a few of those a thief on a far processor leaves other workers
//! alone for a while, and then tries again. One long job ends that.

use std::cell::Cell;

/// A job is short if it runs for less than this many times what the attempts to steal take.
const SHORT: u64 = 5;

/// What the steal of a short, last job adds to the score. The steal of one out of many subtracts
/// one.
const PENALTY: u32 = 2;

/// The highest score, at which the thief pauses.
const HIGHEST: u32 = 6;

/// It pauses for this many times what an attempt takes: a long job among tiny ones waits as long.
const PAUSE: u64 = 3;

/// A thief whose attempts take less, in nanoseconds, does not pause: tiny jobs lose little then.
const FAR: u64 = 200;

/// The first and the lowest estimate of what an attempt takes, in nanoseconds.
const FIRST_COST: u64 = 100;
const LEAST_COST: u64 = 20;

/// A new value makes up one part in this many of an average.
const WEIGHT: u64 = 8;

/// What a worker remembers of its steals. Accessed by the owner only.
#[derive(Debug)]
pub(crate) struct TinyWork {
    /// The average time of a successful attempt, in nanoseconds.
    cost: Cell<u64>,
    score: Cell<u32>,
    /// It steals nothing before this time.
    until: Cell<u64>,
    /// The last steal, until its job begins.
    last: Cell<Option<Stolen>>,
}

/// The steal of a job that a worker runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stolen {
    at: u64,
    /// Set if the victim had no other public job.
    was_last: bool,
}

impl TinyWork {
    pub(crate) fn new() -> TinyWork {
        TinyWork {
            cost: Cell::new(FIRST_COST),
            score: Cell::new(0),
            until: Cell::new(0),
            last: Cell::new(None),
        }
    }

    /// Returns `true` if the worker should not steal yet. Called before each search.
    pub(crate) fn pauses(&self, now: impl FnOnce() -> u64) -> bool {
        self.last.set(None);
        let pauses = self.until.get() > 0 && now() < self.until.get();
        if !pauses {
            self.until.set(0);
        }
        pauses
    }

    /// Notes a steal by a search that began at `since`.
    pub(crate) fn note_steal(&self, since: u64, now: u64, was_last: bool) {
        let cost = self.cost.get();
        // Longer times have other causes, such as victims that had nothing.
        let took = now.saturating_sub(since).clamp(LEAST_COST, 2 * cost);
        self.cost.set((cost * (WEIGHT - 1) + took) / WEIGHT);
        self.last.set(Some(Stolen { at: now, was_last }));
    }

    /// Returns the steal of the job that the worker has found, and is about to run.
    pub(crate) fn begin_job(&self) -> Option<Stolen> {
        self.last.take()
    }

    /// Notes that this job is done.
    pub(crate) fn end_job(&self, stolen: Option<Stolen>, now: impl FnOnce() -> u64) {
        let Some(Stolen { at, was_last }) = stolen else {
            return;
        };
        let (now, score) = (now(), self.score.get());
        self.score
            .set(if now.saturating_sub(at) >= SHORT * self.cost.get() {
                0
            } else if was_last {
                (score + PENALTY).min(HIGHEST)
            } else {
                score.saturating_sub(1)
            });
        if was_last && self.score.get() == HIGHEST && self.cost.get() >= FAR {
            self.until.set(now + PAUSE * self.cost.get());
        }
    }
}

#[cfg(all(test, not(loom)))]
#[path = "../../../tests/unit/scheduler/idle/tiny_work.rs"]
mod tests;
