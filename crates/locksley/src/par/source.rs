//! Sources: ranges and slices.

use std::iter::Rev;
use std::mem;
use std::ops::{Range, RangeInclusive};
use std::slice;

use crate::par::split::{Split, SplitBack};

macro_rules! ranges {
    ($($int:ty),*) => {$(
        impl Split for Range<$int> {
            type Item = $int;
            type Iter<'a> = Range<$int>;

            #[inline]
            fn len(&self) -> usize {
                if self.start >= self.end {
                    return 0;
                }
                let len = self.end.abs_diff(self.start);
                usize::try_from(len).expect("the range has at most `usize::MAX` items")
            }

            #[inline]
            fn split_at(self, mid: usize) -> (Self, Self) {
                let mid = self.start.wrapping_add(mid as $int);
                (self.start..mid, mid..self.end)
            }

            #[inline]
            fn block(&mut self, len: usize) -> Range<$int> {
                let start = self.start;
                self.start = start.wrapping_add(len as $int);
                start..self.start
            }
        }

        impl SplitBack for Range<$int> {
            type Back<'a> = Rev<Range<$int>>;

            #[inline]
            fn block_back(&mut self, len: usize) -> Rev<Range<$int>> {
                let end = self.end;
                self.end = end.wrapping_sub(len as $int);
                (self.end..end).rev()
            }
        }

        impl Split for RangeInclusive<$int> {
            type Item = $int;
            type Iter<'a> = RangeInclusive<$int>;

            #[inline]
            fn len(&self) -> usize {
                if self.is_empty() {
                    return 0;
                }
                let len = usize::try_from(self.end().abs_diff(*self.start()));
                let len = len.ok().and_then(|len| len.checked_add(1));
                len.expect("the range has at most `usize::MAX` items")
            }

            #[inline]
            fn split_at(mut self, mid: usize) -> (Self, Self) {
                let left = self.block(mid);
                (left, self)
            }

            #[inline]
            fn block(&mut self, len: usize) -> RangeInclusive<$int> {
                let empty = RangeInclusive::new(1, 0);
                if len == 0 {
                    return empty;
                }
                let all = mem::replace(self, empty);
                let last = all.start().wrapping_add((len - 1) as $int);
                if last < *all.end() {
                    *self = last + 1..=*all.end();
                }
                *all.start()..=last
            }
        }
    )*};
}

ranges!(
    u8, u16, u32, u64, u128, usize, i8, i16, i32, i64, i128, isize
);

/// Implements the traits for slices of one kind, shared or mutable.
macro_rules! slices {
    ($slice:ty, $item:ty, $iter:ident, $iterate:ident, $split_at:ident) => {
        impl<'s, T> Split for $slice {
            type Item = $item;
            type Iter<'a>
                = slice::$iter<'s, T>
            where
                Self: 'a;

            #[inline]
            fn len(&self) -> usize {
                <[T]>::len(self)
            }

            #[inline]
            fn split_at(self, mid: usize) -> (Self, Self) {
                <[T]>::$split_at(self, mid)
            }

            #[inline]
            fn block(&mut self, len: usize) -> slice::$iter<'s, T> {
                let (block, rest) = <[T]>::$split_at(mem::take(self), len);
                *self = rest;
                block.$iterate()
            }
        }

        impl<'s, T> SplitBack for $slice {
            type Back<'a>
                = Rev<slice::$iter<'s, T>>
            where
                Self: 'a;

            #[inline]
            fn block_back(&mut self, len: usize) -> Rev<slice::$iter<'s, T>> {
                let items = mem::take(self);
                let mid = items.len() - len;
                let (rest, block) = <[T]>::$split_at(items, mid);
                *self = rest;
                block.$iterate().rev()
            }
        }
    };
}

slices!(&'s [T], &'s T, Iter, iter, split_at);
slices!(&'s mut [T], &'s mut T, IterMut, iter_mut, split_at_mut);
