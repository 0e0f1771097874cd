//! The steps of the model: what a thread does next, and what changes by it.

use super::Op::{Block, Hand, Spawn, Spin, Target, Wait};
use super::{Pool, Program, Sleep, State, Step, Task, Then};

impl Program {
    fn descends(&self, task: usize, from: usize) -> bool {
        task == from
            || self.tasks[from].iter().any(|op| match *op {
                Spawn(child) | Hand(_, child) | Target(_, child) => self.descends(task, child),
                Wait(_) | Block(_) | Spin(_) => false,
            })
    }

    /// Returns `true` if a thread can make a step.
    pub(super) fn is_enabled(&self, state: &State, pool: usize, index: usize) -> bool {
        let thread = &state.pools[pool].threads[index];
        let awaited_done = || match thread.stack.last() {
            Some(&(task, at)) => match self.tasks[task][at] {
                Wait(awaited) | Block(awaited) => state.tasks[awaited] == Task::Done,
                _ => unreachable!("only waits park"),
            },
            None => false,
        };
        let spins = || match thread.stack.last() {
            Some(&(task, at)) => match self.tasks[task].get(at) {
                Some(&Spin(awaited)) => state.tasks[awaited] != Task::Done,
                _ => false,
            },
            None => false,
        };
        let served = || !thread.targeted.is_empty() || awaited_done();
        match thread.step {
            _ if thread.sleep == Sleep::Absent => false,
            Step::Go => !spins(),
            Step::Parked => thread.sleep != Sleep::Asleep || served(),
            Step::Aside => thread.sleep != Sleep::Spare,
            Step::Blocked => served() || state.pools[pool].counts.lacks_spares(),
            _ => true,
        }
    }

    pub(super) fn step(&self, state: &mut State, pool: usize, index: usize, choice: bool) {
        let step = state.pools[pool].threads[index].step;
        let next = match step {
            Step::Go => self.go(state, pool, index, choice),
            Step::Wake(then) => {
                if self.wake(&mut state.pools[pool]) {
                    Step::Rouse(then)
                } else {
                    self.then(state, pool, index, then)
                }
            }
            Step::Rouse(then) => {
                self.rouse(&mut state.pools[pool], choice);
                self.then(state, pool, index, then)
            }
            Step::BeginSleep => {
                let pool = &mut state.pools[pool];
                pool.counts = pool.counts.begin_sleep();
                pool.threads[index].sleep = Sleep::Asleep;
                pool.threads[index].summoned = false;
                Step::LookAsleep
            }
            Step::LookAsleep => {
                let waits = state.pools[pool].threads[index].stack.last().copied();
                let served = waits.is_some_and(|wait| self.is_over(state, wait));
                let pool = &mut state.pools[pool];
                if pool.queue.is_empty() && pool.threads[index].targeted.is_empty() && !served {
                    Step::Parked
                } else {
                    pool.get_up(index)
                }
            }
            Step::Parked => state.pools[pool].get_up(index),
            Step::LieDown => {
                let pool = &mut state.pools[pool];
                pool.threads[index].sleep = Sleep::Spare;
                pool.counts = pool.counts.lower_spare();
                Step::LookAgain
            }
            Step::LookAgain => {
                let pool = &mut state.pools[pool];
                let called = match pool.counts.call_spare() {
                    Some(counts) if self.rules.spares_look_again && !pool.queue.is_empty() => {
                        pool.counts = counts;
                        true
                    }
                    _ => false,
                };
                if called {
                    Step::Rouse(Then::Aside)
                } else {
                    Step::Aside
                }
            }
            Step::Aside => Step::Go,
            Step::BeginBlock => {
                let pool = &mut state.pools[pool];
                match pool.counts.begin_block() {
                    Some(counts) => {
                        pool.counts = counts;
                        Step::LookBlocked
                    }
                    None => Step::WithoutSpare,
                }
            }
            Step::LookBlocked if state.pools[pool].queue.is_empty() => Step::CheckBlocked,
            Step::LookBlocked => Step::Wake(Then::CheckBlocked),
            Step::CheckBlocked => {
                let pool = &mut state.pools[pool];
                if pool.counts.lacks_spares() {
                    pool.counts = pool.counts.end_block();
                    Step::WithoutSpare
                } else {
                    Step::Blocked
                }
            }
            Step::Blocked => {
                let pool = &mut state.pools[pool];
                pool.counts = pool.counts.end_block();
                Step::Go
            }
            Step::WithoutSpare => {
                let found = state.pools[pool].pop(choice);
                match found {
                    Some(task) if self.rules.takes_any => self.start(state, pool, index, task),
                    _ => Step::BeginSleep,
                }
            }
        };
        state.pools[pool].threads[index].step = next;
    }

