//! `Par`: a source, the stages behind it, and the ends.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::iter::{Product, Sum};
use std::marker::PhantomData;
use std::ops::ControlFlow;

use crate::par::collect::{self, Partition, Unzip};
use crate::par::compose::{Chain, Enumerate, Rev, StepBy, Zip};
use crate::par::convert::IntoPar;
use crate::par::drive::{End, Mode, drive};
use crate::par::ends::{
    Count, FindAny, FindFirst, Fold, ForEach, Products, Reduce, Sums, TryForEach, larger, smaller,
};
use crate::par::pipe::{
    Both, Cloned, Copied, Filter, FilterMap, FlatMap, Inspect, Map, MapInit, OneToOne, Pipe, Same,
};
use crate::par::split::{Split, SplitBack};

/// A parallel loop: a source and what happens to its items.
///
/// Made by [`par`](crate::par::AsPar::par), [`par_mut`](crate::par::ParSlice::par_mut) or
/// [`into_par`](IntoPar::into_par). Nothing runs before one of the ends is called, such as
/// [`for_each`](Par::for_each) or [`sum`](Par::sum). See [the module](crate::par) for how it runs.
///
/// ```
/// use locksley::prelude::*;
///
/// let squares: Vec<u64> = (0..1000_u64).into_par().map(|n| n * n).collect();
/// assert_eq!(squares[31], 961);
/// ```
#[derive(Clone, Debug)]
#[must_use = "a loop does nothing until one of its ends is called"]
pub struct Par<S, P = Same> {
    source: S,
    pipe: P,
    mode: Mode,
}

impl<S> Par<S> {
    pub(super) fn new(source: S) -> Par<S> {
        Par {
            source,
            pipe: Same,
            mode: Mode::OnRequest,
        }
    }
}

impl<S: Split, P> IntoPar for Par<S, P> {
    type Source = S;
    type Pipe = P;

    fn into_par(self) -> Par<S, P> {
        self
    }
}

