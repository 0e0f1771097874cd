//! Ends: what a loop does with its items, block by block.

use std::cmp::Ordering as Order;
use std::iter::Sum;
use std::iter::{self, Product};
use std::ops::ControlFlow;

use crate::par::drive::End;
use crate::sync::{AtomicBool, AtomicUsize, Ordering};

/// Calls a function with every item.
pub(super) struct ForEach<F>(pub(super) F);

impl<T, F: Fn(T) + Sync> End<T> for ForEach<F> {
    type Acc = ();

    fn start(&self) {}

    #[inline]
    fn feed(&self, (): &mut (), _: usize, _: usize, items: impl Iterator<Item = T>) {
        items.for_each(&self.0);
    }

    fn join(&self, (): (), (): ()) {}
}

/// Folds the items of a piece, and joins the results of pieces.
pub(super) struct Fold<I, F, J> {
    pub(super) init: I,
    pub(super) step: F,
    pub(super) join: J,
}

impl<T, A, I, F, J> End<T> for Fold<I, F, J>
where
    A: Send,
    I: Fn() -> A + Sync,
    F: Fn(A, T) -> A + Sync,
    J: Fn(A, A) -> A + Sync,
{
    /// `None` only while a step runs, and after a panic.
    type Acc = Option<A>;

    fn start(&self) -> Option<A> {
        Some((self.init)())
    }

    #[inline]
    fn feed(&self, acc: &mut Option<A>, _: usize, _: usize, items: impl Iterator<Item = T>) {
        *acc = acc.take().map(|acc| items.fold(acc, &self.step));
    }

    fn join(&self, left: Option<A>, right: Option<A>) -> Option<A> {
        left.zip(right)
            .map(|(left, right)| (self.join)(left, right))
    }
}

/// Combines items, two at a time.
pub(super) struct Reduce<F>(pub(super) F);

impl<F> Reduce<F> {
    fn put<T>(&self, left: Option<T>, right: Option<T>) -> Option<T>
    where
        F: Fn(T, T) -> T,
    {
        match (left, right) {
            (Some(left), Some(right)) => Some((self.0)(left, right)),
            (left, right) => left.or(right),
        }
    }
}

impl<T: Send, F: Fn(T, T) -> T + Sync> End<T> for Reduce<F> {
    type Acc = Option<T>;

    fn start(&self) -> Option<T> {
        None
    }

    #[inline]
    fn feed(&self, acc: &mut Option<T>, _: usize, _: usize, mut items: impl Iterator<Item = T>) {
        let Some(first) = acc.take().or_else(|| items.next()) else {
            return;
        };
        *acc = Some(items.fold(first, &self.0));
    }

    fn join(&self, left: Option<T>, right: Option<T>) -> Option<T> {
        self.put(left, right)
    }
}

/// Counts the items.
pub(super) struct Count;

impl<T> End<T> for Count {
    type Acc = usize;

    fn start(&self) -> usize {
        0
    }

    #[inline]
    fn feed(&self, acc: &mut usize, _: usize, _: usize, items: impl Iterator<Item = T>) {
        *acc += items.count();
    }

    fn join(&self, left: usize, right: usize) -> usize {
        left + right
    }
}

/// Adds up the items.
pub(super) struct Add;

impl Add {
    fn put<A: Sum<A>>(left: Option<A>, right: A) -> A {
        left.into_iter().chain(iter::once(right)).sum()
    }
}

/// Adds the sum of a block to that of the piece.
pub(super) struct Sums<A>(pub(super) std::marker::PhantomData<fn() -> A>);

impl<T, A: Sum<T> + Sum<A> + Send> End<T> for Sums<A> {
    type Acc = Option<A>;

    fn start(&self) -> Option<A> {
        None
    }

    #[inline]
    fn feed(&self, acc: &mut Option<A>, _: usize, _: usize, items: impl Iterator<Item = T>) {
        let sum = items.sum();
        *acc = Some(match acc.take() {
            Some(acc) => Add::put(Some(acc), sum),
            None => sum,
        });
    }

    fn join(&self, left: Option<A>, right: Option<A>) -> Option<A> {
        match right {
            Some(right) => Some(Add::put(left, right)),
            None => left,
        }
    }
}

/// Multiplies the product of a block with that of the piece.
pub(super) struct Products<A>(pub(super) std::marker::PhantomData<fn() -> A>);

impl<T, A: Product<T> + Product<A> + Send> End<T> for Products<A> {
    type Acc = Option<A>;

