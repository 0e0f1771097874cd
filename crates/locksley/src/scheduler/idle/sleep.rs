//! Sleeping, without a lost wake-up and without a fence in `push`.
//!
//! ```text
//!   sleeper                                 pusher
//!   state = ASLEEP, asleep + 1, fence       pushes a job
//!   calls every worker that is not called   light barrier
//!   is there work in sight?                 called?  ── yes ──> clears the call, fence, wakes one,
//!     yes: ends its sleep                                       calls itself if more sleep
//!     no:  napping + 1, parks for a while,    (or leaves it to a worker that naps)
//!          napping - 1, fence, calls again
//!   heavy barrier
//!   is there work in sight?
//!     yes: ends its sleep
//!     no:  parks until it is not ASLEEP
//! ```
//!
//! **No wake-up is lost.** The heavy barrier falls between two of the pusher's instructions. If it
//! falls behind the push, the sleeper sees the job. If it falls before the light barrier, the
//! pusher's look at its request comes after it, and sees the call. There is no third case: the
//! light barrier keeps the push before the look. A pusher that sees the call also sees the sleeper
//! asleep, and wakes it or another one to search; a worker woken to search finds the job, or finds
//! that another took it, or, if it takes up something else and the job is still in sight, wakes
//! another in its place.
//!
//! **The barrier comes late** because it costs microseconds, and interrupts every processor of the
//! process. A program with short serial phases wakes its sleepers before it is due. Until then a
//! sleeper can miss a push whose store was still on its way when it looked; it has been on its way
//! for less than the sleeper pauses before it looks, so that this is not seen in practice, and
//! would cost no more than the nap.
//!
//! **A push may leave its job to a worker that naps**, if the last wake-ups were in vain: tasks are
//! so short then that their owner is done with them before help is there, and a wake-up costs as
//! much as several of them. The napper looks for itself when its nap is over. What it then finds
//! shows that wake-ups are worth their price again. The same holds while as many workers are awake
//! as there are processors; if none naps then, the push *drafts* one of those that sleep.
//!
//! **The napper answers for the call that such a push has cleared.** The next pushes see none, and
//! are as fast as in a pool where no worker sleeps. When its nap ends, the napper stops being one,
//! passes a fence, and leaves its calls again. Either the pusher, which passes a fence after it has
//! cleared its call, does not see the napper, and wakes a worker itself; or the napper sees that
//! the call is gone, and restores it. A push in between may see no call, and be on its way still
//! when the napper looks: so the napper passes a heavy barrier after it has restored the calls, if
//! a push has relied on it, also where it gets up. A sleeper that is woken before it has taken its
//! draft up does the same.
//!
//! **Where the barrier is refused** after it had been granted (a seccomp filter), sleepers cannot
//! know what they miss. They sleep for a short time, and look again.
//!
//! **A sleeper writes two words**, its own state and the count of sleepers, and calls only those
//! workers that are not called already: those that have pushed something since the last sleeper
//! came.
//!
//! **The end of a sleep.** One exchange decides who ends it: the waker, which then unparks, or the
//! sleeper itself. The winner takes one from `asleep`. A sleeper that finds itself SEARCH was woken
//! to look for work; one that finds itself UP, for a targeted job or the pool's end.
//!
//! | tag | operation | ordering | pairs with | why not weaker | test |
//! |---|---|---|---|---|---|
//! | Z1 | begin and end of a sleep | Release, Acquire | itself | a change of the counts (K1) could come before the one that it takes back; the barriers order the rest, and one exchange decides | none: loom executes the changes in their order |
//! | Z2 | heavy barrier behind the calls | membarrier | Z3 | sleeper and pusher would miss each other | `sleep::models::a_push_wakes_a_sleeper` |
//! | Z3 | push: light barrier (`split`, D2) | compiler | Z2 | as Z2 | `sleep::models::a_push_wakes_a_sleeper` |
//! | Z4 | fence between the begin of a sleep, or of a block, or the put-aside of a spare, and the look for a call | SeqCst | Z5 | a sleeper could take a call to stand that a pusher clears without seeing it asleep | `sleep::models::a_standing_call_is_not_cleared_unseen`, `a_blocked_worker_is_not_missed`, `a_spare_put_aside_is_not_missed` |
//! | Z5 | fence between clearing a call, or a push to another worker, and looking for sleepers | SeqCst | Z4 | as Z4 | `sleep::models::a_standing_call_is_not_cleared_unseen` |
//! | Z7 | fence between the end of a nap and the look for calls (K6) | SeqCst | Z5 | a pusher could leave its call to a napper that takes it to stand | `sleep::models::a_call_that_is_left_to_a_napper_comes_back`, `a_draft_that_comes_too_late_is_ended` |
//! | Z6 | fence between getting up and the look whether to wake another | Acquire | Z5 | a worker that was woken might not see what for, and keep the summons to itself | `sleep::models::who_is_woken_sees_why` |

use crossbeam_utils::CachePadded;
use locksley_queue::Word;
use locksley_queue::split::{Attention, Embedded};

