//! Sleeping, without a lost wake-up and without a fence in `push`.
//!
//! ```text
//!   sleeper                                pusher
//!   lies down (state = ASLEEP, asleep+1)   pushes a job
//!   wanted = true, for every worker        light barrier
//!   heavy barrier                          is my `wanted` set?  ── yes ──> clears it, wakes one,
//!   is there work in sight?                                                sets it again if more sleep
//!     yes: gets up again
//!     no:  parks until it is not ASLEEP
//! ```
//!
//! **No wake-up is lost.** The heavy barrier falls between two of the pusher's instructions. If it
//! falls behind the push, the sleeper sees the job. If it falls before the light barrier, the
//! pusher's look at `wanted` comes after it, and sees the flag. There is no third case: the light
//! barrier keeps the push before the look. A pusher that sees the flag also sees the sleeper lying
//! down, and summons it or another one; whoever is summoned finds the job or finds that somebody
//! took it, or, if it has something better to do before it has looked, passes the summons on.
//!
//! **Who ends a sleep.** Exactly one: the waker, who then unparks, or the sleeper that gets up by
//! itself; one exchange decides, and the winner takes one from `asleep`. A sleeper that finds itself
//! SUMMONED was woken to look for work; one that finds itself UP, for a letter or the pool's end.
//!
//! | tag | operation | ordering | pairs with | why not weaker | test |
//! |---|---|---|---|---|---|
//! | Z1 | lie down; get up; parked | Relaxed | - | the barriers order them; one exchange decides; the job itself is published by its pile | |
//! | Z2 | call for work: heavy barrier behind `wanted` | membarrier | Z3 | sleeper and pusher would miss each other | `sleep::models::a_push_wakes_a_sleeper` |
//! | Z3 | offer: light barrier between push and `wanted` | compiler | Z2 | as Z2 | `sleep::models::a_push_wakes_a_sleeper` |
//! | Z4 | call: swap of `wanted`; answer: swap | Release; Acquire | each other | who clears a call must see its caller lie, or a sleeper that called between the look and the clearing would sleep on; a plain store may be passed by the look at `asleep` behind it, and a second call that is one ends the first one's release sequence | `sleep::models::a_call_is_not_cleared_unseen`, `two_calls_are_not_cleared_unseen` |

use crossbeam_utils::CachePadded;
use locksley_queue::barrier;

use crate::sync::{AtomicBool, AtomicUsize, Ordering, fence};

/// Where one worker sleeps.
#[derive(Debug)]
pub(crate) struct Bed {
    /// Somebody sleeps who would like work. Set by sleepers, cleared by the bed's owner.
    wanted: CachePadded<AtomicBool>,
    /// The owner sleeps as long as this is `ASLEEP`.
    state: CachePadded<AtomicUsize>,
}

const UP: usize = 0;
const ASLEEP: usize = 1;
/// Woken to look for work.
const SUMMONED: usize = 2;

impl Bed {
    pub(crate) fn new() -> Self {
        Bed {
            wanted: CachePadded::new(AtomicBool::new(false)),
            state: CachePadded::new(AtomicUsize::new(UP)),
        }
    }

    /// Does somebody want work? For the owner, after a push and a barrier.
    #[inline(always)]
    pub(crate) fn is_wanted(&self) -> bool {
        self.wanted.load(Ordering::Relaxed)
    }

    /// Says that somebody wants work.
    pub(crate) fn call(&self) {
        self.wanted.swap(true, Ordering::Release); // [Z4]
    }

    /// The owner clears the calls made so far, and sees who made them. Were there any?
    pub(crate) fn answer(&self) -> bool {
        self.wanted.swap(false, Ordering::Acquire) // [Z4]
    }

    pub(crate) fn lie_down(&self) {
        self.state.store(ASLEEP, Ordering::Relaxed); // [Z1]
    }

    /// Ends the sleep. Is it the caller who ended it?
    pub(crate) fn get_up(&self) -> bool {
        self.end(UP)
    }

    fn end(&self, after: usize) -> bool {
        self.is_sleeping()
            && self
                .state
                .compare_exchange(ASLEEP, after, Ordering::Relaxed, Ordering::Relaxed) // [Z1]
                .is_ok()
    }

    pub(crate) fn is_sleeping(&self) -> bool {
        self.state.load(Ordering::Relaxed) == ASLEEP // [Z1]
    }
}

/// Passes the pusher's half of the barrier: what was pushed is seen by whoever calls for work, or
/// its call is seen.
#[inline(always)]
pub(crate) fn offered() {
    if barrier::payer() == barrier::Payer::Both {
        fence(Ordering::SeqCst); // [Z3]
    } else {
        barrier::light(); // [Z3]
    }
}

/// Asks everybody for work. `false` if there may be some already, in a pile where it will not be
/// announced.
pub(crate) fn call_for_work<'a>(beds: impl Iterator<Item = &'a Bed>) -> bool {
    for bed in beds {
        bed.call();
    }
    barrier::heavy() // [Z2]
}

