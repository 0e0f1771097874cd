//! Ends that use every item: `for_each`, folds, sums, extremes, counts.

use std::cmp::Ordering;
use std::iter::{Product, Sum};
use std::marker::PhantomData;

use crate::par::ends::{Count, Fold, ForEach, Products, Reduce, Sums, larger, smaller};
use crate::par::iter::Par;
use crate::par::pipe::Pipe;
use crate::par::split::Split;

/// Ends that use every item.
impl<S, P> Par<S, P>
where
    S: Split + Send,
    P: Pipe<S::Item>,
{
    /// Calls `f` with every item, in any order.
    ///
    /// ```
    /// use locksley::prelude::*;
    ///
    /// let mut numbers = [1, 2, 3];
    /// numbers.par_mut().for_each(|number| *number += 1);
    /// assert_eq!(numbers, [2, 3, 4]);
    /// ```
    #[inline]
    pub fn for_each<F>(self, f: F)
    where
        F: Fn(P::Out) + Sync,
    {
        self.end(&ForEach(f));
    }

    /// Folds the items of each piece with `step`, starting with `init`, and combines the results of
    /// neighbouring pieces with `join`, in order.
    ///
    /// ```
    /// use locksley::prelude::*;
    ///
    /// let text = (0..5_u32).into_par().fold(
    ///     String::new,
    ///     |text, n| text + &n.to_string(),
    ///     |left, right| left + &right,
    /// );
    /// assert_eq!(text, "01234");
    /// ```
    pub fn fold<A, I, F, J>(self, init: I, step: F, join: J) -> A
    where
        A: Send,
        I: Fn() -> A + Sync,
        F: Fn(A, P::Out) -> A + Sync,
        J: Fn(A, A) -> A + Sync,
    {
        let acc = self.end(&Fold { init, step, join });
        acc.expect("an accumulator is missing only behind a panic")
    }

    /// Combines all items with `f`, which must be associative but need not be commutative.
    /// `identity` returns its neutral element.
    ///
    /// ```
    /// use locksley::prelude::*;
    ///
    /// let xor = (0..8_u32).into_par().reduce(|| 0, |a, b| a ^ b);
    /// assert_eq!(xor, 0);
    /// ```
    pub fn reduce<I, F>(self, identity: I, f: F) -> P::Out
    where
        P::Out: Send,
        I: Fn() -> P::Out + Sync,
        F: Fn(P::Out, P::Out) -> P::Out + Sync,
    {
        self.fold(identity, &f, &f)
    }

    /// [`reduce`](Par::reduce) without a neutral element. Returns `None` if there are no items.
    ///
    /// ```
    /// use locksley::prelude::*;
    ///
    /// assert_eq!([3, 4].par().copied().reduce_with(|a, b| a * b), Some(12));
    /// assert_eq!([0; 0].par().copied().reduce_with(|a, b| a * b), None);
    /// ```
    pub fn reduce_with<F>(self, f: F) -> Option<P::Out>
    where
        P::Out: Send,
        F: Fn(P::Out, P::Out) -> P::Out + Sync,
    {
        self.end(&Reduce(f))
    }

    /// Adds up the items. Sums of floating-point numbers depend on how the loop was split, unless
    /// it is [`deterministic`](Par::deterministic).
    ///
    /// ```
    /// use locksley::prelude::*;
    ///
    /// assert_eq!([1, 2, 3].par().sum::<i32>(), 6);
    /// ```
    #[inline]
    pub fn sum<A>(self) -> A
    where
        A: Sum<P::Out> + Sum<A> + Send,
    {
        let sum = self.end(&Sums(PhantomData));
        sum.unwrap_or_else(|| std::iter::empty::<P::Out>().sum())
    }

    /// Multiplies the items.
    ///
    /// ```
    /// use locksley::prelude::*;
    ///
    /// assert_eq!((1..=5_u32).into_par().product::<u32>(), 120);
    /// ```
    pub fn product<A>(self) -> A
    where
        A: Product<P::Out> + Product<A> + Send,
    {
        let product = self.end(&Products(PhantomData));
        product.unwrap_or_else(|| std::iter::empty::<P::Out>().product())
    }

    /// Counts the items.
    ///
    /// ```
    /// use locksley::prelude::*;
    ///
    /// assert_eq!((0..100_u8).into_par().filter(|n| n % 3 == 0).count(), 34);
    /// ```
    pub fn count(self) -> usize {
        self.end(&Count)
    }

    /// Returns the largest item; of several, the last.
    ///
    /// ```
    /// use locksley::prelude::*;
    ///
    /// assert_eq!([2, 9, 4].par().max(), Some(&9));
    /// ```
    pub fn max(self) -> Option<P::Out>
    where
        P::Out: Ord + Send,
    {
        self.max_by(Ord::cmp)
    }

    /// Returns the largest item by a comparison; of several, the last.
    ///
    /// ```
    /// use locksley::prelude::*;
    ///
    /// assert_eq!([0.5_f64, 2.5].par().max_by(|a, b| a.total_cmp(b)), Some(&2.5));
    /// ```
    pub fn max_by<F>(self, compare: F) -> Option<P::Out>
    where
        P::Out: Send,
        F: Fn(&P::Out, &P::Out) -> Ordering + Sync,
    {
        self.reduce_with(|a, b| larger(a, b, &compare))
    }

    /// Returns the item with the largest key; of several, the last.
    ///
    /// ```
    /// use locksley::prelude::*;
    ///
    /// assert_eq!([-3_i32, 1, 2].par().max_by_key(|n| n.abs()), Some(&-3));
    /// ```
    pub fn max_by_key<K, F>(self, key: F) -> Option<P::Out>
    where
        P::Out: Send,
        K: Ord + Send,
        F: Fn(&P::Out) -> K + Sync,
    {
        let keyed = self.map(|item| (key(&item), item));
        let best = keyed.max_by(|(a, _), (b, _)| a.cmp(b));
        best.map(|(_, item)| item)
    }

    /// Returns the smallest item; of several, the first.
    ///
    /// ```
    /// use locksley::prelude::*;
    ///
    /// assert_eq!([2, 9, 4].par().min(), Some(&2));
    /// ```
    pub fn min(self) -> Option<P::Out>
    where
        P::Out: Ord + Send,
    {
        self.min_by(Ord::cmp)
    }

    /// Returns the smallest item by a comparison; of several, the first.
    ///
    /// ```
    /// use locksley::prelude::*;
    ///
    /// assert_eq!([0.5_f64, 2.5].par().min_by(|a, b| a.total_cmp(b)), Some(&0.5));
    /// ```
    pub fn min_by<F>(self, compare: F) -> Option<P::Out>
    where
        P::Out: Send,
        F: Fn(&P::Out, &P::Out) -> Ordering + Sync,
    {
        self.reduce_with(|a, b| smaller(a, b, &compare))
    }

    /// Returns the item with the smallest key; of several, the first.
    ///
    /// ```
    /// use locksley::prelude::*;
    ///
    /// assert_eq!([-3_i32, 1, 2].par().min_by_key(|n| n.abs()), Some(&1));
    /// ```
    pub fn min_by_key<K, F>(self, key: F) -> Option<P::Out>
    where
        P::Out: Send,
        K: Ord + Send,
        F: Fn(&P::Out) -> K + Sync,
    {
        let keyed = self.map(|item| (key(&item), item));
        let best = keyed.min_by(|(a, _), (b, _)| a.cmp(b));
        best.map(|(_, item)| item)
    }
}
