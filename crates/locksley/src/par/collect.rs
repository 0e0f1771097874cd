//! Ends that collect into vectors: in order, and in one allocation where the length is known.

use std::marker::PhantomData;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ptr;
use std::slice;

use crate::par::drive::{End, SplitMode, drive};
use crate::par::iter::Par;
use crate::par::pipe::Pipe;
use crate::par::split::Split;

/// Ends that collect.
impl<S, P> Par<S, P>
where
    S: Split + Send,
    P: Pipe<S::Item>,
{
    /// Collects the items in order. If each item of the source gives exactly one, they are written
    /// directly to their positions in one allocation; otherwise each piece has a vector of its own,
    /// and these are concatenated in the end.
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
        C::from(into_vec(self.source, &self.pipe))
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
        (concatenate(yes), concatenate(no))
    }

    /// Collects pairs into two vectors, in order. Like [`collect`](Par::collect), it makes one
    /// allocation for each where the length is known.
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
        if !P::EXACT {
            let (a, b) = drive(self.source, &self.pipe, &Unzip, SplitMode::OnRequest);
            return (concatenate(a), concatenate(b));
        }
        let len = self.source.len();
        let (mut a, mut b) = (Vec::with_capacity(len), Vec::with_capacity(len));
        let places = (OutputBuffer::of(&mut a, len), OutputBuffer::of(&mut b, len));
        let written = drive(self.source, &self.pipe, &places, SplitMode::OnRequest);
        written.0.hand_over(&mut a, len);
        written.1.hand_over(&mut b, len);
        (a, b)
    }
}

/// Collects the items in order. The splits do not affect the result, so the mode does not matter.
pub(super) fn into_vec<S, P>(source: S, pipe: &P) -> Vec<P::Out>
where
    S: Split + Send,
    P: Pipe<S::Item>,
    P::Out: Send,
{
    if !P::EXACT {
        return concatenate(drive(source, pipe, &Append, SplitMode::OnRequest));
    }
    let len = source.len();
    let mut items = Vec::with_capacity(len);
    let place = OutputBuffer::of(&mut items, len);
    drive(source, pipe, &place, SplitMode::OnRequest).hand_over(&mut items, len);
    items
}

/// Memory for `len` items, each of which is written once.
pub(super) struct OutputBuffer<T> {
    start: *mut T,
    len: usize,
}

// SAFETY: pieces of a loop write to disjoint parts of the memory, and the items can be sent.
unsafe impl<T: Send> Sync for OutputBuffer<T> {}

impl<T> OutputBuffer<T> {
    /// Returns the memory of the first `len` items of a vector that has room for them. The vector
    /// must outlive the result.
    pub(super) fn of(items: &mut Vec<T>, len: usize) -> OutputBuffer<T> {
        assert!(items.capacity() >= len);
        OutputBuffer {
            start: items.as_mut_ptr(),
            len,
        }
    }
}

/// A row of items that a piece has written. It is dropped with the piece unless it is released.
pub(super) struct Written<T> {
    start: *mut T,
    len: usize,
    items: PhantomData<T>,
}

// SAFETY: the row owns its items.
unsafe impl<T: Send> Send for Written<T> {}

impl<T> Written<T> {
    fn none() -> Written<T> {
        Written {
            start: ptr::null_mut(),
            len: 0,
            items: PhantomData,
        }
    }

    /// Leaves the items to the owner of the memory.
    fn release(self) {
        let _ = ManuallyDrop::new(self);
    }

    /// Hands `len` items over to the empty vector in whose memory they are.
    fn hand_over(self, items: &mut Vec<T>, len: usize) {
        assert_eq!(
            self.len, len,
            "a `Split` must have as many items as it says"
        );
        assert!(len == 0 || (items.is_empty() && ptr::eq(self.start, items.as_ptr())));
        self.release();
        // SAFETY: the vector's first `len` items were written, and `release` has given up the
        // ownership of them.
        unsafe { items.set_len(len) };
    }
}

impl<T> Drop for Written<T> {
    fn drop(&mut self) {
        if self.len > 0 {
            let items = ptr::slice_from_raw_parts_mut(self.start, self.len);
            // SAFETY: the row owns these items, which were written; the memory outlives the row.
            unsafe { ptr::drop_in_place(items) };
        }
    }
}

/// Adds the count of written items to a row's length, even if a panic ends the count.
struct Counting<'r> {
    len: &'r mut usize,
    count: usize,
}

impl Drop for Counting<'_> {
    fn drop(&mut self) {
        *self.len += self.count;
    }
}

impl<T> OutputBuffer<T> {
    /// Returns the memory for the items `from..to`, which follow those of a row, and a counter for
    /// the items that are written to it in order.
    #[inline]
    fn slots<'r>(
        &'r self,
        row: &'r mut Written<T>,
        from: usize,
        to: usize,
    ) -> (&'r mut [MaybeUninit<T>], Counting<'r>) {
        assert!(from <= to && to <= self.len, "no item is beyond the end");
        // SAFETY: inside the memory, or just past its end.
        let start = unsafe { self.start.add(from) };
        if row.len == 0 {
            row.start = start;
        }
        // SAFETY: the row was written in this memory, so this is one past its last item.
        let end = unsafe { row.start.add(row.len) };
        assert!(
            size_of::<T>() == 0 || ptr::eq(end, start),
            "a `Split` must have as many items as it says"
        );
        // SAFETY: the driver runs every position once, so this part of the memory belongs to this
        // block alone; nothing in it counts as an item yet.
        let slots = unsafe { slice::from_raw_parts_mut(start.cast::<MaybeUninit<T>>(), to - from) };
        let len = &mut row.len;
        (slots, Counting { len, count: 0 })
    }
}

