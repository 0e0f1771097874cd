//! The sequences that a loop can run over.

/// A sequence of known length that can be split anywhere: the source of a parallel loop.
///
/// Ranges of integers, slices and mutable slices implement this trait. Any other type that does can
/// be looped over with [`IntoPar::into_par`](crate::par::IntoPar::into_par).
///
/// A wrong implementation gives wrong results or panics, and never undefined behaviour. The trait
/// is not in the prelude, because its `len` would hide that of ranges.
///
/// ```
/// use locksley::par::Split;
/// use locksley::prelude::*;
///
/// /// The multiples of three below `3 * end`.
/// struct Threes {
///     start: u64,
///     end: u64,
/// }
///
/// impl Split for Threes {
///     type Item = u64;
///     type Iter<'a> = std::iter::Map<std::ops::Range<u64>, fn(u64) -> u64>;
///
///     fn len(&self) -> usize {
///         (self.end - self.start) as usize
///     }
///
///     fn split_at(self, mid: usize) -> (Self, Self) {
///         let mid = self.start + mid as u64;
///         let left = Threes { end: mid, ..self };
///         (left, Threes { start: mid, ..self })
///     }
///
///     fn block(&mut self, len: usize) -> Self::Iter<'_> {
///         let start = self.start;
///         self.start += len as u64;
///         (start..self.start).map(|number| 3 * number)
///     }
/// }
///
/// let threes = Threes { start: 0, end: 1000 };
/// assert_eq!(threes.into_par().sum::<u64>(), 3 * 499_500);
/// ```
#[allow(
    clippy::len_without_is_empty,
    reason = "an empty sequence is as good as any other"
)]
pub trait Split: Sized {
    /// The type of the items.
    type Item;

    /// The sequential iterator over a block.
    type Iter<'a>: Iterator<Item = Self::Item>
    where
        Self: 'a;

    /// Returns the number of items.
    fn len(&self) -> usize;

    /// Splits the sequence into the first `mid` items and the others. `mid` is at most the length.
    fn split_at(self, mid: usize) -> (Self, Self);

    /// Removes the first `len` items and returns an iterator over them. `len` is at most the
    /// length.
    ///
    /// The iterator is the loop's inner loop: the simpler it is, the better the compiler can
    /// optimise it.
    fn block(&mut self, len: usize) -> Self::Iter<'_>;

    /// Returns where the sequence is split if another worker is out of work. The default is half of
    /// the length; an implementation can return the point that halves the work. A value that leaves
    /// one side empty is moved by one.
    ///
    /// ```
    /// use locksley::par::Split;
    ///
    /// assert_eq!(Split::middle(&(0..10_u32)), 5);
    /// ```
    #[inline]
    fn middle(&self) -> usize {
        self.len() / 2
    }
}

/// A sequence whose blocks can be taken from its end as well: see
/// [`Par::rev`](crate::par::Par::rev).
///
/// ```
/// use locksley::par::SplitBack;
///
/// let mut numbers: &[i32] = &[1, 2, 3];
/// let last: Vec<_> = SplitBack::block_back(&mut numbers, 2).collect();
/// assert_eq!((last, numbers), (vec![&3, &2], &[1][..]));
/// ```
pub trait SplitBack: Split {
    /// The sequential iterator over a block, last item first.
    type Back<'a>: Iterator<Item = Self::Item>
    where
        Self: 'a;

    /// Removes the last `len` items and returns an iterator over them, last item first. `len` is at
    /// most the length.
    fn block_back(&mut self, len: usize) -> Self::Back<'_>;
}
