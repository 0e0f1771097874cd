//! Greedy schedules: Graham's bound, and that of Bender and Rabin for processors of different and
//! changing speeds.

use locksley_policy::Source;

use super::statistics::largest;
use super::{Effort, Finding};
use crate::dag::{Computation, Enabled, RandomTree, Stencil, Strands, Wavefront};
use crate::{CounterRng, Setup, Strategy, simulate};

pub(super) fn check_greedy(effort: Effort) -> Vec<Finding> {
    let graphs = effort.choose(60, 1000);
    let (mut over, mut under) = (Vec::new(), Vec::new());
    for seed in 0..graphs {
        let mut draw = CounterRng::at(41, seed, 0);
        let processors = 1 + draw.below(40);
        let (shortest, longest, makespan) = match seed % 3 {
            0 => greedy(
                Wavefront::new(1 + draw.below(30) as u32, 1 + draw.below(30) as u32, 2),
                processors,
            ),
            1 => greedy(
                Stencil::new(1 + draw.below(30) as u32, 1 + draw.below(20) as u32),
                processors,
            ),
            _ => {
                let tree = RandomTree::new(1 + draw.below(2000) as u64, draw.unit(), seed as u64);
                greedy(Strands::new(tree), processors)
            }
        };
        over.push(makespan / longest);
        under.push(shortest / makespan);
    }
    let sample = format!("{graphs} random graphs, 1 to 40 processors");
    vec![
        Finding::new("greedy: makespan / (T1/P + Tinf (P-1)/P)")
            .sampled(sample.clone())
            .at_most(1.0, largest(over)),
        Finding::new("greedy: max(T1/P, Tinf) / makespan")
            .sampled(sample)
            .at_most(1.0, largest(under)),
    ]
}

/// Returns the lower and the upper bound on the length of a greedy schedule, and its length.
fn greedy<C: Computation>(mut computation: C, processors: usize) -> (f64, f64, f64) {
    let size = computation.size();
    let report = simulate(&mut computation, &Setup::new(processors, Strategy::Greedy));
    let makespan = report.map_or(f64::NAN, |report| report.makespan as f64);
    (
        size.at_least(processors),
        size.greedy_at_most(processors),
        makespan,
    )
}

pub(super) fn check_heterogeneous(effort: Effort) -> Vec<Finding> {
    let graphs = effort.choose(60, 1000);
    let mut ratios = Vec::new();
    for seed in 0..graphs {
        let mut draw = CounterRng::at(42, seed, 0);
        let processors = 1 + draw.below(12);
        let ratio = match seed % 2 {
            0 => preemptive(
                Wavefront::new(1 + draw.below(12) as u32, 1 + draw.below(12) as u32, 1),
                processors,
                &mut draw,
            ),
            _ => {
                let tree = RandomTree::new(1 + draw.below(200) as u64, draw.unit(), seed as u64);
                preemptive(Strands::new(tree), processors, &mut draw)
            }
        };
        ratios.push(ratio);
    }
    vec![
        Finding::new("maximum utilisation: makespan / ((W/P + (1 - 1/P) D) / Pi)")
            .sampled(format!(
                "{graphs} random graphs, 1 to 12 processors of changing speeds"
            ))
            // The tolerance covers the rounding errors of a sum of a few hundred numbers.
            .at_most(1.0 + 1e-9, largest(ratios)),
    ]
}

/// Executes a computation with preemption, so that at any time the fastest processors are busy, and
/// returns the ratio of the makespan to the bound. Speeds change at random times.
///
/// With Pi the mean speed of a processor up to the makespan T, the bound says T P Pi <= W + (P - 1)
/// D: the capacity of all processors is at most the work plus what P - 1 of them lose on a longest
/// path.
fn preemptive<C: Computation>(mut computation: C, processors: usize, draw: &mut CounterRng) -> f64 {
    let size = computation.size();
    let mut speeds: Vec<f64> = Vec::new();
    // Ready nodes, and the part of each that is left.
    let mut ready = vec![(computation.start(), 1.0)];
    let (mut capacity, mut until_change) = (0.0, 0.0);
    loop {
        if until_change <= 0.0 {
            speeds = (0..processors).map(|_| 0.25 + 4.0 * draw.unit()).collect();
            speeds.sort_by(|a, b| b.total_cmp(a));
            until_change = 0.1 + 3.0 * draw.unit();
        }
        // The fastest processors take the first nodes.
        let busy = ready.len().min(processors);
        let ends = ready[..busy]
            .iter()
            .zip(&speeds)
            .map(|((_, rest), speed)| rest / speed);
        let step = ends.fold(until_change, f64::min);
        until_change -= step;
        capacity += step * speeds.iter().sum::<f64>();
        for ((_, rest), speed) in ready[..busy].iter_mut().zip(&speeds) {
            *rest -= step * speed;
        }
        if complete(&mut computation, &mut ready) {
            let bound = size.work as f64 + (processors as f64 - 1.0) * size.span as f64;
            return capacity / bound;
        }
        // The bound holds whichever nodes are executed, so vary them.
        if !ready.is_empty() {
            let turn = draw.below(ready.len());
            ready.rotate_left(turn);
        }
    }
}

/// Replaces completed nodes by the nodes that they enable. Returns `true` if the sink was
/// completed.
fn complete<C: Computation>(computation: &mut C, ready: &mut Vec<(C::Node, f64)>) -> bool {
    let mut enabled = Vec::new();
    let mut ended = false;
    ready.retain(|&(node, rest)| {
        if rest > 1e-12 {
            return true;
        }
        match computation.execute(node) {
            Enabled::Nothing => (),
            Enabled::One(a) => enabled.push((a, 1.0)),
            Enabled::Two(a, b) => enabled.extend([(a, 1.0), (b, 1.0)]),
            Enabled::End => ended = true,
        }
        false
    });
    ready.extend(enabled);
    ended
}
