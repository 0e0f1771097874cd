//! The slots of a deque.

/// A cyclic array.
#[derive(Debug)]
pub(super) struct Slots<S> {
    /// A power of two in number.
    slots: Box<[S]>,
    mask: usize,
}

impl<S> Slots<S> {
    /// Creates `capacity` slots, a power of two.
    pub(super) fn new(capacity: usize, empty: impl FnMut() -> S) -> Slots<S> {
        debug_assert!(capacity.is_power_of_two());
        Slots {
            slots: std::iter::repeat_with(empty).take(capacity).collect(),
            mask: capacity - 1,
        }
    }

    /// Returns the slot of an index, whose upper bits are ignored.
    #[inline]
    pub(super) fn slot(&self, index: u64) -> &S {
        // SAFETY: the masked index is below the number of slots, which is a power of two.
        unsafe { self.slots.get_unchecked(index as usize & self.mask) }
    }

    /// Returns the slots from an index on: `n` of them, or fewer if the end of the array comes
    /// first.
    #[inline]
    fn run(&self, index: u64, n: usize) -> &[S] {
        let at = index as usize & self.mask;
        let n = n.min(self.slots.len() - at);
        &self.slots[at..at + n]
    }

    /// Calls `copy` for `n` pairs of slots: those from `index` on, and those of `to` from `start`
    /// on.
    #[inline]
    pub(super) fn pairs(
        &self,
        index: u64,
        to: &Slots<S>,
        start: u64,
        n: u64,
        copy: impl Fn(&S, &S),
    ) {
        let mut done = 0;
        while done < n {
            let from = self.run(index.wrapping_add(done), (n - done) as usize);
            let to = to.run(start.wrapping_add(done), from.len());
            from.iter().zip(to).for_each(|(from, to)| copy(from, to));
            done += to.len() as u64;
        }
    }
}
