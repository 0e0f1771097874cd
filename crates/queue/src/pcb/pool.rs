//! The pool of item lists: a lock-free stack with a tagged head.

use std::ptr;

use crossbeam_utils::CachePadded;

use super::item::{Arena, Item};
use crate::sync::{AtomicBool, AtomicU64, Ordering};

/// The paper's RS-pool, and the arena of its items.
///
/// | bits of `head` | meaning |
/// |---|---|
/// | 0-31 | name of the first item of the topmost list, 0 if there is none |
/// | 32-63 | tag: how many lists have been pushed so far, modulo 2^32 |
pub(super) struct Pool {
    head: CachePadded<AtomicU64>,
    arena: Arena,
    /// Set if [`pop_or_grow`](Pool::pop_or_grow) may not allocate. Written before the
    /// matrix is shared.
    is_bound: AtomicBool,
}

impl Pool {
    /// Creates an empty pool whose tag starts at `tag`.
    pub(super) fn new(granularity: usize, tag: u32) -> Self {
        Self {
            head: CachePadded::new(AtomicU64::new(pack(tag, 0))),
            arena: Arena::new(granularity),
            is_bound: AtomicBool::new(false),
        }
    }

    pub(super) fn arena(&self) -> &Arena {
        &self.arena
    }

    /// Pushes a list of `granularity` items.
    ///
    /// # Safety
    ///
    /// `list` is the first of `granularity` items of this pool's arena, linked by `next` up to a
    /// null. The caller owns them, and gives them up with the call.
    #[cold]
    #[inline(never)]
    pub(super) unsafe fn push(&self, list: *mut Item) {
        // SAFETY: an item of this pool's arena.
        let first = unsafe { &*list };
        let mut old = self.head.load(Ordering::Relaxed);
        loop {
            first.below.store(u64::from(name(old)), Ordering::Relaxed);
            let new = pack(tag(old).wrapping_add(1), first.name);
            match self.head.compare_exchange(
                old,
                new,
                Ordering::Release, // [O6]
                Ordering::Relaxed,
            ) {
                Ok(_) => return,
                Err(now) => old = now,
            }
        }
    }

    /// Returns a list of `granularity` items, from the pool or else newly allocated; null if the
    /// pool is empty and bound.
    #[cold]
    #[inline(never)]
    pub(super) fn pop_or_grow(&self) -> *mut Item {
        let list = self.pop();
        if list.is_null() && !self.is_bound.load(Ordering::Relaxed) {
            self.arena.grow()
        } else {
            list
        }
    }

    /// Makes [`pop_or_grow`](Pool::pop_or_grow) allocate nothing from now on.
    pub(super) fn bound(&self) {
        self.is_bound.store(true, Ordering::Relaxed);
    }

    /// Returns a list from the pool, or null if there is none.
    fn pop(&self) -> *mut Item {
        let mut old = self.head.load(Ordering::Acquire); // [O7]
        loop {
            if name(old) == 0 {
                return ptr::null_mut();
            }
            // SAFETY: the thread that pushed the list owned the item, so it was allocated before
            // the push, and the push happened before this by [O7] or [O8].
            let list = unsafe { self.arena.item(name(old)) };
            // SAFETY: an item of the arena. If another process has taken the list, `below` may be
            // stale, but then the exchange fails: the list can be on top again only after a push,
            // which has changed the tag.
            let below = unsafe { &*list }.below.load(Ordering::Relaxed) as u32;
            let new = pack(tag(old), below);
            match self.head.compare_exchange(
                old,
                new,
                Ordering::Relaxed,
                Ordering::Acquire, // [O8]
            ) {
                Ok(_) => return list,
                Err(now) => old = now,
            }
        }
    }
}

fn pack(tag: u32, name: u32) -> u64 {
    u64::from(tag) << 32 | u64::from(name)
}

fn tag(head: u64) -> u32 {
    (head >> 32) as u32
}

fn name(head: u64) -> u32 {
    head as u32
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_stack_of_lists_that_allocates_when_empty() {
        let pool = Pool::new(2, u32::MAX - 1);
        let lists: Vec<_> = (0..3).map(|_| pool.pop_or_grow()).collect();
        assert_eq!(pool.arena().allocated(), 6);
        for &list in &lists {
            // SAFETY: the list comes from the pool, whole.
            unsafe { pool.push(list) };
        }
        for &list in lists.iter().rev() {
            assert_eq!(pool.pop_or_grow(), list);
        }
        assert_eq!(pool.arena().allocated(), 6);
        assert!(pool.pop().is_null());
    }

    #[test]
    fn every_push_changes_the_tag_and_the_tag_wraps() {
        let pool = Pool::new(1, u32::MAX);
        let list = pool.pop_or_grow();
        for expected in 0..3 {
            // SAFETY: the list comes from the pool, whole.
            unsafe { pool.push(list) };
            assert_eq!(tag(pool.head.load(Ordering::Relaxed)), expected);
            assert_eq!(pool.pop(), list);
        }
    }
}
