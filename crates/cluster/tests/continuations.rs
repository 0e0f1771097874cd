//! Continuations on ranks that are threads: merge sort, Cholesky.

use locksley_cluster::programs::cholesky::{self, Factor};
use locksley_cluster::programs::merge_sort::{self, Sort};
use locksley_cluster::ranks::{self, Network, Options, Outcome};
use locksley_cluster::{Program, Reduce, Task};

const SORT: Sort = Sort {
    seed: 3,
    from: 0,
    to: 200_000,
    grain: 1000,
};

const MATRIX: Factor = Factor {
    tiles: 8,
    size: 16,
    seed: 11,
};

fn run<R: Reduce, T: Task<Output = R>>(program: &Program<R>, first: T, ranks: usize) -> Outcome<R> {
    let options = Options {
        workers: 1,
        ..Options::default()
    };
    let peers = Network::default().connect(&vec!["here"; ranks]);
    ranks::run_threads(program, [first], &options, peers).expect("nothing is wrong")
}

/// Asserts that no task is lost on its way, and that tasks have moved.
fn check<R>(outcome: &Outcome<R>, ranks: usize) {
    let counts = outcome.counts();
    assert_eq!(counts.given, counts.taken);
    assert_eq!(counts.given > 0, ranks > 1, "{counts:?}");
    let sum = |part: fn(&ranks::Report) -> u64| outcome.ranks.iter().map(part).sum::<u64>();
    let (added, tasks) = (sum(|rank| rank.usage.added), sum(|rank| rank.usage.tasks));
    assert_eq!(added, tasks + counts.given);
}

#[test]
fn a_merge_sort_is_exact_on_any_number_of_ranks() {
    let expected = merge_sort::expected(SORT.seed, SORT.to);
    for ranks in 1..=4 {
        let outcome = run(&merge_sort::program(), SORT, ranks);
        assert!(outcome.result == expected, "on {ranks} ranks");
        check(&outcome, ranks);
    }
}

#[test]
fn a_cholesky_factor_is_the_same_in_every_bit_on_any_number_of_ranks() {
    let expected = MATRIX.expected();
    assert!(MATRIX.residual(&expected) < 1e-12);
    for ranks in 1..=4 {
        let outcome = run(&cholesky::program(), MATRIX, ranks);
        assert!(outcome.result == expected, "on {ranks} ranks");
        check(&outcome, ranks);
    }
}
