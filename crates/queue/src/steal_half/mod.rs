//! Stealing up to half of a deque's items at once.

mod protocol;
mod range;
mod ring;

pub mod claim_first;
pub mod extended;

/// The most items that a deque of this module can hold.
pub const MAX_CAPACITY: usize = range::MAX_CAPACITY as usize;

/// How many items a deque holds unless told otherwise.
pub const DEFAULT_CAPACITY: usize = if cfg!(loom) { 4 } else { 1024 };

/// The lengths of a deque and of its stealRange, exact when nobody is at work on it.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inspection {
    /// How many items are in the deque.
    pub len: usize,
    /// How many of them one theft may take.
    pub range: usize,
}

impl Inspection {
    fn of<const C: bool>(shared: &protocol::Shared<C>) -> Inspection {
        let (_, len) = shared.occupied();
        Inspection {
            len,
            range: shared.range().len().into(),
        }
    }
}