    /// Returns `true` if what a task waits for at this operation is done.
    fn is_over(&self, state: &State, (task, at): (usize, usize)) -> bool {
        match self.tasks[task][at] {
            Wait(awaited) | Block(awaited) => state.tasks[awaited] == Task::Done,
            _ => true,
        }
    }

    fn then(&self, state: &mut State, pool: usize, index: usize, then: Then) -> Step {
        match then {
            Then::Next => {
                let thread = &mut state.pools[pool].threads[index];
                if let Some((_, at)) = thread.stack.last_mut() {
                    *at += 1;
                }
                Step::Go
            }
            Then::Go => Step::Go,
            Then::CheckBlocked => Step::CheckBlocked,
            Then::Aside => Step::Aside,
        }
    }

    /// Goes on with the newest task of the thread, or looks for one.
    fn go(&self, state: &mut State, pool: usize, index: usize, choice: bool) -> Step {
        let Some(&(task, at)) = state.pools[pool].threads[index].stack.last() else {
            return match state.pools[pool].threads[index].targeted.pop() {
                Some(task) => self.start(state, pool, index, task),
                None => self.search(state, pool, index, choice),
            };
        };
        let op = self.tasks[task].get(at).copied();
        if matches!(op, Some(Wait(_) | Block(_))) {
            if let Some(task) = state.pools[pool].threads[index].targeted.pop() {
                return self.start(state, pool, index, task);
            }
        }
        let Some(op) = op else {
            state.tasks[task] = Task::Done;
            let size = self.pools[pool].0;
            let pool = &mut state.pools[pool];
            pool.threads[index].stack.pop();
            let alone = pool.threads[index].stack.is_empty();
            return if alone && index >= size && pool.counts.has_spare_left_over() {
                Step::LieDown
            } else {
                Step::Go
            };
        };
        match op {
            Spawn(child) => {
                state.tasks[child] = Task::Queued;
                state.pools[pool].queue.push(child);
                Step::Wake(Then::Next)
            }
            Hand(other, child) => {
                // The thread wakes a worker of the other pool in the same step.
                state.tasks[child] = Task::Queued;
                state.pools[other].queue.push(child);
                if self.wake(&mut state.pools[other]) {
                    self.rouse(&mut state.pools[other], choice);
                }
                self.then(state, pool, index, Then::Next)
            }
            Target(worker, child) => {
                state.tasks[child] = Task::Queued;
                let pool = &mut state.pools[pool];
                pool.threads[worker].targeted.push(child);
                if pool.threads[worker].sleep == Sleep::Asleep {
                    pool.threads[worker].sleep = Sleep::Up;
                    pool.counts = pool.counts.end_sleep();
                }
                if let Some((_, at)) = pool.threads[index].stack.last_mut() {
                    *at += 1;
                }
                Step::Go
            }
            Spin(_) => self.then(state, pool, index, Then::Next),
            Wait(awaited) | Block(awaited) if state.tasks[awaited] == Task::Done => {
                self.then(state, pool, index, Then::Next)
            }
            Wait(awaited) => {
                let queue = &mut state.pools[pool].queue;
                let fit = queue.iter().position(|&task| self.descends(task, awaited));
                match fit {
                    Some(place) => {
                        let task = queue.remove(place);
                        self.start(state, pool, index, task)
                    }
                    None => Step::BeginBlock,
                }
            }
            Block(_) => Step::BeginBlock,
        }
    }

