//! Work and depth of merge sort (Danjean's lecture).

use super::{Effort, Finding};
use crate::dag::{Merge, SeriesParallel, Size, Sort, explore};

pub(super) fn check(effort: Effort) -> Vec<Finding> {
    let most = effort.choose(10, 18);
    vec![
        serial(most),
        parallel(most),
        uneven(effort.choose(20, 30)),
        path(most),
    ]
}

/// Checks that the explored computation agrees with a formula for 2^1 .. 2^most numbers. Returns
/// the two sizes for 2^most, and whether all agree.
fn agrees(most: u32, merge: Merge, formula: impl Fn(u64) -> Size) -> (Size, Size, bool) {
    let last = (formula(u64::from(most)), explore(&Sort::new(most, merge)));
    let all = (1..=most).all(|k| explore(&Sort::new(k, merge)) == formula(u64::from(k)));
    (last.0, last.1, all)
}

fn serial(most: u32) -> Finding {
    let (predicted, measured, holds) = agrees(most, Merge::Serial, |k| Size {
        work: (k + 1) << k,
        span: (2 << k) - 1,
    });
    Finding::new("merge sort, serial merge: W = n (k + 1), D = 2n - 1")
        .sampled(format!("n = 2 .. 2^{most}, every node visited; exact"))
        .says(show(predicted), show(measured), holds)
}

fn parallel(most: u32) -> Finding {
    let (predicted, measured, holds) = agrees(most, Merge::Parallel { split: 0.5 }, |k| {
        // Merging 2^k numbers takes 2^(k+1) - k - 2 nodes. The sort adds a fork per inner node of
        // its tree, and the leaves.
        let merges: u64 = (1..=k)
            .map(|level| ((2 << level) - level - 2) << (k - level))
            .sum();
        let sink = u64::from(k > 1);
        Size {
            work: merges + (2 << k) - 1 + sink,
            span: k * (k + 1) * (k + 2) / 6 + k + 1 + sink,
        }
    });
    Finding::new("merge sort, parallel merge: D = k (k + 1) (k + 2) / 6 + k + 2")
        .sampled(format!("n = 2 .. 2^{most}, every node visited; exact"))
        .says(show(predicted), show(measured), holds)
}

/// Checks the depth of a merge with a 3/4 split, about 1.205 k^2, from the difference of two sorts.
fn uneven(k: u32) -> Finding {
    let span = |k| Sort::new(k, Merge::Parallel { split: 0.75 }).size().span;
    // The last merge, and a fork.
    let merge = (span(k) - span(k - 1) - 1) as f64;
    let share = merge / f64::from(k).powi(2);
    let limit = 0.5 / (4.0_f64 / 3.0).log2();
    Finding::new(format!("parallel merge of 2^{k} at a 3/4 split: D / k^2"))
        .sampled("one recurrence; within 15%, for what is linear in k")
        .says(
            format!("{limit:.3}"),
            format!("{share:.3}"),
            (share / limit - 1.0).abs() < 0.15,
        )
}

/// Checks the merge path: all searches of a merge are parallel, so the depth of the sort is
/// Theta(k^2).
fn path(most: u32) -> Finding {
    let (predicted, measured, holds) = agrees(most, Merge::Path, |k| {
        // A merge of 2^k: forks over 2^(k - b) blocks, a search of k and a merge of 2^b in each.
        let merge = |k: u64| {
            let b = u64::from(k.ilog2());
            (1 << (k - b), (k - b) + k + (1 << b), k + (1 << b))
        };
        let forks_and_merges = (1..=k).map(|level| {
            let (blocks, span, block) = merge(level);
            ((1 + blocks - 1 + blocks * block) << (k - level), 1 + span)
        });
        let (work, span) = forks_and_merges.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        Size {
            work: work + (1 << k) + 1,
            span: span + 2,
        }
    });
    Finding::new("merge sort along the merge path: D = sum of 2k - b + 2^b + 1, b = floor(log2 k)")
        .sampled(format!("n = 2 .. 2^{most}, every node visited; exact"))
        .says(show(predicted), show(measured), holds)
}

fn show(size: Size) -> String {
    format!("W {} D {}", size.work, size.span)
}
