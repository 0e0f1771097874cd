//! The protocol of `README.md`, explored exhaustively on small programs.
//!
//! The model has the workers, spares and outside threads of one or two pools. Every access to the
//! counts, to a queue or to a sleeper's state is a step of its own, and stateright tries all orders.
//! The counts change by the same code as in the pool. A state from which no step leads on, and in which
//! a task is not done, is a standstill.
//!
//! Abstracted: the queues of a pool are one bag; that a push sees a call is assumed (`sleep` has loom
//! models of that); timers do not exist, so that nothing here relies on one.

use std::hash::Hash;

use stateright::{Checker, Model, Property};

use super::counts::Counts;

/// What a task does, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Op {
    /// Pushes a task.
    Spawn(usize),
    /// Waits for a task as a join or a scope does: runs it, or what descends from it, if it can.
    Wait(usize),
    /// Waits for a task, and runs nothing but targeted jobs: `block_on`, or a call of another pool.
    Block(usize),
    /// Waits for a task without telling the pool, as code that meets at a barrier does.
    Spin(usize),
    /// Hands a task to another pool.
    Hand(usize, usize),
    /// Sends a task to a worker of the pool.
    Target(usize, usize),
}
use Op::{Block, Hand, Spawn, Spin, Target, Wait};

/// What distinguishes the protocol from one that stands still.
#[derive(Clone, Copy, Debug)]
struct Rules {
    /// A push wakes spares too that sleep in a wait.
    wakes_waiting_spares: bool,
    /// A waiter without a spare takes any work.
    takes_any: bool,
    /// A spare that was put aside looks whether it is wanted.
    spares_look_again: bool,
    /// A worker woken to search that has something else to do wakes another one.
    passes_on: bool,
}

const RULES: Rules = Rules {
    wakes_waiting_spares: true,
    takes_any: true,
    spares_look_again: true,
    passes_on: true,
};

