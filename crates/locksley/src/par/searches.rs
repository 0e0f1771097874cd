//! Ends that stop early: searches, loops that may fail, cancellation.

use std::ops::ControlFlow;

use crate::par::clock::ticks;
use crate::par::drive::{SplitMode, drive};
use crate::par::ends::{FindAny, FindFirst, TryForEach};
use crate::par::iter::Par;
use crate::par::pace::WARM_UP;
use crate::par::pipe::{OneToOne, Pipe};
use crate::par::split::Split;

/// Ends that stop early.
impl<S, P> Par<S, P>
where
    S: Split + Send,
    P: Pipe<S::Item>,
{
    /// Calls `f` with the items until it fails, and returns one of the errors. `f` may be called
    /// with some items after a failed one, in the order of the source.
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

    /// Calls `f` with the items until the token is cancelled. Returns `true` if `f` was called with
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

    /// Returns `true` if `f` returns `true` for any item.
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

    /// Returns `true` if `f` returns `true` for every item.
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
    /// The loop runs in rounds, each as long as all before it together. So in a pool of any size,
    /// the number of items after the first match that are searched in vain is at most that of the
    /// items before it.
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
        let (mut rest, mut state) = (self.source, self.pipe.state());
        let (mut left, mut done) = (rest.len(), 0);
        // On this thread alone, until the cost of the items is known.
        let start = ticks();
        while left > 0 && (done == 0 || ticks().saturating_sub(start) < WARM_UP) {
            let len = left.min(done.max(1));
            let found = self.pipe.run(&mut state, rest.block(len)).find_map(&f);
            if found.is_some() {
                // Explicit drop: if a destructor panics, the found value is dropped too.
                drop((rest, state));
                return found;
            }
            (left, done) = (left - len, done + len);
        }
        while left > 0 {
            let len = left.min(done);
            let (round, later) = rest.split_at(len);
            let found = drive(round, &self.pipe, &FindFirst::new(&f), SplitMode::OnRequest);
            if found.is_some() {
                drop((later, state));
                return found;
            }
            (rest, left, done) = (later, left - len, done + len);
        }
        None
    }

    /// Returns the position of the first item for which `f` returns `true`.
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
}
