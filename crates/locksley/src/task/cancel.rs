//! Cancellation: a flag that tasks look at.
//!
//! ```text
//!   parent ──cancel──> cancelled
//!     ^ ^
//!     | └── child ── asks itself, then its parent
//!     └──── child
//! ```
//!
//! A token asks upwards, so cancelling is one store however many children there are; one that has
//! seen its parent cancelled keeps that.
//!
//! The flag is a message that there is no point in going on; what the canceller wrote before is
//! seen by a thread that sees it (Release and Acquire).

use std::fmt;
use std::sync::Arc;

use crate::sync::{AtomicBool, Ordering};
use crate::task::scope::Scope;

struct Node {
    cancelled: AtomicBool,
    parent: Option<Arc<Node>>,
}

impl Drop for Node {
    /// One ancestor after the other: a long line of them must not take a deep stack.
    fn drop(&mut self) {
        let mut next = self.parent.take();
        while let Some(mut node) = next.and_then(Arc::into_inner) {
            next = node.parent.take();
        }
    }
}

/// A token by which tasks can be told to stop. Clones are the same token; a
/// [child](CancelToken::child) is cancelled with its parent, but not the other way round.
///
/// Nothing stops by itself: a task that wants to be cancellable looks at the token now and then.
#[derive(Clone)]
pub struct CancelToken {
    node: Arc<Node>,
}

impl CancelToken {
    /// A token that is not cancelled.
    pub fn new() -> CancelToken {
        CancelToken::with_parent(None)
    }

    fn with_parent(parent: Option<Arc<Node>>) -> CancelToken {
        CancelToken {
            node: Arc::new(Node {
                cancelled: AtomicBool::new(false),
                parent,
            }),
        }
    }

    /// A token that is cancelled when this one is, or by itself.
    #[must_use]
    pub fn child(&self) -> CancelToken {
        CancelToken::with_parent(Some(self.node.clone()))
    }

    /// Cancels the token and its children, for good.
    pub fn cancel(&self) {
        self.node.cancelled.store(true, Ordering::Release);
    }

    /// Returns `true` if the token, or one that it descends from, was cancelled.
    #[inline]
    pub fn is_cancelled(&self) -> bool {
        self.node.cancelled.load(Ordering::Acquire)
            || self.node.parent.is_some() && self.ask_ancestors()
    }

    fn ask_ancestors(&self) -> bool {
        let mut node = &self.node;
        while let Some(parent) = &node.parent {
            if parent.cancelled.load(Ordering::Acquire) {
                self.cancel();
                return true;
            }
            node = parent;
        }
        false
    }
}

impl Default for CancelToken {
    fn default() -> Self {
        CancelToken::new()
    }
}

impl fmt::Debug for CancelToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CancelToken")
            .field("cancelled", &self.is_cancelled())
            .finish()
    }
}

/// Cancelling a scope.
impl Scope<'_> {
    fn made_token(&self) -> &CancelToken {
        self.token.get_or_init(CancelToken::new)
    }

    /// Cancels the scope: tasks that have not started will not run; running ones can ask
    /// [`is_cancelled`](Scope::is_cancelled).
    pub fn cancel(&self) {
        self.made_token().cancel();
    }

    /// Returns `true` if the scope was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.token.get().is_some_and(CancelToken::is_cancelled)
    }

    /// The scope's token, with which tasks can ask whether the scope was cancelled, and cancel it.
    pub fn token(&self) -> CancelToken {
        self.made_token().clone()
    }
}

#[cfg(all(test, not(loom)))]
#[path = "../../tests/unit/task/cancel.rs"]
mod tests;
