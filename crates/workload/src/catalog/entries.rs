//! The table of programs.

use super::{Entry, Parameter, Value, Values};

/// Which program an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Fib,
    Queens,
    Uts,
    Sort,
    Matrix,
    Tree,
    Batch,
}

const fn numbers(
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

const fn words(
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

/// Where the data come from pseudo-random numbers.
const SEED: Parameter = numbers("seed", "which pseudo-random data", [0, u64::MAX], [7, 7]);

pub(super) static ENTRIES: &[Entry] = &[
    Entry {
        name: "fib",
        about: "Fibonacci numbers by their recursive definition: nothing but forks",
        source: "Frigo, Leiserson and Randall, The implementation of the Cilk-5 multithreaded language",
        parameters: &[numbers("n", "which one", [0, 50], [35, 42])],
        kind: Kind::Fib,
    },
    Entry {
        name: "queens",
        about: "in how many ways n queens can stand on a board: an irregular search",
        source: "a classic; the numbers of ways are OEIS A000170",
        parameters: &[numbers(
            "n",
            "queens, and the side of the board",
            [0, 16],
            [12, 14],
        )],
        kind: Kind::Queens,
    },
    Entry {
        name: "uts",
        about: "unbalanced tree search: a tree that nobody knows before it is searched",
        source: "Olivier et al., UTS: an unbalanced tree search benchmark",
        parameters: &[words(
            "tree",
            "a tree of the literature",
            &["T1", "T2", "T3", "T4", "T5", "T1L", "T2L", "T3L", "T1XL"],
            ["T3", "T3"],
        )],
        kind: Kind::Uts,
    },
    Entry {
        name: "sort",
        about: "merge sort, with a merge that is serial or parallel",
        source: "Danjean, Work stealing (lecture): merge sort with parallel merge",
        parameters: &[
            numbers(
                "n",
                "how many numbers",
                [0, 100_000_000],
                [1_000_000, 10_000_000],
            ),
            words(
                "merge",
                "how halves are merged",
                &["serial", "parallel"],
                ["serial", "serial"],
            ),
            SEED,
        ],
        kind: Kind::Sort,
    },
    Entry {
        name: "matrix",
        about: "multiplication of square matrices by recursive halving: much arithmetic, regular",
        source: "Frigo, Leiserson and Randall, The implementation of the Cilk-5 multithreaded language",
        parameters: &[numbers(
            "n",
            "the side, rounded up to 32 times a power of two",
            [1, 8192],
            [512, 1024],
        )],
        kind: Kind::Matrix,
    },
    Entry {
        name: "tree",
        about: "the sum over a binary tree of boxed nodes: little arithmetic, and memory",
        source: "a classic",
        parameters: &[
            numbers(
                "layers",
                "the tree has 2^layers - 1 nodes",
                [1, 26],
                [22, 24],
            ),
            words(
                "layout",
                "in which order the nodes lie in memory",
                &["preorder", "postorder"],
                ["preorder", "preorder"],
            ),
        ],
        kind: Kind::Tree,
    },
    Entry {
        name: "batch",
        about: "independent tasks, as many for each of several threads: even, skewed or all equal",
        source: "Agrawal and Indurkhya, Work stealing dequeues (report)",
        parameters: &[
            words(
                "load",
                "even: each fib(heavy) to fib(heavy+4) at random; skewed: half fib(heavy), half fib(1); equal: all fib(heavy)",
                &["even", "skewed", "equal"],
                ["skewed", "skewed"],
            ),
            numbers(
                "threads",
                "how many threads the tasks are meant for",
                [1, 10_000],
                [4, 16],
            ),
            numbers(
                "tasks",
                "how many tasks for each of them",
                [1, 10_000],
                [100, 100],
            ),
            numbers(
                "heavy",
                "which Fibonacci number is a heavy task",
                [1, 45],
                [25, 27],
            ),
            SEED,
        ],
        kind: Kind::Batch,
    },
];