    fn search(&self, state: &mut State, pool: usize, index: usize, choice: bool) -> Step {
        match state.pools[pool].pop(choice) {
            Some(task) => self.start(state, pool, index, task),
            None if index >= self.pools[pool].0 => Step::LieDown,
            None => Step::BeginSleep,
        }
    }

    fn start(&self, state: &mut State, pool: usize, index: usize, task: usize) -> Step {
        state.tasks[task] = Task::Running;
        let thread = &mut state.pools[pool].threads[index];
        thread.stack.push((task, 0));
        let summoned = std::mem::take(&mut thread.summoned);
        if summoned && self.rules.passes_on && !state.pools[pool].queue.is_empty() {
            Step::Wake(Then::Go)
        } else {
            Step::Go
        }
    }

    /// Wakes a sleeping worker. Returns `true` if a spare was counted as up instead, and is to be
    /// called.
    fn wake(&self, pool: &mut Pool) -> bool {
        if pool.threads.iter().any(|t| t.sleep == Sleep::Search) {
            // One is on its way, and wakes another if there is more than it takes.
            return false;
        }
        let size = pool.size;
        let mut threads = pool.threads.iter_mut().enumerate();
        let sleeper = threads.find(|(index, thread)| {
            thread.sleep == Sleep::Asleep && (self.rules.wakes_waiting_spares || *index < size)
        });
        if let Some((_, thread)) = sleeper {
            thread.sleep = Sleep::Search;
            pool.counts = pool.counts.end_sleep();
            return false;
        }
        match pool.counts.call_spare() {
            Some(counts) => {
                pool.counts = counts;
                true
            }
            None => false,
        }
    }

    /// Calls up a spare that was put aside, or starts one, unless the system refuses.
    fn rouse(&self, pool: &mut Pool, refused: bool) {
        let size = pool.size;
        let mut aside = pool.threads.iter_mut();
        if let Some(spare) = aside.find(|thread| thread.sleep == Sleep::Spare) {
            spare.sleep = Sleep::Up;
            return;
        }
        let absent = pool
            .threads
            .iter()
            .position(|thread| thread.sleep == Sleep::Absent);
        match absent {
            Some(index) if !(self.refuses && refused) => {
                pool.threads[index].sleep = Sleep::Up;
            }
            _ => {
                pool.counts = pool.counts.lower_spare();
                let started = absent.unwrap_or(pool.threads.len()) - size;
                if let Some(counts) = pool.counts.limit_spares(started) {
                    pool.counts = counts;
                }
            }
        }
    }

    pub(super) fn outside(&self, state: &mut State, root: usize, choice: bool) {
        let (pool, task) = self.roots[root];
        match state.outside[root] {
            0 => {
                state.tasks[task] = Task::Queued;
                state.pools[pool].queue.push(task);
                state.outside[root] = 1;
            }
            1 => {
                let spare = self.wake(&mut state.pools[pool]);
                state.outside[root] = if spare { 2 } else { 3 };
            }
            _ => {
                self.rouse(&mut state.pools[pool], choice);
                state.outside[root] = 3;
            }
        }
    }
}

impl Pool {
    fn pop(&mut self, oldest: bool) -> Option<usize> {
        match (self.queue.is_empty(), oldest) {
            (true, _) => None,
            (false, true) => Some(self.queue.remove(0)),
            (false, false) => self.queue.pop(),
        }
    }

    fn get_up(&mut self, index: usize) -> Step {
        let thread = &mut self.threads[index];
        match thread.sleep {
            Sleep::Asleep => self.counts = self.counts.end_sleep(),
            Sleep::Search => thread.summoned = true,
            _ => {}
        }
        thread.sleep = Sleep::Up;
        Step::Go
    }
}
