//! `Par`: a source and its stages. The ends are in other modules.

use std::ops::Range;

use crate::par::compose::{Chain, Rev, SplitWhere, StepBy, Zip};
use crate::par::convert::IntoPar;
use crate::par::drive::{End, SplitMode, drive};
use crate::par::pipe::{
    Cloned, Copied, Filter, FilterMap, FlatMap, Inspect, Map, MapInit, OneToOne, Pipe, Same,
    ZipPipe,
};
use crate::par::split::{Split, SplitBack};

/// A parallel loop: a source and the stages that its items go through.
///
/// Made by [`par`](crate::par::AsPar::par), [`par_mut`](crate::par::ParSlice::par_mut) or
/// [`into_par`](IntoPar::into_par). Nothing runs before an end such as
/// [`for_each`](Par::for_each) or [`sum`](Par::sum) is called. [The module](crate::par) explains
/// how a loop runs.
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
    pub(super) source: S,
    pub(super) pipe: P,
    pub(super) mode: SplitMode,
}

impl<S> Par<S> {
    pub(super) fn new(source: S) -> Par<S> {
        Par {
            source,
            pipe: Same,
            mode: SplitMode::OnRequest,
        }
    }

    /// Replaces the source by one that `make` makes of it.
    fn over<R>(self, make: impl FnOnce(S) -> R) -> Par<R> {
        Par {
            source: make(self.source),
            pipe: Same,
            mode: self.mode,
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
    /// Adds a stage.
    fn through<Q>(self, more: impl FnOnce(P) -> Q) -> Par<S, Q> {
        Par {
            source: self.source,
            pipe: more(self.pipe),
            mode: self.mode,
        }
    }

    /// Replaces each item by `f` of it.
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

    /// Replaces each item by `f` of it, or leaves it out if `f` returns `None`.
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

    /// Replaces each item by the items of the sequential iterator that `f` returns for it.
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

    /// Calls `f` with a reference to each item, and passes the item on.
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

    /// Copies the items that references refer to.
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

    /// Clones the items that references refer to.
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
    pub fn enumerate(self) -> Par<Zip<Range<usize>, S>, ZipPipe<Same, P>>
    where
        P: OneToOne<S::Item>,
    {
        Par {
            source: Zip::numbered(self.source),
            pipe: ZipPipe::new(Same, self.pipe),
            mode: self.mode,
        }
    }

    /// Pairs the items with those of another loop, up to the end of the shorter one.
    ///
    /// ```
    /// use locksley::prelude::*;
    ///
    /// let (a, b) = ([1, 2, 3], [10, 20, 30]);
    /// let product: i32 = a.par().zip(b.par()).map(|(a, b)| a * b).sum();
    /// assert_eq!(product, 140);
    /// ```
    pub fn zip<O>(self, other: O) -> Par<Zip<S, O::Source>, ZipPipe<P, O::Pipe>>
    where
        P: OneToOne<S::Item>,
        O: IntoPar,
        O::Source: Split,
        O::Pipe: OneToOne<<O::Source as Split>::Item>,
    {
        let other = other.into_par();
        Par {
            source: Zip::new(self.source, other.source),
            pipe: ZipPipe::new(self.pipe, other.pipe),
            mode: self.mode.or(other.mode),
        }
    }
}

impl<S: Split, P> Par<S, P> {
    /// Chooses the splits by the length of the loop alone, so that its result has the same bits on
    /// any number of workers: for sums of floating-point numbers, and other operations that are
    /// only approximately associative. It costs more than splitting on request if the items are
    /// cheap and few.
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
            mode: SplitMode::Deterministic,
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
        self.over(Rev::new)
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
        self.over(|source| StepBy::new(source, step))
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
        let other = other.into_par();
        let mode = self.mode.or(other.mode);
        let chain = self.over(|source| Chain::new(source, other.source));
        Par { mode, ..chain }
    }

    /// Splits at the position that `rule` returns instead of in the middle: for items whose cost is
    /// known to grow or fall. `rule` is called with the range of positions in the rest.
    ///
    /// The rule holds behind [`zip`](Par::zip), [`enumerate`](Par::enumerate), [`rev`](Par::rev)
    /// and [`step_by`](Par::step_by) too. If both sides of a `zip` have one, that of the right side
    /// counts. A [`chain`](Par::chain) follows it once only items of one side are left. A
    /// [deterministic](Par::deterministic) loop ignores it.
    ///
    /// ```
    /// use locksley::prelude::*;
    ///
    /// // Item `i` costs `i`: what is left has half of its work below the root of the mean square.
    /// let middle = |left: std::ops::Range<usize>| {
    ///     let (from, to) = (left.start as f64, left.end as f64);
    ///     ((from * from + to * to) / 2.0).sqrt() as usize
    /// };
    /// let sums = (0..100_u64).into_par().split_where(middle).map(|n| (0..n).sum::<u64>());
    /// assert_eq!(sums.max(), Some(4851));
    /// ```
    pub fn split_where<F>(self, rule: F) -> Par<SplitWhere<S, F>>
    where
        F: Fn(Range<usize>) -> usize + Clone,
    {
        self.over(|source| SplitWhere::new(source, rule))
    }
}

/// Parts of a loop.
impl<S, P> Par<S, P>
where
    S: Split,
    P: Pipe<S::Item>,
{
    fn with_source(self, change: impl FnOnce(S) -> S) -> Par<S, P> {
        Par {
            source: change(self.source),
            ..self
        }
    }

    /// Keeps the first `count` items.
    ///
    /// ```
    /// use locksley::prelude::*;
    ///
    /// assert_eq!((0..10_u32).into_par().map(|n| n * n).take(4).max(), Some(9));
    /// ```
    pub fn take(self, count: usize) -> Par<S, P>
    where
        P: OneToOne<S::Item>,
    {
        self.with_source(|source| {
            let count = count.min(source.len());
            let (kept, rest) = source.split_at(count);
            drop(rest);
            kept
        })
    }

    /// Skips the first `count` items.
    ///
    /// ```
    /// use locksley::prelude::*;
    ///
    /// assert_eq!((0..10_u32).into_par().skip(4).min(), Some(4));
    /// ```
    pub fn skip(self, count: usize) -> Par<S, P>
    where
        P: OneToOne<S::Item>,
    {
        self.with_source(|source| {
            let count = count.min(source.len());
            let (rest, kept) = source.split_at(count);
            drop(rest);
            kept
        })
    }
}

impl<S, P> Par<S, P>
where
    S: Split + Send,
    P: Pipe<S::Item>,
{
    /// Runs the loop with an end.
    #[inline]
    pub(super) fn end<E: End<P::Out>>(self, end: &E) -> E::Acc {
        drive(self.source, &self.pipe, end, self.mode)
    }
}