/// A program, and the pools that it runs on.
#[derive(Clone, Debug)]
struct Program {
    /// Workers and spares of each pool.
    pools: Vec<(usize, usize)>,
    tasks: Vec<Vec<Op>>,
    /// What outside threads hand over: pool and task.
    roots: Vec<(usize, usize)>,
    /// The system may refuse a spare's thread.
    refuses: bool,
    rules: Rules,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Task {
    New,
    Queued,
    Running,
    Done,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Sleep {
    /// Not started.
    Absent,
    Up,
    Asleep,
    Search,
    Spare,
}

/// What a thread does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Step {
    /// Looks for work, or goes on with its task.
    Go,
    /// Wakes one, after a push.
    Wake(Then),
    /// Has counted a spare as up, and calls it.
    Rouse(Then),
    BeginSleep,
    LookAsleep,
    Parked,
    LieDown,
    LookAgain,
    Aside,
    BeginBlock,
    LookBlocked,
    CheckBlocked,
    Blocked,
    WithoutSpare,
}

/// What follows a wake-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Then {
    /// The next operation of the task.
    Next,
    Go,
    CheckBlocked,
    Aside,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Thread {
    sleep: Sleep,
    summoned: bool,
    step: Step,
    /// The tasks that it is inside of, with their next operations.
    stack: Vec<(usize, usize)>,
    targeted: Vec<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Pool {
    /// How many of the threads are workers; the others are spares.
    size: usize,
    counts: Counts,
    queue: Vec<usize>,
    threads: Vec<Thread>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    pools: Vec<Pool>,
    tasks: Vec<Task>,
    /// How far the outside threads are: 0 before the push, 1 before the wake-up, 2 before it starts a
    /// spare, 3 done.
    outside: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Action {
    /// A thread makes its step; where it has a choice, this one.
    Thread {
        pool: usize,
        index: usize,
        choice: bool,
    },
    Outside {
        root: usize,
        choice: bool,
    },
}

impl Program {
    fn descends(&self, task: usize, from: usize) -> bool {
        task == from
            || self.tasks[from].iter().any(|op| match *op {
                Spawn(child) | Hand(_, child) | Target(_, child) => self.descends(task, child),
                Wait(_) | Block(_) | Spin(_) => false,
            })
    }

    /// Returns `true` if a thread can make a step.
    fn is_enabled(&self, state: &State, pool: usize, index: usize) -> bool {
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

    fn step(&self, state: &mut State, pool: usize, index: usize, choice: bool) {
        let step = state.pools[pool].threads[index].step;
        let next = match step {
            Step::Go => self.go(state, pool, index, choice),
            Step::Wake(then) => match self.wake(&mut state.pools[pool]) {
                true => Step::Rouse(then),
                false => self.then(state, pool, index, then),
            },
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
        if let Some(Wait(_) | Block(_)) = op
            && let Some(task) = state.pools[pool].threads[index].targeted.pop()
        {
            return self.start(state, pool, index, task);
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

    fn outside(&self, state: &mut State, root: usize, choice: bool) {
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

impl Model for Program {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let thread = |sleep| Thread {
            sleep,
            summoned: false,
            step: Step::Go,
            stack: Vec::new(),
            targeted: Vec::new(),
        };
        let pools = self.pools.iter().map(|&(workers, spares)| Pool {
            size: workers,
            counts: Counts::new(spares),
            queue: Vec::new(),
            threads: (0..workers + spares)
                .map(|index| {
                    thread(if index < workers {
                        Sleep::Up
                    } else {
                        Sleep::Absent
                    })
                })
                .collect(),
        });
        vec![State {
            pools: pools.collect(),
            tasks: vec![Task::New; self.tasks.len()],
            outside: vec![0; self.roots.len()],
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        for pool in 0..self.pools.len() {
            for index in 0..state.pools[pool].threads.len() {
                if self.is_enabled(state, pool, index) {
                    for choice in [false, true] {
                        actions.push(Action::Thread {
                            pool,
                            index,
                            choice,
                        });
                    }
                }
            }
        }
        for root in 0..self.roots.len() {
            if state.outside[root] < 3 {
                for choice in [false, true] {
                    actions.push(Action::Outside { root, choice });
                }
            }
        }
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut state = last.clone();
        match action {
            Action::Thread {
                pool,
                index,
                choice,
            } => self.step(&mut state, pool, index, choice),
            Action::Outside { root, choice } => self.outside(&mut state, root, choice),
        }
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::always(
            "no standstill",
            |model: &Program, state| {
                let mut actions = Vec::new();
                model.actions(state, &mut actions);
                !actions.is_empty() || state.tasks.iter().all(|&task| task == Task::Done)
            },
        )]
    }
}

/// Explores a program. Returns how many states it has, or `None` if it can stand still.
fn explore(program: Program) -> Option<usize> {
    let checker = program.checker().threads(1).spawn_bfs().join();
    match checker.discovery("no standstill") {
        Some(_) => None,
        None => Some(checker.unique_state_count()),
    }
}

/// Explores a program under the rules, and with one of them broken.
fn needs(program: Program, broken: Rules) {
    let ends = explore(program.clone()).is_some();
    assert!(ends, "{program:?} can stand still");
    let stands_still = explore(Program {
        rules: broken,
        ..program.clone()
    });
    assert_eq!(stands_still, None, "{program:?} ends without the rule too");
}

/// A pool of so many workers and spares, and what one outside thread hands over.
fn one_pool(workers: usize, spares: usize, tasks: Vec<Vec<Op>>) -> Program {
    Program {
        pools: vec![(workers, spares)],
        tasks,
        roots: vec![(0, 0)],
        refuses: false,
        rules: RULES,
    }
}

#[test]
fn forks_and_joins_end() {
    let tasks = vec![
        vec![Spawn(1), Spawn(2), Wait(2), Wait(1)],
        vec![Spawn(3), Wait(3)],
        vec![],
        vec![],
    ];
    let states = explore(one_pool(2, 1, tasks)).expect("no standstill");
    assert!(states > 1000, "{states}");
}

/// Three workers, two spares, two outside threads: a blocked task and a join, and refused threads.
#[test]
#[ignore = "takes minutes without optimisation; scripts/deep-check runs it"]
fn three_workers_and_two_spares_end() {
    let tasks = vec![
        vec![Spawn(2), Block(2)],
        vec![Spawn(3), Wait(3)],
        vec![],
        vec![],
    ];
    for refuses in [false, true] {
        let program = Program {
            roots: vec![(0, 0), (0, 1)],
            refuses,
            ..one_pool(3, 2, tasks.clone())
        };
        let states = explore(program).expect("no standstill");
        println!("{states} states");
    }
}

/// Tasks that block until another task of the pool has run, more of them than workers.
#[test]
fn blocked_tasks_end_with_spares() {
    let tasks = vec![
        vec![Spawn(1), Spawn(2), Wait(1), Wait(2)],
        vec![Spawn(3), Block(3)],
        vec![Spawn(4), Block(4)],
        vec![],
        vec![],
    ];
    explore(one_pool(1, 2, tasks)).expect("no standstill");
}

/// More blocked tasks than spares: a waiter that blocked all the same would stand still.
#[test]
fn a_waiter_without_a_spare_takes_any_work() {
    let tasks = vec![
        vec![Spawn(1), Block(1)],
        vec![Spawn(2), Block(2)],
        vec![Spawn(3), Block(3)],
        vec![],
    ];
    let broken = Rules {
        takes_any: false,
        ..RULES
    };
    needs(one_pool(1, 1, tasks), broken);
}

/// The system refuses spares' threads, at any moment.
#[test]
fn refused_threads_do_not_matter() {
    let tasks = vec![
        vec![Spawn(1), Spawn(2), Block(1), Block(2)],
        vec![Spawn(3), Block(3)],
        vec![],
        vec![],
    ];
    let program = Program {
        refuses: true,
        ..one_pool(2, 2, tasks)
    };
    explore(program).expect("no standstill");
}

/// Calls to and fro between two pools, longer than there are spares: the worker that is left may be a
/// spare.
#[test]
fn calls_between_pools_end() {
    let tasks = vec![
        vec![Hand(1, 1), Block(1)],
        vec![Hand(0, 2), Block(2)],
        vec![Hand(1, 3), Block(3)],
        vec![Hand(0, 4), Block(4)],
        vec![],
    ];
    let program = Program {
        pools: vec![(1, 1), (1, 1)],
        ..one_pool(1, 1, tasks)
    };
    let broken = Rules {
        wakes_waiting_spares: false,
        ..RULES
    };
    needs(program, broken);
}

/// A worker is woken to search, and has a targeted job that takes until another worker has run what it
/// was woken for.
#[test]
fn a_summons_is_passed_on() {
    let tasks = vec![
        vec![Spawn(2), Target(1, 1), Spin(2), Block(1)],
        vec![Spin(2)],
        vec![],
    ];
    let program = one_pool(3, 0, tasks);
    let broken = Rules {
        passes_on: false,
        ..RULES
    };
    needs(program, broken);
}

/// A task is pushed just when the only spare finds nothing and is put aside.
#[test]
fn a_spare_that_is_put_aside_looks_again() {
    let program = Program {
        roots: vec![(0, 0), (0, 2)],
        ..one_pool(1, 1, vec![vec![Spawn(1), Block(2)], vec![], vec![]])
    };
    let broken = Rules {
        spares_look_again: false,
        ..RULES
    };
    needs(program, broken);
}

/// Two outside threads, and a pool without spares.
#[test]
fn pools_without_spares_end() {
    let tasks = vec![
        vec![Spawn(2), Wait(2)],
        vec![Spawn(3), Block(3)],
        vec![],
        vec![],
    ];
    let program = Program {
        roots: vec![(0, 0), (0, 1)],
        ..one_pool(2, 0, tasks)
    };
    explore(program).expect("no standstill");
}
