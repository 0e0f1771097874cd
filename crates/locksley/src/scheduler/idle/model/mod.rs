//! The protocol of `README.md`, explored exhaustively on small programs.
//!
//! The model has the workers, spares and outside threads of one or two pools. Every access to the
//! counts, to a queue or to a sleeper's state is a step of its own, and stateright tries all
//! orders. The counts change by the same code as in the pool. A state from which no step leads on,
//! and in which a task is not done, is a standstill.
//!
//! Abstracted: the queues of a pool are one bag; that a push sees a call is assumed (`sleep` has
//! loom models of that); timers do not exist, so that nothing here relies on one.

mod steps;
mod tests;

use std::hash::Hash;

use stateright::{Model, Property};

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
    /// How far the outside threads are: 0 before the push, 1 before the wake-up, 2 before it starts
    /// a spare, 3 done.
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
