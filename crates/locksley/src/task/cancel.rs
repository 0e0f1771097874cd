//! Cancellation: a flag that tasks check.
//!
//! ```text
//!   parent ──cancel──> cancelled
//!     ^ ^
//!     | └── child ── asks itself, then its parent
//!     └──── child
//! ```
//!
//! A token checks its ancestors, so cancelling is one store however many children there are. A
//! token that has seen an ancestor cancelled remembers it.
//!
//! A thread that sees the flag also sees what the canceller wrote before it (Release and Acquire).

use std::fmt;
use std::sync::Arc;

use crate::sync::{AtomicBool, Ordering};
use crate::task::scope::Scope;

#[derive(Default)]
struct Node {
    cancelled: AtomicBool,
    parent: Option<Arc<Node>>,
}

impl Drop for Node {
    /// Drops one ancestor after the other, so that a long chain cannot overflow the stack.
    fn drop(&mut self) {
        let mut next = self.parent.take();
        while let Some(mut node) = next.and_then(Arc::into_inner) {
            next = node.parent.take();
        }
    }
}

/// A token that tells tasks to stop. Clones are the same token; a [child](CancelToken::child) is
/// cancelled with its parent, but not the other way round.
///
/// Cancellation is cooperative: a task has to check the token now and then.
#[cfg_attr(doc, doc = include_str!("../../docs/examples/cancel_token.md"))]
#[derive(Clone, Default)]
pub struct CancelToken {
    node: Arc<Node>,
}

impl CancelToken {
    /// Creates a token that is not cancelled.
    pub fn new() -> CancelToken {
        CancelToken::default()
    }

    /// Creates a token that is cancelled with this one, or by itself.
    #[must_use]
    pub fn child(&self) -> CancelToken {
        let node = Node {
            cancelled: AtomicBool::new(false),
            parent: Some(self.node.clone()),
        };
        CancelToken {
            node: Arc::new(node),
        }
    }

    /// Cancels the token and its descendants, for good.
    pub fn cancel(&self) {
        self.node.cancelled.store(true, Ordering::Release);
    }

    /// Returns `true` if the token or one of its ancestors was cancelled.
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

impl fmt::Debug for CancelToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CancelToken")
            .field("cancelled", &self.is_cancelled())
            .finish()
    }
}

impl Scope<'_> {
    fn made_token(&self) -> &CancelToken {
        self.token.get_or_init(CancelToken::new)
    }

    /// Cancels the scope: tasks that have not started will not run; running tasks can check
    /// [`is_cancelled`](Scope::is_cancelled).
    pub fn cancel(&self) {
        self.made_token().cancel();
    }

    /// Returns `true` if the scope was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.token.get().is_some_and(CancelToken::is_cancelled)
    }

    /// Returns the scope's token, with which tasks can check whether the scope was cancelled, and
    /// cancel it.
    pub fn token(&self) -> CancelToken {
        self.made_token().clone()
    }
}

#[cfg(all(test, not(loom)))]
#[path = "../../tests/unit/task/cancel.rs"]
mod tests;
