//! A reference-counted pointer that holds the address of the value itself.
//!
//! An `Arc` points to its counter rather than to the value, and its destructor passes the address
//! of the `Arc` to the code that frees. So the compiler keeps the pointer on the stack and computes
//! the value's address again for every call. That is noticeable in a push or pop of a dozen
//! instructions.

use std::ops::Deref;
use std::ptr::NonNull;

use crate::sync::Arc;

/// A shared reference to a value, which lives until the last handle is dropped.
pub(crate) struct Handle<S> {
    value: NonNull<S>,
}

// SAFETY: a handle owns one count of an `Arc<S>`, and is `Send` and `Sync` as that is.
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
