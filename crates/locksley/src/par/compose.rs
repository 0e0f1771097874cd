//! Sources made of sources: pairs, numbered items, one after the other.

use std::iter;

use crate::par::split::Split;

/// Two sequences side by side: see [`Par::zip`](crate::par::Par::zip).
#[derive(Clone, Debug)]
pub struct Zip<A, B> {
    a: A,
    b: B,
}

impl<A: Split, B: Split> Zip<A, B> {
    /// Pairs two sequences, as many items as both have.
    pub(super) fn new(a: A, b: B) -> Zip<A, B> {
        let len = a.len().min(b.len());
        Zip {
            a: a.split_at(len).0,
            b: b.split_at(len).0,
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

    #[inline]
    fn block(&mut self, len: usize) -> Self::Iter<'_> {
        self.a.block(len).zip(self.b.block(len))
    }
}

/// Items with their numbers: see [`Par::enumerate`](crate::par::Par::enumerate).
#[derive(Clone, Debug)]
pub struct Enumerate<S> {
    source: S,
    first: usize,
}

impl<S: Split> Enumerate<S> {
    pub(super) fn new(source: S) -> Enumerate<S> {
        Enumerate { source, first: 0 }
    }
}

impl<S: Split> Split for Enumerate<S> {
    type Item = (usize, S::Item);
    type Iter<'a>
        = iter::Zip<std::ops::Range<usize>, S::Iter<'a>>
    where
        Self: 'a;

    #[inline]
    fn len(&self) -> usize {
        self.source.len()
    }

    fn split_at(self, mid: usize) -> (Self, Self) {
        let (left, right) = self.source.split_at(mid);
        let first = self.first;
        let left = Enumerate {
            source: left,
            first,
        };
        let right = Enumerate {
            source: right,
            first: first + mid,
        };
        (left, right)
    }

    #[inline]
    fn block(&mut self, len: usize) -> Self::Iter<'_> {
        let first = self.first;
        self.first += len;
        (first..self.first).zip(self.source.block(len))
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

    #[inline]
    fn block(&mut self, len: usize) -> Self::Iter<'_> {
        let first = len.min(self.a.len());
        self.a.block(first).chain(self.b.block(len - first))
    }
}
