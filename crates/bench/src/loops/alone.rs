//! Loops on one worker, compared with sequential iterators.

use std::sync::Arc;

use locksley::prelude::*;

use super::case::{Case, LOCKSLEY, Pools, SEQUENTIAL, bar};
use super::inputs::{many, numbers};
use crate::harness::report::Outcome;
use crate::harness::{Plan, WrongResult};

/// Limits of a loop's time relative to the sequential iterator, for large and for small loops.
const LIMITS: [f64; 2] = [1.02, 1.10];

pub(super) fn measure(plan: &Plan, outcome: &mut Outcome) -> Result<(), WrongResult> {
    let pools = Pools::new(1);
    for (len, limit) in [many(plan.quick), 1000].into_iter().zip(LIMITS) {
        let input = Arc::new(numbers(len));
        let length = if len > 1000 { 2 } else { 1 };
        let mut add = |case: Case, length: usize, name: &str| -> Result<(), WrongResult> {
            let measured = case.run(plan, length)?;
            outcome.bars.push(bar(&measured, name, SEQUENTIAL, limit));
            outcome.workloads.extend(measured);
            Ok(())
        };
        let name = |what: &str| format!("{what} {len} P=1");

        let (a, b) = (input.clone(), input.clone());
        let expected: u64 = input.iter().sum();
        let case = Case::new(name("sum"), "adds up numbers", &pools)
            .with(SEQUENTIAL, expected, move || a.iter().sum::<u64>())
            .with(LOCKSLEY, expected, move || b.par().sum::<u64>());
        add(case, length, &name("sum"))?;

        let (a, b) = (input.clone(), input.clone());
        let expected: u64 = input.iter().map(|n| n ^ (n >> 3)).sum();
        let case = Case::new(name("map"), "maps numbers and adds them up", &pools)
            .with(SEQUENTIAL, expected, move || {
                a.iter().map(|n| n ^ (n >> 3)).sum::<u64>()
            })
            .with(LOCKSLEY, expected, move || {
                b.par().map(|n| n ^ (n >> 3)).sum::<u64>()
            });
        add(case, length, &name("map"))?;

        let (a, b) = (input.clone(), input.clone());
        let expected = input.iter().filter(|n| **n % 3 == 0).count();
        let case = Case::new(name("filter"), "counts the multiples of three", &pools)
            .with(SEQUENTIAL, expected, move || {
                a.iter().filter(|n| **n % 3 == 0).count()
            })
            .with(LOCKSLEY, expected, move || {
                b.par().filter(|n| **n % 3 == 0).count()
            });
        add(case, length, &name("filter"))?;

        let (a, b) = (input.clone(), input.clone());
        let expected = (input.len(), input.last().map(|n| n + 1));
        let ends = |all: Vec<u64>| (all.len(), all.last().copied());
        let case = Case::new(name("collect"), "maps numbers into a new vector", &pools)
            .with(SEQUENTIAL, expected, move || {
                ends(a.iter().map(|n| n + 1).collect())
            })
            .with(LOCKSLEY, expected, move || {
                ends(b.par().map(|n| n + 1).collect())
            });
        add(case, length, &name("collect"))?;

        let (a, b) = (input.clone(), input.clone());
        let case = Case::new(name("sort"), "sorts, stable", &pools)
            .changing(
                SEQUENTIAL,
                move || a.to_vec(),
                |v| v.sort(),
                |v| v.is_sorted(),
            )
            .changing(
                LOCKSLEY,
                move || b.to_vec(),
                |v| v.par_sort(),
                |v| v.is_sorted(),
            );
        add(case, 8, &name("sort"))?;
    }
    Ok(())
}