/// Adaptors.
impl<S, P> Par<S, P>
where
    S: Split,
    P: Pipe<S::Item>,
{
    /// Replaces the stages by more of them.
    fn through<Q>(self, more: impl FnOnce(P) -> Q) -> Par<S, Q> {
        Par {
            source: self.source,
            pipe: more(self.pipe),
            mode: self.mode,
        }
    }

    /// Turns each item into another.
    ///
    /// ```
    /// use locksley::prelude::*;
    ///
    /// let lengths: Vec<usize> = ["a", "bc"].par().map(|word| word.len()).collect();
    /// assert_eq!(lengths, [1, 2]);
    /// ```
    pub fn map<R, F>(self, f: F) -> Par<S, Map<P, F>>
    where
        F: Fn(P::Out) -> R + Sync,
    {
        self.through(|pipe| Map::new(pipe, f))
    }

    /// [`map`](Par::map) with a state that every piece of the loop makes for itself: a buffer, a
    /// random number generator. There is at least one piece, and one more for each split.
    ///
    /// ```
    /// use locksley::prelude::*;
    ///
    /// let digits: Vec<usize> = (8..12_u32)
    ///     .into_par()
    ///     .map_init(String::new, |text, number| {
    ///         text.clear();
    ///         text.push_str(&number.to_string());
    ///         text.len()
    ///     })
    ///     .collect();
    /// assert_eq!(digits, [1, 1, 2, 2]);
    /// ```
    pub fn map_init<T, R, I, F>(self, init: I, f: F) -> Par<S, MapInit<P, I, F>>
    where
        I: Fn() -> T + Sync,
        F: Fn(&mut T, P::Out) -> R + Sync,
    {
        self.through(|pipe| MapInit::new(pipe, init, f))
    }

    /// Keeps the items for which `f` returns `true`.
    ///
    /// ```
    /// use locksley::prelude::*;
    ///
    /// let even = (0..10_u32).into_par().filter(|n| n % 2 == 0).count();
    /// assert_eq!(even, 5);
    /// ```
    pub fn filter<F>(self, f: F) -> Par<S, Filter<P, F>>
    where
        F: Fn(&P::Out) -> bool + Sync,
    {
        self.through(|pipe| Filter::new(pipe, f))
    }

    /// Turns each item into another, or drops it.
    ///
    /// ```
    /// use locksley::prelude::*;
    ///
    /// let numbers: Vec<u32> = ["1", "x", "3"].par().filter_map(|s| s.parse().ok()).collect();
    /// assert_eq!(numbers, [1, 3]);
    /// ```
    pub fn filter_map<R, F>(self, f: F) -> Par<S, FilterMap<P, F>>
    where
        F: Fn(P::Out) -> Option<R> + Sync,
    {
        self.through(|pipe| FilterMap::new(pipe, f))
    }

    /// Turns each item into a sequential iterator, whose items come out one after the other.
    ///
    /// ```
    /// use locksley::prelude::*;
    ///
    /// let all: Vec<u32> = (0..4_u32).into_par().flat_map(|n| 0..n).collect();
    /// assert_eq!(all, [0, 0, 1, 0, 1, 2]);
    /// ```
    pub fn flat_map<R, F>(self, f: F) -> Par<S, FlatMap<P, F>>
    where
        R: IntoIterator,
        F: Fn(P::Out) -> R + Sync,
    {
        self.through(|pipe| FlatMap::new(pipe, f))
    }

    /// Shows each item to `f` on its way.
    ///
    /// ```
    /// use locksley::prelude::*;
    /// use std::sync::atomic::{AtomicU32, Ordering};
    ///
    /// let seen = AtomicU32::new(0);
    /// let sum: u32 = (0..10_u32)
    ///     .into_par()
    ///     .inspect(|_| {
    ///         seen.fetch_add(1, Ordering::Relaxed);
    ///     })
    ///     .sum();
    /// assert_eq!((sum, seen.into_inner()), (45, 10));
    /// ```
    pub fn inspect<F>(self, f: F) -> Par<S, Inspect<P, F>>
    where
        F: Fn(&P::Out) + Sync,
    {
        self.through(|pipe| Inspect::new(pipe, f))
    }

    /// Turns references into copies of what they refer to.
    ///
    /// ```
    /// use locksley::prelude::*;
    ///
    /// assert_eq!([3, 1, 2].par().copied().max(), Some(3));
    /// ```
    pub fn copied<'t, T>(self) -> Par<S, Copied<P>>
    where
        P: Pipe<S::Item, Out = &'t T>,
        T: Copy + 't,
    {
        self.through(Copied::new)
    }

    /// Turns references into clones of what they refer to.
    ///
    /// ```
    /// use locksley::prelude::*;
    ///
    /// let words = ["a".to_owned(), "b".to_owned()];
    /// let copy: Vec<String> = words.par().cloned().collect();
    /// assert_eq!(copy, words);
    /// ```
    pub fn cloned<'t, T>(self) -> Par<S, Cloned<P>>
    where
        P: Pipe<S::Item, Out = &'t T>,
        T: Clone + 't,
    {
        self.through(Cloned::new)
    }

    /// Numbers the items, from 0 on.
    ///
    /// ```
    /// use locksley::prelude::*;
    ///
    /// let mut squares = [0; 5];
    /// squares.par_mut().enumerate().for_each(|(n, square)| *square = n * n);
    /// assert_eq!(squares, [0, 1, 4, 9, 16]);
    /// ```
    pub fn enumerate(self) -> Par<Enumerate<S>, Both<Same, P>>
    where
        P: OneToOne<S::Item>,
    {
        Par {
            source: Enumerate::new(self.source),
            pipe: Both::new(Same, self.pipe),
            mode: self.mode,
        }
    }

    /// Pairs the items with those of another loop, as many as both have.
    ///
    /// ```
    /// use locksley::prelude::*;
    ///
    /// let (a, b) = ([1, 2, 3], [10, 20, 30]);
    /// let product: i32 = a.par().zip(b.par()).map(|(a, b)| a * b).sum();
    /// assert_eq!(product, 140);
    /// ```
    pub fn zip<O>(self, other: O) -> Par<Zip<S, O::Source>, Both<P, O::Pipe>>
    where
        P: OneToOne<S::Item>,
        O: IntoPar,
        O::Source: Split,
        O::Pipe: OneToOne<<O::Source as Split>::Item>,
    {
        let other = other.into_par();
        Par {
            source: Zip::new(self.source, other.source),
            pipe: Both::new(self.pipe, other.pipe),
            mode: self.mode,
        }
    }
}

impl<S: Split, P> Par<S, P> {
    /// Fixes where the loop is split by its length alone, so that its result has the same bits on any
    /// number of workers: for sums of floating-point numbers, and other operations that are not
    /// quite associative. It costs more than splitting on request if the items are cheap and few.
    ///
    /// ```
    /// use locksley::prelude::*;
    ///
    /// let numbers: Vec<f32> = (1..5000_u16).map(|n| 1.0 / f32::from(n)).collect();
    /// let sum = || numbers.par().deterministic().sum::<f32>();
    /// let of_three = locksley::Pool::builder().workers(3).build().unwrap().install(sum);
    /// let of_one = locksley::Pool::builder().workers(1).build().unwrap().install(sum);
    /// assert_eq!(of_three.to_bits(), of_one.to_bits());
    /// ```
    pub fn deterministic(self) -> Par<S, P> {
        Par {
            mode: Mode::Deterministic,
            ..self
        }
    }
}

