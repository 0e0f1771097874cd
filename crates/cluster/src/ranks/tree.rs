//! The tree along which ranks say hello and report: rank `r` has the children `4 r + 1` to `4 r +
//! 4`, as in Safra's waves.
//!
//! With `P` ranks no rank talks to more than five others, and what goes through a link is what is
//! below it: names of hosts and reports, each once for each link on its way, and one result.
//! Nothing is larger at rank 0 than the sum of what all have to say.

/// How many children a rank has.
pub(super) const ARITY: usize = 4;

/// The parent of a rank, if it is not rank 0.
pub(super) fn parent(rank: usize) -> Option<usize> {
    (rank > 0).then(|| (rank - 1) / ARITY)
}

/// The children of a rank.
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
