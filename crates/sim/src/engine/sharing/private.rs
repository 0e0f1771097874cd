//! Sharing on semi-private deques: WSSPD inside CFWSS, the closing problem of the thesis (chapter
//! 7).
//!
//! Pointers are private until a thief requests one. An owner pays a fence for each pointer that it
//! exposes, for each that it takes back from the public part, and for each offer. `THEORY.md`
//! argues that the number of fences is O(P Tinf).

use super::Sharers;
use crate::dag::Computation;
use crate::engine::core::Core;

/// Public part of a processor's deque.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Privacy {
    /// Number of public pointers, counted from the top.
    public: usize,
    /// Set if a thief has requested a pointer.
    targeted: bool,
}

impl<N: Copy> Sharers<N> {
    /// Makes the deques semi-private.
    pub(crate) fn privately(mut self) -> Sharers<N> {
        self.privacy = vec![Privacy::default(); self.processors.len()];
        self
    }

    /// Called before the owner takes its newest pointer. Returns `true` if the pointer is public,
    /// so that taking it costs a fence.
    pub(super) fn takes_public(&mut self, p: usize) -> bool {
        let len = self.len(p);
        let Some(privacy) = self.privacy.get_mut(p) else {
            return true;
        };
        let is_public = len > 0 && len == privacy.public;
        privacy.public -= usize::from(is_public);
        is_public
    }

    /// Called before a thief takes the oldest pointer. Returns `false` if the pointer is private or
    /// the deque is empty; if it is private, sets the owner's request flag.
    pub(super) fn gives_oldest(&mut self, victim: usize) -> bool {
        let len = self.len(victim);
        let Some(privacy) = self.privacy.get_mut(victim) else {
            return true;
        };
        if privacy.public > 0 {
            privacy.public -= 1;
            return true;
        }
        privacy.targeted |= len > 0;
        false
    }

    /// Returns `true` if a thief can take a pointer even if the owner does nothing.
    pub(super) fn has_public(&self, p: usize) -> bool {
        let privacy = self.privacy.get(p);
        privacy.map_or(self.len(p), |privacy| privacy.public) > 0
    }

    /// Answers a request by exposing a pointer, before the owner's next node. Returns the cost in
    /// ticks.
    pub(super) fn expose<C>(&mut self, core: &mut Core<C>, p: usize) -> u32
    where
        C: Computation<Node = N>,
    {
        let len = self.len(p);
        let Some(privacy) = self.privacy.get_mut(p) else {
            return 0;
        };
        if !std::mem::take(&mut privacy.targeted) || len == privacy.public {
            return 0;
        }
        privacy.public += 1;
        core.tally.exposed += 1;
        core.tally.fences += 1;
        core.costs.fence
    }

    /// Counts the fence of an offer. Returns the cost in ticks.
    pub(super) fn fence_offer<C>(&self, core: &mut Core<C>) -> u32
    where
        C: Computation<Node = N>,
    {
        if self.privacy.is_empty() {
            return 0;
        }
        core.tally.fences += 1;
        core.costs.fence
    }
}
