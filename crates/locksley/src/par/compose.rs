//! Sources made of other sources: zipped, chained, reversed, strided.

use std::iter;
use std::ops::Range;

use crate::par::split::{Split, SplitBack};

/// Two sequences side by side: see [`Par::zip`](crate::par::Par::zip) and
/// [`Par::enumerate`](crate::par::Par::enumerate), which pairs with a range.
#[derive(Clone, Debug)]
pub struct Zip<A, B> {
    a: A,
    b: B,
}

impl<A: Split, B: Split> Zip<A, B> {
    /// Pairs two sequences, up to the end of the shorter one.
    pub(super) fn new(a: A, b: B) -> Zip<A, B> {
        let len = a.len().min(b.len());
        let (a, surplus_a) = a.split_at(len);
        let (b, surplus_b) = b.split_at(len);
        // Explicit drop: if a destructor panics, the kept items are dropped too.
        drop((surplus_a, surplus_b));
        Zip { a, b }
    }
}

impl<S: Split> Zip<Range<usize>, S> {
    /// Pairs each item with its number.
    pub(super) fn numbered(source: S) -> Self {
        Zip {
            a: 0..source.len(),
            b: source,
        }
    }
}

impl<A: Split, B: Split> Split for Zip<A, B> {
    type Item = (A::Item, B::Item);
    type Iter<'a>
        = iter::Zip<A::Iter<'a>, B::Iter<'a>>
    where
        Self: 'a;

    #[inline]
    fn len(&self) -> usize {
        self.a.len()
    }

    fn split_at(self, mid: usize) -> (Self, Self) {
        let (a, rest_a) = self.a.split_at(mid);
        let (b, rest_b) = self.b.split_at(mid);
        let rest = Zip {
            a: rest_a,
            b: rest_b,
        };
        (Zip { a, b }, rest)
    }

    /// Follows the side that does not halve its length; the right one if neither does.
    fn middle(&self) -> usize {
        match self.b.middle() {
            half if half == self.len() / 2 => self.a.middle(),
            middle => middle,
        }
    }

    #[inline]
    fn block(&mut self, len: usize) -> Self::Iter<'_> {
        self.a.block(len).zip(self.b.block(len))
    }
}

/// One sequence after the other: see [`Par::chain`](crate::par::Par::chain).
#[derive(Clone, Debug)]
pub struct Chain<A, B> {
    a: A,
    b: B,
}

impl<A: Split, B: Split<Item = A::Item>> Chain<A, B> {
    pub(super) fn new(a: A, b: B) -> Chain<A, B> {
        Chain { a, b }
    }
}

impl<A: Split, B: Split<Item = A::Item>> Split for Chain<A, B> {
    type Item = A::Item;
    type Iter<'a>
        = iter::Chain<A::Iter<'a>, B::Iter<'a>>
    where
        Self: 'a;

    #[inline]
    fn len(&self) -> usize {
        let len = self.a.len().checked_add(self.b.len());
        len.expect("a chain has at most `usize::MAX` items")
    }

    fn split_at(self, mid: usize) -> (Self, Self) {
        let first = mid.min(self.a.len());
        let (a, rest_a) = self.a.split_at(first);
        let (b, rest_b) = self.b.split_at(mid - first);
        (Chain::new(a, b), Chain::new(rest_a, rest_b))
    }

    /// Halves the length while items of both sequences are left, since the cost of one says nothing
    /// about that of the other.
    fn middle(&self) -> usize {
        match (self.a.len(), self.b.len()) {
            (_, 0) => self.a.middle(),
            (0, _) => self.b.middle(),
            (a, b) => a.midpoint(b),
        }
    }

    #[inline]
    fn block(&mut self, len: usize) -> Self::Iter<'_> {
        let first = len.min(self.a.len());
        self.a.block(first).chain(self.b.block(len - first))
    }
}

/// A sequence backwards: see [`Par::rev`](crate::par::Par::rev).
#[derive(Clone, Debug)]
pub struct Rev<S> {
    source: S,
}

impl<S: SplitBack> Rev<S> {
    pub(super) fn new(source: S) -> Rev<S> {
        Rev { source }
    }
}

impl<S: SplitBack> Split for Rev<S> {
    type Item = S::Item;
    type Iter<'a>
        = S::Back<'a>
    where
        Self: 'a;

    #[inline]
    fn len(&self) -> usize {
        self.source.len()
    }

    fn split_at(self, mid: usize) -> (Self, Self) {
        let len = self.source.len();
        let (late, early) = self.source.split_at(len - mid);
        (Rev::new(early), Rev::new(late))
    }

    fn middle(&self) -> usize {
        self.source.len() - self.source.middle()
    }

    #[inline]
    fn block(&mut self, len: usize) -> Self::Iter<'_> {
        self.source.block_back(len)
    }
}

/// The first of every `step` items: see [`Par::step_by`](crate::par::Par::step_by).
#[derive(Clone, Debug)]
pub struct StepBy<S> {
    source: S,
    step: usize,
}

impl<S: Split> StepBy<S> {
    pub(super) fn new(source: S, step: usize) -> StepBy<S> {
        assert!(step > 0, "a step is at least one item");
        StepBy { source, step }
    }

    /// Returns the number of items of the source that the first `len` steps cover.
    fn covered(&self, len: usize) -> usize {
        let all = self.source.len();
        len.checked_mul(self.step).map_or(all, |end| end.min(all))
    }
}

impl<S: Split> Split for StepBy<S> {
    type Item = S::Item;
    type Iter<'a>
        = iter::StepBy<S::Iter<'a>>
    where
        Self: 'a;

    #[inline]
    fn len(&self) -> usize {
        self.source.len().div_ceil(self.step)
    }

    fn split_at(self, mid: usize) -> (Self, Self) {
        let (covered, step) = (self.covered(mid), self.step);
        let (left, right) = self.source.split_at(covered);
        (StepBy::new(left, step), StepBy::new(right, step))
    }

    fn middle(&self) -> usize {
        self.source.middle().div_ceil(self.step)
    }

    #[inline]
    fn block(&mut self, len: usize) -> Self::Iter<'_> {
        let covered = self.covered(len);
        self.source.block(covered).step_by(self.step)
    }
}

/// A sequence with a rule for where it is split: see
/// [`Par::split_where`](crate::par::Par::split_where).
#[derive(Clone, Debug)]
pub struct SplitWhere<S, F> {
    source: S,
    first: usize,
    rule: F,
}

impl<S: Split, F> SplitWhere<S, F> {
    pub(super) fn new(source: S, rule: F) -> Self {
        SplitWhere {
            source,
            first: 0,
            rule,
        }
    }
}

impl<S: Split, F: Fn(Range<usize>) -> usize + Clone> Split for SplitWhere<S, F> {
    type Item = S::Item;
    type Iter<'a>
        = S::Iter<'a>
    where
        Self: 'a;

    #[inline]
    fn len(&self) -> usize {
        self.source.len()
    }

    fn split_at(self, mid: usize) -> (Self, Self) {
        let (left, right) = self.source.split_at(mid);
        let part = |source, first| SplitWhere {
            source,
            first,
            rule: self.rule.clone(),
        };
        (part(left, self.first), part(right, self.first + mid))
    }

    #[inline]
    fn block(&mut self, len: usize) -> Self::Iter<'_> {
        self.first += len;
        self.source.block(len)
    }

    fn middle(&self) -> usize {
        let left = self.first..self.first + self.source.len();
        (self.rule)(left).saturating_sub(self.first)
    }
}

#[cfg(all(test, not(loom)))]
#[path = "../../tests/unit/par/compose.rs"]
mod tests;
