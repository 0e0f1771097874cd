//! Sleeping, without a lost wake-up and without a fence in `push`.
//!
//! ```text
//!   sleeper                                  pusher
//!   state = ASLEEP, asleep + 1               pushes a job
//!   calls every worker (its deque's request) light barrier
//!   heavy barrier                            called?  ── yes ──> clears the call, wakes one,
//!   is there work in sight?                                      calls itself if more sleep
//!     yes: gets up again
//!     no:  parks until it is not ASLEEP
//! ```
//!
//! **No wake-up is lost.** The heavy barrier falls between two of the pusher's instructions. If it
//! falls behind the push, the sleeper sees the job. If it falls before the light barrier, the
//! pusher's look at its request comes after it, and sees the call. There is no third case: the
//! light barrier keeps the push before the look. A pusher that sees the call also sees the sleeper
//! asleep, and wakes it or another one to search; a worker woken to search finds the job, or finds that
//! another took it, or, if it has something else to do before it has searched, wakes another in its place.
//!
//! **Where the barrier is refused** after it had been granted (a seccomp filter), sleepers cannot know
//! what they miss. They sleep for a short time, and look again.
//!
//! **Who ends a sleep.** Exactly one: the waker, which then unparks, or the sleeper that gets up by
//! itself; one exchange decides, and the winner takes one from `asleep`. A sleeper that finds itself
//! SEARCH was woken to look for work; one that finds itself UP, for a targeted job or the pool's end.
//!
//! | tag | operation | ordering | pairs with | why not weaker | test |
//! |---|---|---|---|---|---|
//! | Z1 | begin and end of a sleep | Relaxed | - | the barriers order them; one exchange decides; the job itself is published by its deque | |
//! | Z2 | call: heavy barrier behind the calls | membarrier | Z3 | sleeper and pusher would miss each other | `sleep::models::a_push_wakes_a_sleeper` |
//! | Z3 | push: light barrier (`split`, D2) | compiler | Z2 | as Z2 | `sleep::models::a_push_wakes_a_sleeper` |
//! | Z4 | call and attend (`split`, D12) | Release; Acquire | each other | a pusher that clears a call must see its caller asleep, or a sleeper that called between the look and the clearing would sleep on | `sleep::models::a_call_is_not_cleared_unseen`, `two_calls_are_not_cleared_unseen` |

use crossbeam_utils::CachePadded;

use crate::sync::{AtomicUsize, Ordering};

/// Whether one worker sleeps.
#[derive(Debug)]
pub(crate) struct SleepState {
    state: CachePadded<AtomicUsize>,
}

const UP: usize = 0;
const ASLEEP: usize = 1;
/// Woken to look for work.
const SEARCH: usize = 2;

impl SleepState {
    pub(crate) fn new() -> Self {
        SleepState {
            state: CachePadded::new(AtomicUsize::new(UP)),
        }
    }

    pub(crate) fn begin(&self) {
        self.state.store(ASLEEP, Ordering::Relaxed); // [Z1]
    }

    /// Ends the sleep. Returns `true` if this call did it.
    pub(crate) fn end(&self) -> bool {
        self.end_with(UP)
    }

    fn end_with(&self, after: usize) -> bool {
        self.is_asleep()
            && self
                .state
                .compare_exchange(ASLEEP, after, Ordering::Relaxed, Ordering::Relaxed) // [Z1]
                .is_ok()
    }

    pub(crate) fn is_asleep(&self) -> bool {
        self.state.load(Ordering::Relaxed) == ASLEEP // [Z1]
    }
}

/// The workers that sleep because they found nothing to do.
#[derive(Debug)]
pub(crate) struct Sleepers {
    asleep: CachePadded<AtomicUsize>,
}

impl Sleepers {
    pub(crate) fn new() -> Self {
        Sleepers {
            asleep: CachePadded::new(AtomicUsize::new(0)),
        }
    }

    /// How many sleep.
    pub(crate) fn count(&self) -> usize {
        self.asleep.load(Ordering::Relaxed)
    }

    /// Returns `true` if a worker sleeps.
    pub(crate) fn any(&self) -> bool {
        self.count() > 0
    }

    pub(crate) fn begin(&self, state: &SleepState) {
        self.asleep.fetch_add(1, Ordering::Relaxed);
        state.begin();
    }

