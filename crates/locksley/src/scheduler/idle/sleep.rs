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
//! the call is gone, and restores it. A sleeper that is woken before it has taken its draft up does
//! the same as it gets up.
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
mod models {
    use locksley_queue::barrier;
    use loom::sync::Arc;
    use loom::thread;

    use super::*;
    use crate::scheduler::idle::counts::{AtomicCounts, Counts};

    /// One worker pushes a job while another goes to sleep: either it is woken, or it does not
    /// sleep, or it finds the job. A lost wake-up is a deadlock, which loom reports.
    #[test]
    fn a_push_wakes_a_sleeper() {
        loom::model(|| {
            let state = Arc::new(SleepState::new());
            let sleepers = Arc::new(AtomicCounts::new(0));
            let deque = Arc::new(Embedded::new());
            let sleeper = {
                let (state, sleepers, deque) = (state.clone(), sleepers.clone(), deque.clone());
                thread::spawn(move || {
                    if deque.is_empty() {
                        sleepers.begin_sleep(&state);
                        leave_call(&deque);
                        if !barrier::heavy() || !deque.is_empty() {
                            sleepers.end_sleep(&state);
                            return;
                        }
                        while state.is_asleep() {
                            thread::park();
                        }
                        sleepers.end_sleep(&state);
                    }
                    assert!(!deque.is_empty(), "woken for nothing");
                })
            };
            // SAFETY: this thread is the owner, for both.
            unsafe {
                if deque.push(1_usize).1 && take_call(&deque).requested {
                    let chosen = sleepers.choose([((), &*state)].into_iter());
                    if chosen.is_some() {
                        sleeper.thread().unpark();
                    }
                }
            }
            sleeper.join().unwrap();
            assert_eq!(sleepers.get().asleep(), 0);
        });
    }

    type Asleep = (Arc<SleepState>, Arc<AtomicCounts>, Arc<Embedded<usize>>);

    /// A worker asleep, the counts of its pool, and the deque of another one, which it has called.
    fn asleep() -> Asleep {
        let (state, sleepers) = (SleepState::new(), AtomicCounts::new(0));
        let deque = Embedded::new();
        sleepers.begin_sleep(&state);
        leave_call(&deque);
        (Arc::new(state), Arc::new(sleepers), Arc::new(deque))
    }

    /// A worker that was woken to search sees the job that it was woken for.
    #[test]
    fn who_is_woken_sees_why() {
        loom::model(|| {
            let (state, sleepers, deque) = asleep();
            let woken = {
                let (state, sleepers, deque) = (state.clone(), sleepers.clone(), deque.clone());
                thread::spawn(move || {
                    if sleepers.end_sleep(&state).to_search {
                        fence(Ordering::Acquire); // [Z6]
                        assert!(!deque.is_empty(), "woken for nothing");
                    }
                })
            };
            // SAFETY: this thread is the owner, for both.
            unsafe {
                deque.push(1_usize);
                take_call(&deque);
            }
            sleepers.wake_to_search(&state);
            woken.join().unwrap();
        });
    }

    /// A pusher wakes no other worker while one is on its way: that one sees the job.
    #[test]
    fn a_push_behind_a_summons_is_seen() {
        loom::model(|| {
            let (state, sleepers, deque) = asleep();
            assert!(sleepers.wake_to_search(&state));
            let woken = {
                let (state, sleepers, deque) = (state.clone(), sleepers.clone(), deque.clone());
                thread::spawn(move || {
                    assert!(sleepers.end_sleep(&state).to_search);
                    !deque.is_empty()
                })
            };
            // SAFETY: this thread is the owner, for both.
            unsafe {
                deque.push(1_usize);
                take_call(&deque);
            }
            let waits = sleepers.summoned() > 0;
            let seen = woken.join().unwrap();
            assert!(seen || !waits, "each leaves the job to the other");
        });
    }

    /// A waker that comes too late leaves no summons that a pusher relies on.
    #[test]
    fn a_summons_that_fails_is_not_relied_on() {
        loom::model(|| {
            let (state, sleepers, deque) = asleep();
            let waker = {
                let (state, sleepers) = (state.clone(), sleepers.clone());
                thread::spawn(move || sleepers.wake_to_search(&state))
            };
            let sleeper = {
                let (state, sleepers, deque) = (state.clone(), sleepers.clone(), deque.clone());
                thread::spawn(move || {
                    sleepers.end_sleep(&state);
                    fence(Ordering::SeqCst); // [K6]
                    !deque.is_empty()
                })
            };
            // SAFETY: this thread is the owner, for both.
            unsafe {
                deque.push(1_usize);
                take_call(&deque);
            }
            let relied = sleepers.summoned() > 0;
            let seen = sleeper.join().unwrap();
            waker.join().unwrap();
            assert!(
                seen || !relied,
                "the job is left to a worker that has looked"
            );
        });
    }

