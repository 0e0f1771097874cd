//! The handles, the slots, and the owner's operations.

use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;

use super::Inspection;
use super::protocol::Shared;
use super::ring::Slots;
use crate::handle::Handle;
use crate::sync::{AtomicPtr, Ordering};
use crate::traits::{Full, Owner};
use crate::word::Word;

/// A slot: the word of an item, if its index is between `top` and `bot`. Written by the owner; read
/// by all threads. Thieves find out afterwards whether they have read an item.
#[derive(Debug)]
pub(super) struct Slot(pub(super) AtomicPtr<()>);

impl Slot {
    fn empty() -> Self {
        Slot(AtomicPtr::new(std::ptr::null_mut()))
    }

    #[inline]
    fn put<T: Word>(&self, item: T) {
        self.0.store(item.into_word(), Ordering::Relaxed); // [E1]
    }

    /// Takes the item out.
    ///
    /// # Safety
    ///
    /// The slot holds an item of this type that belongs to the caller, which takes it out once.
    #[inline]
    unsafe fn get<T: Word>(&self) -> T {
        let word = self.0.load(Ordering::Relaxed); // [E2]
        // SAFETY: the caller guarantees that the item is there and is taken out once.
        unsafe { T::from_word(word) }
    }
}

/// The owner's handle of an extended deque.
///
/// ```
/// use locksley_queue::steal_half::extended::Deque;
/// use locksley_queue::{Owner, Steal, StealBatch};
///
/// let (mut victim, mut own) = (Deque::new(), Deque::new());
/// for task in 1..=8_u32 {
///     victim.push(task).unwrap();
/// }
/// assert_eq!(victim.thief().steal_half(&mut own), Steal::Success(4));
/// assert_eq!((victim.len(), own.len()), (4, 3));
/// assert_eq!(own.pop(), Some(3));
/// ```
///
/// An item that one handle puts in, another takes out, so the handles are invariant in `T`:
///
/// ```compile_fail
/// use locksley_queue::steal_half::extended::Deque;
///
/// fn shorten<'a>(long: Deque<&'static u8>) -> Deque<&'a u8> {
///     long
/// }
/// ```
///
/// The state of the fast paths is small, and the handle's address escapes to no function, so the
/// compiler can keep a local deque in registers.
pub struct Deque<T: Word> {
    pub(super) inner: Handle<Inner<T>>,
    /// Index one past the newest item: a copy of the `bot` in [`Shared`].
    pub(super) bot: u64,
}

/// A thief's handle.
pub struct Stealer<T: Word> {
    pub(super) inner: Handle<Inner<T>>,
}

pub(super) struct Inner<T: Word> {
    pub(super) shared: Shared,
    pub(super) ring: Slots<Slot>,
    /// Makes the type invariant in `T`: an item that one side puts in, the other takes out.
    items: PhantomData<Cell<T>>,
}

// SAFETY: by the protocol exactly one thread takes an item, so sharing the deque moves items
// between threads but never shares them.
unsafe impl<T: Word + Send> Send for Inner<T> {}
// SAFETY: as above.
unsafe impl<T: Word + Send> Sync for Inner<T> {}

impl<T: Word> Drop for Inner<T> {
    fn drop(&mut self) {
        let (top, len) = self.shared.occupied();
        for i in 0..len as u64 {
            // SAFETY: the last handle was dropped, so no theft is under way, and the slots between
            // top and bottom hold items; each is taken once.
            drop(unsafe { self.ring.slot(u64::from(top) + i).get::<T>() });
        }
    }
}

impl<T: Word> Inner<T> {
    /// The slow path of a push.
    ///
    /// # Safety
    ///
    /// The caller is the owner, and its bottom is at `bot`.
    #[cold]
    #[inline(never)]
    unsafe fn push_slowly(&self, bot: u64, item: T) -> Result<(), Full<T>> {
        // SAFETY: the caller is the owner.
        let owner = unsafe { self.shared.owner_side() };
        if owner.room(bot) == 0 {
            return Err(Full(item));
        }
        owner.expect_thefts();
        self.ring.slot(bot).put(item);
        owner.push_many(bot, 1);
        Ok(())
    }
}

impl<T: Word> Deque<T> {
    /// Creates an empty deque of [`DEFAULT_CAPACITY`](super::DEFAULT_CAPACITY).
    pub fn new() -> Self {
        Self::with_capacity(super::DEFAULT_CAPACITY)
    }

    /// Creates an empty deque with room for `capacity` items, rounded up to a power of two and
    /// clamped to 1..=[`MAX_CAPACITY`](super::MAX_CAPACITY).
    pub fn with_capacity(capacity: usize) -> Self {
        Self::starting_at(capacity, 0)
    }

    /// As [`with_capacity`](Self::with_capacity), with the first index taken from the low 16 bits
    /// of `start` and the first tag from the next 32.
    #[doc(hidden)]
    pub fn starting_at(capacity: usize, start: u64) -> Self {
        let shared = Shared::new(capacity, start);
        let ring = Slots::new(shared.capacity(), Slot::empty);
        Deque {
            bot: shared.bot(),
            inner: Handle::new(Inner {
                shared,
                ring,
                items: PhantomData,
            }),
        }
    }

    /// Returns the number of items that fit.
    pub fn capacity(&self) -> usize {
        self.inner.shared.capacity()
    }

    /// Returns the lengths to which Theorem 3.10 applies.
    #[doc(hidden)]
    pub fn inspect(&self) -> Inspection {
        Inspection::of(&self.inner.shared)
    }
}

impl<T: Word> Default for Deque<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Word> Owner for Deque<T> {
    type Item = T;
    type Thief = Stealer<T>;

    #[inline]
    fn push(&mut self, item: T) -> Result<(), Full<T>> {
        let inner = &*self.inner;
        // SAFETY: the handle is the owner's, and borrowed exclusively.
        let owner = unsafe { inner.shared.owner_side() };
        if owner.push_is_fast(self.bot) {
            owner.expect_thefts();
            inner.ring.slot(self.bot).put(item);
            owner.push(self.bot);
        } else {
            // SAFETY: as above.
            unsafe { inner.push_slowly(self.bot, item)? };
        }
        self.bot = self.bot.wrapping_add(1);
        Ok(())
    }

    #[inline]
    fn pop(&mut self) -> Option<T> {
        let inner = &*self.inner;
        // SAFETY: the handle is the owner's, and borrowed exclusively.
        if !unsafe { inner.shared.owner_side() }.pop(self.bot) {
            return None;
        }
        self.bot = self.bot.wrapping_sub(1);
        // SAFETY: `pop` took the item for the owner.
        Some(unsafe { inner.ring.slot(self.bot).get() })
    }

    fn len(&self) -> usize {
        self.inner.shared.len()
    }

    fn thief(&self) -> Stealer<T> {
        Stealer {
            inner: self.inner.clone(),
        }
    }
}

impl<T: Word> Clone for Stealer<T> {
    fn clone(&self) -> Self {
        Stealer {
            inner: self.inner.clone(),
        }
    }
}

impl<T: Word> fmt::Debug for Deque<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Deque")
            .field("len", &self.inner.shared.len())
            .finish_non_exhaustive()
    }
}

impl<T: Word> fmt::Debug for Stealer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stealer")
            .field("len", &self.inner.shared.len())
            .finish_non_exhaustive()
    }
}
