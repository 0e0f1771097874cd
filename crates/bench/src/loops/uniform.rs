//! Loops on two workers whose items have equal costs.

use std::sync::Arc;

use locksley::prelude::*;
use rayon::prelude::*;

use super::case::{Case, LOCKSLEY, Pools, RAYON, SEQUENTIAL, bar};
use super::inputs::{many, numbers, work};
use crate::harness::report::Outcome;
use crate::harness::{Plan, WrongResult};

/// Limit of the time of large loops relative to rayon.
const LARGE: f64 = 1.0;

/// Limits of the time of small loops relative to rayon, and to the sequential iterator.
const SMALL: [(&str, f64); 2] = [(RAYON, 0.5), (SEQUENTIAL, 1.05)];

pub(super) fn measure(plan: &Plan, outcome: &mut Outcome) -> Result<(), WrongResult> {
    let pools = Pools::new(2);
    large(plan, outcome, &pools)?;
    for len in [100, 1000, 10_000] {
        small::<1>(plan, outcome, &pools, len)?;
        small::<10>(plan, outcome, &pools, len)?;
        small::<100>(plan, outcome, &pools, len)?;
    }
    Ok(())
}

fn large(plan: &Plan, outcome: &mut Outcome, pools: &Pools) -> Result<(), WrongResult> {
    let input = Arc::new(numbers(many(plan.quick)));
    let mut add = |case: Case, name: &str| -> Result<(), WrongResult> {
        let measured = case.run(plan, 1)?;
        outcome.bars.push(bar(&measured, name, RAYON, LARGE));
        outcome.workloads.extend(measured);
        Ok(())
    };

    let [a, b, c] = [0; 3].map(|_| input.clone());
    let expected: u64 = input.iter().sum();
    let case = Case::new("sum 10^7 P=2".to_owned(), "adds up numbers", pools)
        .with(SEQUENTIAL, expected, move || a.iter().sum::<u64>())
        .with(LOCKSLEY, expected, move || b.par().sum::<u64>())
        .with(RAYON, expected, move || c.par_iter().sum::<u64>());
    add(case, "sum 10^7 P=2")?;

    let [a, b, c] = [0; 3].map(|_| input.clone());
    let expected: u64 = input.iter().map(|&n| work(n, 4) >> 8).sum();
    let case = Case::new("map 10^7 P=2".to_owned(), "maps and adds up", pools)
        .with(SEQUENTIAL, expected, move || {
            a.iter().map(|&n| work(n, 4) >> 8).sum::<u64>()
        })
        .with(LOCKSLEY, expected, move || {
            b.par().map(|&n| work(n, 4) >> 8).sum::<u64>()
        })
        .with(RAYON, expected, move || {
            c.par_iter().map(|&n| work(n, 4) >> 8).sum::<u64>()
        });
    add(case, "map 10^7 P=2")?;

    let [a, b, c] = [0; 3].map(|_| input.clone());
    let expected = input.iter().filter(|n| **n % 3 == 0).count();
    let case = Case::new("filter 10^7 P=2".to_owned(), "counts multiples", pools)
        .with(SEQUENTIAL, expected, move || {
            a.iter().filter(|n| **n % 3 == 0).count()
        })
        .with(LOCKSLEY, expected, move || {
            b.par().filter(|n| **n % 3 == 0).count()
        })
        .with(RAYON, expected, move || {
            c.par_iter().filter(|n| **n % 3 == 0).count()
        });
    add(case, "filter 10^7 P=2")?;

    let [a, b, c] = [0; 3].map(|_| input.clone());
    let expected = (input.len(), input.last().map(|n| n + 1));
    let ends = |all: Vec<u64>| (all.len(), all.last().copied());
    let case = Case::new("collect 10^7 P=2".to_owned(), "into a new vector", pools)
        .with(SEQUENTIAL, expected, move || {
            ends(a.iter().map(|n| n + 1).collect())
        })
        .with(LOCKSLEY, expected, move || {
            ends(b.par().map(|n| n + 1).collect())
        })
        .with(RAYON, expected, move || {
            ends(c.par_iter().map(|n| n + 1).collect())
        });
    add(case, "collect 10^7 P=2")
}

/// Measures a loop of `len` items of about `NANOSECONDS` each. It is a constant, because a loop
/// with one or two branches per item takes up to 1.5 times as long at another address, which would
/// be measured instead.
fn small<const NANOSECONDS: u64>(
    plan: &Plan,
    outcome: &mut Outcome,
    pools: &Pools,
    len: u64,
) -> Result<(), WrongResult> {
    let name = format!("{len} x {NANOSECONDS} ns P=2");
    let item = |n: u64| work(n, NANOSECONDS) >> 20;
    let expected: u64 = (0..len).map(item).sum();
    let case = Case::new(name.clone(), "a small loop", pools)
        .with(SEQUENTIAL, expected, move || {
            (0..len).map(item).sum::<u64>()
        })
        .with(LOCKSLEY, expected, move || {
            (0..len).par().map(item).sum::<u64>()
        })
        .with(RAYON, expected, move || {
            (0..len).into_par_iter().map(item).sum::<u64>()
        });
    let measured = case.run(plan, 1)?;
    for (to, limit) in SMALL {
        outcome.bars.push(bar(&measured, &name, to, limit));
    }
    outcome.workloads.extend(measured);
    Ok(())
}
