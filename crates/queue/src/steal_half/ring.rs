//! Where the slots of a deque are: an address and a mask, to be kept beside the owner's indices.

/// A view of the slots of a deque, as long as the deque lives.
#[derive(Debug)]
pub(super) struct Ring<S> {
    first: *const S,
    mask: usize,
}

impl<S> Clone for Ring<S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S> Copy for Ring<S> {}

// SAFETY: a ring stands for a shared reference to the slots.
unsafe impl<S: Sync> Send for Ring<S> {}
// SAFETY: as above.
unsafe impl<S: Sync> Sync for Ring<S> {}

impl<S> Ring<S> {
    /// # Safety
    ///
    /// The slots must live where they are for as long as the ring is used, and their number must
    /// be a power of two.
    pub(super) unsafe fn new(slots: &[S]) -> Ring<S> {
        Ring {
            first: slots.as_ptr(),
            mask: slots.len() - 1,
        }
    }

    /// The slot of an index, whose upper bits do not matter.
    #[inline]
    pub(super) fn slot(&self, index: u64) -> &S {
        // SAFETY: the masked index is below the number of slots, which is a power of two, and the
        // slots are alive, says the caller of `new`.
        unsafe { &*self.first.add(index as usize & self.mask) }
    }

    /// The slots from an index on: `n` of them, or fewer if the end of the array comes first.
    #[inline]
    fn run(&self, index: u64, n: usize) -> &[S] {
        let at = index as usize & self.mask;
        let n = n.min(self.mask + 1 - at);
        // SAFETY: as in `slot`, and `at + n` is not beyond the number of slots.
        unsafe { std::slice::from_raw_parts(self.first.add(at), n) }
    }

    /// Calls `copy` for `n` pairs of slots: those from `index` on, and those of `to` from `start`
    /// on.
    #[inline]
    pub(super) fn pairs(&self, index: u64, to: Ring<S>, start: u64, n: u64, copy: impl Fn(&S, &S)) {
        let mut done = 0;
        while done < n {
            let from = self.run(index.wrapping_add(done), (n - done) as usize);
            let to = to.run(start.wrapping_add(done), from.len());
            from.iter().zip(to).for_each(|(from, to)| copy(from, to));
            done += to.len() as u64;
        }
    }
}
