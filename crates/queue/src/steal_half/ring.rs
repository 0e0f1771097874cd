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

    /// The slot of an index.
    #[inline]
    pub(super) fn slot(&self, index: u16) -> &S {
        // SAFETY: the masked index is below the number of slots, which is a power of two, and the
        // slots are alive, says the caller of `new`.
        unsafe { &*self.first.add(usize::from(index) & self.mask) }
    }
}
