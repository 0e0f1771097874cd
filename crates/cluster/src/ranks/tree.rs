//! The tree along which ranks introduce themselves and report: the children of rank `r` are `4 r +
//! 1` to `4 r + 4`, as in Safra's waves.
//!
//! No rank communicates with more than five others. Through a link goes the data of the ranks below
//! it: names of hosts and reports, each once for each link on its way, and one combined result.
//! Nothing at rank 0 is larger than the sum of the data of all ranks.

/// Number of children of a rank.
pub(super) const ARITY: usize = 4;

/// Returns the parent of a rank; `None` for rank 0.
pub(super) fn parent(rank: usize) -> Option<usize> {
    (rank > 0).then(|| (rank - 1) / ARITY)
}

/// Returns the children of a rank.
pub(super) fn children(rank: usize, count: usize) -> std::ops::Range<usize> {
    let first = (ARITY * rank + 1).min(count);
    first..(first + ARITY).min(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rank_but_the_first_is_the_child_of_its_parent() {
        for count in [1, 2, 5, 6, 21, 1000] {
            let mut below = 0;
            for rank in 0..count {
                for child in children(rank, count) {
                    assert_eq!(parent(child), Some(rank));
                    below += 1;
                }
            }
            assert_eq!(below, count - 1);
        }
        assert_eq!(parent(0), None);
    }
}
