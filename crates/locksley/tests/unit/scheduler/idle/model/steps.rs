//! The steps of the model: what a thread does next, and what changes by it.

use super::Op::{self, Block, Broadcast, Close, Hand, Leave, Meet, Spawn, Spin, Target, Wait};
use super::{CHOICES, Outside, Pool, Program, Sleep, State, Step, Task, Then, Thread};

impl Program {
    fn descends(&self, task: usize, from: usize) -> bool {
        task == from
            || self.tasks[from].iter().any(|op| match *op {
                Spawn(child) | Hand(_, child) | Target(_, child) => self.descends(task, child),
                _ => false,
            })
    }

    /// Returns `true` if a thread can make a step.
    pub(super) fn is_enabled(&self, state: &State, pool: usize, index: usize) -> bool {
        let thread = &state.pools[pool].threads[index];
        let awaited_done = || {
            let wait = thread.stack.last();
            wait.is_some_and(|&wait| self.is_over(state, wait))
        };
        let spins = || match thread.stack.last() {
            Some(&(task, at)) => match self.tasks[task].get(at) {
                Some(Spin(_) | Meet(_)) => !self.is_over(state, (task, at)),
                _ => false,
            },
            None => false,
        };
        let served = || !thread.targeted.is_empty() || awaited_done();
        match thread.step {
            _ if thread.sleep == Sleep::Absent => false,
            Step::Left => false,
            Step::Go => !spins(),
            Step::Idles => awaited_done(),
            Step::Parked => thread.sleep != Sleep::Asleep || thread.drafted || served(),
            Step::Aside => thread.sleep != Sleep::Spare,
            Step::Blocked => served() || state.pools[pool].counts.lacks_spares(),
            _ => true,
        }
    }

