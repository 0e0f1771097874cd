//! Loops that end at an item that a function chooses, with the results of the sequential loop.

use crate::par::collect::{Append, concatenate};
use crate::par::drive::{End, drive};
use crate::par::ends::{Count, Fold};
use crate::par::iter::Par;
use crate::par::pipe::Pipe;
use crate::par::split::Split;
use crate::sync::{AtomicUsize, Ordering};

impl<S, P> Par<S, P>
where
    S: Split + Send,
    P: Pipe<S::Item>,
{
    /// Replaces each item by `f` of it until `f` returns `None`: the items after the first `None`
    /// are not part of the result. Some of them may be run in vain.
    ///
    /// ```
    /// use locksley::prelude::*;
    ///
    /// let words = ["1", "2", "x", "3"];
    /// let numbers: Vec<u32> = words.par().map_while(|word| word.parse().ok()).collect();
    /// assert_eq!(numbers, [1, 2]);
    /// ```
    pub fn map_while<R, F>(self, f: F) -> MapWhile<S, P, F>
    where
        F: Fn(P::Out) -> Option<R> + Sync,
    {
        MapWhile { par: self, f }
    }

    /// Keeps the items before the first one for which `f` returns `false`. Some of those after it
    /// may be run in vain.
    ///
    /// ```
    /// use locksley::prelude::*;
    ///
    /// assert_eq!((0..100_u32).into_par().take_while(|n| n * n < 50).count(), 8);
    /// ```
    pub fn take_while<F>(self, f: F) -> MapWhile<S, P, impl Fn(P::Out) -> Option<P::Out> + Sync>
    where
        F: Fn(&P::Out) -> bool + Sync,
    {
        self.map_while(move |item| f(&item).then_some(item))
    }
}

/// A loop that ends early: see [`Par::map_while`].
#[derive(Clone, Debug)]
#[must_use = "a loop does nothing until one of its ends is called"]
pub struct MapWhile<S, P, F> {
    par: Par<S, P>,
    f: F,
}

impl<S, P, F, R> MapWhile<S, P, F>
where
    S: Split + Send,
    P: Pipe<S::Item>,
    F: Fn(P::Out) -> Option<R> + Sync,
{
    fn end<E: End<R>>(self, end: E) -> E::Acc {
        let end = Until {
            end,
            f: self.f,
            stop: AtomicUsize::new(usize::MAX),
        };
        drive(self.par.source, &self.par.pipe, &end, self.par.mode).0
    }

    /// Collects the items in order.
    ///
    /// ```
    /// use locksley::prelude::*;
    ///
    /// let small: Vec<u32> = (0..9_u32).into_par().take_while(|&n| n < 2).collect();
    /// assert_eq!(small, [0, 1]);
    /// ```
    pub fn collect<C>(self) -> C
    where
        R: Send,
        C: From<Vec<R>>,
    {
        C::from(concatenate(self.end(Append)))
    }

    /// Counts the items.
    ///
    /// ```
    /// use locksley::prelude::*;
    ///
    /// assert_eq!([1, 1, 0, 1].par().take_while(|n| **n == 1).count(), 2);
    /// ```
    pub fn count(self) -> usize {
        self.end(Count)
    }

    /// Folds the items, as [`Par::fold`] does.
    ///
    /// ```
    /// use locksley::prelude::*;
    ///
    /// let before = (1..9_u32).into_par().take_while(|&n| n < 5);
    /// assert_eq!(before.fold(|| 0, |sum, n| sum + n, |a, b| a + b), 10);
    /// ```
    pub fn fold<A, I, G, J>(self, init: I, step: G, join: J) -> A
    where
        A: Send,
        I: Fn() -> A + Sync,
        G: Fn(A, R) -> A + Sync,
        J: Fn(A, A) -> A + Sync,
    {
        let acc = self.end(Fold { init, step, join });
        acc.expect("an accumulator is missing only after a panic")
    }
}

/// Feeds an end with the items before the first `None`.
struct Until<E, F> {
    end: E,
    f: F,
    /// Start of the first block, among those run so far, that has a `None`.
    stop: AtomicUsize,
}

impl<T, R, E, F> End<T> for Until<E, F>
where
    E: End<R>,
    F: Fn(T) -> Option<R> + Sync,
{
    /// The accumulator of a piece, and `true` if the piece has come to a `None`.
    type Acc = (E::Acc, bool);

    fn start(&self) -> Self::Acc {
        (self.end.start(), false)
    }

    #[inline]
    fn feed(&self, acc: &mut Self::Acc, from: usize, to: usize, items: impl Iterator<Item = T>) {
        let (acc, stopped) = acc;
        let before = items.map_while(|item| {
            let item = (self.f)(item);
            *stopped |= item.is_none();
            item
        });
        self.end.feed(acc, from, to, before);
        if *stopped {
            self.stop.fetch_min(from, Ordering::Relaxed);
        }
    }

    fn join(&self, left: Self::Acc, right: Self::Acc) -> Self::Acc {
        if left.1 {
            return left;
        }
        (self.end.join(left.0, right.0), right.1)
    }

    fn is_over(&self, next: usize) -> bool {
        self.stop.load(Ordering::Relaxed) < next
    }
}