/// Who sleeps.
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

    /// How many sleep?
    pub(crate) fn count(&self) -> usize {
        self.asleep.load(Ordering::Relaxed)
    }

    /// Does anybody sleep?
    pub(crate) fn any(&self) -> bool {
        self.count() > 0
    }

    pub(crate) fn lie_down(&self, bed: &Bed) {
        self.asleep.fetch_add(1, Ordering::Relaxed);
        bed.lie_down();
    }

    /// Ends somebody's sleep, for something else than to look for work. Is it the caller who ended it?
    pub(crate) fn wake(&self, bed: &Bed) -> bool {
        self.end(bed, UP)
    }

    /// Ends somebody's sleep, to look for work. Is it the caller who ended it?
    pub(crate) fn summon(&self, bed: &Bed) -> bool {
        self.end(bed, SUMMONED)
    }

    fn end(&self, bed: &Bed, after: usize) -> bool {
        let ended = bed.end(after);
        if ended {
            self.asleep.fetch_sub(1, Ordering::Relaxed);
        }
        ended
    }

    /// The owner gets up, if nobody has ended its sleep. Has it been summoned?
    pub(crate) fn get_up(&self, bed: &Bed) -> bool {
        let state = bed.state.swap(UP, Ordering::Relaxed); // [Z1]
        if state == ASLEEP {
            self.asleep.fetch_sub(1, Ordering::Relaxed);
        }
        state == SUMMONED
    }

    /// Summons one of those who lie in these beds, whom the caller must unpark.
    pub(crate) fn choose<'a, W>(&self, mut beds: impl Iterator<Item = (W, &'a Bed)>) -> Option<W> {
        if !self.any() {
            return None;
        }
        beds.find(|(_, bed)| self.summon(bed)).map(|(who, _)| who)
    }
}

#[cfg(all(test, loom))]
mod models {
    use locksley_queue::{Owner, Thief, asymmetric};
    use loom::sync::Arc;
    use loom::thread;

    use super::*;

    /// One worker pushes a job while another goes to sleep: either it is woken, or it does not
    /// sleep, or it finds the job. A lost wake-up is a deadlock, which loom reports.
    #[test]
    fn a_push_wakes_a_sleeper() {
        loom::model(|| {
            let beds = Arc::new([Bed::new(), Bed::new()]);
            let sleepers = Arc::new(Sleepers::new());
            let mut deque = asymmetric::Deque::new();
            let thief = deque.thief();
            let sleeper = {
                let (beds, sleepers) = (beds.clone(), sleepers.clone());
                thread::spawn(move || {
                    let bed = &beds[1];
                    loop {
                        if thief.steal().is_success() {
                            return;
                        }
                        sleepers.lie_down(bed);
                        if !call_for_work(beds.iter()) || !thief.is_empty() {
                            sleepers.get_up(bed);
                            thread::yield_now();
                            continue;
                        }
                        while bed.is_sleeping() {
                            thread::park();
                        }
                    }
                })
            };
            deque.push(1_usize).unwrap();
            offered();
            if beds[0].is_wanted() {
                beds[0].answer();
                let chosen = sleepers.choose(beds.iter().enumerate());
                if chosen.is_some() {
                    sleeper.thread().unpark();
                }
            }
            sleeper.join().unwrap();
            assert!(!sleepers.any());
        });
    }

    /// Whoever clears a call sees its caller lie. (A call that the clearing does not see comes after
    /// it, because it is a swap, and stands.)
    #[test]
    fn a_call_is_not_cleared_unseen() {
        loom::model(|| {
            let bed = Arc::new(Bed::new());
            let sleepers = Arc::new(Sleepers::new());
            let sleeper = {
                let (bed, sleepers) = (bed.clone(), sleepers.clone());
                thread::spawn(move || {
                    sleepers.lie_down(&Bed::new());
                    bed.call();
                })
            };
            if bed.answer() {
                assert!(sleepers.any(), "the call is gone, and nobody saw it");
            }
            sleeper.join().unwrap();
        });
    }

    /// The same where two call, one after the other.
    #[test]
    fn two_calls_are_not_cleared_unseen() {
        loom::model(|| {
            let bed = Arc::new(Bed::new());
            let sleepers = Arc::new(Sleepers::new());
            let handles = [(); 2].map(|()| {
                let (bed, sleepers) = (bed.clone(), sleepers.clone());
                thread::spawn(move || {
                    sleepers.lie_down(&Bed::new());
                    bed.call();
                })
            });
            let answered = bed.answer();
            let seen = sleepers.count();
            for handle in handles {
                handle.join().unwrap();
            }
            if answered && !bed.is_wanted() {
                assert_eq!(seen, 2, "both calls are gone, and one caller was not seen");
            }
        });
    }
}