    pub(super) fn step(&self, state: &mut State, pool: usize, index: usize, choice: usize) {
        let step = state.pools[pool].threads[index].step;
        let next = match step {
            Step::Go => self.go(state, pool, index, choice),
            Step::LookCalled => {
                if std::mem::take(&mut state.pools[pool].threads[index].called) {
                    Step::Wake(Then::Next)
                } else {
                    self.then(state, pool, index, Then::Next)
                }
            }
            Step::Wake(then) => {
                let pushed = matches!(then, Then::Next | Then::Go);
                if pushed && state.pools[pool].leaves_to_nap(choice) {
                    self.then(state, pool, index, then)
                } else {
                    let calls_spare = self.wake(&mut state.pools[pool], choice);
                    let wants_work = state.pools[pool].counts.wants_work();
                    state.pools[pool].threads[index].called |= then == Then::Next && wants_work;
                    if calls_spare {
                        Step::WakeSpare(then)
                    } else {
                        self.then(state, pool, index, then)
                    }
                }
            }
            Step::WakeSpare(then) => {
                self.wake_spare(&mut state.pools[pool], choice);
                self.then(state, pool, index, then)
            }
            Step::WakeAll {
                pool: other,
                next,
                leaves,
            } => self.wake_next(state, (pool, index), other, next, leaves),
            Step::Idles => Step::Go,
            Step::Left => unreachable!("it is not enabled"),
            Step::BeginSleep => {
                let pool = &mut state.pools[pool];
                pool.counts = pool.counts.begin_sleep();
                pool.threads[index].sleep = Sleep::Asleep;
                pool.threads[index].summoned = false;
                Step::LookAsleep
            }
            Step::LookAsleep => {
                state.pools[pool].leave_calls();
                if self.finds_nothing(state, pool, index) {
                    Step::Nap
                } else if self.rules.keeps_summons {
                    state.pools[pool].get_up_from_nap(index)
                } else {
                    state.pools[pool].get_up(index)
                }
            }
            Step::Nap => Step::LookAfterNap,
            Step::LookAfterNap => {
                if self.rules.restores_calls {
                    state.pools[pool].leave_calls();
                }
                let asleep = state.pools[pool].threads[index].sleep == Sleep::Asleep;
                let idle = !self.rules.looks_after_naps || self.finds_nothing(state, pool, index);
                if !(asleep && idle) {
                    state.pools[pool].get_up_from_nap(index)
                } else if choice == 0 {
                    Step::Parked
                } else {
                    Step::Nap
                }
            }
            Step::Parked => {
                let thread = &mut state.pools[pool].threads[index];
                if thread.sleep == Sleep::Asleep && std::mem::take(&mut thread.drafted) {
                    Step::Nap
                } else {
                    state.pools[pool].get_up(index)
                }
            }
            Step::EndDraft => {
                state.pools[pool].threads[index].drafted = false;
                if self.rules.ends_drafts {
                    state.pools[pool].leave_calls();
                    state.pools[pool].threads[index].summoned = true;
                }
                Step::Go
            }
            Step::PutAside => {
                let pool = &mut state.pools[pool];
                pool.threads[index].sleep = Sleep::Spare;
                pool.counts = pool.counts.lower_spare();
                Step::LookAgain
            }
            Step::LookAgain => {
                let pool = &mut state.pools[pool];
                pool.leave_calls();
                let called = match pool.counts.activate_spare() {
                    Some(counts) if self.rules.spares_look_again && !pool.queue.is_empty() => {
                        pool.counts = counts;
                        true
                    }
                    _ => false,
                };
                if called {
                    Step::WakeSpare(Then::Aside)
                } else if pool.is_closed() && pool.threads[index].sleep == Sleep::Spare {
                    pool.raise(index);
                    Step::Go
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
            Step::LookBlocked => {
                state.pools[pool].leave_calls();
                if state.pools[pool].queue.is_empty() {
                    Step::CheckBlocked
                } else {
                    Step::Wake(Then::CheckBlocked)
                }
            }
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

    /// Returns `true` if there is nothing to do for a sleeper.
    fn finds_nothing(&self, state: &State, pool: usize, index: usize) -> bool {
        let waits = state.pools[pool].threads[index].stack.last().copied();
        let served = match waits {
            Some(wait) => self.is_over(state, wait),
            None => state.pools[pool].is_closed(),
        };
        let pool = &state.pools[pool];
        pool.queue.is_empty() && pool.threads[index].targeted.is_empty() && !served
    }

    /// Returns `true` if what a task waits for at this operation is done.
    fn is_over(&self, state: &State, (task, at): (usize, usize)) -> bool {
        match self.tasks[task][at] {
            Wait(awaited) | Block(awaited) | Spin(awaited) => state.tasks[awaited] == Task::Done,
            Meet(other) => matches!(state.tasks[other], Task::Running | Task::Done),
            Leave(pool) => state.pools[pool].is_left(),
            _ => true,
        }
    }

    pub(super) fn then(&self, state: &mut State, pool: usize, index: usize, then: Then) -> Step {
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
    fn go(&self, state: &mut State, pool: usize, index: usize, choice: usize) -> Step {
        let Some(&(task, at)) = state.pools[pool].threads[index].stack.last() else {
            return match state.pools[pool].threads[index].next_targeted() {
                Some(task) => self.start(state, pool, index, task),
                None => self.search(state, pool, index, choice),
            };
        };
        let op = self.tasks[task].get(at).copied();
        let serves = match op {
            Some(Wait(_) | Block(_)) => true,
            Some(Leave(_)) => self.rules.serves_while_closing,
            _ => false,
        };
        if serves {
            if let Some(task) = state.pools[pool].threads[index].next_targeted() {
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
                Step::PutAside
            } else {
                Step::Go
            };
        };
        self.perform(state, (pool, index), op, choice)
    }

    /// Performs an operation of the task that a thread is in.
    fn perform(
        &self,
        state: &mut State,
        (pool, index): (usize, usize),
        op: Op,
        choice: usize,
    ) -> Step {
        match op {
            Spawn(child) => {
                state.tasks[child] = Task::Queued;
                state.pools[pool].queue.push(child);
                Step::LookCalled
            }
            Hand(other, child) => {
                // The thread wakes a worker of the other pool in the same step.
                state.tasks[child] = Task::Queued;
                state.pools[other].queue.push(child);
                if self.wake(&mut state.pools[other], choice) {
                    self.wake_spare(&mut state.pools[other], choice);
                }
                self.then(state, pool, index, Then::Next)
            }
            Target(worker, child) => {
                self.deliver(state, pool, worker, child);
                self.then(state, pool, index, Then::Next)
            }
            Broadcast(first) => {
                for worker in 0..state.pools[pool].size {
                    self.deliver(state, pool, worker, first + worker);
                }
                self.then(state, pool, index, Then::Next)
            }
            Close(other) => {
                state.pools[other].closing = true;
                Step::WakeAll {
                    pool: other,
                    next: 0,
                    leaves: false,
                }
            }
            Leave(_) if !self.rules.serves_while_closing => Step::Idles,
            Spin(_) | Meet(_) => self.then(state, pool, index, Then::Next),
            Wait(_) | Block(_) | Leave(_) => self.wait(state, pool, index, op),
        }
    }

    fn deliver(&self, state: &mut State, pool: usize, worker: usize, task: usize) {
        state.tasks[task] = Task::Queued;
        let pool = &mut state.pools[pool];
        pool.threads[worker].targeted.push(task);
        pool.wake_up(worker);
    }

    /// Goes on after a wait that is over; otherwise runs what it waits for, or blocks.
    fn wait(&self, state: &mut State, pool: usize, index: usize, op: Op) -> Step {
        let over = match op {
            Wait(awaited) | Block(awaited) => state.tasks[awaited] == Task::Done,
            Leave(other) => state.pools[other].is_left(),
            _ => true,
        };
        if over {
            return self.then(state, pool, index, Then::Next);
        }
        let queue = &mut state.pools[pool].queue;
        let fit = match op {
            Wait(awaited) => queue.iter().position(|&task| self.descends(task, awaited)),
            _ => None,
        };
        match fit {
            Some(place) => {
                let task = queue.remove(place);
                self.start(state, pool, index, task)
            }
            None => Step::BeginBlock,
        }
    }

    fn search(&self, state: &mut State, pool: usize, index: usize, choice: usize) -> Step {
        // The job that it was woken for may still be private, so that it cannot be stolen yet.
        let summoned = state.pools[pool].threads[index].summoned;
        if summoned && choice == CHOICES - 1 && index < self.pools[pool].0 {
            return Step::BeginSleep;
        }
        match state.pools[pool].pop(choice) {
            Some(task) => self.start(state, pool, index, task),
            None if state.pools[pool].is_closed() => self.leave(pool),
            None if index >= self.pools[pool].0 => Step::PutAside,
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
    fn wake(&self, pool: &mut Pool, choice: usize) -> bool {
        if pool.threads.iter().any(|t| t.sleep == Sleep::Search) {
            // A worker is on its way, and wakes another one if there is more than it takes.
            return false;
        }
        let sleeps = |thread: &&mut Thread| thread.sleep == Sleep::Asleep;
        let (workers, spares) = pool.threads.split_at_mut(pool.size);
        let mut sleepers: Vec<_> = workers.iter_mut().filter(sleeps).collect();
        if sleepers.is_empty() && self.rules.wakes_waiting_spares {
            sleepers.extend(spares.iter_mut().filter(sleeps));
        }
        if let Some(last) = sleepers.len().checked_sub(1) {
            sleepers[choice.min(last)].sleep = Sleep::Search;
            pool.counts = pool.counts.end_sleep();
            return false;
        }
        match pool.counts.activate_spare() {
            Some(counts) => {
                pool.counts = counts;
                true
            }
            None => false,
        }
    }

    /// Calls up a spare that was put aside, or starts one, unless the system refuses.
    fn wake_spare(&self, pool: &mut Pool, choice: usize) {
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
            Some(index) if !(pool.is_closed() || self.refuses && choice > 0) => {
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

    pub(super) fn outside(&self, state: &mut State, root: usize, choice: usize) {
        let (pool, task) = self.roots[root];
        let done = if self.closes && root == 0 {
            Outside::Close
        } else {
            Outside::Done
        };
        state.outside[root] = match state.outside[root] {
            Outside::Push => {
                state.tasks[task] = Task::Queued;
                state.pools[pool].queue.push(task);
                Outside::Wake
            }
            Outside::Wake if self.wake(&mut state.pools[pool], choice) => Outside::StartSpare,
            Outside::Wake => done,
            Outside::StartSpare => {
                self.wake_spare(&mut state.pools[pool], choice);
                done
            }
            Outside::Close => {
                state.pools[pool].closing = true;
                Outside::WakeAll(0)
            }
            Outside::WakeAll(next) if next < state.pools[pool].threads.len() => {
                state.pools[pool].wake_for_good(next);
                Outside::WakeAll(next + 1)
            }
            Outside::WakeAll(_) | Outside::Done => Outside::Done,
        };
    }
}

impl Pool {
    /// Returns `true` if a push that may choose leaves its task to a sleeper that naps, or drafts
    /// one.
    fn leaves_to_nap(&mut self, choice: usize) -> bool {
        if choice != CHOICES - 1 {
            return false;
        }
        // Also one that was woken meanwhile, and has not got up.
        let naps = |thread: &Thread| thread.step == Step::Nap || thread.drafted;
        if self.threads.iter().any(naps) {
            return true;
        }
        // A sleeper that is about to park sees it then.
        let sleeps = |thread: &&mut Thread| thread.sleep == Sleep::Asleep;
        let sleeper = self.threads.iter_mut().find(sleeps);
        sleeper.map(|sleeper| sleeper.drafted = true).is_some()
    }

    /// Leaves a call at every thread.
    fn leave_calls(&mut self) {
        self.threads
            .iter_mut()
            .for_each(|thread| thread.called = true);
    }

    /// Takes the newest task, or an older one.
    fn pop(&mut self, choice: usize) -> Option<usize> {
        let last = self.queue.len().checked_sub(1)?;
        Some(self.queue.remove(last.saturating_sub(choice)))
    }

    /// Gets up after a nap. A task may have been left to this thread, and pushers rely on it to
    /// wake others.
    fn get_up_from_nap(&mut self, index: usize) -> Step {
        self.threads[index].summoned = true;
        self.get_up(index)
    }

    fn get_up(&mut self, index: usize) -> Step {
        let thread = &mut self.threads[index];
        match thread.sleep {
            Sleep::Asleep => self.counts = self.counts.end_sleep(),
            Sleep::Search => thread.summoned = true,
            _ => {}
        }
        thread.sleep = Sleep::Up;
        if thread.drafted {
            Step::EndDraft
        } else {
            Step::Go
        }
    }
}
