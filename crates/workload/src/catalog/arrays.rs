//! The entries of programs over arrays, and of trees of tasks.

use super::entries::{CLASSIC, ProgramKind, SEED, numbers, words};
use super::{Entry, Parameter};

/// How tasks are handed to the workers, for programs that have a choice.
pub(super) const BY: Parameter = words(
    "by",
    "whether tasks are forked in halves, spawned one by one, or spawned near a worker",
    &["fork", "spawn", "near"],
    ["fork", "fork"],
);

/// As [`BY`], for tasks that have no data of their own.
pub(super) const BY_SPAWN: Parameter = words(
    "by",
    "whether tasks are forked, or spawned one by one",
    &["fork", "spawn"],
    ["fork", "fork"],
);

pub(super) const PHASES: Entry = Entry {
    name: "phases",
    about: "phases over the same blocks of memory: a block is in the cache of its last worker",
    source: "Acar, Blelloch and Blumofe, The data locality of work stealing",
    parameters: &[
        numbers("blocks", "number of blocks", [1, 100_000], [64, 256]),
        numbers(
            "length",
            "elements of a block",
            [1, 10_000_000],
            [4096, 4096],
        ),
        numbers("phases", "number of phases", [0, 100_000], [100, 400]),
        BY,
        SEED,
    ],
    kind: ProgramKind::Phases,
};

pub(super) const MARK: Entry = Entry {
    name: "mark",
    about: "the mark phase of a garbage collector: tiny tasks, and objects that are met twice",
    source: "Hendler and Shavit, Work dealing; Non-blocking steal-half work queues",
    parameters: &[
        words(
            "heap",
            "shape of the references: random, long lists, or large arrays",
            &["random", "lists", "arrays"],
            ["random", "random"],
        ),
        numbers(
            "objects",
            "number of objects, a quarter of them garbage",
            [1, 50_000_000],
            [1_000_000, 10_000_000],
        ),
        SEED,
    ],
    kind: ProgramKind::Mark,
};

pub(super) const SKYNET: Entry = Entry {
    name: "skynet",
    about: "tasks that only start ten others each; the leaves are counted",
    source: "the skynet microbenchmark",
    parameters: &[numbers(
        "levels",
        "the tree has 10^levels leaves",
        [0, 9],
        [6, 8],
    )],
    kind: ProgramKind::Skynet,
};

pub(super) const PRIMES: Entry = Entry {
    name: "primes",
    about: "counts the primes up to a number by trial division: later parts are slower",
    source: CLASSIC,
    parameters: &[numbers(
        "n",
        "largest number that is tested",
        [0, 100_000_000],
        [1_000_000, 10_000_000],
    )],
    kind: ProgramKind::Primes,
};

pub(super) const SCAN: Entry = Entry {
    name: "scan",
    about: "prefix sums in two sweeps: limited by memory",
    source: "Blelloch, Prefix sums and their applications",
    parameters: &[
        numbers(
            "n",
            "number of elements",
            [0, 100_000_000],
            [10_000_000, 50_000_000],
        ),
        SEED,
    ],
    kind: ProgramKind::Scan,
};

pub(super) const FOLD: Entry = Entry {
    name: "fold",
    about: "a fold whose operation is associative and not commutative",
    source: CLASSIC,
    parameters: &[
        numbers(
            "n",
            "number of affine maps that are composed",
            [0, 100_000_000],
            [10_000_000, 50_000_000],
        ),
        SEED,
    ],
    kind: ProgramKind::Fold,
};

pub(super) const NBODY: Entry = Entry {
    name: "nbody",
    about: "bodies that attract each other: arithmetic, and a barrier after each step",
    source: CLASSIC,
    parameters: &[
        numbers("n", "number of bodies", [0, 100_000], [1000, 4000]),
        numbers("steps", "number of time steps", [0, 100_000], [20, 40]),
        SEED,
    ],
    kind: ProgramKind::NBody,
};

pub(super) const PI: Entry = Entry {
    name: "pi",
    about: "pi by the midpoint rule: arithmetic only, in even parts",
    source: "Agrawal and Indurkha, Work stealing dequeues (report)",
    parameters: &[numbers(
        "intervals",
        "number of intervals",
        [1, 100_000_000_000],
        [100_000_000, 1_000_000_000],
    )],
    kind: ProgramKind::Pi,
};
