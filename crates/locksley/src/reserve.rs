//! Workers beyond the processors: a reserve.
//!
//! Where a pool has more workers than the process may use processors, waking all of them gains nothing
//! while the processors are busy: they take turns, steal from each other what then waits for its
//! turn, and every steal has its price. So an offer of work wakes a worker only while fewer are awake
//! than a limit, at first the number of processors; and a worker that is done with a job while
//! more are awake than that goes to sleep.
//!
//! But a worker that is awake need not be running: its task may wait for a lock, for a disk, for
//! another task. So whoever refuses to wake a sleeper posts a *watchman*, one of the sleepers. It
//! looks up every 20 milliseconds whether the process has used its processors meanwhile. If a quarter
//! of them went unused and there is work in sight, the limit doubles, and so many more
//! are woken; otherwise it is halved, down to the number of processors. Tasks that wait by spinning keep
//! the processors busy, so work that stays in sight for half a second gets a worker all the same.
//! When all sleep, the watch ends.
//!
//! **No work is left lying on an idle processor** for longer than a few looks: a refusal leaves a
//! watchman who sleeps, or the one that was posted is awake, and then posts another before it goes on.
//! Where nobody sleeps who could watch, some are blocked or all are at work; then a spare is called up.
//!
//! | tag | operation | ordering | pairs with | why not weaker | test |
//! |---|---|---|---|---|---|
//! | V1 | post: fence between naming the watchman and the look whether it sleeps | SeqCst | V2 | one that has just got up would stay named, and nobody would watch | `reserve::models::a_watchman_sleeps_or_is_relieved` |
//! | V2 | relieve: fence between getting up and the look whether one is named | SeqCst | V1 | as V1 | as V1 |

use std::time::{Duration, Instant};

use crate::sleep::Bed;
use crate::sync::{AtomicUsize, Ordering, fence};

/// How long a watchman sleeps between two looks. The system brings the time that a thread has used up
/// to date once in a few milliseconds, so a shorter look would often see a processor idle that
/// is not.
pub(crate) const LOOK: Duration = Duration::from_millis(20);

/// After so many looks that saw work and busy processors, half a second, somebody gets to do it: those
/// who are busy may be busy waiting for it.
const PATIENCE: usize = 25;

/// Nobody watches.
const NOBODY: usize = 0;

/// How many workers may be awake, and who watches.
#[derive(Debug)]
pub(crate) struct Reserve {
    /// How many processors there are; without limit if that is enough for all workers.
    processors: usize,
    limit: AtomicUsize,
    /// The index of the watchman plus one.
    watchman: AtomicUsize,
    /// How many looks saw work and no idle processor since patience was last lost. The watchman's.
    looks: AtomicUsize,
}

/// What came of posting a watchman.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Posted {
    /// There is one.
    Before,
    /// It is this one, whom the caller must unpark.
    Now(usize),
    /// Nobody sleeps who could be.
    Nobody,
}

impl Reserve {
    pub(crate) fn new(workers: usize, processors: usize) -> Reserve {
        let processors = if workers > processors {
            processors.max(1)
        } else {
            usize::MAX
        };
        Reserve {
            processors,
            limit: AtomicUsize::new(processors),
            watchman: AtomicUsize::new(NOBODY),
            looks: AtomicUsize::new(0),
        }
    }

    /// Are so many awake that waking another one must be refused?
    pub(crate) fn is_spent(&self, awake: usize) -> bool {
        awake >= self.limit.load(Ordering::Relaxed)
    }

    /// Are more awake than should be?
    pub(crate) fn is_exceeded(&self, awake: usize) -> bool {
        awake > self.limit.load(Ordering::Relaxed)
    }

    /// Sees to it that one of those who sleep in these beds is watchman, if anybody sleeps.
    pub(crate) fn post<'a>(&self, mut beds: impl Iterator<Item = (usize, &'a Bed)>) -> Posted {
        if self.watchman.load(Ordering::Relaxed) != NOBODY {
            return Posted::Before;
        }
        match beds.find(|&(index, bed)| bed.is_sleeping() && self.name(index, bed)) {
            Some((index, _)) => Posted::Now(index),
            None => Posted::Nobody,
        }
    }

    /// May more be awake than there are processors?
    pub(crate) fn is_raised(&self) -> bool {
        self.limit.load(Ordering::Relaxed) > self.processors
    }

    /// Names this sleeper watchman, unless it gets up.
    fn name(&self, index: usize, bed: &Bed) -> bool {
        if !self.take_over(index) {
            return false;
        }
        fence(Ordering::SeqCst); // [V1]
        // If it got up before it could see its name, its name is taken back.
        bed.is_sleeping() || !self.hand_over(index)
    }

    /// Becomes the watchman if nobody is.
    fn take_over(&self, index: usize) -> bool {
        let watchman = &self.watchman;
        watchman
            .compare_exchange(NOBODY, index + 1, Ordering::Relaxed, Ordering::Relaxed)
            .is_ok()
    }

    fn hand_over(&self, index: usize) -> bool {
        let watchman = &self.watchman;
        watchman
            .compare_exchange(index + 1, NOBODY, Ordering::Relaxed, Ordering::Relaxed)
            .is_ok()
    }

    /// Is this the watchman?
    pub(crate) fn is_watchman(&self, index: usize) -> bool {
        self.watchman.load(Ordering::Relaxed) == index + 1
    }

    /// Ends the watch of one that got up, if it was the watchman. Was it? Then another must be posted.
    pub(crate) fn relieve(&self, index: usize) -> bool {
        fence(Ordering::SeqCst); // [V2]
        self.is_watchman(index) && self.hand_over(index)
    }

    /// Ends the watch because nobody is awake, unless there is something to do by now.
    pub(crate) fn end_watch(&self, index: usize, needed: impl Fn() -> bool) {
        self.limit.store(self.processors, Ordering::Relaxed);
        self.hand_over(index);
        fence(Ordering::SeqCst);
        // Whoever was refused meanwhile relied on this one.
        if needed() {
            self.take_over(index);
        }
    }

    /// Counts a look that saw work and no idle processor. Is it time to let somebody have it all the
    /// same?
    pub(crate) fn lose_patience(&self) -> bool {
        let looks = self.looks.load(Ordering::Relaxed) + 1;
        self.looks.store(looks % PATIENCE, Ordering::Relaxed);
        looks >= PATIENCE
    }

    /// Lets more workers be awake than are now. How many more?
    pub(crate) fn raise(&self, awake: usize) -> usize {
        let limit = awake.saturating_mul(2).max(self.processors);
        self.limit.fetch_max(limit, Ordering::Relaxed);
        limit - awake
    }

    /// The processors are used: what was too much for them is taken back.
    pub(crate) fn lower(&self) {
        let limit = self.limit.load(Ordering::Relaxed) / 2;
        self.limit
            .store(limit.max(self.processors), Ordering::Relaxed);
    }

    /// Did the process leave a quarter of the processors unused during a look? No answer if the
    /// look was too short or too long to tell.
    pub(crate) fn left_idle(&self, look: &Look) -> Option<bool> {
        let elapsed = look.start.elapsed();
        // Somebody woke the watchman; or others had the processors, or the whole process was stopped.
        if elapsed < LOOK || elapsed > 2 * LOOK {
            return None;
        }
        let Some((before, now)) = look.used.zip(processor_time()) else {
            return Some(true);
        };
        let full = elapsed.as_secs_f64() * self.processors as f64;
        Some(now.saturating_sub(before).as_secs_f64() < 0.75 * full)
    }
}

