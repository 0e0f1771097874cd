//! A lock that is biased towards one thread: the owner enters with plain stores and loads, and any
//! other thread pays with a heavy barrier.
//!
//! ```text
//!   owner                               another thread
//!   inside = true                       taken: false -> true   (or gives up)
//!   light barrier                       heavy barrier
//!   taken?  ── yes ──> inside = false,  inside?  ── yes ──> taken = false, and gives up
//!     │                waits, again        │
//!     no: works                            no: works
//!   inside = false                      taken = false
//! ```
//!
//! **Exclusion.** The pair of barriers ensures that the owner sees `taken`, or the other thread
//! sees `inside` (`locksley_queue::barrier`). Among several other threads the exchange of `taken`
//! decides.
//!
//! **Waiting.** Other threads never wait. The owner waits for a thread that is inside, and for one
//! that is about to find the owner inside and to give up.
//!
//! | tag | operation | ordering | pairs with | why not weaker | test |
//! |---|---|---|---|---|---|
//! | B1 | enter: light barrier between `inside` and `taken` | compiler | B4 | both would get in | `dealing::models::one_at_a_time` |
//! | B2 | enter: load of `taken` | Acquire | B6 | the owner would not see what the last thread to leave did | as B1 |
//! | B3 | leave, and step back: store of `inside` | Release | B5 | another thread would not see what the owner did; when stepping back too, because that store hides the one of the last leaving (this second half is argued, not shown by loom) | as B1 |
//! | B4 | try: heavy barrier between `taken` and `inside` | membarrier | B1 | as B1 | as B1 |
//! | B5 | try: load of `inside` | Acquire | B3 | as B3 | as B1 |
//! | B6 | leave, of others: store of `taken` | Release | B2, B7 | as B2, for the owner or the next one | as B1 |
//! | B7 | try: exchange of `taken` | Acquire | B6 | as B6 | not shown by loom: the heavy barrier behind it [B4], a fence there, acquires too; the exclusion of other threads shall not depend on how the barrier is implemented |

use std::sync::Arc;

use crossbeam_utils::CachePadded;
use locksley_queue::barrier;

use crate::sync::{AtomicBool, Ordering, UnsafeCell, give_way};

/// Number of times that the owner checks the lock before it yields its processor. The thread inside
/// needs a fraction of a microsecond, unless it was preempted.
const LOOKS: u32 = if cfg!(loom) { 0 } else { 100 };

struct Lock<T> {
    /// Set while the owner is inside. Written by the owner.
    inside: CachePadded<AtomicBool>,
    /// Set while another thread is inside, or tries to enter. Written by the other threads.
    taken: CachePadded<AtomicBool>,
    /// Accessed by the thread that is inside.
    content: UnsafeCell<T>,
}

// SAFETY: one thread at a time is inside and accesses the content, and sees what the last one did.
unsafe impl<T: Send> Sync for Lock<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Send for Lock<T> {}

/// The owner's side. There is only one.
pub(super) struct OwnerLock<T>(Arc<Lock<T>>);

/// The side of all other threads.
pub(super) struct RemoteLock<T>(Arc<Lock<T>>);

/// Creates a lock around `content`, and returns both sides.
pub(super) fn biased<T>(content: T) -> (OwnerLock<T>, RemoteLock<T>) {
    let lock = Arc::new(Lock {
        inside: CachePadded::new(AtomicBool::new(false)),
        taken: CachePadded::new(AtomicBool::new(false)),
        content: UnsafeCell::new(content),
    });
    (OwnerLock(lock.clone()), RemoteLock(lock))
}

impl<T> OwnerLock<T> {
    /// Enters, calls `f`, and leaves.
    #[inline]
    pub(super) fn with<R>(&mut self, f: impl FnOnce(&mut T) -> R) -> R {
        let lock = &*self.0;
        lock.inside.store(true, Ordering::Relaxed);
        barrier::light(); // [B1]
        if lock.taken.load(Ordering::Acquire) {
            // [B2]
            lock.wait();
        }
        let _leave = Leave(&lock.inside); // [B3]
        // SAFETY: the owner is inside, and because of `&mut self` only once.
        lock.content.with_mut(|content| f(unsafe { &mut *content }))
    }
}

/// Leaves the lock when it is dropped, also if a panic unwinds.
struct Leave<'a>(&'a AtomicBool);

impl Drop for Leave<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release); // [B3], [B6]
    }
}

impl<T> Lock<T> {
    /// For the owner: steps back, and enters again as soon as no other thread is inside.
    #[cold]
    #[inline(never)]
    fn wait(&self) {
        loop {
            self.inside.store(false, Ordering::Release); // [B3]
            let mut looks = 0;
            while self.taken.load(Ordering::Relaxed) {
                looks += 1;
                if looks > LOOKS {
                    give_way();
                } else {
                    std::hint::spin_loop();
                }
            }
            self.inside.store(true, Ordering::Relaxed);
            barrier::light(); // [B1]
            if !self.taken.load(Ordering::Acquire) {
                // [B2]
                return;
            }
        }
    }
}

impl<T> RemoteLock<T> {
    /// Enters, calls `f`, and leaves, unless another thread is inside.
    pub(super) fn try_with<R>(&self, f: impl FnOnce(&mut T) -> R) -> Option<R> {
        let lock = &*self.0;
        let taken = lock.taken.load(Ordering::Relaxed)
            || lock
                .taken
                .compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed) // [B7]
                .is_err();
        if taken {
            return None;
        }
        let _leave = Leave(&lock.taken); // [B6]
        let alone = barrier::heavy() // [B4]
            && !lock.inside.load(Ordering::Acquire); // [B5]
        alone.then(|| {
            // SAFETY: of the other threads only this one is inside; the owner was not inside, and
            // sees `taken` before it enters.
            lock.content.with_mut(|content| f(unsafe { &mut *content }))
        })
    }
}

impl<T> Clone for RemoteLock<T> {
    fn clone(&self) -> Self {
        RemoteLock(self.0.clone())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    #[test]
    fn a_panic_leaves_the_lock() {
        assert!(barrier::is_ready() || barrier::heavy());
        let (mut owner, remote) = biased(1);
        let panics = |_: &mut i32| panic!("on purpose");
        let remotely = || remote.try_with(panics).is_some();
        catch_unwind(AssertUnwindSafe(remotely)).unwrap_err();
        assert_eq!(remote.try_with(|content| *content), Some(1));
        catch_unwind(AssertUnwindSafe(|| owner.with(panics))).unwrap_err();
        assert_eq!(remote.try_with(|content| *content), Some(1));
    }
}
