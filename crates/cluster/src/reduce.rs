//! Results, and how two of them become one.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// A commutative monoid: results come in any order, and in any grouping.
///
/// **Laws.** `combine` is associative and commutative, and [`identity`](Reduce::identity) changes
/// nothing. Nothing else is asked of a result for it to be the same on one thread and on a thousand
/// hosts.
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
    /// The result of doing nothing.
    fn identity() -> Self;

    /// Takes another result in.
    fn combine(&mut self, other: Self);
}

/// Numbers that are added up.
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
}
