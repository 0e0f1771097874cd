//! The table of programs.

use super::arrays;
use super::{Entry, Parameter, Value, Values};

/// The program of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProgramKind {
    Fib,
    Integrate,
    Queens,
    Uts,
    OwnUts,
    Sort,
    Quicksort,
    Matrix,
    Strassen,
    Lu,
    Heat,
    Knapsack,
    Tree,
    Mandelbrot,
    Rays,
    Words,
    Batch,
    Loop,
    Generator,
    Chain,
    Phases,
    Mark,
    Skynet,
    Primes,
    Scan,
    Fold,
    NBody,
    Pi,
}

pub(super) const fn numbers(
    name: &'static str,
    meaning: &'static str,
    [from, to]: [u64; 2],
    [quick, full]: [u64; 2],
) -> Parameter {
    Parameter {
        name,
        meaning,
        values: Values::Numbers { from, to },
        quick: Value::Number(quick),
        full: Value::Number(full),
    }
}

pub(super) const fn words(
    name: &'static str,
    meaning: &'static str,
    words: &'static [&'static str],
    [quick, full]: [&'static str; 2],
) -> Parameter {
    Parameter {
        name,
        meaning,
        values: Values::Words(words),
        quick: Value::Word(quick),
        full: Value::Word(full),
    }
}

const fn decimals(
    name: &'static str,
    meaning: &'static str,
    [from, to]: [f64; 2],
    default: f64,
) -> Parameter {
    Parameter {
        name,
        meaning,
        values: Values::Decimals { from, to },
        quick: Value::Decimal(default),
        full: Value::Decimal(default),
    }
}

const CILK: &str =
    "Frigo, Leiserson and Randall, The implementation of the Cilk-5 multithreaded language";
const UTS: &str = "Olivier et al., UTS: an unbalanced tree search benchmark";
pub(super) const CLASSIC: &str = "a classic";

/// The seed of programs with pseudo-random data.
pub(super) const SEED: Parameter = numbers(
    "seed",
    "seed of the pseudo-random data",
    [0, u64::MAX],
    [7, 7],
);

const SIDE: Parameter = numbers(
    "n",
    "the side, rounded up to 32 times a power of two",
    [1, 8192],
    [1024, 2048],
);

