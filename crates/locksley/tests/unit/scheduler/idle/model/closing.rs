//! The end of a pool: a thread closes it and wakes all of its threads, and each of them leaves when
//! nothing is outstanding.

use super::Op::{Broadcast, Target};
use super::{Outside, Pool, Program, Sleep, State, Step, Then, Thread};

impl Program {
    /// Returns `true` if a task is sent to a worker that is named.
    pub(super) fn has_targets(&self) -> bool {
        let mut ops = self.tasks.iter().flatten();
        ops.any(|op| matches!(op, Target(..) | Broadcast(_)))
    }

    /// The next step of a thread that finds nothing to do in a pool that is closed.
    pub(super) fn leave(&self, pool: usize) -> Step {
        if self.rules.wakes_when_leaving {
            Step::WakeAll {
                pool,
                next: 0,
                leaves: true,
            }
        } else {
            Step::Left
        }
    }

    /// Wakes the next thread of a pool that closes.
    pub(super) fn wake_next(
        &self,
        state: &mut State,
        (pool, index): (usize, usize),
        closing: usize,
        next: usize,
        leaves: bool,
    ) -> Step {
        if next < state.pools[closing].threads.len() {
            state.pools[closing].wake_for_good(next);
            return Step::WakeAll {
                pool: closing,
                next: next + 1,
                leaves,
            };
        }
        if leaves {
            Step::Left
        } else {
            self.then(state, pool, index, Then::Next)
        }
    }

    /// Returns `true` if an outside thread can make a step. It closes a pool when nothing more is
    /// handed over.
    pub(super) fn outside_is_enabled(&self, state: &State, root: usize) -> bool {
        let has_handed = |outside: &Outside| {
            !matches!(outside, Outside::Push | Outside::Wake | Outside::StartSpare)
        };
        match state.outside[root] {
            Outside::Close => state.outside.iter().all(has_handed),
            Outside::Done => false,
            _ => true,
        }
    }
}

impl Pool {
    /// Returns `true` if the pool closes, and nothing is outstanding.
    pub(super) fn is_closed(&self) -> bool {
        let is_free = |thread: &Thread| thread.stack.is_empty() && thread.targeted.is_empty();
        self.closing && self.queue.is_empty() && self.threads.iter().all(is_free)
    }

    /// Returns `true` if all threads that were started have left.
    pub(super) fn is_left(&self) -> bool {
        let is_gone = |thread: &Thread| thread.step == Step::Left || thread.sleep == Sleep::Absent;
        self.threads.iter().all(is_gone)
    }

    /// Ends the sleep of a worker.
    pub(super) fn wake_up(&mut self, index: usize) {
        if self.threads[index].sleep == Sleep::Asleep {
            self.threads[index].sleep = Sleep::Up;
            self.counts = self.counts.end_sleep();
        }
    }

    /// Makes a spare get up, whether or not one is wanted.
    pub(super) fn raise(&mut self, index: usize) {
        self.threads[index].sleep = Sleep::Up;
        self.counts = self.counts.raise_spare();
    }

    /// Wakes a thread of a pool that closes.
    pub(super) fn wake_for_good(&mut self, index: usize) {
        if self.threads[index].sleep == Sleep::Spare {
            self.raise(index);
        } else {
            self.wake_up(index);
        }
    }
}

impl Thread {
    /// Takes the oldest of the tasks that were sent to this thread.
    pub(super) fn next_targeted(&mut self) -> Option<usize> {
        (!self.targeted.is_empty()).then(|| self.targeted.remove(0))
    }
}