use crate::sync::{AtomicUsize, Ordering, fence};

/// Whether one worker sleeps.
#[derive(Debug)]
pub(crate) struct SleepState {
    state: CachePadded<AtomicUsize>,
}

const UP: usize = 0;
const ASLEEP: usize = 1;
/// Woken to look for work.
const SEARCH: usize = 2;
/// A spare that stands in for no worker.
const SPARE: usize = 3;
/// Added to any of them: the worker was drafted as a napper, and has not ended that nap.
const DRAFTED: usize = 4;

impl SleepState {
    pub(crate) fn new() -> Self {
        SleepState {
            state: CachePadded::new(AtomicUsize::new(UP)),
        }
    }

    pub(crate) fn begin(&self) {
        self.state.store(ASLEEP, Ordering::Release); // [Z1]
    }

    /// Ends the sleep for something else than to look for work. Returns `true` if this call did it.
    pub(crate) fn wake(&self) -> bool {
        self.end_by_another(UP)
    }

    /// Ends the sleep, to look for work. Returns `true` if this call did it.
    pub(crate) fn wake_to_search(&self) -> bool {
        self.end_by_another(SEARCH)
    }

    /// Ends the sleep. A draft stays: the owner ends that nap.
    fn end_by_another(&self, to: usize) -> bool {
        loop {
            let state = self.state.load(Ordering::Relaxed); // [Z1]
            if state & !DRAFTED != ASLEEP {
                return false;
            }
            // It fails if the owner takes its draft up just then.
            if self.replace(state, to | state & DRAFTED) {
                return true;
            }
        }
    }

    /// For the owner: gets up. Returns how its sleep has ended.
    pub(crate) fn get_up(&self) -> GotUp {
        let before = self.state.swap(UP, Ordering::Acquire); // [Z1]
        GotUp {
            by_itself: before & !DRAFTED == ASLEEP,
            to_search: before & !DRAFTED == SEARCH,
            drafted: before & DRAFTED != 0,
        }
    }

    /// Drafts a sleeper as a napper. Returns `true` if this call did it. The caller counts the nap,
    /// and unparks the worker.
    pub(crate) fn draft(&self) -> bool {
        self.state.load(Ordering::Relaxed) == ASLEEP && self.replace(ASLEEP, ASLEEP | DRAFTED)
    }

    /// Returns `true` if the worker was drafted, and has not taken that up.
    pub(crate) fn is_drafted(&self) -> bool {
        self.state.load(Ordering::Relaxed) & DRAFTED != 0 // [Z1]
    }

    /// For the owner: takes a draft up. Returns `true` if there was one.
    pub(crate) fn take_draft(&self) -> bool {
        self.is_drafted() && self.state.fetch_and(!DRAFTED, Ordering::AcqRel) & DRAFTED != 0 // [Z1]
    }

    /// Replaces a state by another one. Returns `true` if this call did it.
    fn replace(&self, from: usize, to: usize) -> bool {
        self.state
            .compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed) // [Z1]
            .is_ok()
    }

    /// Returns `true` while the worker sleeps because it found nothing to do.
    pub(crate) fn is_asleep(&self) -> bool {
        self.state.load(Ordering::Relaxed) & !DRAFTED == ASLEEP // [Z1]
    }

    /// Puts a spare aside until it is called up.
    pub(crate) fn begin_spare(&self) {
        self.state.store(SPARE, Ordering::Release); // [Z1]
    }

    /// Calls up a spare that was put aside. Returns `true` if this call did it.
    pub(crate) fn end_spare(&self) -> bool {
        self.is_spare() && self.replace(SPARE, UP)
    }

    /// Returns `true` while the worker is a spare that stands in for no other.
    pub(crate) fn is_spare(&self) -> bool {
        self.state.load(Ordering::Acquire) == SPARE // [Z1]
    }
}

/// How a sleep has ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GotUp {
    /// No other thread ended it.
    pub(crate) by_itself: bool,
    /// A waker ended it, for the sleeper to look for work.
    pub(crate) to_search: bool,
    /// The sleeper was drafted as a napper meanwhile, and must end that nap.
    pub(crate) drafted: bool,
}

/// Leaves a call at a worker, unless one stands. For a worker that has begun to sleep. Returns
/// `true` if none stood.
pub(crate) fn leave_call<T: Word>(deque: &Embedded<T>) -> bool {
    let stands = deque.is_called();
    if !stands {
        deque.call();
    }
    !stands
}

/// Clears a call, and sees everyone asleep who relies on it. For the owner, after a push.
///
/// # Safety
///
/// The caller is the owner of the deque.
pub(crate) unsafe fn take_call<T: Word>(deque: &Embedded<T>) -> Attention {
    // SAFETY: the caller is the owner.
    let attention = unsafe { deque.attend() };
    if attention.requested {
        fence(Ordering::SeqCst); // [Z5]
    }
    attention
}

#[cfg(all(test, loom))]
#[path = "../../../tests/loom/scheduler/idle/sleep.rs"]
mod models;
