//! What the two variants have in common: the handles, and the owner's operations.

use std::fmt;

use super::Inspection;
use super::protocol::Shared;
use super::ring::Ring;
use crate::handle::Handle;
use crate::pile::{Full, Owner, Thief};
use crate::word::Word;

/// How thieves take their loot: [`extended::CopyFirst`](super::extended::CopyFirst) or
/// [`claim_first::ClaimFirst`](super::claim_first::ClaimFirst).
pub trait Variant: Kind {}

/// What is different about a variant.
pub trait Kind: Sized + 'static {
    /// Does a thief claim its loot before it copies it?
    const CLAIMS: bool;
    /// A place for an item.
    type Slot<T: Word>: Slot<T>;
}

/// A place for an item.
pub trait Slot<T> {
    fn empty() -> Self;

    /// Puts an item in.
    ///
    /// # Safety
    ///
    /// The caller is the owner, and the slot is free.
    unsafe fn put(&self, item: T);

    /// Takes the item out.
    ///
    /// # Safety
    ///
    /// The item is in the slot and the caller's, who takes it out once; nobody writes meanwhile.
    unsafe fn get(&self) -> T;
}

/// The owner's side.
///
/// What is on the fast paths is small enough for registers, and the handle's address is passed to
/// nobody: a deque that a function has to itself lives in them.
pub struct Deque<T: Word, V: Variant> {
    pub(super) inner: Handle<Inner<T, V>>,
    /// One past the newest item, where the next one goes: what [`Shared`] publishes.
    pub(super) bot: u64,
}

/// A thief's handle.
pub struct Stealer<T: Word, V: Variant> {
    pub(super) inner: Handle<Inner<T, V>>,
}

pub(super) struct Inner<T: Word, V: Variant> {
    pub(super) shared: Shared<V>,
    pub(super) ring: Ring<V::Slot<T>>,
}

// SAFETY: who may touch a slot is settled by the protocol: an item leaves through exactly one thread,
// so that sharing the deque moves items between threads but never shares them.
unsafe impl<T: Word + Send, V: Variant> Send for Inner<T, V> {}
// SAFETY: as above.
unsafe impl<T: Word + Send, V: Variant> Sync for Inner<T, V> {}

impl<T: Word, V: Variant> Drop for Inner<T, V> {
    fn drop(&mut self) {
        let (top, len) = self.shared.occupied();
        for i in 0..len as u64 {
            // SAFETY: the last handle is gone, so no theft is under way and the items between top and
            // bottom are here; each is taken once.
            drop(unsafe { self.ring.slot(u64::from(top) + i).get() });
        }
    }
}

impl<T: Word, V: Variant> Inner<T, V> {
    /// A push that is not a fast one.
    #[cold]
    #[inline(never)]
    fn push_slowly(&self, bot: u64, item: T) -> Result<(), Full<T>> {
        if self.shared.room(bot) == 0 {
            return Err(Full(item));
        }
        self.shared.expect_thefts();
        // SAFETY: only the owner gets here, and there is room.
        unsafe { self.ring.slot(bot).put(item) };
        self.shared.push_many(bot, 1);
        Ok(())
    }
}

impl<T: Word, V: Variant> Deque<T, V> {
    /// An empty deque of [`DEFAULT_CAPACITY`](super::DEFAULT_CAPACITY).
    pub fn new() -> Self {
        Self::with_capacity(super::DEFAULT_CAPACITY)
    }

    /// An empty deque with room for `capacity` items, rounded up to a power of two and clamped to
    /// 1..=[`MAX_CAPACITY`](super::MAX_CAPACITY).
    pub fn with_capacity(capacity: usize) -> Self {
        Self::starting_at(capacity, 0)
    }

    /// As [`with_capacity`](Self::with_capacity), with the first index taken from the low 16 bits
    /// of `start` and the first tag from the next 32.
    #[doc(hidden)]
    pub fn starting_at(capacity: usize, start: u64) -> Self {
        let shared = Shared::new(capacity, start);
        let ring = Ring::new(shared.capacity(), V::Slot::empty);
        Deque {
            bot: shared.bot(),
            inner: Handle::new(Inner { shared, ring }),
        }
    }

    /// How many items fit.
    pub fn capacity(&self) -> usize {
        self.inner.shared.capacity()
    }

    /// The lengths that Theorem 3.10 is about.
    #[doc(hidden)]
    pub fn inspect(&self) -> Inspection {
        Inspection::of(&self.inner.shared)
    }
}

impl<T: Word, V: Variant> Default for Deque<T, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Word, V: Variant> Owner for Deque<T, V>
where
    Stealer<T, V>: Thief<Item = T>,
{
    type Item = T;
    type Thief = Stealer<T, V>;

    #[inline]
    fn push(&mut self, item: T) -> Result<(), Full<T>> {
        let inner = &*self.inner;
        if inner.shared.push_is_fast(self.bot) {
            inner.shared.expect_thefts();
            // SAFETY: a fast push has room.
            unsafe { inner.ring.slot(self.bot).put(item) };
            inner.shared.push(self.bot);
        } else {
            inner.push_slowly(self.bot, item)?;
        }
        self.bot = self.bot.wrapping_add(1);
        Ok(())
    }

    #[inline]
    fn pop(&mut self) -> Option<T> {
        let inner = &*self.inner;
        if !inner.shared.pop(self.bot) {
            return None;
        }
        self.bot = self.bot.wrapping_sub(1);
        // SAFETY: `pop` took the item for the owner.
        Some(unsafe { inner.ring.slot(self.bot).get() })
    }

    fn len(&self) -> usize {
        self.inner.shared.len()
    }

    fn thief(&self) -> Stealer<T, V> {
        Stealer {
            inner: self.inner.clone(),
        }
    }
}

impl<T: Word, V: Variant> Clone for Stealer<T, V> {
    fn clone(&self) -> Self {
        Stealer {
            inner: self.inner.clone(),
        }
    }
}

impl<T: Word, V: Variant> fmt::Debug for Deque<T, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Deque")
            .field("len", &self.inner.shared.len())
            .finish_non_exhaustive()
    }
}

impl<T: Word, V: Variant> fmt::Debug for Stealer<T, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stealer")
            .field("len", &self.inner.shared.len())
            .finish_non_exhaustive()
    }
}