impl<S: Split> Par<S> {
    /// Reverses the order.
    ///
    /// ```
    /// use locksley::prelude::*;
    ///
    /// let down: Vec<u32> = (0..4_u32).into_par().rev().collect();
    /// assert_eq!(down, [3, 2, 1, 0]);
    /// ```
    pub fn rev(self) -> Par<Rev<S>>
    where
        S: SplitBack,
    {
        Par::new(Rev::new(self.source))
    }

    /// Keeps the first of every `step` items.
    ///
    /// ```
    /// use locksley::prelude::*;
    ///
    /// let third: Vec<u32> = (0..8_u32).into_par().step_by(3).collect();
    /// assert_eq!(third, [0, 3, 6]);
    /// ```
    ///
    /// # Panics
    ///
    /// If `step` is 0.
    pub fn step_by(self, step: usize) -> Par<StepBy<S>> {
        Par::new(StepBy::new(self.source, step))
    }

    /// Appends the items of another source.
    ///
    /// ```
    /// use locksley::prelude::*;
    ///
    /// let all: Vec<u32> = (0..3_u32).into_par().chain(7..9_u32).collect();
    /// assert_eq!(all, [0, 1, 2, 7, 8]);
    /// ```
    pub fn chain<O>(self, other: O) -> Par<Chain<S, O::Source>>
    where
        O: IntoPar<Pipe = Same>,
        O::Source: Split<Item = S::Item>,
    {
        Par::new(Chain::new(self.source, other.into_par().source))
    }
}