    /// A pusher leaves its job to a worker that naps: that one sees it when it looks.
    #[test]
    fn a_push_that_is_left_to_a_nap_is_seen() {
        loom::model(|| {
            let (_, sleepers, deque) = asleep();
            for _ in 0..3 {
                sleepers.note_search(false);
            }
            sleepers.begin_nap();
            let napper = {
                let (sleepers, deque) = (sleepers.clone(), deque.clone());
                thread::spawn(move || {
                    sleepers.end_nap();
                    !deque.is_empty()
                })
            };
            // SAFETY: this thread is the owner, for both.
            unsafe {
                deque.push(1_usize);
                take_call(&deque);
            }
            let left = sleepers.leaves_to_nap();
            let seen = napper.join().unwrap();
            assert!(seen || !left, "each leaves the job to the other");
        });
    }

    /// A pusher clears its call and leaves its job to a napper. After that, either its next push
    /// sees a call again, or the napper sees that push before it sleeps.
    #[test]
    fn a_call_that_is_left_to_a_napper_comes_back() {
        loom::model(|| {
            let (_, sleepers, deque) = asleep();
            sleepers.begin_nap();
            let napper = {
                let (sleepers, deque) = (sleepers.clone(), deque.clone());
                thread::spawn(move || {
                    sleepers.end_nap();
                    leave_call(&deque);
                    barrier::heavy() && deque.is_empty()
                })
            };
            // SAFETY: this thread is the owner, for all of these.
            let called = unsafe {
                let (_, called) = deque.push(1_usize);
                if called && take_call(&deque).requested && !sleepers.has_napper() {
                    deque.call();
                }
                deque.pop();
                deque.push(2_usize).1
            };
            let sleeps = napper.join().unwrap();
            assert!(called || !sleeps, "the call is gone, and the napper sleeps");
        });
    }

    /// A pusher drafts a sleeper that is getting up just then: the draft is ended, and the call
    /// comes back for those that sleep on.
    #[test]
    fn a_draft_that_comes_too_late_is_ended() {
        loom::model(|| {
            let (state, sleepers, deque) = asleep();
            let sleeper = {
                let (state, sleepers, deque) = (state.clone(), sleepers.clone(), deque.clone());
                thread::spawn(move || {
                    if sleepers.end_sleep(&state).drafted {
                        sleepers.end_nap();
                        leave_call(&deque);
                    }
                })
            };
            // SAFETY: this thread is the owner, for both.
            unsafe {
                deque.push(1_usize);
                take_call(&deque);
            }
            let drafted = sleepers.draft([((), &*state)].into_iter()).is_some();
            sleeper.join().unwrap();
            assert!(!sleepers.has_napper(), "a worker naps that is awake");
            assert_eq!(deque.is_called(), drafted, "its call is gone");
        });
    }

    /// A pusher that clears a call sees everyone asleep who relies on it. One may stand from
    /// before.
    fn calls_are_not_cleared_unseen(sleeping: usize, stands: bool) {
        loom::model(move || {
            let deque = Arc::new(Embedded::<usize>::new());
            let sleepers = Arc::new(AtomicCounts::new(0));
            if stands {
                deque.call();
            }
            let handles: Vec<_> = (0..sleeping)
                .map(|_| {
                    let (deque, sleepers) = (deque.clone(), sleepers.clone());
                    thread::spawn(move || {
                        sleepers.begin_sleep(&SleepState::new());
                        leave_call(&deque);
                    })
                })
                .collect();
            // SAFETY: this thread is the owner.
            let answered = unsafe { take_call(&deque) }.requested;
            let seen = sleepers.get().asleep();
            for handle in handles {
                handle.join().unwrap();
            }
            if answered && !deque.is_called() {
                assert_eq!(
                    seen, sleeping,
                    "the call is gone, and a caller was not seen"
                );
            }
        });
    }

    #[test]
    fn a_call_is_not_cleared_unseen() {
        calls_are_not_cleared_unseen(1, false);
    }

    #[test]
    fn two_calls_are_not_cleared_unseen() {
        calls_are_not_cleared_unseen(2, false);
    }

    /// A pusher that clears a standing call sees that a spare is wanted by one who relies on it.
    fn wants_are_not_missed(before: fn(&AtomicCounts), want: fn(&AtomicCounts)) {
        loom::model(move || {
            let deque = Arc::new(Embedded::<usize>::new());
            let counts = Arc::new(AtomicCounts::new(1));
            before(&counts);
            deque.call();
            let other = {
                let (deque, counts) = (deque.clone(), counts.clone());
                thread::spawn(move || {
                    want(&counts);
                    leave_call(&deque);
                })
            };
            // SAFETY: this thread is the owner.
            let answered = unsafe { take_call(&deque) }.requested;
            let seen = counts.get().wants_spare();
            other.join().unwrap();
            assert!(
                seen || !answered || deque.is_called(),
                "the call is gone, and the want was not seen"
            );
        });
    }

    #[test]
    fn a_blocked_worker_is_not_missed() {
        wants_are_not_missed(|_| (), |counts| assert!(counts.begin_block()));
    }

    #[test]
    fn a_spare_put_aside_is_not_missed() {
        let before = |counts: &AtomicCounts| {
            assert!(counts.begin_block());
            assert!(counts.try_change(Counts::call_spare));
        };
        wants_are_not_missed(before, AtomicCounts::lower_spare);
    }

    /// The caller writes nothing, because another one's call stands.
    #[test]
    fn a_standing_call_is_not_cleared_unseen() {
        calls_are_not_cleared_unseen(1, true);
        calls_are_not_cleared_unseen(2, true);
    }
}