pub(super) static ENTRIES: &[Entry] = &[
    Entry {
        name: "fib",
        about: "Fibonacci numbers by their recursive definition: nothing but forks",
        source: CILK,
        parameters: &[numbers(
            "n",
            "index of the Fibonacci number",
            [0, 50],
            [37, 43],
        )],
        kind: ProgramKind::Fib,
    },
    Entry {
        name: "integrate",
        about: "adaptive quadrature of a sharp peak: the work is uneven and not known in advance",
        source: "a classic; the integral is known by a formula",
        parameters: &[numbers(
            "digits",
            "precision: an interval is halved while that changes its area by 10^-digits",
            [1, 20],
            [15, 18],
        )],
        kind: ProgramKind::Integrate,
    },
    Entry {
        name: "queens",
        about: "counts the placements of n queens on a board: an irregular search",
        source: "a classic; the numbers of ways are OEIS A000170",
        parameters: &[numbers(
            "n",
            "number of queens, and side of the board",
            [0, 16],
            [13, 15],
        )],
        kind: ProgramKind::Queens,
    },
    Entry {
        name: "uts",
        about: "unbalanced tree search: a tree that is not known before it is searched",
        source: UTS,
        parameters: &[words(
            "tree",
            "a tree of the literature",
            &["T1", "T2", "T3", "T4", "T5", "T1L", "T2L", "T3L", "T1XL"],
            ["T3", "T3"],
        )],
        kind: ProgramKind::Uts,
    },
    Entry {
        name: "uts-own",
        about: "unbalanced tree search of a tree with any parameters",
        source: UTS,
        parameters: &[
            words(
                "type",
                "distribution of the number of children; hybrid is binomial in its lower half",
                &["binomial", "geometric", "hybrid"],
                ["geometric", "geometric"],
            ),
            words(
                "shape",
                "how the branching of a geometric tree depends on the depth",
                &["linear", "exponential", "cyclic", "fixed"],
                ["fixed", "fixed"],
            ),
            numbers(
                "depth",
                "d: the limit of a geometric tree",
                [1, 4000],
                [9, 11],
            ),
            decimals(
                "branching",
                "b: mean number of children of the root",
                [0.0, 10_000.0],
                4.0,
            ),
            decimals(
                "q",
                "q: probability that a node of a binomial tree has children",
                [0.0, 1.0],
                0.12,
            ),
            numbers(
                "m",
                "m: number of children of such a node",
                [0, 100],
                [8, 8],
            ),
            numbers(
                "seed",
                "r: seed of the tree",
                [0, u32::MAX as u64],
                [19, 19],
            ),
        ],
        kind: ProgramKind::OwnUts,
    },
    Entry {
        name: "sort",
        about: "merge sort; merges are serial, parallel, or parallel along the merge path",
        source: "Danjean, Work stealing (lecture): merge sort with parallel merge",
        parameters: &[
            numbers(
                "n",
                "number of elements to sort",
                [0, 100_000_000],
                [2_000_000, 20_000_000],
            ),
            words(
                "merge",
                "method of merging sorted halves",
                &["serial", "parallel", "path"],
                ["serial", "serial"],
            ),
            SEED,
        ],
        kind: ProgramKind::Sort,
    },
    Entry {
        name: "quicksort",
        about: "quicksort with a serial partition: sides of unequal size",
        source: "Hoare, Quicksort; Musser, Introspective sorting",
        parameters: &[
            numbers(
                "n",
                "number of elements to sort",
                [0, 100_000_000],
                [2_000_000, 20_000_000],
            ),
            SEED,
        ],
        kind: ProgramKind::Quicksort,
    },
    Entry {
        name: "matrix",
        about: "multiplication of square matrices by recursive halving: much arithmetic, regular",
        source: CILK,
        parameters: &[SIDE],
        kind: ProgramKind::Matrix,
    },
    Entry {
        name: "strassen",
        about: "Strassen's multiplication: seven products in parallel, with temporaries",
        source: "Strassen, Gaussian elimination is not optimal",
        parameters: &[SIDE],
        kind: ProgramKind::Strassen,
    },
    Entry {
        name: "lu",
        about: "LU decomposition by recursive halving: parallel parts that wait for each other",
        source: CILK,
        parameters: &[SIDE, SEED],
        kind: ProgramKind::Lu,
    },
    Entry {
        name: "heat",
        about: "sweeps of a stencil over a plate: memory, and the same row blocks in every sweep",
        source: CILK,
        parameters: &[
            numbers("rows", "rows of the plate", [1, 50_000], [2048, 4096]),
            numbers("columns", "columns of the plate", [1, 50_000], [2048, 4096]),
            numbers(
                "sweeps",
                "number of sweeps over the plate",
                [0, 100_000],
                [20, 50],
            ),
            numbers(
                "block",
                "rows of a block, which is one task",
                [1, 50_000],
                [32, 32],
            ),
            arrays::BY,
        ],
        kind: ProgramKind::Heat,
    },
    Entry {
        name: "knapsack",
        about: "branch and bound with a shared bound: speculative, more or less work in parallel",
        source: CILK,
        parameters: &[numbers("n", "number of items", [0, 100], [64, 72]), SEED],
        kind: ProgramKind::Knapsack,
    },
    Entry {
        name: "tree",
        about: "the sum over a binary tree of boxed nodes: little arithmetic, and memory",
        source: CLASSIC,
        parameters: &[
            numbers(
                "layers",
                "the tree has 2^layers - 1 nodes",
                [1, 26],
                [23, 25],
            ),
            words(
                "layout",
                "order of the nodes in memory",
                &["preorder", "postorder"],
                ["preorder", "preorder"],
            ),
        ],
        kind: ProgramKind::Tree,
    },
    Entry {
        name: "mandelbrot",
        about: "the Mandelbrot set: pixels that take one step or thousands, next to each other",
        source: CLASSIC,
        parameters: &[
            numbers("n", "side of the image in pixels", [1, 10_000], [400, 1000]),
            numbers(
                "limit",
                "largest number of steps of a pixel",
                [1, 1_000_000],
                [1000, 2000],
            ),
        ],
        kind: ProgramKind::Mandelbrot,
    },
    Entry {
        name: "rays",
        about: "ray tracing of mirroring spheres: pixels of the sky are cheap, others are not",
        source: "Whitted, An improved illumination model for shaded display",
        parameters: &[
            numbers("n", "side of the image in pixels", [1, 10_000], [600, 1500]),
            numbers("spheres", "number of spheres", [0, 1000], [50, 100]),
            numbers(
                "bounces",
                "largest number of reflections of a ray",
                [0, 100],
                [8, 8],
            ),
            SEED,
        ],
        kind: ProgramKind::Rays,
    },
    Entry {
        name: "words",
        about: "counts the words of a text: map and reduce with hash tables",
        source: "Dean and Ghemawat, MapReduce",
        parameters: &[
            numbers(
                "n",
                "number of words in the text",
                [0, 100_000_000],
                [1_000_000, 10_000_000],
            ),
            numbers(
                "vocabulary",
                "number of different words",
                [1, 1_000_000],
                [10_000, 10_000],
            ),
            SEED,
        ],
        kind: ProgramKind::Words,
    },
    Entry {
        name: "batch",
        about: "independent tasks, the same number for each thread: even, skewed or all equal",
        source: "Agrawal and Indurkha, Work stealing dequeues (report)",
        parameters: &[
            words(
                "load",
                "even: each fib(heavy) to fib(heavy+4) at random; skewed: half fib(heavy), half \
                 fib(1); equal: all fib(heavy)",
                &["even", "skewed", "equal"],
                ["skewed", "skewed"],
            ),
            numbers(
                "threads",
                "number of threads that the tasks are meant for",
                [1, 10_000],
                [8, 128],
            ),
            numbers(
                "tasks",
                "number of tasks per thread",
                [1, 10_000],
                [100, 100],
            ),
            numbers(
                "heavy",
                "index of the Fibonacci number that a heavy task computes",
                [1, 40],
                [25, 25],
            ),
            arrays::BY_SPAWN,
            SEED,
        ],
        kind: ProgramKind::Batch,
    },
    Entry {
        name: "loop",
        about: "a parallel loop: a runtime that has loops runs it as one, the others halve it",
        source: "Traoré et al., Deque-free work-optimal parallel STL algorithms",
        parameters: &[
            words(
                "costs",
                "equal; triangular: item i costs i; costly-front, costly-end, costly-random: a \
                 hundredth costs 1000 times as much",
                &[
                    "equal",
                    "triangular",
                    "costly-front",
                    "costly-end",
                    "costly-random",
                ],
                ["equal", "equal"],
            ),
            numbers(
                "n",
                "number of items",
                [0, 1_000_000_000],
                [1_000_000, 10_000_000],
            ),
            numbers(
                "work",
                "steps of an item, or of the dearest",
                [0, 1_000_000],
                [100, 100],
            ),
        ],
        kind: ProgramKind::Loop,
    },
    Entry {
        name: "generator",
        about: "one worker generates all tasks, one after the other",
        source: "imbalanced generation of work, as in Hendler and Shavit, Work dealing",
        parameters: &[
            numbers("tasks", "number of tasks", [0, 20_000], [10_000, 20_000]),
            numbers(
                "gap",
                "steps of the generator before each task",
                [0, 1_000_000],
                [100, 200],
            ),
            numbers("grain", "steps of a task", [0, 100_000_000], [4000, 20_000]),
            arrays::BY_SPAWN,
            SEED,
        ],
        kind: ProgramKind::Generator,
    },
    Entry {
        name: "chain",
        about: "rare forks: long serial stretches with a little parallel work in between",
        source: "Amdahl, Validity of the single processor approach",
        parameters: &[
            numbers(
                "periods",
                "number of periods",
                [0, 100_000_000],
                [1000, 1000],
            ),
            numbers(
                "serial",
                "steps of a period before its fork",
                [0, 100_000_000],
                [20_000, 200_000],
            ),
            numbers(
                "parallel",
                "steps on either side of the fork",
                [0, 100_000_000],
                [5000, 50_000],
            ),
            SEED,
        ],
        kind: ProgramKind::Chain,
    },
    arrays::PHASES,
    arrays::MARK,
    arrays::SKYNET,
    arrays::PRIMES,
    arrays::SCAN,
    arrays::FOLD,
    arrays::NBODY,
    arrays::PI,
];