/// Ends.
impl<S, P> Par<S, P>
where
    S: Split + Send,
    P: Pipe<S::Item>,
{
    #[inline]
    fn end<E: End<P::Out>>(self, end: &E) -> E::Acc {
        drive(self.source, &self.pipe, end, self.mode)
    }

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

    /// Calls `f` with the items until it fails, and returns one of the errors. Items that come behind
    /// a failure may or may not have been run.
    ///
    /// ```
    /// use locksley::prelude::*;
    ///
    /// let checked = ["1", "x"].par().try_for_each(|s| s.parse::<u32>().map(drop));
    /// assert!(checked.is_err());
    /// ```
    pub fn try_for_each<E, F>(self, f: F) -> Result<(), E>
    where
        E: Send,
        F: Fn(P::Out) -> Result<(), E> + Sync,
    {
        let broken = self.end(&TryForEach::new(|item| match f(item) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        }));
        broken.map_or(Ok(()), Err)
    }

    /// Calls `f` with the items until the token is cancelled. Returns `true` if it was called with
    /// all of them.
    ///
    /// ```
    /// use locksley::CancelToken;
    /// use locksley::prelude::*;
    ///
    /// let token = CancelToken::new();
    /// let all = (0..1_000_000_u32).into_par().for_each_until(&token, |n| {
    ///     if n == 77 {
    ///         token.cancel();
    ///     }
    /// });
    /// assert!(!all);
    /// ```
    pub fn for_each_until<F>(self, token: &crate::CancelToken, f: F) -> bool
    where
        F: Fn(P::Out) + Sync,
    {
        let cancelled = self.end(&TryForEach::new(|item| {
            if token.is_cancelled() {
                return ControlFlow::Break(());
            }
            f(item);
            ControlFlow::Continue(())
        }));
        cancelled.is_none()
    }

    /// Folds the items of each piece with `step`, starting with `init`, and puts the results of
    /// neighbours together with `join`, in order.
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

    /// Puts all items together with `f`, which must be associative but need not be commutative;
    /// `identity` is its neutral element.
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

    /// [`reduce`](Par::reduce) without a neutral element: there is no result if there are no items.
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

    /// Adds up the items. Sums of floating-point numbers depend on how the loop was split.
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

    /// Returns `true` if `f` does for any item.
    ///
    /// ```
    /// use locksley::prelude::*;
    ///
    /// assert!((0..100_u32).into_par().any(|n| n == 70));
    /// ```
    pub fn any<F>(self, f: F) -> bool
    where
        F: Fn(P::Out) -> bool + Sync,
    {
        let found = self.end(&FindAny::new(|item| f(item).then_some(())));
        found.is_some()
    }

    /// Returns `true` if `f` does for every item.
    ///
    /// ```
    /// use locksley::prelude::*;
    ///
    /// assert!((0..100_u32).into_par().all(|n| n < 100));
    /// ```
    pub fn all<F>(self, f: F) -> bool
    where
        F: Fn(P::Out) -> bool + Sync,
    {
        !self.any(|item| !f(item))
    }

    /// Returns any item for which `f` returns `true`.
    ///
    /// ```
    /// use locksley::prelude::*;
    ///
    /// let found = (0..100_u32).into_par().find_any(|n| n % 50 == 7);
    /// assert!(found == Some(7) || found == Some(57));
    /// ```
    pub fn find_any<F>(self, f: F) -> Option<P::Out>
    where
        P::Out: Send,
        F: Fn(&P::Out) -> bool + Sync,
    {
        self.end(&FindAny::new(|item| f(&item).then_some(item)))
    }

    /// Returns the first item for which `f` returns `true`.
    ///
    /// The loop runs in rounds, each as long as all before it, so in a pool of any size the items
    /// beyond the first hit that are looked at in vain are no more than those before it, or a 256th
    /// of all, or a thousand.
    ///
    /// ```
    /// use locksley::prelude::*;
    ///
    /// let found = (0..100_u32).into_par().find_first(|n| n % 50 == 7);
    /// assert_eq!(found, Some(7));
    /// ```
    pub fn find_first<F>(self, f: F) -> Option<P::Out>
    where
        P::Out: Send,
        F: Fn(&P::Out) -> bool + Sync,
    {
        self.find_map_first(|item| f(&item).then_some(item))
    }

    /// Returns the first result of `f` that is not `None`. See [`find_first`](Par::find_first).
    ///
    /// ```
    /// use locksley::prelude::*;
    ///
    /// let words = ["x", "12", "13"];
    /// assert_eq!(words.par().find_map_first(|s| s.parse::<u32>().ok()), Some(12));
    /// ```
    pub fn find_map_first<R, F>(self, f: F) -> Option<R>
    where
        R: Send,
        F: Fn(P::Out) -> Option<R> + Sync,
    {
        let mut rest = self.source;
        let mut left = rest.len();
        let (mut round, mut done) = ((left / 256).max(1024), 0);
        loop {
            let len = left.min(round);
            let (now, later) = rest.split_at(len);
            let found = drive(now, &self.pipe, &FindFirst::new(&f), Mode::OnRequest);
            left -= len;
            if found.is_some() || left == 0 {
                return found;
            }
            done += len;
            (rest, round) = (later, done);
        }
    }

    /// Returns the number of the first item for which `f` returns `true`.
    ///
    /// ```
    /// use locksley::prelude::*;
    ///
    /// assert_eq!([5, 7, 7].par().position(|&n| n == 7), Some(1));
    /// ```
    pub fn position<F>(self, f: F) -> Option<usize>
    where
        P: OneToOne<S::Item>,
        F: Fn(P::Out) -> bool + Sync,
    {
        self.enumerate()
            .find_map_first(|(number, item)| f(item).then_some(number))
    }

    /// Collects the items in order. If each item of the source gives one, they are written where
    /// they belong, into one allocation; otherwise each piece has a vector of its own, and they are
    /// put together in the end.
    ///
    /// ```
    /// use locksley::prelude::*;
    ///
    /// let halves: Vec<f64> = (0..3_i32).into_par().map(|n| f64::from(n) / 2.0).collect();
    /// assert_eq!(halves, [0.0, 0.5, 1.0]);
    /// ```
    pub fn collect<C>(self) -> C
    where
        P::Out: Send,
        C: From<Vec<P::Out>>,
    {
        C::from(collect::into_vec(self.source, &self.pipe))
    }

    /// Collects the items for which `f` returns `true`, and the others, each in order.
    ///
    /// ```
    /// use locksley::prelude::*;
    ///
    /// let (small, large) = (0..6_u32).into_par().partition(|&n| n < 2);
    /// assert_eq!(small, [0, 1]);
    /// assert_eq!(large, [2, 3, 4, 5]);
    /// ```
    pub fn partition<F>(self, f: F) -> (Vec<P::Out>, Vec<P::Out>)
    where
        P::Out: Send,
        F: Fn(&P::Out) -> bool + Sync,
    {
        let (yes, no) = self.end(&Partition(f));
        (collect::concatenate(yes), collect::concatenate(no))
    }

    /// Counts the items by a number that `bin` gives each of them: `bins` counts, for the numbers
    /// below that. Work O(n) and O(bins) for each piece.
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

    /// Returns the `k` largest items, largest first. Work O(n log k), and O(k log k) for each piece.
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

    /// Collects pairs into two vectors.
    ///
    /// ```
    /// use locksley::prelude::*;
    ///
    /// let (numbers, squares) = (0..3_u32).into_par().map(|n| (n, n * n)).unzip();
    /// assert_eq!((numbers, squares), (vec![0, 1, 2], vec![0, 1, 4]));
    /// ```
    pub fn unzip<A, B>(self) -> (Vec<A>, Vec<B>)
    where
        A: Send,
        B: Send,
        P: Pipe<S::Item, Out = (A, B)>,
    {
        let (a, b) = drive(self.source, &self.pipe, &Unzip, Mode::OnRequest);
        (collect::concatenate(a), collect::concatenate(b))
    }
}
