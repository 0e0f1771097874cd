//! Items that fit in a slot: one machine word, with the provenance of a pointer.
//!
//! A thief may read a slot that the owner is rewriting and find out only afterwards, when its
//! compare-and-swap fails, that the value was stale. That is defined behaviour only if the slot
//! is one atomic word. So a queue stores words. [`Word`] converts an item into a word, and the word
//! back into the item for the thread that takes it. Words are pointers rather than integers, so
//! that a `Box` keeps its provenance through the queue.

use std::ptr::{self, NonNull};
use std::sync::Arc;

/// An item that can travel as one machine word.
///
/// Implemented for `Box<T>`, `Arc<T>`, `NonNull<T>`, `&T` and the integers that fit.
///
/// ```
/// use locksley_queue::Word;
///
/// let word = Box::new(7).into_word();
/// // SAFETY: the word comes from `into_word` and is turned back once.
/// let back = unsafe { Box::<i32>::from_word(word) };
/// assert_eq!(*back, 7);
/// ```
///
/// # Safety
///
/// `from_word(into_word(x))` must return `x`, in the same type with the same lifetimes, and
/// neither function may panic: a queue calls them while its indices are half updated. If the type
/// is `Copy`, a word owns nothing, and may be turned back any number of times.
pub unsafe trait Word: Sized {
    /// Turns the item into a word. The word owns what the item owned.
    fn into_word(self) -> *mut ();

    /// Turns a word back into the item.
    ///
    /// # Safety
    ///
    /// `word` comes from [`into_word`](Word::into_word) of the same type, and each such word is
    /// turned back at most once, unless the type is `Copy`.
    unsafe fn from_word(word: *mut ()) -> Self;
}

// SAFETY: `into_raw` and `from_raw` are inverse and do not panic.
unsafe impl<T> Word for Box<T> {
    #[inline]
    fn into_word(self) -> *mut () {
        Box::into_raw(self).cast()
    }

    #[inline]
    unsafe fn from_word(word: *mut ()) -> Self {
        // SAFETY: the caller guarantees that the word comes from `Box::into_raw` and is turned back
        // once.
        unsafe { Box::from_raw(word.cast()) }
    }
}

// SAFETY: `into_raw` and `from_raw` are inverse and do not panic.
unsafe impl<T> Word for Arc<T> {
    #[inline]
    fn into_word(self) -> *mut () {
        Arc::into_raw(self).cast_mut().cast()
    }

    #[inline]
    unsafe fn from_word(word: *mut ()) -> Self {
        // SAFETY: the caller guarantees that the word comes from `Arc::into_raw` and is turned back
        // once.
        unsafe { Arc::from_raw(word.cast()) }
    }
}

// SAFETY: only the pointer's type changes on the way.
unsafe impl<T> Word for NonNull<T> {
    #[inline]
    fn into_word(self) -> *mut () {
        self.as_ptr().cast()
    }

    #[inline]
    unsafe fn from_word(word: *mut ()) -> Self {
        // SAFETY: the caller guarantees that the word comes from a `NonNull`.
        unsafe { NonNull::new_unchecked(word.cast()) }
    }
}

// SAFETY: only the pointer's type changes on the way.
unsafe impl<T> Word for &T {
    #[inline]
    fn into_word(self) -> *mut () {
        ptr::from_ref(self).cast_mut().cast()
    }

    #[inline]
    unsafe fn from_word(word: *mut ()) -> Self {
        // SAFETY: the caller guarantees that the word comes from a reference of this lifetime.
        unsafe { &*word.cast::<T>() }
    }
}

macro_rules! integer_word {
    ($($int:ty),*) => {$(
        const _: () = assert!(size_of::<$int>() <= size_of::<usize>());

        // SAFETY: widening to `usize` and truncating back is the identity.
        unsafe impl Word for $int {
            #[inline]
            fn into_word(self) -> *mut () {
                ptr::without_provenance_mut(self as usize)
            }

            #[inline]
            unsafe fn from_word(word: *mut ()) -> Self {
                word.addr() as $int
            }
        }
    )*};
}

integer_word!(u8, u16, u32, usize, i8, i16, i32, isize);
#[cfg(target_pointer_width = "64")]
integer_word!(u64, i64);

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn round_trip<T: Word + PartialEq + std::fmt::Debug + Clone>(item: T) {
        // SAFETY: the word comes from `into_word` of the same type and is turned back once.
        let back = unsafe { T::from_word(item.clone().into_word()) };
        assert_eq!(back, item);
    }

    #[test]
    fn every_kind_of_item_comes_back() {
        round_trip(Box::new(String::from("arrow")));
        round_trip(Arc::new([1_u64, 2, 3]));
        round_trip(NonNull::<u32>::dangling());
        round_trip(&"sheriff");
        round_trip(u8::MAX);
        round_trip(i32::MIN);
        round_trip(isize::MIN);
        round_trip(usize::MAX);
    }

    #[test]
    fn an_arc_keeps_its_count() {
        let arc = Arc::new(1);
        let word = arc.clone().into_word();
        assert_eq!(Arc::strong_count(&arc), 2);
        // SAFETY: the word comes from `into_word` of the same type and is turned back once.
        drop(unsafe { Arc::<i32>::from_word(word) });
        assert_eq!(Arc::strong_count(&arc), 1);
    }
}
