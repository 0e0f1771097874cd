//! The numbers of sleeping workers, of blocked workers and of spares that are up: one word, and its
//! transitions.
//!
//! The transitions are pure functions. The pool applies them to one atomic word, so that each sees
//! all others, in one order; `model` explores them together with the workers' steps.
//!
//! | bits | count |
//! |---|---|
//! | 0-15 | workers asleep because they found nothing to do |
//! | 16-31 | workers blocked in a wait, each with a spare to take its place |
//! | 32-47 | spares that are up |
//! | 48-63 | spares that there can be: fewer than at first once the system has refused a thread |
//!
//! | tag | operation | ordering | pairs with | why not weaker | test |
//! |---|---|---|---|---|---|
//! | K1 | every change | AcqRel | itself | a spare that is activated sees what its caller pushed | `idle::model` has the order; the job is published by its deque |
//! | K2 | reads | Relaxed | - | what follows from a read is decided by a change | |
//! | K3 | a summons begins, ends, is read | Relaxed | - | the fences order them | `sleep::models::a_push_behind_a_summons_is_seen`, `a_summons_that_fails_is_not_relied_on` |
//! | K4 | fence between getting up and searching | SeqCst | Z5, the fence of an injector's push | a pusher could rely on a worker that has searched already | `sleep::models::a_push_behind_a_summons_is_seen` |
//! | K5 | a nap begins, ends, is read | Relaxed | - | the fences order them | `sleep::models::a_push_that_is_left_to_a_nap_is_seen` |
//! | K6 | fence between the end of a nap and the look for work | SeqCst | Z5 | a pusher could leave its job to a sleeper that has looked already | `sleep::models::a_push_that_is_left_to_a_nap_is_seen` |
//! | K8 | a push is about to rely on a napper; a nap ends | Release; AcqRel | each other | the napper must see the cleared call, to restore it; both are exchanges, so that it sees those of all pushes since a nap last ended, though they may rely on another napper | `sleep::models::a_call_that_is_left_to_a_napper_comes_back`, `a_napper_restores_the_calls_of_all_whose_notes_it_takes` |
//! | K9 | fence between K8, or the sight of a job, and the look for a napper | SeqCst | K6 | the napper that the push relies on could miss that, and pass no barrier; or the job that another worker saw | as K8; the second: none, a relay takes a third thread |

use crossbeam_utils::CachePadded;

use crate::scheduler::idle::sleep::{GotUp, SleepState};
use crate::sync::{AtomicBool, AtomicIsize, AtomicU64, AtomicUsize, Ordering, fence};

pub(crate) const MOST: usize = u16::MAX as usize;

/// The counts, unpacked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Counts {
    asleep: u16,
    blocked: u16,
    up: u16,
    most_spares: u16,
}

impl Counts {
    /// Creates the counts of a pool whose workers are all awake, with no spare up and at most
    /// `most_spares` spares.
    pub(crate) fn new(most_spares: usize) -> Counts {
        Counts {
            most_spares: most_spares.min(MOST) as u16,
            ..Counts::default()
        }
    }

    fn unpack(word: u64) -> Counts {
        let field = |shift: u32| (word >> shift) as u16;
        Counts {
            asleep: field(0),
            blocked: field(16),
            up: field(32),
            most_spares: field(48),
        }
    }

    fn pack(self) -> u64 {
        u64::from(self.asleep)
            | u64::from(self.blocked) << 16
            | u64::from(self.up) << 32
            | u64::from(self.most_spares) << 48
    }

    /// Returns the number of blocked workers, and of spares that are up.
    pub(crate) fn blocked_and_spares(self) -> (usize, usize) {
        (self.blocked.into(), self.up.into())
    }

    pub(crate) fn asleep(self) -> usize {
        self.asleep.into()
    }

    /// Returns the number of threads of a pool of `size` workers that neither sleep nor are
    /// blocked.
    pub(crate) fn awake(self, size: usize) -> usize {
        let (blocked, up) = self.blocked_and_spares();
        (size + up).saturating_sub(self.asleep() + blocked)
    }

    pub(crate) fn begin_sleep(mut self) -> Counts {
        self.asleep += 1;
        self
    }

    pub(crate) fn end_sleep(mut self) -> Counts {
        self.asleep -= 1;
        self
    }

    /// Counts a worker that blocks. Returns `None` if there can be no spare in its place.
    pub(crate) fn begin_block(self) -> Option<Counts> {
        (self.blocked < self.most_spares).then(|| Counts {
            blocked: self.blocked + 1,
            ..self
        })
    }

