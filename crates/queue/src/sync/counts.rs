//! Counts of each thread's expensive operations (feature `count`).
//!
//! ```
//! use locksley_queue::{Owner, counts, semi_private};
//!
//! let mut owner = semi_private::Deque::new();
//! let before = counts::of_this_thread();
//! for task in 0..10_u32 {
//!     owner.push(task).unwrap();
//!     owner.pop();
//! }
//! assert_eq!(counts::of_this_thread() - before, counts::Counts::default());
//! ```

use std::cell::Cell;
use std::ops::Sub;

/// Numbers of expensive operations that a thread has issued through this crate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Sequentially consistent fences.
    pub fences: u64,
    /// Atomic read-modify-writes: compare-and-swap, swap, fetch-and-add.
    pub rmws: u64,
    /// `membarrier` system calls.
    pub membarriers: u64,
}

impl Sub for Counts {
    type Output = Counts;

    fn sub(self, earlier: Counts) -> Counts {
        Counts {
            fences: self.fences - earlier.fences,
            rmws: self.rmws - earlier.rmws,
            membarriers: self.membarriers - earlier.membarriers,
        }
    }
}

thread_local! {
    static COUNTS: Cell<Counts> = const {
        Cell::new(Counts { fences: 0, rmws: 0, membarriers: 0 })
    };
}

/// Returns the counts of the calling thread so far.
pub fn of_this_thread() -> Counts {
    COUNTS.get()
}

#[inline]
pub(crate) fn add(f: impl FnOnce(&mut Counts)) {
    let mut counts = COUNTS.get();
    f(&mut counts);
    COUNTS.set(counts);
}
