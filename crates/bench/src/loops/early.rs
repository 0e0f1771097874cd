//! Searches for the first hit in a large slice.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use locksley::prelude::*;
use rayon::prelude::*;

use super::case::{Case, LOCKSLEY, Pools, RAYON, SEQUENTIAL};
use super::inputs::many;
use crate::harness::report::{Figures, Outcome};
use crate::harness::{Bar, Plan, WrongResult};

/// Limit of the mean time of the searches relative to rayon.
const LIMIT: f64 = 0.7;

pub(super) fn measure(plan: &Plan, outcome: &mut Outcome) -> Result<(), WrongResult> {
    let pools = Pools::new(2);
    let len = many(plan.quick);
    let mut ratios = Vec::new();
    let mut waste = Figures::new("items looked at beyond the first hit, per item before it");
    for (percent, label) in [(1, "hit at 1%"), (50, "hit at 50%"), (99, "hit at 99%")] {
        let mut input = vec![1_u64; len];
        let hit = len / 100 * percent;
        input[hit] = 0;
        let input = Arc::new(input);
        let [a, b, c] = [0; 3].map(|_| input.clone());
        let case = Case::new(format!("find_first {percent}%"), label, &pools)
            .with(SEQUENTIAL, Some(hit), move || {
                a.iter().position(|&n| n == 0)
            })
            .with(LOCKSLEY, Some(hit), move || b.par().position(|&n| n == 0))
            .with(RAYON, Some(hit), move || {
                c.par_iter().position_first(|&n| n == 0)
            });
        let Some(measured) = case.run(plan, 1)? else {
            continue;
        };
        ratios.extend(measured.ratio(LOCKSLEY, RAYON).map(|ratio| ratio.median));
        outcome.workloads.push(measured);
        let looked = AtomicUsize::new(0);
        let pool = locksley::Pool::builder().workers(2).build();
        pool.expect("the pool starts").install(|| {
            input.par().position(|&n| {
                looked.fetch_add(1, Ordering::Relaxed);
                n == 0
            })
        });
        let beyond = looked.into_inner().saturating_sub(hit + 1);
        waste.add(label, beyond as f64 / hit.max(1) as f64);
    }
    outcome.figures.push(waste);
    let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
    outcome.bars.push(Bar {
        name: "loops find_first of rayon, mean".into(),
        limit: LIMIT,
        measured: (ratios.len() == 3).then_some(mean),
    });
    Ok(())
}