    pub(crate) fn end_block(mut self) -> Counts {
        self.blocked -= 1;
        self
    }

    /// Returns `true` if more workers are blocked than there can be spares: the limit has fallen.
    pub(crate) fn lacks_spares(self) -> bool {
        self.blocked > self.most_spares
    }

    /// Returns `true` if no spare has taken the place of a blocked worker, and one could.
    pub(crate) fn wants_spare(self) -> bool {
        self.up < self.blocked.min(self.most_spares)
    }

    /// Returns `true` if more spares are up than workers are blocked.
    pub(crate) fn has_spare_left_over(self) -> bool {
        self.up > self.blocked
    }

    /// Counts a spare that is activated. Returns `None` if none is wanted.
    pub(crate) fn activate_spare(self) -> Option<Counts> {
        self.wants_spare().then(|| self.raise_spare())
    }

    pub(crate) fn raise_spare(mut self) -> Counts {
        self.up += 1;
        self
    }

    pub(crate) fn lower_spare(mut self) -> Counts {
        self.up -= 1;
        self
    }

    /// Lowers the limit of spares to `spares`. Returns `None` if it is not higher than that.
    pub(crate) fn limit_spares(self, spares: usize) -> Option<Counts> {
        let most_spares = spares.min(MOST) as u16;
        (most_spares < self.most_spares).then_some(Counts {
            most_spares,
            ..self
        })
    }

    /// Returns `true` if a push should wake another worker.
    pub(crate) fn wants_work(self) -> bool {
        self.asleep > 0 || self.wants_spare()
    }
}

/// The counts of a pool.
#[derive(Debug)]
pub(crate) struct AtomicCounts {
    word: CachePadded<AtomicU64>,
    /// Number of workers that were woken to search, and have not got up yet; for a moment, it may
    /// be too low.
    summoned: CachePadded<AtomicIsize>,
    naps: CachePadded<Naps>,
}

/// Sleepers that will look for work by themselves.
#[derive(Debug, Default)]
struct Naps {
    /// Number of nappers; for a moment, it may be too low.
    napping: AtomicIsize,
    /// Number of workers in a row that were woken for less work than a wake-up is worth.
    in_vain: AtomicUsize,
    /// Set if a push has cleared its call, and looked for a napper, since a nap last ended.
    left: AtomicBool,
}

/// Number of wake-ups in vain after which a push leaves its job to a worker that naps.
const IN_VAIN: usize = 3;

impl AtomicCounts {
    pub(crate) fn new(most_spares: usize) -> AtomicCounts {
        AtomicCounts {
            word: CachePadded::new(AtomicU64::new(Counts::new(most_spares).pack())),
            summoned: CachePadded::new(AtomicIsize::new(0)),
            naps: CachePadded::default(),
        }
    }

    pub(crate) fn get(&self) -> Counts {
        Counts::unpack(self.word.load(Ordering::Relaxed)) // [K2]
    }

    /// Applies a transition. Returns `false` if it is not possible.
    pub(crate) fn try_change(&self, change: impl Fn(Counts) -> Option<Counts>) -> bool {
        self.word
            .fetch_update(Ordering::AcqRel, Ordering::Relaxed, |word| {
                change(Counts::unpack(word)).map(Counts::pack)
            })
            .is_ok() // [K1]
    }

    /// Applies a transition that is always possible.
    pub(crate) fn change(&self, change: impl Fn(Counts) -> Counts) {
        self.try_change(|counts| Some(change(counts)));
    }

    /// Counts a worker as blocked. Returns `false` if there is no spare for it.
    pub(crate) fn begin_block(&self) -> bool {
        let begun = self.try_change(Counts::begin_block);
        fence(Ordering::SeqCst); // [Z4]
        begun
    }

    pub(crate) fn lower_spare(&self) {
        self.change(Counts::lower_spare);
        fence(Ordering::SeqCst); // [Z4]
    }

    /// Marks the worker with this state as asleep, and counts it.
    pub(crate) fn begin_sleep(&self, state: &SleepState) {
        self.change(Counts::begin_sleep);
        state.begin();
        fence(Ordering::SeqCst); // [Z4]
    }

    /// Wakes a worker for another reason than to look for work. Returns `true` if this call did it.
    pub(crate) fn wake(&self, state: &SleepState) -> bool {
        self.count_woken(state.wake())
    }

