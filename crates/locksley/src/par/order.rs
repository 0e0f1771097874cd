//! Algorithms on slices and vectors: sorting, prefix sums, merging, compaction.

use std::cmp::Ordering;
use std::mem;

use crate::par::convert::{IntoPar, ParSlice};
use crate::par::scan::{self, ScanKind};
use crate::par::{select, sort};

/// Sorts and prefix sums of slices.
///
/// ```
/// use locksley::prelude::*;
///
/// let mut numbers = vec![3, 1, 2];
/// numbers.par_sort_unstable();
/// numbers.par_scan(|a, b| a + b);
/// assert_eq!(numbers, [1, 3, 6]);
/// ```
pub trait ParSort {
    /// The type of the items.
    type Item;

    /// Sorts, and keeps the order of equal items: `std`'s sort on pieces, and a parallel merge.
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

    /// [`par_sort`](ParSort::par_sort) by a comparison. If the comparison panics, the slice has all
    /// its items in an unspecified order.
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

    /// Sorts in place, and may reorder equal items: parallel quicksort down to pieces, then `std`'s
    /// sort.
    ///
    /// Work O(n log n), expected depth O(n): the first partition is sequential. If all but k items
    /// are in order, and k is small, work O(n + k log k): the k items are sorted and merged with
    /// the others, through a buffer.
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

    /// Puts the item of rank `index` where sorting would put it: no item before it is larger, and
    /// none after it is smaller. Returns the items before it, the item, and the items after it.
    ///
    /// Expected work O(n), depth O(n/P): a pivot of about the rank is chosen from a sample, all
    /// workers partition around it, and the selection goes on in the part that has the rank.
    ///
    /// ```
    /// use locksley::prelude::*;
    ///
    /// let mut numbers = [5, 1, 4, 2, 3];
    /// let (_, median, _) = numbers.par_select_nth_unstable(2);
    /// assert_eq!(*median, 3);
    /// ```
    ///
    /// # Panics
    ///
    /// If `index` is not below the length.
    fn par_select_nth_unstable(&mut self, index: usize) -> Partitioned<'_, Self::Item>
    where
        Self::Item: Ord + Send + Sync,
    {
        self.par_select_nth_unstable_by(index, Ord::cmp)
    }

    /// [`par_select_nth_unstable`](ParSort::par_select_nth_unstable) by a comparison.
    ///
    /// ```
    /// use locksley::prelude::*;
    ///
    /// let mut numbers = [0.5, 2.5, 1.5];
    /// let (_, largest, _) = numbers.par_select_nth_unstable_by(0, |a, b| f64::total_cmp(b, a));
    /// assert_eq!(*largest, 2.5);
    /// ```
    ///
    /// # Panics
    ///
    /// If `index` is not below the length.
    fn par_select_nth_unstable_by<F>(
        &mut self,
        index: usize,
        compare: F,
    ) -> Partitioned<'_, Self::Item>
    where
        Self::Item: Send + Sync,
        F: Fn(&Self::Item, &Self::Item) -> Ordering + Sync;

    /// Moves the items for which `f` returns `true` to the front, and returns their number. The
    /// order on either side changes.
    ///
    /// Work O(n), depth O(n/P) calls of `f` and at most n/2 swaps.
    ///
    /// ```
    /// use locksley::prelude::*;
    ///
    /// let mut numbers = [1, 2, 3, 4, 5];
    /// let even = numbers.par_partition_unstable(|n| n % 2 == 0);
    /// assert!(even == 2 && numbers[..even].iter().all(|n| n % 2 == 0));
    /// ```
    fn par_partition_unstable<F>(&mut self, f: F) -> usize
    where
        Self::Item: Send,
        F: Fn(&Self::Item) -> bool + Sync;

    /// Replaces each item by the combination of all items up to and including it. `op` must be
    /// associative.
    ///
    /// Work at most 2n applications of `op`, n without helpers; depth O(n/P).
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
    /// combination of all. Work and depth are those of [`par_scan`](ParSort::par_scan).
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

/// The items before an item, the item, and the items after it.
type Partitioned<'s, T> = (&'s mut [T], &'s mut T, &'s mut [T]);

impl<T> ParSort for [T] {
    type Item = T;

    fn par_sort(&mut self)
    where
        T: Ord + Send,
    {
        if !sort::stable(self, &T::cmp) {
            self.sort();
        }
    }

    fn par_sort_by<F>(&mut self, compare: F)
    where
        T: Send,
        F: Fn(&T, &T) -> Ordering + Sync,
    {
        if !sort::stable(self, &compare) {
            self.sort_by(compare);
        }
    }

    fn par_sort_unstable(&mut self)
    where
        T: Ord + Send,
    {
        if !sort::unstable(self, &T::cmp) {
            self.sort_unstable();
        }
    }

