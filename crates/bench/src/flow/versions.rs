//! A program in four versions, which are the contenders of its workload.

use std::sync::Arc;

use super::{BARRIER, FLOW, FORK_JOIN, SERIAL, pool};
use crate::harness::{Contender, Sample, WallClock, Workload, WrongResult, verify};

/// A program with two workers. A run computes a result from its own copy of the input; copying is
/// not measured.
pub(super) struct Versions<I, R> {
    pub(super) name: &'static str,
    /// Description of the program and of one operation.
    pub(super) about: &'static str,
    pub(super) input: I,
    /// Number of operations of a run.
    pub(super) operations: u64,
    /// Result that every version must have, to the last bit.
    pub(super) expected: R,
    /// Outcome of checking `expected` by another method.
    pub(super) oracle: Result<(), WrongResult>,
    pub(super) serial: fn(I) -> R,
    pub(super) barrier: fn(I) -> R,
    pub(super) fork_join: fn(I) -> R,
    pub(super) flow: fn(I) -> R,
}

impl<I, R> Versions<I, R>
where
    I: Clone + Send + Sync + 'static,
    R: PartialEq + Send + Sync + 'static,
{
    /// Returns the workload, in which the version with barriers is the reference.
    pub(super) fn workload(self) -> Workload {
        let program = Arc::new(self);
        let versions = [
            (SERIAL, program.serial),
            (BARRIER, program.barrier),
            (FORK_JOIN, program.fork_join),
            (FLOW, program.flow),
        ];
        Workload {
            name: program.name,
            about: program.about,
            reference: BARRIER,
            note: None,
            contenders: versions
                .into_iter()
                .map(|(name, version)| contender(name, version, Arc::clone(&program)))
                .collect(),
        }
    }
}

/// Returns a version as a contender with its own pool. A sample is as many runs as the operations
/// need.
fn contender<I, R>(
    name: &'static str,
    version: fn(I) -> R,
    program: Arc<Versions<I, R>>,
) -> Contender
where
    I: Clone + Send + Sync + 'static,
    R: PartialEq + Send + Sync + 'static,
{
    let pool = pool(2);
    Contender::new(name, move |operations| {
        program.oracle.clone()?;
        let times = operations.div_ceil(program.operations);
        let inputs: Vec<I> = (0..times).map(|_| program.input.clone()).collect();
        let clock = WallClock::now();
        let results: Vec<R> = pool.install(|| inputs.into_iter().map(version).collect());
        let elapsed = clock.elapsed();
        for got in &results {
            verify(name, "as expected", true, *got == program.expected)?;
        }
        Ok(Sample {
            elapsed,
            operations: times * program.operations,
            note: 0.0,
        })
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::harness::Plan;

    fn program(flow: fn(u64) -> u64, oracle: Result<(), WrongResult>) -> Workload {
        let double = |n| 2 * n;
        let program = Versions {
            name: "double",
            about: "",
            input: 21,
            operations: 1,
            expected: 42,
            oracle,
            serial: double,
            barrier: double,
            fork_join: double,
            flow,
        };
        program.workload()
    }

    #[test]
    fn a_version_with_another_result_and_a_refuted_oracle_are_told() {
        let plan = Plan {
            rounds: 1,
            sample: Duration::from_micros(1),
            first: 1,
            seed: 1,
            limit: None,
            quick: true,
            only: None,
        };
        assert!(program(|n| n + 21, Ok(())).run(&plan).is_ok());
        let wrong = program(|n| n + 20, Ok(())).run(&plan).unwrap_err();
        assert!(wrong.to_string().contains(FLOW), "{wrong}");
        let refuted = verify(SERIAL, "as the oracle's", 43, 42);
        let wrong = program(|n| 2 * n, refuted).run(&plan).unwrap_err();
        assert!(wrong.to_string().contains("oracle"), "{wrong}");
    }
}
