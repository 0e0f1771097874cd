//! A view of ranks by host.

use crate::random::Source;
use crate::view::View;

/// A view in which the ranks of the same host are near, and all others far.
///
/// ```
/// use locksley_policy::rank::Hosts;
/// use locksley_policy::{Random, View};
///
/// let hosts = Hosts::new(["a", "b", "a", "b", "b"]);
/// let mut random = Random::new(1, 0);
/// assert_eq!(hosts.count(), 5);
/// assert_eq!(hosts.hosts(), 2);
/// assert_eq!(hosts.host(3), 1);
/// assert_eq!(hosts.neighbour(0, 0, &mut random), Some(2));
/// assert!([3, 4].contains(&hosts.neighbour(1, 0, &mut random).unwrap()));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hosts {
    /// The host of each rank; hosts are numbered in the order of their first rank.
    host: Vec<usize>,
    /// The ranks of each host.
    ranks: Vec<Vec<usize>>,
}

impl Hosts {
    /// Creates the view from the host name of each rank.
    pub fn new<N: Ord>(names: impl IntoIterator<Item = N>) -> Hosts {
        let mut known = std::collections::BTreeMap::new();
        let mut hosts = Hosts {
            host: Vec::new(),
            ranks: Vec::new(),
        };
        for (rank, name) in names.into_iter().enumerate() {
            let next = known.len();
            let host = *known.entry(name).or_insert(next);
            if host == next {
                hosts.ranks.push(Vec::new());
            }
            hosts.ranks[host].push(rank);
            hosts.host.push(host);
        }
        hosts
    }

    /// Returns the number of hosts.
    pub fn hosts(&self) -> usize {
        self.ranks.len()
    }

    /// Returns the number of a rank's host.
    pub fn host(&self, rank: usize) -> usize {
        self.host[rank]
    }
}

impl View for Hosts {
    fn count(&self) -> usize {
        self.host.len()
    }

    /// Loads are not known: every rank seems to have one task, so that none is passed over as idle.
    fn load(&self, _: usize) -> usize {
        1
    }

    fn rings(&self, _: usize) -> usize {
        1
    }

    fn neighbour(&self, me: usize, ring: usize, random: &mut dyn Source) -> Option<usize> {
        let ranks = (ring == 0).then(|| &self.ranks[self.host[me]])?;
        let others = ranks.len() - 1;
        if others == 0 {
            return None;
        }
        let drawn = random.below(others);
        let place = ranks.partition_point(|&rank| rank < me);
        Some(ranks[drawn + usize::from(drawn >= place)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;

    #[test]
    fn every_rank_seems_to_have_one_task() {
        let hosts = Hosts::new(["a", "b", "a"]);
        assert_eq!([0, 1, 2].map(|rank| hosts.load(rank)), [1; 3]);
        assert_eq!(hosts.rings(0), 1);
    }

    #[test]
    fn neighbours_are_the_other_ranks_of_the_host() {
        let hosts = Hosts::new(["a", "b", "a", "a", "c"]);
        let mut random = Random::new(1, 2);
        for (me, others) in [(0, [2, 3]), (2, [0, 3]), (3, [0, 2])] {
            let mut met = [0; 5];
            for _ in 0..100 {
                met[hosts.neighbour(me, 0, &mut random).unwrap()] += 1;
            }
            let [a, b] = others.map(|other| met[other]);
            assert!(a > 20 && b > 20 && a + b == 100, "{met:?}");
        }
        assert_eq!(
            hosts.neighbour(4, 0, &mut random),
            None,
            "alone on its host"
        );
        assert_eq!(
            hosts.neighbour(0, 1, &mut random),
            None,
            "there is one ring"
        );
    }
}