    fn par_sort_unstable_by<F>(&mut self, compare: F)
    where
        T: Send,
        F: Fn(&T, &T) -> Ordering + Sync,
    {
        if !sort::unstable(self, &compare) {
            self.sort_unstable_by(compare);
        }
    }

    fn par_select_nth_unstable_by<F>(&mut self, index: usize, compare: F) -> Partitioned<'_, T>
    where
        T: Send + Sync,
        F: Fn(&T, &T) -> Ordering + Sync,
    {
        select::select(self, index, &compare);
        let (front, rest) = self.split_at_mut(index);
        let (item, back) = rest
            .split_first_mut()
            .expect("the index is below the length");
        (front, item, back)
    }

    fn par_partition_unstable<F>(&mut self, f: F) -> usize
    where
        T: Send,
        F: Fn(&T) -> bool + Sync,
    {
        select::partition(self, &f)
    }

    fn par_scan<F>(&mut self, op: F)
    where
        T: Clone + Send,
        F: Fn(&T, &T) -> T + Sync,
    {
        scan::scan(ScanKind::Inclusive, None, self, &op);
    }

    fn par_scan_exclusive<F>(&mut self, init: T, op: F) -> T
    where
        T: Clone + Send,
        F: Fn(&T, &T) -> T + Sync,
    {
        let all = scan::scan(ScanKind::Exclusive, Some(init), self, &op);
        all.expect("there is something in front of the first item")
    }
}

/// Compaction of vectors.
///
/// ```
/// use locksley::prelude::*;
///
/// let mut numbers = vec![1, 1, 2, 3];
/// numbers.par_dedup();
/// numbers.par_retain(|n| n % 2 == 1);
/// assert_eq!(numbers, [1, 3]);
/// ```
pub trait ParVec {
    /// The type of the items.
    type Item;

    /// Keeps the items for which `f` returns `true`, in order. Work and depth are those of a
    /// filtered [`collect`](crate::par::Par::collect); each piece of the loop has a vector of its
    /// own.
    ///
    /// ```
    /// use locksley::prelude::*;
    ///
    /// let mut numbers = vec![1, 2, 3, 4];
    /// numbers.par_retain(|n| n % 2 == 0);
    /// assert_eq!(numbers, [2, 4]);
    /// ```
    ///
    /// If `f` panics, the vector is empty, and its items are dropped.
    fn par_retain<F>(&mut self, f: F)
    where
        Self::Item: Send,
        F: Fn(&Self::Item) -> bool + Sync;

    /// Removes all but the first of each run of equal neighbours.
    ///
    /// Work O(n), depth O(n/P): all neighbours are compared, then the items are compacted.
    ///
    /// ```
    /// use locksley::prelude::*;
    ///
    /// let mut numbers = vec![1, 1, 2, 1, 1];
    /// numbers.par_dedup();
    /// assert_eq!(numbers, [1, 2, 1]);
    /// ```
    fn par_dedup(&mut self)
    where
        Self::Item: PartialEq + Send + Sync,
    {
        self.par_dedup_by(|a, b| a == b);
    }

    /// Removes all but the first of each run of neighbours that have the same key.
    ///
    /// ```
    /// use locksley::prelude::*;
    ///
    /// let mut numbers = vec![10, 11, 20, 29, 13];
    /// numbers.par_dedup_by_key(|n| *n / 10);
    /// assert_eq!(numbers, [10, 20, 13]);
    /// ```
    fn par_dedup_by_key<K, F>(&mut self, key: F)
    where
        Self::Item: Send + Sync,
        K: PartialEq,
        F: Fn(&Self::Item) -> K + Sync,
    {
        self.par_dedup_by(|a, b| key(a) == key(b));
    }

    /// Removes all but the first of each run of neighbours for which `same` returns `true`. `same`
    /// is called with an item and the one before it, removed or not, so it should be an equivalence
    /// relation.
    ///
    /// If `same` panics, the vector is unchanged.
    ///
    /// ```
    /// use locksley::prelude::*;
    ///
    /// let mut words = vec!["a", "A", "b"];
    /// words.par_dedup_by(|a, b| a.eq_ignore_ascii_case(b));
    /// assert_eq!(words, ["a", "b"]);
    /// ```
    fn par_dedup_by<F>(&mut self, same: F)
    where
        Self::Item: Send + Sync,
        F: Fn(&Self::Item, &Self::Item) -> bool + Sync;
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

    fn par_dedup_by<F>(&mut self, same: F)
    where
        T: Send + Sync,
        F: Fn(&T, &T) -> bool + Sync,
    {
        if self.is_empty() {
            return;
        }
        let new = self.par_windows(2).map(|pair| !same(&pair[1], &pair[0]));
        let new: Vec<bool> = new.collect();
        // The first item is always kept.
        let items = mem::take(self).into_par().enumerate();
        let kept = items.filter_map(|(at, item)| (at == 0 || new[at - 1]).then_some(item));
        *self = kept.collect();
    }
}

/// Merges two sorted sequences. Of equal items, those of `left` come first.
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
