//! Estimates of what a program needs, before it is built.

use super::Spec;
use super::entries::ProgramKind;
use crate::fib::Fib;
use crate::loops::Costs;
use crate::matrix::Matrix;
use crate::strassen::BASE;
use crate::uts::UtsTree;

/// The largest amount of memory that a program of the catalogue may use for its data, in bytes: 2
/// GiB.
///
/// ```
/// use locksley_workload::catalog::{MOST_BYTES, Scale, Spec, SpecError};
///
/// let error = Spec::parse("sort:n=100000000", Scale::Full).unwrap_err();
/// assert!(matches!(error, SpecError::TooMuch { what: "bytes", limit: MOST_BYTES, .. }));
/// ```
pub const MOST_BYTES: u64 = 2 << 30;

/// The approximate number of steps that a run may take: nodes, comparisons, multiplications, cells.
/// At a few nanoseconds each that is a quarter of an hour on one thread.
///
/// ```
/// use locksley_workload::catalog::{MOST_STEPS, Scale, Spec, SpecError};
///
/// let error = Spec::parse("batch:load=equal,tasks=10000,heavy=40", Scale::Full).unwrap_err();
/// assert!(matches!(error, SpecError::TooMuch { what: "steps", limit: MOST_STEPS, .. }));
/// ```
pub const MOST_STEPS: u64 = 400_000_000_000;

/// The largest number of nodes of a tree of `uts-own`: half a minute of searching.
pub(super) const MOST_NODES: u64 = 200_000_000;

/// The largest depth of such a tree.
pub(super) const MOST_LEVELS: u32 = 4000;

/// The largest number of branches of a serial search of the knapsack: half a minute as well.
pub(super) const MOST_BRANCHES: u64 = 500_000_000;

/// The default stack of a thread, in bytes.
const DEFAULT_STACK: u64 = 2 << 20;

/// Stack per level of a tree, including the halving of its children, without optimisation.
const STACK_PER_LEVEL: u64 = 16 << 10;

/// Stack per task of the generator, without optimisation.
const STACK_PER_TASK: u64 = 4 << 10;

/// The largest additional stack that is requested for a program.
const MOST_STACK: u64 = 1 << 30;

/// Resources that a program needs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Demand {
    bytes: u64,
    steps: u64,
    /// Stack in addition to the default.
    stack: u64,
}

/// Returns a demand of `bytes` for data, and `steps`.
fn data(bytes: u64, steps: u64) -> Demand {
    Demand {
        bytes,
        steps,
        stack: 0,
    }
}

/// Returns the product of numbers, saturating.
fn product<const N: usize>(numbers: [u64; N]) -> u64 {
    numbers.into_iter().fold(1, u64::saturating_mul)
}

