//! Ends that summarise: histograms, the largest items.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::par::iter::Par;
use crate::par::pipe::Pipe;
use crate::par::split::Split;

/// Ends that summarise.
impl<S, P> Par<S, P>
where
    S: Split + Send,
    P: Pipe<S::Item>,
{
    /// Counts the items of each bin, where `bin` returns the number of an item's bin, from 0 to
    /// `bins - 1`. Work O(n), and O(bins) for each piece.
    ///
    /// ```
    /// use locksley::prelude::*;
    ///
    /// let counts = [3_u32, 1, 3].par().histogram(4, |&n| n as usize);
    /// assert_eq!(counts, [0, 1, 0, 2]);
    /// ```
    ///
    /// # Panics
    ///
    /// If `bin` returns a number that is not below `bins`.
    pub fn histogram<F>(self, bins: usize, bin: F) -> Vec<usize>
    where
        F: Fn(P::Out) -> usize + Sync,
    {
        self.fold(
            || vec![0; bins],
            |mut counts, item| {
                counts[bin(item)] += 1;
                counts
            },
            |mut left, right| {
                for (left, right) in left.iter_mut().zip(right) {
                    *left += right;
                }
                left
            },
        )
    }

    /// Returns the `k` largest items, largest first. Work O(n log k), and O(k log k) for each
    /// piece.
    ///
    /// ```
    /// use locksley::prelude::*;
    ///
    /// assert_eq!([3, 9, 1, 7].par().copied().top_k(2), [9, 7]);
    /// ```
    pub fn top_k(self, k: usize) -> Vec<P::Out>
    where
        P::Out: Ord + Send,
    {
        // The heap's top is the smallest of the items that it keeps.
        let keep = |mut heap: BinaryHeap<Reverse<P::Out>>, item: P::Out| {
            if heap.len() < k {
                heap.push(Reverse(item));
            } else if let Some(mut least) = heap.peek_mut().filter(|least| item > least.0) {
                *least = Reverse(item);
            }
            heap
        };
        let heap = self.fold(BinaryHeap::new, keep, |left, right| {
            right
                .into_iter()
                .fold(left, |heap, Reverse(item)| keep(heap, item))
        });
        let sorted = heap.into_sorted_vec();
        sorted.into_iter().map(|Reverse(item)| item).collect()
    }
}