/// The start of a look at what the process uses.
#[derive(Debug)]
pub(crate) struct Look {
    start: Instant,
    used: Option<Duration>,
}

impl Look {
    pub(crate) fn start() -> Look {
        Look {
            start: Instant::now(),
            used: processor_time(),
        }
    }
}

/// The processor time that the process has used so far, if that can be had.
#[cfg(target_os = "linux")]
fn processor_time() -> Option<Duration> {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the structure is there to be written to.
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    (failed == 0).then(|| Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
}

#[cfg(not(target_os = "linux"))]
fn processor_time() -> Option<Duration> {
    None
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn without_a_reserve_nobody_is_refused() {
        assert!(!Reserve::new(4, 4).is_spent(4));
        assert!(!Reserve::new(3, 4).is_spent(1000));
    }

    #[test]
    fn the_limit_doubles_and_falls_back() {
        let reserve = Reserve::new(16, 2);
        assert!(!reserve.is_spent(1));
        assert!(reserve.is_spent(2));
        assert!(!reserve.is_exceeded(2));
        assert_eq!(reserve.raise(2), 2);
        assert!(!reserve.is_spent(3));
        assert!(reserve.is_spent(4));
        assert_eq!(reserve.raise(4), 4);
        reserve.lower();
        assert!(reserve.is_spent(4));
        assert!(reserve.is_raised());
        reserve.lower();
        reserve.lower();
        assert!(reserve.is_spent(2) && !reserve.is_spent(1) && !reserve.is_raised());
    }

    #[test]
    fn patience_ends() {
        let reserve = Reserve::new(16, 2);
        let ends = (0..2 * PATIENCE).filter(|_| reserve.lose_patience());
        assert_eq!(ends.count(), 2);
    }

    #[test]
    fn one_sleeper_watches_at_a_time() {
        let reserve = Reserve::new(16, 2);
        let beds = [Bed::new(), Bed::new(), Bed::new()];
        assert_eq!(reserve.post(beds.iter().enumerate()), Posted::Nobody);
        beds[1].lie_down();
        beds[2].lie_down();
        assert_eq!(reserve.post(beds.iter().enumerate()), Posted::Now(1));
        assert_eq!(reserve.post(beds.iter().enumerate()), Posted::Before);
        assert!(reserve.is_watchman(1));
        assert!(!reserve.relieve(2));
        beds[1].get_up();
        assert!(reserve.relieve(1));
        assert_eq!(reserve.post(beds.iter().enumerate()), Posted::Now(2));
    }

    #[test]
    fn a_process_that_sleeps_leaves_its_processors_idle() {
        let reserve = Reserve::new(usize::MAX, 1 << 10);
        let look = Look::start();
        std::thread::sleep(LOOK);
        // A slow machine may oversleep, and then there is no answer.
        assert_ne!(
            reserve.left_idle(&look),
            Some(false),
            "there are not a thousand threads"
        );
        assert_eq!(reserve.left_idle(&Look::start()), None, "too short");
    }
}

#[cfg(all(test, loom))]
mod models {
    use loom::sync::Arc;
    use loom::thread;

    use super::*;

    /// A sleeper is woken while somebody names it watchman: in the end it is not named, or it was
    /// told, or it sleeps.
    #[test]
    fn a_watchman_sleeps_or_is_relieved() {
        loom::model(|| {
            let bed = Arc::new(Bed::new());
            let reserve = Arc::new(Reserve::new(2, 1));
            bed.lie_down();
            let sleeper = {
                let (bed, reserve) = (bed.clone(), reserve.clone());
                thread::spawn(move || {
                    bed.get_up();
                    reserve.relieve(0);
                })
            };
            reserve.post([(0, &*bed)].into_iter());
            sleeper.join().unwrap();
            assert!(!reserve.is_watchman(0), "named, and awake");
        });
    }
}