    fn start(&self) -> Option<A> {
        None
    }

    #[inline]
    fn feed(&self, acc: &mut Option<A>, _: usize, _: usize, items: impl Iterator<Item = T>) {
        let product = items.product();
        *acc = Some(match acc.take() {
            Some(acc) => [acc, product].into_iter().product(),
            None => product,
        });
    }

    fn join(&self, left: Option<A>, right: Option<A>) -> Option<A> {
        match (left, right) {
            (Some(left), Some(right)) => Some([left, right].into_iter().product()),
            (left, right) => left.or(right),
        }
    }
}

/// Returns the larger of two items, and of equal ones the second, like `Iterator::max_by`.
pub(super) fn larger<T>(a: T, b: T, compare: impl Fn(&T, &T) -> Order) -> T {
    match compare(&a, &b) {
        Order::Greater => a,
        _ => b,
    }
}

/// Returns the smaller of two items, and of equal ones the first, like `Iterator::min_by`.
pub(super) fn smaller<T>(a: T, b: T, compare: impl Fn(&T, &T) -> Order) -> T {
    match compare(&a, &b) {
        Order::Greater => b,
        _ => a,
    }
}

/// Looks for any item for which a function returns `Some`.
pub(super) struct FindAny<F> {
    find: F,
    found: AtomicBool,
}

impl<F> FindAny<F> {
    pub(super) fn new(find: F) -> Self {
        FindAny {
            find,
            found: AtomicBool::new(false),
        }
    }
}

impl<T, R: Send, F: Fn(T) -> Option<R> + Sync> End<T> for FindAny<F> {
    type Acc = Option<R>;

    fn start(&self) -> Option<R> {
        None
    }

    #[inline]
    fn feed(&self, acc: &mut Option<R>, _: usize, _: usize, mut items: impl Iterator<Item = T>) {
        *acc = items.find_map(&self.find);
        if acc.is_some() {
            self.found.store(true, Ordering::Relaxed);
        }
    }

    fn join(&self, left: Option<R>, right: Option<R>) -> Option<R> {
        left.or(right)
    }

    fn is_over(&self, _: usize) -> bool {
        self.found.load(Ordering::Relaxed)
    }
}

/// Looks for the first item for which a function returns `Some`.
///
/// A piece stops as soon as an earlier one has found an item.
pub(super) struct FindFirst<F> {
    find: F,
    /// Start of the first block, among those run so far, that has such an item.
    best: AtomicUsize,
}

impl<F> FindFirst<F> {
    pub(super) fn new(find: F) -> Self {
        FindFirst {
            find,
            best: AtomicUsize::new(usize::MAX),
        }
    }
}

impl<T, R: Send, F: Fn(T) -> Option<R> + Sync> End<T> for FindFirst<F> {
    type Acc = Option<R>;

    fn start(&self) -> Option<R> {
        None
    }

    #[inline]
    fn feed(&self, acc: &mut Option<R>, from: usize, _: usize, mut items: impl Iterator<Item = T>) {
        *acc = items.find_map(&self.find);
        if acc.is_some() {
            self.best.fetch_min(from, Ordering::Relaxed);
        }
    }

    fn join(&self, left: Option<R>, right: Option<R>) -> Option<R> {
        left.or(right)
    }

    fn is_over(&self, next: usize) -> bool {
        self.best.load(Ordering::Relaxed) < next
    }
}

/// Calls a function with every item until it returns `Break`.
pub(super) struct TryForEach<F> {
    f: F,
    broken: AtomicBool,
}

impl<F> TryForEach<F> {
    pub(super) fn new(f: F) -> Self {
        TryForEach {
            f,
            broken: AtomicBool::new(false),
        }
    }
}

impl<T, B: Send, F: Fn(T) -> ControlFlow<B> + Sync> End<T> for TryForEach<F> {
    type Acc = Option<B>;

    fn start(&self) -> Option<B> {
        None
    }

    #[inline]
    fn feed(&self, acc: &mut Option<B>, _: usize, _: usize, mut items: impl Iterator<Item = T>) {
        if let ControlFlow::Break(value) = items.try_for_each(&self.f) {
            *acc = Some(value);
            self.broken.store(true, Ordering::Relaxed);
        }
    }

    fn join(&self, left: Option<B>, right: Option<B>) -> Option<B> {
        left.or(right)
    }

    fn is_over(&self, _: usize) -> bool {
        self.broken.load(Ordering::Relaxed)
    }
}
