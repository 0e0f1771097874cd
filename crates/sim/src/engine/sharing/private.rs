//! Sharing on semi-private deques: WSSPD inside CFWSS, the closing problem of the thesis (chapter
//! 7).
//!
//! Pointers are private until a thief has asked for one, and an owner pays a fence for each that it
//! makes public, for each that it takes back from the public part, and for each offer that it
//! makes. `THEORY.md` has the argument that these are O(P Tinf).

use super::Sharers;
use crate::dag::Computation;
use crate::engine::core::Core;

/// What thieves see of a processor's deque.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Privacy {
    /// How many pointers, from the top, are public.
    public: usize,
    /// Set if a thief has asked.
    targeted: bool,
}

impl<N: Copy> Sharers<N> {
    /// On semi-private deques.
    pub(crate) fn privately(mut self) -> Sharers<N> {
        self.privacy = vec![Privacy::default(); self.processors.len()];
        self
    }

    /// The owner is about to take its newest pointer. Returns `true` if that is public, so that it
    /// costs a fence.
    pub(super) fn takes_public(&mut self, p: usize) -> bool {
        let len = self.len(p);
        let Some(privacy) = self.privacy.get_mut(p) else {
            return true;
        };
        let is_public = len > 0 && len == privacy.public;
        privacy.public -= usize::from(is_public);
        is_public
    }

    /// A thief is about to take the oldest pointer. Returns `false` if that is private: then the
    /// owner has been asked.
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

    /// What an owner does before each node: it answers a request. Gives the ticks that it costs.
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

    /// Counts the fence of an offer that was made.
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
