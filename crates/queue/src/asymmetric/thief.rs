//! The thief's side: claim, barrier, take.

use std::fmt;

use super::bare::{Bare, CLAIMED};
use crate::handle::Handle;
use crate::pile::{Steal, Thief};
use crate::ring::{Index, STRIDE, Visit, distance};
use crate::sync::Ordering;
use crate::sync::barrier;
use crate::word::Word;

/// How many victims share a barrier in [`steal_each`]: enough to make its price small beside that of
/// the compare-and-swaps, few enough to keep on the stack.
const VICTIMS_PER_BARRIER: usize = 16;

/// A thief's handle.
pub struct Stealer<T: Word> {
    pub(super) bare: Handle<Bare<T>>,
}

/// A claim that stands, and the visit that makes reading the slot safe.
struct Claim<'a, T: Word> {
    bare: &'a Bare<T>,
    top: Index,
    visit: Visit<'a>,
}

/// The thieves' operations.
impl<T: Word> Bare<T> {
    /// [`Stealer::steal`](Thief::steal).
    pub fn steal(&self) -> Steal<T> {
        let claim = match self.claim() {
            Ok(claim) => claim,
            Err(answer) => return answer,
        };
        // [A6]
        if barrier::heavy() {
            claim.take()
        } else {
            claim.let_go();
            Steal::Retry
        }
    }

    /// Claims the topmost item, if there seems to be one that nobody has claimed.
    fn claim(&self) -> Result<Claim<'_, T>, Steal<T>> {
        let age = self.age.load(Ordering::Acquire); // [A10]
        let top = age & !CLAIMED;
        if distance(top, self.own.bottom.load(Ordering::Relaxed)) <= 0 {
            return Err(Steal::Empty);
        }
        if age != top {
            return Err(Steal::Retry);
        }
        let visit = self.ring.enter();
        let race =
            self.age
                .compare_exchange(top, top | CLAIMED, Ordering::Relaxed, Ordering::Relaxed); // [A5]
        match race {
            Ok(_) => Ok(Claim {
                bare: self,
                top,
                visit,
            }),
            Err(_) => Err(Steal::Retry),
        }
    }
}

impl<T: Word> Claim<'_, T> {
    /// Takes the item if it is still there. The caller has passed the heavy barrier.
    fn take(self) -> Steal<T> {
        let bottom = self.bare.own.bottom.load(Ordering::Acquire); // [A7]
        if distance(self.top, bottom) <= 0 {
            self.let_go();
            return Steal::Empty;
        }
        // SAFETY: the barrier lies between entering and here.
        let word = unsafe { self.visit.read(self.top) };
        let next = self.top.wrapping_add(STRIDE);
        let race = self.bare.age.compare_exchange(
            self.top | CLAIMED,
            next,
            Ordering::Release, // [A8]
            Ordering::Relaxed,
        );
        match race {
            // SAFETY: the claim stood until now, so the item was there when the slot was read,
            // and nobody else gets it.
            Ok(_) => Steal::Success(unsafe { T::from_word(word) }),
            Err(_) => Steal::Retry,
        }
    }

    /// Ends the claim without taking anything. The owner may have ended it already.
    fn let_go(&self) {
        let _ = self.bare.age.compare_exchange(
            self.top | CLAIMED,
            self.top,
            Ordering::Relaxed, // [A9]
            Ordering::Relaxed,
        );
    }
}

impl<T: Word> Thief for Stealer<T> {
    type Item = T;

    fn steal(&self) -> Steal<T> {
        self.bare.steal()
    }

    fn len(&self) -> usize {
        self.bare.len()
    }
}

/// Steals one item from each victim that has any, with one barrier for up to 16 of them, and
/// passes each to `sink`. Returns how many there were. If `sink` panics, what was stolen with the
/// same barrier and not passed on yet is dropped.
///
/// ```
/// use locksley_queue::{Owner, asymmetric};
///
/// let mut deques = [const { () }; 3].map(|()| asymmetric::Deque::new());
/// for (item, deque) in deques.iter_mut().enumerate() {
///     deque.push(item).unwrap();
/// }
/// let victims = deques.each_ref().map(Owner::thief);
/// let mut loot = Vec::new();
/// assert_eq!(asymmetric::steal_each(&victims, |item| loot.push(item)), 3);
/// assert_eq!(loot, [0, 1, 2]);
/// ```
pub fn steal_each<T: Word>(victims: &[Stealer<T>], mut sink: impl FnMut(T)) -> usize {
    let mut count = 0;
    for group in victims.chunks(VICTIMS_PER_BARRIER) {
        let mut claims = [const { None }; VICTIMS_PER_BARRIER];
        let mut claimed = 0;
        for claim in group.iter().filter_map(|victim| victim.bare.claim().ok()) {
            claims[claimed] = Some(claim);
            claimed += 1;
        }
        if claimed == 0 {
            continue;
        }
        let ordered = barrier::heavy(); // [A6]
        // All claims end before the first item is passed on: `sink` may take its time, or panic.
        let loot = claims.map(|claim| {
            let claim = claim?;
            if ordered {
                return claim.take().success();
            }
            claim.let_go();
            None
        });
        for item in loot.into_iter().flatten() {
            count += 1;
            sink(item);
        }
    }
    count
}

impl<T: Word> Clone for Stealer<T> {
    fn clone(&self) -> Self {
        Stealer {
            bare: self.bare.clone(),
        }
    }
}

impl<T: Word> fmt::Debug for Stealer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stealer").field("len", &self.len()).finish()
    }
}