    /// Wakes a worker for something else than to look for work. Returns `true` if this call did it.
    pub(crate) fn wake(&self, state: &SleepState) -> bool {
        self.end_with(state, UP)
    }

    /// Wakes a worker to look for work. Returns `true` if this call did it.
    pub(crate) fn wake_to_search(&self, state: &SleepState) -> bool {
        self.end_with(state, SEARCH)
    }

    fn end_with(&self, state: &SleepState, after: usize) -> bool {
        let ended = state.end_with(after);
        if ended {
            self.asleep.fetch_sub(1, Ordering::Relaxed);
        }
        ended
    }

    /// Ends the owner's sleep, unless another has. Returns `true` if it was woken to search.
    pub(crate) fn end(&self, state: &SleepState) -> bool {
        let before = state.state.swap(UP, Ordering::Relaxed); // [Z1]
        if before == ASLEEP {
            self.asleep.fetch_sub(1, Ordering::Relaxed);
        }
        before == SEARCH
    }

    /// Wakes one of these workers to search. The caller must unpark it.
    pub(crate) fn choose<'a, W>(
        &self,
        mut workers: impl Iterator<Item = (W, &'a SleepState)>,
    ) -> Option<W> {
        if !self.any() {
            return None;
        }
        workers
            .find(|(_, state)| self.wake_to_search(state))
            .map(|(worker, _)| worker)
    }
}

#[cfg(all(test, loom))]
mod models {
    use locksley_queue::barrier;
    use locksley_queue::split::Embedded;
    use loom::sync::Arc;
    use loom::thread;

    use super::*;

    /// One worker pushes a job while another goes to sleep: either it is woken, or it does not
    /// sleep, or it finds the job. A lost wake-up is a deadlock, which loom reports.
    #[test]
    fn a_push_wakes_a_sleeper() {
        loom::model(|| {
            let state = Arc::new(SleepState::new());
            let sleepers = Arc::new(Sleepers::new());
            let deque = Arc::new(Embedded::new());
            let sleeper = {
                let (state, sleepers, deque) = (state.clone(), sleepers.clone(), deque.clone());
                thread::spawn(move || {
                    if deque.is_empty() {
                        sleepers.begin(&state);
                        deque.call();
                        if !barrier::heavy() || !deque.is_empty() {
                            sleepers.end(&state);
                            return;
                        }
                        while state.is_asleep() {
                            thread::park();
                        }
                    }
                    assert!(!deque.is_empty(), "woken for nothing");
                })
            };
            // SAFETY: this thread is the owner, for both.
            unsafe {
                if deque.push(1_usize).1 && deque.attend().requested {
                    let chosen = sleepers.choose([((), &*state)].into_iter());
                    if chosen.is_some() {
                        sleeper.thread().unpark();
                    }
                }
            }
            sleeper.join().unwrap();
            assert!(!sleepers.any());
        });
    }

    /// A pusher that clears a call sees its caller asleep. (A call that the clearing does not see comes
    /// after it, because it is a swap, and stands.)
    #[test]
    fn a_call_is_not_cleared_unseen() {
        loom::model(|| {
            let deque = Arc::new(Embedded::<usize>::new());
            let sleepers = Arc::new(Sleepers::new());
            let sleeper = {
                let (deque, sleepers) = (deque.clone(), sleepers.clone());
                thread::spawn(move || {
                    sleepers.begin(&SleepState::new());
                    deque.call();
                })
            };
            // SAFETY: this thread is the owner.
            if unsafe { deque.attend() }.requested {
                assert!(
                    sleepers.any(),
                    "the call is gone, and its caller was not seen"
                );
            }
            sleeper.join().unwrap();
        });
    }

    /// The same where two call, one after the other.
    #[test]
    fn two_calls_are_not_cleared_unseen() {
        loom::model(|| {
            let deque = Arc::new(Embedded::<usize>::new());
            let sleepers = Arc::new(Sleepers::new());
            let handles = [(); 2].map(|()| {
                let (deque, sleepers) = (deque.clone(), sleepers.clone());
                thread::spawn(move || {
                    sleepers.begin(&SleepState::new());
                    deque.call();
                })
            });
            // SAFETY: this thread is the owner.
            let answered = unsafe { deque.attend() }.requested;
            let seen = sleepers.count();
            for handle in handles {
                handle.join().unwrap();
            }
            if answered && !deque.is_called() {
                assert_eq!(seen, 2, "both calls are gone, and one caller was not seen");
            }
        });
    }
}