    /// Wakes a worker to look for work. Returns `true` if this call did it.
    pub(crate) fn wake_to_search(&self, state: &SleepState) -> bool {
        let woken = self.count_woken(state.wake_to_search());
        if woken {
            // After the exchange: pushers rely on this number of workers being on their way.
            self.summoned.fetch_add(1, Ordering::Relaxed); // [K3]
        }
        woken
    }

    /// Returns the number of workers that were woken to search, and have not got up yet. For a
    /// thread that has pushed a job, and passed a fence since.
    pub(crate) fn summoned(&self) -> usize {
        // Negative while a sleeper has got up that its waker has not counted yet.
        self.summoned.load(Ordering::Relaxed).max(0) as usize // [K3]
    }

    fn count_woken(&self, woken: bool) -> bool {
        if woken {
            self.change(Counts::end_sleep);
        }
        woken
    }

    /// Ends the owner's sleep, unless another thread has.
    pub(crate) fn end_sleep(&self, state: &SleepState) -> GotUp {
        let got_up = state.get_up();
        self.count_woken(got_up.by_itself);
        if got_up.to_search {
            self.summoned.fetch_sub(1, Ordering::Relaxed); // [K3]
            fence(Ordering::SeqCst); // [K4]
        }
        got_up
    }

    /// Counts a sleeper that will look for work by itself soon.
    pub(crate) fn begin_nap(&self) {
        self.naps.napping.fetch_add(1, Ordering::Relaxed); // [K5]
    }

    /// Counts the end of a nap. Returns `true` if a push has relied on this or another napper since
    /// a nap last ended: the caller restores the calls, passes a heavy barrier, and looks for work.
    pub(crate) fn end_nap(&self) -> bool {
        self.naps.napping.fetch_sub(1, Ordering::Relaxed); // [K5]
        fence(Ordering::SeqCst); // [K6]
        self.naps.left.swap(false, Ordering::AcqRel) // [K8]
    }

    /// Notes that a push has cleared its call, and is about to rely on a worker that naps.
    pub(crate) fn note_left(&self) {
        self.naps.left.swap(true, Ordering::Release); // [K8]
        fence(Ordering::SeqCst); // [K9]
    }

    /// Drafts one of these workers as a napper. The caller must unpark it.
    pub(crate) fn draft<'a, W>(
        &self,
        mut workers: impl Iterator<Item = (W, &'a SleepState)>,
    ) -> Option<W> {
        let (drafted, _) = workers.find(|(_, state)| state.draft())?;
        // After the exchange: pushers rely on a worker that naps.
        self.begin_nap();
        Some(drafted)
    }

    /// Returns `true` if a worker naps. For a thread that has passed a fence since it pushed, or
    /// saw, the job that it would leave to that worker.
    pub(crate) fn has_napper(&self) -> bool {
        // Negative while a sleeper has got up whose drafter has not counted it yet.
        self.naps.napping.load(Ordering::Relaxed) > 0 // [K5]
    }

    /// Notes whether a worker that was woken to search found work that was worth it.
    pub(crate) fn note_search(&self, worth_it: bool) {
        let in_vain = &self.naps.in_vain;
        let before = in_vain.load(Ordering::Relaxed);
        let after = if worth_it {
            0
        } else {
            (before + 1).min(IN_VAIN)
        };
        if before != after {
            in_vain.store(after, Ordering::Relaxed);
        }
    }

    /// Returns `true` if the last workers that were woken all found too little to do.
    fn wakes_in_vain(&self) -> bool {
        self.naps.in_vain.load(Ordering::Relaxed) >= IN_VAIN
    }

    /// Returns `true` if pushes should leave their jobs to a worker that naps, and none does.
    pub(crate) fn needs_napper(&self) -> bool {
        self.wakes_in_vain() && !self.has_napper()
    }

    /// Returns `true` if a job should be left to a worker that naps, because a wake-up costs more
    /// than the job seems to be worth. For a thread that has pushed the job, and passed a fence
    /// since.
    pub(crate) fn leaves_to_nap(&self) -> bool {
        self.wakes_in_vain() && self.has_napper()
    }

    /// Wakes one of these workers to search. The caller must unpark it.
    pub(crate) fn choose<'a, W>(
        &self,
        mut workers: impl Iterator<Item = (W, &'a SleepState)>,
    ) -> Option<W> {
        if self.get().asleep() == 0 {
            return None;
        }
        workers
            .find(|(_, state)| self.wake_to_search(state))
            .map(|(worker, _)| worker)
    }
}

#[cfg(all(test, not(loom)))]
#[path = "../../../tests/unit/scheduler/idle/counts.rs"]
mod tests;
