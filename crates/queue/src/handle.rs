//! A counted reference that is nothing but the address.
//!
//! An `Arc` passes its own address to the code that frees, and points at its counter rather than
//! at the value: with it the compiler keeps the pointer on the stack and computes the value's
//! address anew for every call. A queue's push and pop are a dozen instructions, so that shows.

use std::ops::Deref;
use std::ptr::NonNull;

use crate::sync::Arc;

/// A reference to a value that lives until the last one is dropped.
pub(crate) struct Handle<S> {
    value: NonNull<S>,
}

// SAFETY: a handle is an `Arc` in other clothes.
unsafe impl<S: Send + Sync> Send for Handle<S> {}
// SAFETY: as above.
unsafe impl<S: Send + Sync> Sync for Handle<S> {}

impl<S> Handle<S> {
    pub(crate) fn new(value: S) -> Self {
        Self::from_arc(Arc::new(value))
    }

    fn from_arc(arc: Arc<S>) -> Self {
        let value = NonNull::new(Arc::into_raw(arc).cast_mut());
        Handle {
            value: value.expect("an Arc is never null"),
        }
    }
}

impl<S> Deref for Handle<S> {
    type Target = S;

    #[inline(always)]
    fn deref(&self) -> &S {
        // SAFETY: the handle holds one count of the `Arc`, so the value is alive.
        unsafe { self.value.as_ref() }
    }
}

impl<S> Clone for Handle<S> {
    fn clone(&self) -> Self {
        // SAFETY: the pointer comes from `Arc::into_raw`, and the handle's own count keeps the
        // value alive; the new count is the new handle's.
        let arc = unsafe {
            Arc::increment_strong_count(self.value.as_ptr());
            Arc::from_raw(self.value.as_ptr())
        };
        Self::from_arc(arc)
    }
}

impl<S> Drop for Handle<S> {
    fn drop(&mut self) {
        // SAFETY: the pointer comes from `Arc::into_raw`, and the count is this handle's.
        drop(unsafe { Arc::from_raw(self.value.as_ptr()) });
    }
}
