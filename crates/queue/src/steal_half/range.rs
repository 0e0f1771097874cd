//! The two packed words of the extended deque: the stealRange and the owner's promise.
//!
//! | bits of the range | field | |
//! |---|---|---|
//! | 63..32 | `tag` | grows by one with every change, so that an old value does not recur |
//! | 31..16 | `top` | index of the topmost item, modulo 2^16 |
//! | 15 | `exact` | thieves may rely on `bot` (see the parent module) |
//! | 14..0 | `len` | number of items that one theft may take |
//!
//! | bits of the promise | field | |
//! |---|---|---|
//! | 31..16 | `limit` | the owner changes the range before it pops an item above this index |
//! | 15..0 | `ceiling` | the owner changes the range when its `bot` reaches this index |

/// The largest capacity: the distance of two indices must fit in an `i16`.
pub(super) const MAX_CAPACITY: u16 = 1 << 14;

const EXACT: u64 = 1 << 15;
const _: () = assert!((MAX_CAPACITY as u64) < EXACT);

/// Returns how far `a` is ahead of `b`, or 0 if it is behind.
#[inline]
pub(super) fn ahead(a: u16, b: u16) -> u16 {
    let distance = a.wrapping_sub(b);
    if (distance as i16) < 0 { 0 } else { distance }
}

/// The stealRange: the items at `top..top + len` may be stolen with one compare-and-swap.
///
/// Kept packed, because the compiler passes a struct of narrow fields through memory in pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range(pub(super) u64);

impl Range {
    pub(super) fn new(tag: u32, top: u16) -> Range {
        Range(u64::from(tag) << 32 | u64::from(top) << 16)
    }

    /// Returns the tag, at its position in the word.
    #[inline]
    pub(super) fn tag(self) -> u64 {
        self.0 & 0xffff_ffff_0000_0000
    }

    #[inline]
    pub(super) fn top(self) -> u16 {
        (self.0 >> 16) as u16
    }

    #[inline]
    pub(super) fn len(self) -> u16 {
        (self.0 & (EXACT - 1)) as u16
    }

    #[inline]
    pub(super) fn is_exact(self) -> bool {
        self.0 & EXACT != 0
    }

    /// Returns the successor of `self`: the next tag, the same top, `len` items, not exact.
    #[inline]
    pub(super) fn with_len(self, len: u16) -> Range {
        let top = self.0 & 0xffff_0000;
        Range(self.next_tag() | top | u64::from(len))
    }

    /// Returns the successor of `self` when `n` items are taken off the top and `len` of the rest
    /// may be stolen next.
    #[inline]
    pub(super) fn without(self, n: u16, len: u16, exact: bool) -> Range {
        let top = u64::from(self.top().wrapping_add(n)) << 16;
        Range(self.next_tag() | top | if exact { EXACT } else { 0 } | u64::from(len))
    }

    #[inline]
    fn next_tag(self) -> u64 {
        (self.0 >> 32).wrapping_add(1) << 32
    }
}

/// The bounds on which thieves may rely until the owner's next change of the range:
/// `limit <= bot < ceiling`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Promise(pub(super) u64);

impl Promise {
    #[inline]
    pub(super) fn new(limit: u16, ceiling: u16) -> Promise {
        Promise(u64::from(limit) << 16 | u64::from(ceiling))
    }

    #[inline]
    pub(super) fn limit(self) -> u16 {
        (self.0 >> 16) as u16
    }

    #[inline]
    pub(super) fn ceiling(self) -> u16 {
        self.0 as u16
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn words_survive_packing() {
        let range = Range::new(7, u16::MAX).without(2, MAX_CAPACITY, true);
        assert_eq!(
            (range.top(), range.len(), range.is_exact()),
            (1, MAX_CAPACITY, true)
        );
        assert_eq!(range.0 >> 32, 8);
        let promise = Promise::new(u16::MAX, 3);
        assert_eq!((promise.limit(), promise.ceiling()), (u16::MAX, 3));
    }

    #[test]
    fn the_tag_wraps_and_the_top_stays() {
        let range = Range::new(u32::MAX, u16::MAX)
            .without(0, 3, true)
            .with_len(5);
        assert_eq!((range.0 >> 32, range.top(), range.len()), (1, u16::MAX, 5));
        assert!(!range.is_exact());
    }

    #[test]
    fn ahead_saturates_and_wraps() {
        assert_eq!(ahead(2, 65_535), 3);
        assert_eq!(ahead(65_535, 2), 0);
        assert_eq!(ahead(5, 5), 0);
    }
}
