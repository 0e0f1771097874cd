//! How much a program needs, estimated before it is built.

use super::Spec;
use super::entries::Kind;
use crate::fib::Fib;
use crate::matrix::Matrix;
use crate::uts::UtsTree;

/// How much memory a program of the catalogue may use for its data, in bytes: 2 GiB.
///
/// ```
/// use locksley_workload::catalog::{MOST_BYTES, Scale, Spec, SpecError};
///
/// let error = Spec::parse("sort:n=100000000", Scale::Full).unwrap_err();
/// assert!(matches!(error, SpecError::TooMuch { what: "bytes", limit: MOST_BYTES, .. }));
/// ```
pub const MOST_BYTES: u64 = 2 << 30;

/// About how many steps a run may take: nodes, comparisons, multiplications, cells. At a few
/// nanoseconds each that is a quarter of an hour on one thread.
///
/// ```
/// use locksley_workload::catalog::{MOST_STEPS, Scale, Spec, SpecError};
///
/// let error = Spec::parse("batch:load=equal,tasks=10000,heavy=40", Scale::Full).unwrap_err();
/// assert!(matches!(error, SpecError::TooMuch { what: "steps", limit: MOST_STEPS, .. }));
/// ```
pub const MOST_STEPS: u64 = 400_000_000_000;

/// What a thread has usually.
const USUAL_STACK: u64 = 2 << 20;

/// What a level of a deep recursion takes, without optimisation.
const FRAMES: u64 = 16 << 10;

/// What a program needs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Demand {
    bytes: u64,
    steps: u64,
    /// How deep the recursion is, where it is deeper than a few dozen.
    levels: u64,
}

impl Demand {
    pub(super) fn of(spec: &Spec) -> Demand {
        let number = |parameter| spec.number(parameter).unwrap_or(0);
        let steps = |steps| Demand {
            steps,
            ..Demand::default()
        };
        let n = number("n");
        match spec.entry().kind {
            Kind::Fib => steps(Fib::number(n + 1)),
            // Each further queen takes about six times as long; 16 take about 10^10 steps.
            Kind::Queens => steps(10_u64.pow(10) / 6_u64.pow(16 - n.min(16) as u32)),
            Kind::Uts => Demand {
                levels: spec
                    .word("tree")
                    .and_then(UtsTree::published)
                    .map_or(0, |(_, size)| size.depth.into()),
                steps: spec
                    .word("tree")
                    .and_then(UtsTree::published)
                    .map_or(0, |(_, size)| 20 * size.nodes),
                bytes: 0,
            },
            Kind::Sort => Demand {
                bytes: 4 * 8 * n,
                steps: n.saturating_mul(n.max(2).ilog2().into()),
                levels: 0,
            },
            Kind::Matrix => {
                let side = Matrix::rounded(n as usize) as u64;
                Demand {
                    bytes: 3 * 8 * side * side,
                    steps: side.pow(3),
                    levels: 0,
                }
            }
            Kind::Tree => Demand {
                bytes: 32 << number("layers"),
                steps: 1 << number("layers"),
                levels: 0,
            },
            Kind::Batch => {
                let tasks = number("threads") * number("tasks");
                let heavy = match spec.word("load") {
                    Some("even") => number("heavy") + 4,
                    _ => number("heavy"),
                };
                Demand {
                    bytes: 8 * tasks,
                    steps: tasks.saturating_mul(2 * Fib::number(heavy)),
                    levels: 0,
                }
            }
        }
    }

    /// The size of a thread's stack that is large enough.
    pub(super) fn stack(self) -> usize {
        (USUAL_STACK + self.levels * FRAMES) as usize
    }

    /// What there is too much of, how much, and how much is allowed.
    pub(super) fn excess(self) -> Option<(&'static str, u64, u64)> {
        let checks = [
            ("bytes", self.bytes, MOST_BYTES),
            ("steps", self.steps, MOST_STEPS),
        ];
        checks.into_iter().find(|(_, needs, limit)| needs > limit)
    }
}
