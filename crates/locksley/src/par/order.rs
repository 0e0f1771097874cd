//! Algorithms on slices and vectors: sorting, prefix sums, merging, compaction.

use std::cmp::Ordering;
use std::mem;

use crate::par::convert::IntoPar;
use crate::par::{scan, sort};

/// Sorts and prefix sums of slices.
pub trait ParSort {
    /// What the slice consists of.
    type Item;

    /// Sorts, and keeps equal items in order: `std`'s sort on pieces, and a parallel merge.
    ///
    /// Work O(n log n), depth O((n/P) log n), a buffer of n items.
    ///
    /// ```
    /// use locksley::prelude::*;
    ///
    /// let mut numbers = [3, 1, 2];
    /// numbers.par_sort();
    /// assert_eq!(numbers, [1, 2, 3]);
    /// ```
    fn par_sort(&mut self)
    where
        Self::Item: Ord + Send;

    /// [`par_sort`](ParSort::par_sort) by a comparison. If that panics, the slice has all its items in
    /// some order.
    ///
    /// ```
    /// use locksley::prelude::*;
    ///
    /// let mut numbers = [1, 3, 2];
    /// numbers.par_sort_by(|a, b| b.cmp(a));
    /// assert_eq!(numbers, [3, 2, 1]);
    /// ```
    fn par_sort_by<F>(&mut self, compare: F)
    where
        Self::Item: Send,
        F: Fn(&Self::Item, &Self::Item) -> Ordering + Sync;

    /// [`par_sort`](ParSort::par_sort) by a key.
    ///
    /// ```
    /// use locksley::prelude::*;
    ///
    /// let mut words = ["ccc", "bb", "aa", "d"];
    /// words.par_sort_by_key(|word| word.len());
    /// assert_eq!(words, ["d", "bb", "aa", "ccc"]);
    /// ```
    fn par_sort_by_key<K, F>(&mut self, key: F)
    where
        Self::Item: Send,
        K: Ord,
        F: Fn(&Self::Item) -> K + Sync,
    {
        self.par_sort_by(|a, b| key(a).cmp(&key(b)));
    }

    /// Sorts in place, and may reorder equal items: parallel quicksort down to pieces, then `std`'s sort.
    ///
    /// Work O(n log n), expected depth O(n): the first partition is sequential.
    ///
    /// ```
    /// use locksley::prelude::*;
    ///
    /// let mut numbers = [3, 1, 2];
    /// numbers.par_sort_unstable();
    /// assert_eq!(numbers, [1, 2, 3]);
    /// ```
    fn par_sort_unstable(&mut self)
    where
        Self::Item: Ord + Send;

    /// [`par_sort_unstable`](ParSort::par_sort_unstable) by a comparison.
    ///
    /// ```
    /// use locksley::prelude::*;
    ///
    /// let mut numbers = [0.5_f64, 1.5, 1.0];
    /// numbers.par_sort_unstable_by(|a, b| b.total_cmp(a));
    /// assert_eq!(numbers, [1.5, 1.0, 0.5]);
    /// ```
    fn par_sort_unstable_by<F>(&mut self, compare: F)
    where
        Self::Item: Send,
        F: Fn(&Self::Item, &Self::Item) -> Ordering + Sync;

    /// [`par_sort_unstable`](ParSort::par_sort_unstable) by a key.
    ///
    /// ```
    /// use locksley::prelude::*;
    ///
    /// let mut numbers = [-3_i32, 1, 2];
    /// numbers.par_sort_unstable_by_key(|number| number.abs());
    /// assert_eq!(numbers, [1, 2, -3]);
    /// ```
    fn par_sort_unstable_by_key<K, F>(&mut self, key: F)
    where
        Self::Item: Send,
        K: Ord,
        F: Fn(&Self::Item) -> K + Sync,
    {
        self.par_sort_unstable_by(|a, b| key(a).cmp(&key(b)));
    }

