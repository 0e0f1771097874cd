//! The pool of item lists: a lock-free stack with a tagged head.

use std::ptr;

use crossbeam_utils::CachePadded;

use super::item::{Arena, Item};
use crate::sync::{AtomicBool, AtomicU64, Ordering};

/// The paper's RS-pool, and the arena that its items live in.
///
/// | bits of `head` | meaning |
/// |---|---|
/// | 0-31 | name of the first item of the topmost list, 0 if there is none |
/// | 32-63 | tag: how many lists have been pushed so far, modulo 2^32 |
pub(super) struct Pool {
    head: CachePadded<AtomicU64>,
    arena: Arena,
    /// Set if nothing is allocated any more. Written before the matrix is shared.
    is_bound: AtomicBool,
}

impl Pool {
    /// An empty pool whose tag starts at `tag`.
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

    /// Gives a list of `granularity` items to the process that takes one next.
    ///
    /// # Safety
    ///
    /// `list` is the first of `granularity` items of this pool's arena, linked by `next` up to a
    /// null. They belong to the caller, and no longer after the call.
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

    /// A list of `granularity` items, from the pool or else freshly allocated.
    #[cold]
    #[inline(never)]
    pub(super) fn pop_or_grow(&self) -> *mut Item {
        let list = self.pop();
        if list.is_null() {
            self.arena.grow()
        } else {
            list
        }
    }

    /// From now on [`pop_within_bound`](Pool::pop_within_bound) allocates nothing.
    pub(super) fn bound(&self) {
        self.is_bound.store(true, Ordering::Relaxed);
    }

    /// The same; null if the pool is empty and bound.
    #[cold]
    #[inline(never)]
    pub(super) fn pop_within_bound(&self) -> *mut Item {
        if self.is_bound.load(Ordering::Relaxed) {
            self.pop()
        } else {
            self.pop_or_grow()
        }
    }

    /// A list from the pool, or null if there is none.
    fn pop(&self) -> *mut Item {
        let mut old = self.head.load(Ordering::Acquire); // [O7]
        loop {
            if name(old) == 0 {
                return ptr::null_mut();
            }
            // SAFETY: who pushed the list had the item, so it was allocated before that, and the
            // push happened before this by [O7] or [O8].
            let list = unsafe { self.arena.item(name(old)) };
            // SAFETY: an item of our arena. If another process has taken the list, `below` may be
            // stale, but the exchange fails: this list on top again means a push since, a different
            // tag.
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
