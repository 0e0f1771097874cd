//! Sleeping, without a lost wake-up and without a fence in `push`.
//!
//! `README.md` describes the protocol and argues that no wake-up is lost.
//!
//! | tag | operation | ordering | pairs with | why not weaker | test |
//! |---|---|---|---|---|---|
//! | Z1 | begin and end of a sleep | Release, Acquire | itself | a change of the counts (K1) could come before the one that it undoes; the barriers order the rest, and one exchange decides | none: loom executes the changes in their order |
//! | Z2 | heavy barrier behind the calls | membarrier | Z3 | sleeper and pusher would miss each other | `sleep::models::a_push_wakes_a_sleeper` |
//! | Z3 | push: light barrier (`split`, D2) | compiler | Z2 | as Z2 | `sleep::models::a_push_wakes_a_sleeper` |
//! | Z4 | fence between the begin of a sleep, or of a block, or the put-aside of a spare, and the look for a call | SeqCst | Z5 | a sleeper could rely on a call that a pusher clears without seeing it asleep | `sleep::models::a_standing_call_is_not_cleared_unseen`, `a_blocked_worker_is_not_missed`, `a_spare_put_aside_is_not_missed` |
//! | Z5 | fence between clearing a call, or a push to another worker, and looking for sleepers | SeqCst | Z4 | as Z4 | `sleep::models::a_standing_call_is_not_cleared_unseen` |
//! | Z7 | fence between the end of a nap and the look for calls (K6) | SeqCst | Z5 | a pusher could rely on a napper to restore its call, and the napper take the call to be set | `sleep::models::a_call_that_is_left_to_a_napper_comes_back`, `a_draft_that_comes_too_late_is_ended` |
//! | Z6 | fence between getting up and the look whether to wake another | Acquire | Z5 | a woken worker might not see the job that it was woken for, and wake no other | `sleep::models::a_woken_worker_sees_the_job` |

use crossbeam_utils::CachePadded;
use locksley_queue::Word;
use locksley_queue::split::{Attention, Embedded};

use crate::sync::{AtomicUsize, Ordering, fence};

/// The sleep state of one worker.
#[derive(Debug)]
pub(crate) struct SleepState {
    state: CachePadded<AtomicUsize>,
}

const UP: usize = 0;
const ASLEEP: usize = 1;
/// Woken to look for work.
const SEARCH: usize = 2;
/// A spare that is put aside.
const SPARE: usize = 3;
/// Added to any of the states: the worker was drafted as a napper, and has not ended that nap.
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

    /// Ends the sleep for another reason than to look for work. Returns `true` if this call did it.
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
            // Fails if the owner takes up its draft just then.
            if self.replace(state, to | state & DRAFTED) {
                return true;
            }
        }
    }

    /// Ends the owner's sleep, if no other thread has, and returns how it ended.
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

    /// Returns `true` if the worker was drafted, and has not taken up the draft.
    pub(crate) fn is_drafted(&self) -> bool {
        self.state.load(Ordering::Relaxed) & DRAFTED != 0 // [Z1]
    }

    /// Takes up a draft. Returns `true` if there was one. For the owner.
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

    /// Puts a spare aside until it is activated.
    pub(crate) fn begin_spare(&self) {
        self.state.store(SPARE, Ordering::Release); // [Z1]
    }

    /// Calls up a spare that was put aside. Returns `true` if this call did it.
    pub(crate) fn end_spare(&self) -> bool {
        self.is_spare() && self.replace(SPARE, UP)
    }

    /// Returns `true` while the worker is a spare that is put aside.
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

/// Leaves a call at a worker, unless it has one. Returns `true` if it had none. For a worker that
/// has begun to sleep.
pub(crate) fn leave_call<T: Word>(deque: &Embedded<T>) -> bool {
    let stands = deque.is_attention_requested();
    if !stands {
        deque.request_attention();
    }
    !stands
}

/// Clears a call. After that, the caller sees every sleeper that relies on the call. For the owner,
/// after a push.
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