impl<T: Send> End<T> for OutputBuffer<T> {
    type Acc = Written<T>;

    fn start(&self) -> Written<T> {
        Written::none()
    }

    #[inline]
    fn feed(&self, acc: &mut Written<T>, from: usize, to: usize, items: impl Iterator<Item = T>) {
        let (slots, mut row) = self.slots(acc, from, to);
        // Slots first: without a slot, `zip` takes no item.
        for (slot, item) in slots.iter_mut().zip(items) {
            slot.write(item);
            row.count += 1;
        }
    }

    fn join(&self, mut left: Written<T>, right: Written<T>) -> Written<T> {
        if right.len == 0 {
            return left;
        }
        if left.len == 0 {
            return right;
        }
        // SAFETY: as in `feed`.
        let end = unsafe { left.start.add(left.len) };
        if size_of::<T>() == 0 || ptr::eq(end, right.start) {
            left.len += right.len;
            right.release();
        }
        // Otherwise items are missing in between: `right` is dropped, and `hand_over` finds the
        // wrong length.
        left
    }
}

/// Writes both items of a pair to their positions.
impl<A: Send, B: Send> End<(A, B)> for (OutputBuffer<A>, OutputBuffer<B>) {
    type Acc = (Written<A>, Written<B>);

    fn start(&self) -> Self::Acc {
        (Written::none(), Written::none())
    }

    #[inline]
    fn feed(
        &self,
        acc: &mut Self::Acc,
        from: usize,
        to: usize,
        items: impl Iterator<Item = (A, B)>,
    ) {
        let (a_slots, mut a_row) = self.0.slots(&mut acc.0, from, to);
        let (b_slots, mut b_row) = self.1.slots(&mut acc.1, from, to);
        for ((a_slot, b_slot), (a, b)) in a_slots.iter_mut().zip(b_slots).zip(items) {
            a_slot.write(a);
            a_row.count += 1;
            b_slot.write(b);
            b_row.count += 1;
        }
    }

    fn join(&self, left: Self::Acc, right: Self::Acc) -> Self::Acc {
        (self.0.join(left.0, right.0), self.1.join(left.1, right.1))
    }
}

/// Collects the items of each piece into a vector of its own.
pub(super) struct Append;

impl<T: Send> End<T> for Append {
    type Acc = Vec<Vec<T>>;

    fn start(&self) -> Vec<Vec<T>> {
        Vec::new()
    }

    #[inline]
    fn feed(&self, acc: &mut Vec<Vec<T>>, _: usize, _: usize, items: impl Iterator<Item = T>) {
        if acc.is_empty() {
            acc.push(Vec::new());
        }
        if let Some(last) = acc.last_mut() {
            last.extend(items);
        }
    }

    fn join(&self, mut left: Vec<Vec<T>>, mut right: Vec<Vec<T>>) -> Vec<Vec<T>> {
        left.append(&mut right);
        left
    }
}

/// Concatenates the vectors of the pieces. A single one is returned as it is.
pub(super) fn concatenate<T>(mut parts: Vec<Vec<T>>) -> Vec<T> {
    if parts.len() <= 1 {
        return parts.pop().unwrap_or_default();
    }
    let mut all = Vec::with_capacity(parts.iter().map(Vec::len).sum());
    for part in &mut parts {
        all.append(part);
    }
    all
}

/// The vectors of the pieces, for two results.
type VecPairs<A, B> = (Vec<Vec<A>>, Vec<Vec<B>>);

/// Returns the vectors that a piece appends to.
fn last_of_both<A, B>((a, b): &mut VecPairs<A, B>) -> (&mut Vec<A>, &mut Vec<B>) {
    if a.is_empty() {
        a.push(Vec::new());
        b.push(Vec::new());
    }
    let last = a.last_mut().zip(b.last_mut());
    last.expect("both have the same number of vectors, and at least one")
}

fn append_both<A, B>(mut left: VecPairs<A, B>, mut right: VecPairs<A, B>) -> VecPairs<A, B> {
    left.0.append(&mut right.0);
    left.1.append(&mut right.1);
    left
}

/// Separates the items into two vectors, each in order.
pub(super) struct Partition<F>(pub(super) F);

impl<T: Send, F: Fn(&T) -> bool + Sync> End<T> for Partition<F> {
    type Acc = VecPairs<T, T>;

    fn start(&self) -> Self::Acc {
        Default::default()
    }

    fn feed(&self, acc: &mut Self::Acc, _: usize, _: usize, items: impl Iterator<Item = T>) {
        let (yes, no) = last_of_both(acc);
        for item in items {
            let side = if (self.0)(&item) { &mut *yes } else { &mut *no };
            side.push(item);
        }
    }

    fn join(&self, left: Self::Acc, right: Self::Acc) -> Self::Acc {
        append_both(left, right)
    }
}

/// Collects pairs into two vectors.
pub(super) struct Unzip;

impl<A: Send, B: Send> End<(A, B)> for Unzip {
    type Acc = VecPairs<A, B>;

    fn start(&self) -> Self::Acc {
        Default::default()
    }

    fn feed(&self, acc: &mut Self::Acc, _: usize, _: usize, items: impl Iterator<Item = (A, B)>) {
        let (a, b) = last_of_both(acc);
        for (first, second) in items {
            a.push(first);
            b.push(second);
        }
    }

    fn join(&self, left: Self::Acc, right: Self::Acc) -> Self::Acc {
        append_both(left, right)
    }
}
