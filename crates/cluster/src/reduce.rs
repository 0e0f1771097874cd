//! Results, and how they are combined.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{BuildHasher, Hash};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// A commutative monoid: results may be combined in any order and any grouping.
///
/// **Laws.** `combine` is associative and commutative, and [`identity`](Reduce::identity) is its
/// neutral element. These laws suffice for a result to be the same on one thread and on a thousand
/// hosts.
///
/// Maps are combined key by key, vectors element by element, sets by union:
///
/// ```
/// use std::collections::BTreeMap;
///
/// use locksley_cluster::{Reduce, Sum};
///
/// let mut words = BTreeMap::from([("oak", Sum(2))].map(|(word, count)| (word.to_owned(), count)));
/// words.combine(BTreeMap::from([("oak".to_owned(), Sum(1)), ("elm".to_owned(), Sum(1))]));
/// assert_eq!(words["oak"], Sum(3));
///
/// let mut histogram = vec![Sum(1), Sum(0)];
/// histogram.combine(vec![Sum(1), Sum(1), Sum(5)]);
/// assert_eq!(histogram, [Sum(2), Sum(1), Sum(5)]);
/// ```
///
/// An implementation of your own:
///
/// ```
/// use locksley_cluster::Reduce;
/// use serde::{Deserialize, Serialize};
///
/// /// The longest word that was found; of several the first in the alphabet, so that the order
/// /// does not matter.
/// #[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
/// struct Longest(String);
///
/// impl Reduce for Longest {
///     fn identity() -> Longest {
///         Longest::default()
///     }
///
///     fn combine(&mut self, other: Longest) {
///         let key = |word: &Longest| (std::cmp::Reverse(word.0.len()), word.0.clone());
///         if key(&other) < key(self) {
///             *self = other;
///         }
///     }
/// }
///
/// let mut longest = Longest("oak".to_owned());
/// longest.combine(Longest("outlaw".to_owned()));
/// longest.combine(Longest::identity());
/// assert_eq!(longest, Longest("outlaw".to_owned()));
/// ```
pub trait Reduce: Serialize + DeserializeOwned + Send + 'static {
    /// Returns the neutral element: the result of no tasks.
    fn identity() -> Self;

    /// Combines another result into this one.
    fn combine(&mut self, other: Self);
}

/// A sum of numbers.
///
/// ```
/// use locksley_cluster::{Reduce, Sum};
///
/// let mut sum = Sum(2);
/// sum.combine(Sum(3));
/// assert_eq!(sum, Sum(5));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, serde::Deserialize)]
pub struct Sum<N>(pub N);

impl<N> Reduce for Sum<N>
where
    N: std::ops::AddAssign + Default + Serialize + DeserializeOwned + Send + 'static,
{
    fn identity() -> Self {
        Sum(N::default())
    }

    fn combine(&mut self, other: Self) {
        self.0 += other.0;
    }
}

/// The largest of some numbers; the default value of the type if there are none.
///
/// ```
/// use locksley_cluster::{Max, Reduce};
///
/// let mut most = Max(2);
/// most.combine(Max(1));
/// assert_eq!(most, Max(2));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, serde::Deserialize)]
pub struct Max<N>(pub N);

impl<N> Reduce for Max<N>
where
    N: Ord + Default + Serialize + DeserializeOwned + Send + 'static,
{
    fn identity() -> Self {
        Max(N::default())
    }

    fn combine(&mut self, other: Self) {
        if other.0 > self.0 {
            self.0 = other.0;
        }
    }
}

impl Reduce for () {
    fn identity() {}

    fn combine(&mut self, _: ()) {}
}

impl<A: Reduce, B: Reduce> Reduce for (A, B) {
    fn identity() -> (A, B) {
        (A::identity(), B::identity())
    }

    fn combine(&mut self, other: (A, B)) {
        self.0.combine(other.0);
        self.1.combine(other.1);
    }
}

impl<K, V> Reduce for BTreeMap<K, V>
where
    K: Ord + Serialize + DeserializeOwned + Send + 'static,
    V: Reduce,
{
    fn identity() -> Self {
        BTreeMap::new()
    }

    fn combine(&mut self, other: Self) {
        for (key, value) in other {
            self.entry(key).or_insert_with(V::identity).combine(value);
        }
    }
}

impl<K, V, S> Reduce for HashMap<K, V, S>
where
    K: Eq + Hash + Serialize + DeserializeOwned + Send + 'static,
    V: Reduce,
    S: BuildHasher + Default + Send + 'static,
{
    fn identity() -> Self {
        HashMap::default()
    }

    fn combine(&mut self, other: Self) {
        for (key, value) in other {
            self.entry(key).or_insert_with(V::identity).combine(value);
        }
    }
}

impl<T> Reduce for BTreeSet<T>
where
    T: Ord + Serialize + DeserializeOwned + Send + 'static,
{
    fn identity() -> Self {
        BTreeSet::new()
    }

    fn combine(&mut self, mut other: Self) {
        self.append(&mut other);
    }
}

/// Combines element by element; the surplus elements of the longer vector are kept.
impl<T: Reduce> Reduce for Vec<T> {
    fn identity() -> Self {
        Vec::new()
    }

    fn combine(&mut self, other: Self) {
        let mut rest = other.into_iter();
        for (element, other) in self.iter_mut().zip(&mut rest) {
            element.combine(other);
        }
        self.extend(rest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_combined_part_by_part() {
        let mut pair = <(Sum<u32>, Max<u32>)>::identity();
        pair.combine((Sum(3), Max(3)));
        pair.combine((Sum(4), Max(2)));
        assert_eq!(pair, (Sum(7), Max(3)));
    }

    #[test]
    fn vectors_of_any_length_are_combined_in_either_order() {
        let (short, long) = (vec![Sum(1)], vec![Sum(10), Sum(20), Sum(30)]);
        let (mut one, mut other) = (short.clone(), long.clone());
        one.combine(long);
        other.combine(short);
        assert_eq!(one, [Sum(11), Sum(20), Sum(30)]);
        assert_eq!(other, one);
    }

    #[test]
    fn maps_and_sets_keep_every_key() {
        let map =
            |keys: &[u32]| HashMap::<u32, Sum<u32>>::from_iter(keys.iter().map(|&k| (k, Sum(k))));
        let mut sums = map(&[1, 2]);
        sums.combine(map(&[2, 3]));
        assert_eq!(sums, HashMap::from([(1, Sum(1)), (2, Sum(4)), (3, Sum(3))]));
        let mut set = BTreeSet::from([1, 2]);
        set.combine(BTreeSet::from([2, 3]));
        assert_eq!(set, BTreeSet::from([1, 2, 3]));
    }
}
