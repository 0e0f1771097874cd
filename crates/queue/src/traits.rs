//! The two sides of a queue, and what they answer.
//!
//! A *deque* has one [`Owner`], which pushes and pops at the bottom, and any number of
//! [`Thief`]s, which steal at the top. A *channel* has one [`Consumer`] and one or more
//! [`Producer`]s. The owner's operations take `&mut self`: that there is one owner is checked by
//! the compiler.

use std::error::Error;
use std::fmt;

use crate::word::Word;

/// What came of an attempt to steal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a stolen item that is dropped is a task that never runs"]
pub enum Steal<T> {
    /// The topmost item, now the thief's.
    Success(T),
    /// There was nothing in the deque.
    Empty,
    /// Another thread interfered. Trying again may succeed; trying elsewhere may be better.
    Retry,
    /// There is work, but the owner has not made it public yet (split and semi-private deques).
    /// The thief should ask the owner to expose some. Thieves of `steal_half` answer this if the
    /// kernel refuses the barrier that the theft needs: trying again at once may be in vain.
    Private,
}

impl<T> Steal<T> {
    /// The stolen item, if there is one.
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

/// A bounded queue had no room; the item comes back.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Full<T>(pub T);

impl<T> Full<T> {
    /// The item that found no room.
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
    /// What is in the deque.
    type Item: Word;
    /// The other side.
    type Thief: Thief<Item = Self::Item>;

    /// Pushes an item at the bottom. A deque that grows always has room.
    ///
    /// # Errors
    ///
    /// A bounded deque without room gives the item back in [`Full`].
    fn push(&mut self, item: Self::Item) -> Result<(), Full<Self::Item>>;

    /// Takes the item at the bottom: the newest.
    fn pop(&mut self) -> Option<Self::Item>;

    /// How many items are there. Thieves may take some at any moment; only the owner adds any.
    fn len(&self) -> usize;

    /// Returns `true` if nothing is there.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A handle for a thief.
    fn thief(&self) -> Self::Thief;
}

/// The thief's side of a deque. Handles are cheap to clone and may be shared.
pub trait Thief: Clone {
    /// What is in the deque.
    type Item: Word;

    /// Tries to take the item at the top: the oldest.
    fn steal(&self) -> Steal<Self::Item>;

    /// How many items seem to be there: a guess that is old when it is read.
    fn len(&self) -> usize;

    /// Returns `true` if nothing seems to be there.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A thief that can take several items at once.
pub trait StealBatch: Thief {
    /// The deque that the stolen items go to.
    type Deque: Owner<Item = Self::Item>;

    /// Tries to move up to half of the items into `own`, and returns one of them (the newest of
    /// the batch) for the thief to run now.
    ///
    /// Takes no more than `own` has room for.
    fn steal_half(&self, own: &mut Self::Deque) -> Steal<Self::Item>;
}

/// The producer's side of a channel.
pub trait Producer {
    /// What goes through.
    type Item: Word;

    /// Puts an item in, behind those that are there.
    ///
    /// # Errors
    ///
    /// A bounded channel without room gives the item back in [`Full`].
    fn produce(&mut self, item: Self::Item) -> Result<(), Full<Self::Item>>;
}

/// The consumer's side of a channel.
pub trait Consumer {
    /// What comes through.
    type Item: Word;

    /// Takes the oldest item out, if there is one.
    fn consume(&mut self) -> Option<Self::Item>;
}
