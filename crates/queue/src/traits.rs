//! The two sides of a queue, and the results of their operations.
//!
//! A *deque* has one [`Owner`], which pushes and pops at the bottom, and any number of
//! [`Thief`]s, which steal at the top. A *channel* has one [`Consumer`] and one or more
//! [`Producer`]s. The owner's operations take `&mut self`, so the compiler checks that there is one
//! owner.

use std::error::Error;
use std::fmt;

use crate::word::Word;

/// Result of an attempt to steal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a stolen item that is dropped is a task that never runs"]
pub enum Steal<T> {
    /// The topmost item, which belongs to the thief.
    Success(T),
    /// The deque was empty.
    Empty,
    /// Another thread interfered. Trying again may succeed; trying elsewhere may be better.
    Retry,
    /// There is work, but the owner has not made it public yet (split and semi-private deques).
    /// The thief should ask the owner to expose some. A thief of `steal_half` gets this if the
    /// kernel refuses the barrier that the theft needs; an immediate retry is likely to fail too.
    Private,
}

impl<T> Steal<T> {
    /// Returns the stolen item, if there is one.
    pub fn success(self) -> Option<T> {
        match self {
            Steal::Success(item) => Some(item),
            _ => None,
        }
    }

    /// Returns `true` for [`Steal::Success`].
    pub fn is_success(&self) -> bool {
        matches!(self, Steal::Success(_))
    }

    /// Returns `true` for [`Steal::Empty`].
    pub fn is_empty(&self) -> bool {
        matches!(self, Steal::Empty)
    }

    /// Returns `true` for [`Steal::Retry`].
    pub fn is_retry(&self) -> bool {
        matches!(self, Steal::Retry)
    }

    /// Returns `true` for [`Steal::Private`].
    pub fn is_private(&self) -> bool {
        matches!(self, Steal::Private)
    }

    /// Applies `f` to the stolen item.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Steal<U> {
        match self {
            Steal::Success(item) => Steal::Success(f(item)),
            Steal::Empty => Steal::Empty,
            Steal::Retry => Steal::Retry,
            Steal::Private => Steal::Private,
        }
    }
}

/// Error of a push to a bounded queue that has no room. Returns the item.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Full<T>(pub T);

impl<T> Full<T> {
    /// Returns the item that was refused.
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl<T> fmt::Debug for Full<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Full(..)")
    }
}

impl<T> fmt::Display for Full<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the queue is full: run the item, or keep it and push it again later")
    }
}

impl<T> Error for Full<T> {}

/// The owner's side of a deque.
///
/// ```
/// use locksley_queue::{Owner, Steal, Thief, chase_lev};
///
/// let mut owner = chase_lev::Deque::new();
/// let thief = owner.thief();
/// for task in 1..=3_u32 {
///     owner.push(task).unwrap();
/// }
/// assert_eq!(thief.steal(), Steal::Success(1)); // the oldest
/// assert_eq!(owner.pop(), Some(3)); // the newest
/// assert_eq!(owner.len(), 1);
/// ```
pub trait Owner {
    /// Type of the items.
    type Item: Word;
    /// Handle of the thieves.
    type Thief: Thief<Item = Self::Item>;

    /// Pushes an item at the bottom. A deque that grows always has room.
    ///
    /// # Errors
    ///
    /// A bounded deque without room returns the item in [`Full`].
    fn push(&mut self, item: Self::Item) -> Result<(), Full<Self::Item>>;

    /// Pops the newest item, which is at the bottom.
    fn pop(&mut self) -> Option<Self::Item>;

    /// Returns the number of items. Thieves may take some at any moment; only the owner adds items.
    fn len(&self) -> usize;

    /// Returns `true` if the deque is empty.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns a handle for a thief.
    fn thief(&self) -> Self::Thief;
}

/// The thief's side of a deque. Handles are cheap to clone and may be shared.
pub trait Thief: Clone {
    /// Type of the items.
    type Item: Word;

    /// Tries to take the oldest item, which is at the top.
    fn steal(&self) -> Steal<Self::Item>;

    /// Returns an estimate of the number of items, which may be outdated when it is returned.
    fn len(&self) -> usize;

    /// Returns `true` if the deque seems to be empty.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A thief that can take several items at once.
pub trait StealBatch: Thief {
    /// Deque that receives the stolen items.
    type Deque: Owner<Item = Self::Item>;

    /// Tries to move up to half of the items into `own`, and returns one of them (the newest of
    /// the batch) for the thief to run now.
    ///
    /// Takes no more than `own` has room for.
    fn steal_half(&self, own: &mut Self::Deque) -> Steal<Self::Item>;
}

/// The producer's side of a channel.
pub trait Producer {
    /// Type of the items.
    type Item: Word;

    /// Appends an item.
    ///
    /// # Errors
    ///
    /// A bounded channel without room returns the item in [`Full`].
    fn produce(&mut self, item: Self::Item) -> Result<(), Full<Self::Item>>;
}

/// The consumer's side of a channel.
pub trait Consumer {
    /// Type of the items.
    type Item: Word;

    /// Removes and returns the oldest item, if there is one.
    fn consume(&mut self) -> Option<Self::Item>;
}