impl Demand {
    pub(super) fn of(spec: &Spec) -> Demand {
        let get = |parameter| spec.long(parameter);
        let n = get("n");
        let side = Matrix::rounded(spec.size("n")) as u64;
        match spec.entry().kind {
            ProgramKind::Fib => data(0, Fib::number(n + 1)),
            // The number of intervals grows with the cube root of the precision.
            ProgramKind::Integrate => data(0, 10 * 10_u64.pow(get("digits") as u32 / 3)),
            // Each further queen takes about six times as many steps; 16 take about 10^10.
            ProgramKind::Queens => data(0, 10_u64.pow(10) / 6_u64.pow(16 - n.min(16) as u32)),
            ProgramKind::Uts => published(spec),
            ProgramKind::OwnUts => Demand {
                stack: u64::from(MOST_LEVELS) * STACK_PER_LEVEL,
                ..Demand::default()
            },
            ProgramKind::Sort => data(32 * n, product([n, n.max(2).ilog2().into()])),
            ProgramKind::Quicksort => data(24 * n, product([n, n.max(2).ilog2().into()])),
            ProgramKind::Matrix => data(product([24, side, side]), product([side; 3])),
            ProgramKind::Strassen => {
                let matrices = product([24, side, side]);
                data(matrices + temporaries(side), product([side; 3]))
            }
            ProgramKind::Lu => data(product([16, side, side]), product([side; 3]) / 3),
            ProgramKind::Heat => {
                let cells = product([get("rows") + 2, get("columns") + 2]);
                data(product([16, cells]), product([cells, get("sweeps")]))
            }
            // Known only after the branches have been counted.
            ProgramKind::Knapsack => data(0, 0),
            ProgramKind::Tree => data(32 << get("layers"), 1 << get("layers")),
            ProgramKind::Mandelbrot => data(product([8, n, n]), product([n, n, get("limit")])),
            ProgramKind::Rays => {
                let steps = product([n, n, get("spheres") + 1, get("bounces") + 1]);
                data(product([8, n, n]), steps)
            }
            ProgramKind::Words => data(product([16, n]), product([50, n])),
            ProgramKind::Batch => batch(spec),
            ProgramKind::Loop => data(0, loop_steps(spec)),
            ProgramKind::Generator => Demand {
                stack: STACK_PER_TASK * get("tasks"),
                ..data(
                    product([spawn_bytes(spec), get("tasks")]),
                    product([get("tasks"), get("gap") + get("grain")]),
                )
            },
            ProgramKind::Chain => {
                let period = get("serial") + 2 * get("parallel");
                data(0, product([get("periods"), period]))
            }
            ProgramKind::Phases => {
                let numbers = product([get("blocks"), get("length")]);
                data(product([16, numbers]), product([numbers, get("phases")]))
            }
            ProgramKind::Mark => Demand {
                // A fork halves a stack, so each level has visited at least half a stack of
                // objects.
                stack: (STACK_PER_TASK * (get("objects") / 32)).min(MOST_STACK),
                ..data(product([40, get("objects")]), product([20, get("objects")]))
            },
            ProgramKind::Skynet => data(0, 10_u64.pow(get("levels") as u32)),
            ProgramKind::Primes => data(n, product([n, n.isqrt()]) / 8),
            ProgramKind::Scan => data(product([8, n]), product([2, n])),
            ProgramKind::Fold => data(product([16, n]), n),
            ProgramKind::NBody => data(product([224, n]), product([20, n, n, get("steps")])),
            ProgramKind::Pi => data(0, get("intervals")),
        }
    }

    /// Returns a sufficient size for a thread's stack.
    pub(super) fn stack(self) -> usize {
        (DEFAULT_STACK + self.stack) as usize
    }

    /// Returns the first resource that exceeds its limit, as its name, the demand and the limit.
    pub(super) fn excess(self) -> Option<(&'static str, u64, u64)> {
        let checks = [
            ("bytes", self.bytes, MOST_BYTES),
            ("steps", self.steps, MOST_STEPS),
        ];
        checks.into_iter().find(|(_, needs, limit)| needs > limit)
    }
}

fn published(spec: &Spec) -> Demand {
    let tree = spec.word("tree").and_then(UtsTree::published_with_size);
    let (_, size) = tree.unwrap_or(UtsTree::SMALLEST);
    Demand {
        stack: u64::from(size.depth) * STACK_PER_LEVEL,
        // A node is a hash.
        ..data(0, product([20, size.nodes]))
    }
}

/// Returns the total steps of a loop. If a hundredth of the items costs 1000 times as much, the
/// mean is eleven times the cost of the others.
fn loop_steps(spec: &Spec) -> u64 {
    let dearer = match spec.costs() {
        Costs::Equal | Costs::Triangular => 1,
        Costs::CostlyFront | Costs::CostlyEnd | Costs::CostlyRandom => 11,
    };
    product([spec.long("n"), spec.long("work"), dearer])
}

/// Returns the bytes for each task that is spawned: its result, and the job on the heap. 0 if tasks
/// are forked.
fn spawn_bytes(spec: &Spec) -> u64 {
    match spec.word("by") {
        Some("spawn") => 8 + 64,
        _ => 0,
    }
}

/// Returns the bytes of the operands and results of Strassen's products, if all run in parallel.
fn temporaries(side: u64) -> u64 {
    if side <= BASE as u64 {
        return 0;
    }
    let half = side / 2;
    7 * (product([24, half, half]) + temporaries(half))
}

fn batch(spec: &Spec) -> Demand {
    let tasks = product([spec.long("threads"), spec.long("tasks")]);
    let largest = match spec.word("load") {
        Some("even") => spec.long("heavy") + 4,
        _ => spec.long("heavy"),
    };
    data(
        product([8 + spawn_bytes(spec), tasks]),
        product([2, tasks, Fib::number(largest)]),
    )
}
