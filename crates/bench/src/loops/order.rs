//! Prefix sums and sorts.

use std::sync::Arc;

use locksley::par::merge;
use locksley::prelude::*;
use rayon::prelude::*;

use super::case::{Case, LOCKSLEY, Pools, RAYON, SEQUENTIAL, bar};
use super::inputs::{many, nearly_sorted, numbers, words};
use crate::harness::report::{Figures, Outcome};
use crate::harness::{Plan, WrongResult};

/// Limit of the time of a scan on two workers relative to the sequential one: half, plus the second
/// pass in the cache.
const SCAN: f64 = 0.65;

/// Contender in which two workers scan independent halves, which shows what the memory allows.
const HALVES: &str = "halves apart";

/// Limit of the time of a sort relative to rayon.
const SORT: f64 = 1.03;

pub(super) fn measure(plan: &Plan, outcome: &mut Outcome) -> Result<(), WrongResult> {
    let pools = Pools::new(2);
    scan(plan, outcome, &pools)?;
    let many = many(plan.quick);
    sorts(plan, outcome, &pools, "u64", numbers(many))?;
    sorts(plan, outcome, &pools, "nearly sorted", nearly_sorted(many))?;
    sorts(plan, outcome, &pools, "strings", words(many / 10))?;
    spans(plan, outcome);
    Ok(())
}

/// Profiles merges, whose span grows like the square of the logarithm of their length.
fn spans(plan: &Plan, outcome: &mut Outcome) {
    const TITLE: &str = "span of a merge in microseconds, by Pool::profile";
    if !plan.includes(TITLE) {
        return;
    }
    let pool = locksley::Pool::builder().workers(1).build();
    let pool = pool.expect("the pool starts");
    let mut spans = Figures::new(TITLE);
    let sizes = [(16, "2^16"), (18, "2^18"), (20, "2^20"), (22, "2^22")];
    for (log, label) in sizes {
        let (even, odd): (Vec<u64>, Vec<u64>) = (0..1 << log).partition(|n| n % 2 == 0);
        let span = || pool.profile(|| merge(&even, &odd)).1.span;
        // The shortest of a few, to exclude interruptions.
        let span = (0..5).map(|_| span()).min().unwrap_or_default();
        spans.add(label, span.as_secs_f64() * 1e6);
    }
    outcome.figures.push(spans);
}

fn scan(plan: &Plan, outcome: &mut Outcome, pools: &Pools) -> Result<(), WrongResult> {
    let input = Arc::new(numbers(many(plan.quick)));
    let add = |a: &u64, b: &u64| a.wrapping_add(*b);
    let total = input.iter().fold(0, |a, b| add(&a, b));
    let half = input.len() / 2;
    let halves =
        [&input[..half], &input[half..]].map(|half| half.iter().fold(0, |a, b| add(&a, b)));
    let [a, b, c] = [0; 3].map(|_| input.clone());
    let case = Case::new("scan 10^7 P=2".to_owned(), "prefix sums in place", pools)
        .changing(
            SEQUENTIAL,
            move || a.to_vec(),
            |v| scan_here(v),
            move |v| v.last() == Some(&total),
        )
        .changing(
            LOCKSLEY,
            move || b.to_vec(),
            move |v| v.par_scan(add),
            move |v| v.last() == Some(&total),
        )
        .changing(
            HALVES,
            move || c.to_vec(),
            move |v| {
                let (left, right) = v.split_at_mut(half);
                rayon::join(|| scan_here(left), || scan_here(right));
            },
            move |v| [v.get(half - 1), v.last()] == [Some(&halves[0]), Some(&halves[1])],
        );
    let measured = case.run(plan, 2)?;
    let bar = bar(&measured, "scan 10^7 P=2", SEQUENTIAL, SCAN);
    outcome.bars.push(bar);
    outcome.workloads.extend(measured);
    Ok(())
}

/// The sequential scan.
fn scan_here(numbers: &mut [u64]) {
    let mut sum = 0_u64;
    for n in numbers {
        sum = sum.wrapping_add(*n);
        *n = sum;
    }
}

fn sorts<T>(
    plan: &Plan,
    outcome: &mut Outcome,
    pools: &Pools,
    what: &str,
    input: Vec<T>,
) -> Result<(), WrongResult>
where
    T: Ord + Clone + Send + Sync + 'static,
{
    let input = Arc::new(input);
    type Sort<T> = fn(&mut Vec<T>);
    let kinds: [(&str, [Sort<T>; 3]); 2] = [
        (
            "stable",
            [
                |v| v.sort(),
                |v| ParSort::par_sort(&mut **v),
                |v| ParallelSliceMut::par_sort(&mut **v),
            ],
        ),
        (
            "unstable",
            [
                |v| v.sort_unstable(),
                |v| ParSort::par_sort_unstable(&mut **v),
                |v| ParallelSliceMut::par_sort_unstable(&mut **v),
            ],
        ),
    ];
    for (kind, sorts) in kinds {
        let name = format!("sort {kind} {what} P=2");
        let mut case = Case::new(name.clone(), "sorts", pools);
        for (contender, sort) in [SEQUENTIAL, LOCKSLEY, RAYON].into_iter().zip(sorts) {
            let input = input.clone();
            case = case.changing(contender, move || input.to_vec(), sort, |v| v.is_sorted());
        }
        let measured = case.run(plan, 10)?;
        outcome.bars.push(bar(&measured, &name, RAYON, SORT));
        outcome.workloads.extend(measured);
    }
    Ok(())
}
