//! Loops whose items have very different costs, compared with rayon with several grains.

use locksley::prelude::*;
use rayon::prelude::*;

use super::case::{Case, LOCKSLEY, Pools, SEQUENTIAL, bar};
use super::inputs::work;
use crate::harness::report::Outcome;
use crate::harness::{Bar, Measured, Plan, WrongResult};

/// Limit of the time of the loops relative to rayon's best.
const LIMIT: f64 = 1.02;

/// rayon with several values of `min_len`.
const GRAINS: [(&str, usize); 4] = [
    ("rayon 1", 1),
    ("rayon 16", 16),
    ("rayon 256", 256),
    ("rayon 4096", 4096),
];

pub(super) fn measure(plan: &Plan, outcome: &mut Outcome) -> Result<(), WrongResult> {
    let pools = Pools::new(2);
    let scale = if plan.quick { 100 } else { 1 };
    let rows = 800 / scale.min(8);
    let cases = [
        loops(
            "mandelbrot",
            "rows of a picture",
            &pools,
            rows,
            move |row| mandelbrot(row, rows),
        ),
        loops("triangular", "item i costs i", &pools, 6000 / scale, |n| {
            work(n, n)
        }),
        loops(
            "costly front",
            "the first hundredth costs 1000 times as much",
            &pools,
            1_000_000 / scale,
            move |n| costly(n, n < 10_000 / scale),
        ),
        loops(
            "costly end",
            "the last hundredth costs 1000 times as much",
            &pools,
            1_000_000 / scale,
            move |n| costly(n, n >= 990_000 / scale),
        ),
        loops(
            "costly random",
            "one in a hundred costs 1000 times as much",
            &pools,
            1_000_000 / scale,
            |n| {
                costly(
                    n,
                    n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32 & 0xffff < 655,
                )
            },
        ),
    ];
    for (name, case) in cases {
        let measured = case.run(plan, 2)?;
        let best = measured.as_ref().map(best_of);
        let bar = match best {
            Some(best) => bar(&measured, &name, best, LIMIT),
            None => Bar {
                name: format!("loops {name} of rayon").into(),
                limit: LIMIT,
                measured: None,
            },
        };
        outcome.bars.push(bar);
        outcome.workloads.extend(measured);
    }
    Ok(())
}

fn loops<F>(name: &str, about: &'static str, pools: &Pools, len: u64, cost: F) -> (String, Case)
where
    F: Fn(u64) -> u64 + Copy + Send + Sync + 'static,
{
    let item = move |n| cost(n) >> 20;
    let expected: u64 = (0..len).map(item).sum();
    let mut case = Case::new(name.to_owned(), about, pools)
        .with(SEQUENTIAL, expected, move || {
            (0..len).map(item).sum::<u64>()
        })
        .with(LOCKSLEY, expected, move || {
            (0..len).par().map(item).sum::<u64>()
        });
    for (name, grain) in GRAINS {
        case = case.with(name, expected, move || {
            let indices = (0..len as usize).into_par_iter().with_min_len(grain);
            indices.map(|n| item(n as u64)).sum::<u64>()
        });
    }
    (name.to_owned(), case)
}

/// Computes an item that costs a thousand steps, or one.
pub(super) fn costly(n: u64, is_costly: bool) -> u64 {
    work(n, if is_costly { 1000 } else { 1 })
}

/// Returns the best grain, by the median of its ratios to the sequential loop.
fn best_of(measured: &Measured) -> &'static str {
    let time = |name: &str| {
        let ratio = measured.ratio(name, SEQUENTIAL);
        ratio.map_or(f64::INFINITY, |ratio| ratio.median)
    };
    let names = GRAINS.map(|(name, _)| name).into_iter();
    let best = names.min_by(|a, b| time(a).total_cmp(&time(b)));
    best.unwrap_or(GRAINS[0].0)
}

/// Computes the number of iterations of a row of the Mandelbrot set.
pub(super) fn mandelbrot(row: u64, rows: u64) -> u64 {
    let y = row as f64 / rows as f64 * 2.0 - 1.0;
    let columns = 200;
    let point = |column: u64| {
        let x = column as f64 / columns as f64 * 3.0 - 2.0;
        let (mut a, mut b, mut count) = (0.0_f64, 0.0_f64, 0);
        while a * a + b * b < 4.0 && count < 200 {
            (a, b) = (a * a - b * b + x, 2.0 * a * b + y);
            count += 1;
        }
        count
    };
    (0..columns).map(point).sum::<u64>() << 20
}