    /// Replaces each item by the combination of all items up to and including it. `op` must be
    /// associative.
    ///
    /// Work at most (2 - 1/P) n applications of `op`, depth O(n/P).
    ///
    /// ```
    /// use locksley::prelude::*;
    ///
    /// let mut numbers = [1, 2, 3, 4];
    /// numbers.par_scan(|a, b| a + b);
    /// assert_eq!(numbers, [1, 3, 6, 10]);
    /// ```
    fn par_scan<F>(&mut self, op: F)
    where
        Self::Item: Clone + Send,
        F: Fn(&Self::Item, &Self::Item) -> Self::Item + Sync;

    /// Replaces each item by the combination of `init` and all items before it, and returns the
    /// combination of all. It is a [`par_scan`](ParSort::par_scan) whose results then move by one.
    ///
    /// ```
    /// use locksley::prelude::*;
    ///
    /// let mut numbers = [1, 2, 3, 4];
    /// assert_eq!(numbers.par_scan_exclusive(0, |a, b| a + b), 10);
    /// assert_eq!(numbers, [0, 1, 3, 6]);
    /// ```
    fn par_scan_exclusive<F>(&mut self, init: Self::Item, op: F) -> Self::Item
    where
        Self::Item: Clone + Send,
        F: Fn(&Self::Item, &Self::Item) -> Self::Item + Sync;
}

impl<T> ParSort for [T] {
    type Item = T;

    fn par_sort(&mut self)
    where
        T: Ord + Send,
    {
        sort::stable(self, &T::cmp);
    }

    fn par_sort_by<F>(&mut self, compare: F)
    where
        T: Send,
        F: Fn(&T, &T) -> Ordering + Sync,
    {
        sort::stable(self, &compare);
    }

    fn par_sort_unstable(&mut self)
    where
        T: Ord + Send,
    {
        sort::unstable(self, &T::cmp);
    }

    fn par_sort_unstable_by<F>(&mut self, compare: F)
    where
        T: Send,
        F: Fn(&T, &T) -> Ordering + Sync,
    {
        sort::unstable(self, &compare);
    }

    fn par_scan<F>(&mut self, op: F)
    where
        T: Clone + Send,
        F: Fn(&T, &T) -> T + Sync,
    {
        scan::inclusive(self, &op);
    }

    fn par_scan_exclusive<F>(&mut self, init: T, op: F) -> T
    where
        T: Clone + Send,
        F: Fn(&T, &T) -> T + Sync,
    {
        let Some(first) = self.first_mut() else {
            return init;
        };
        *first = op(&init, first);
        scan::inclusive(self, &op);
        self.rotate_right(1);
        mem::replace(&mut self[0], init)
    }
}

/// Compaction of vectors.
pub trait ParVec {
    /// What the vector consists of.
    type Item;

    /// Keeps the items for which `f` returns `true`, in order. Work and depth are those of a filtered
    /// [`collect`](crate::par::Par::collect); each piece of the loop has a vector of its own.
    ///
    /// ```
    /// use locksley::prelude::*;
    ///
    /// let mut numbers = vec![1, 2, 3, 4];
    /// numbers.par_retain(|n| n % 2 == 0);
    /// assert_eq!(numbers, [2, 4]);
    /// ```
    fn par_retain<F>(&mut self, f: F)
    where
        Self::Item: Send,
        F: Fn(&Self::Item) -> bool + Sync;
}

impl<T> ParVec for Vec<T> {
    type Item = T;

    fn par_retain<F>(&mut self, f: F)
    where
        T: Send,
        F: Fn(&T) -> bool + Sync,
    {
        *self = mem::take(self).into_par().filter(f).collect();
    }
}

/// Merges two sorted sequences. Equal items of the first one come first.
///
/// Work O(n), depth O(log^2 n) and one sequential merge of some thousand items.
///
/// ```
/// assert_eq!(locksley::par::merge(&[1, 3, 5], &[2, 3]), [1, 2, 3, 3, 5]);
/// ```
pub fn merge<T: Ord + Clone + Send + Sync>(left: &[T], right: &[T]) -> Vec<T> {
    let references: Vec<&T> = sort::merged(left, right);
    references.into_par().cloned().collect()
}
