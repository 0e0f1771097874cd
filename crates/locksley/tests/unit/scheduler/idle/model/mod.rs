//! The protocol of `README.md`, explored exhaustively on small programs.
//!
//! The model has the workers, spares and outside threads of one or two pools. Every access to the
//! counts, to a queue or to a sleeper's state is a step of its own, and stateright tries all
//! orders. The counts change by the same code as in the pool. A state without a next step is a
//! standstill (a deadlock) if a task is not done, or a thread has not left a pool that was closed.
//!
//! Abstractions: the queues of a pool are one bag. A sleeper is assumed to see a push that does not
//! see its call, so it leaves its calls and looks in one step (`sleep` has loom models of that).
//! Which tasks are outstanding is known at once (`outstanding` has models of that). A nap can end
//! at any moment; no other timer exists, so nothing here relies on one. Whether a push leaves its
//! task to a sleeper that naps, or drafts one, is a free choice.
//!
//! Workers of a pool that get no targeted jobs are interchangeable, and so are its spares: states
//! that differ only by a permutation of them count as one. So each choice among threads is free in
//! the model, though the pool takes the first.

mod closing;
mod steps;
mod tests;

use std::hash::Hash;

use stateright::{Model, Property};

use super::counts::Counts;

/// An operation of a task.
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
    /// Sends a task to each worker of the pool at once: consecutive tasks, of which this is the
    /// first.
    Broadcast(usize),
    /// Waits until a task has begun, without telling the pool.
    Meet(usize),
    /// Closes another pool.
    Close(usize),
    /// Waits until all threads have left a pool, as the drop of a pool does.
    Leave(usize),
}

/// The rules of the protocol. Without any of them, some program can stand still.
#[derive(Clone, Copy, Debug)]
struct Rules {
    /// A push also wakes spares that sleep in a wait.
    wakes_waiting_spares: bool,
    /// A waiter without a spare takes any work.
    takes_any: bool,
    /// A spare that was put aside looks whether it is wanted.
    spares_look_again: bool,
    /// A worker woken to search that has something else to do wakes another one.
    passes_on: bool,
    /// A worker that drops another pool waits like any other waiter: a spare takes its place, and
    /// it runs jobs that are targeted at it.
    serves_while_closing: bool,
    /// A worker that leaves a pool wakes the others.
    wakes_when_leaving: bool,
    /// A sleeper looks for work after its nap.
    looks_after_naps: bool,
    /// A worker that sees work as it goes to sleep keeps its summons.
    keeps_summons: bool,
    /// A sleeper restores the calls that were cleared during its nap.
    restores_calls: bool,
    /// A drafted sleeper that is woken before it has taken up the draft ends the nap.
    ends_drafts: bool,
}

const RULES: Rules = Rules {
    wakes_waiting_spares: true,
    takes_any: true,
    spares_look_again: true,
    passes_on: true,
    serves_while_closing: true,
    wakes_when_leaving: true,
    looks_after_naps: true,
    keeps_summons: true,
    restores_calls: true,
    ends_drafts: true,
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
    /// An outside thread closes the first pool when it has handed over what it has.
    closes: bool,
    rules: Rules,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Task {
    New,
    Queued,
    Running,
    Done,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Sleep {
    /// Not started.
    Absent,
    Up,
    Asleep,
    Search,
    Spare,
}

/// What a thread does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Step {
    /// Looks for work, or goes on with its task.
    Go,
    /// Looks whether it is called, after a push, and clears the call.
    LookCalled,
    /// Wakes a worker.
    Wake(Then),
    /// Has counted a spare as up, and calls it.
    WakeSpare(Then),
    BeginSleep,
    LookAsleep,
    /// Parked for a while.
    Nap,
    /// Its nap has ended: leaves its calls again, and looks.
    LookAfterNap,
    /// Has got up, and was drafted meanwhile.
    EndDraft,
    Parked,
    PutAside,
    LookAgain,
    Aside,
    BeginBlock,
    LookBlocked,
    CheckBlocked,
    Blocked,
    WithoutSpare,
    /// Wakes the thread with this number in a pool that closes, and those after it.
    WakeAll {
        pool: usize,
        next: usize,
        leaves: bool,
    },
    /// Waits for the end of a pool, and does nothing else.
    Idles,
    /// Has left its pool.
    Left,
}

/// What follows a wake-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Then {
    /// The next operation of the task.
    Next,
    Go,
    CheckBlocked,
    Aside,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Thread {
    sleep: Sleep,
    summoned: bool,
    /// Set if a sleeper has left a call, so that the next push looks for sleepers.
    called: bool,
    /// Set if the worker was drafted as a napper, and has not taken up the draft.
    drafted: bool,
    step: Step,
    /// The tasks that it is inside of, with their next operations.
    stack: Vec<(usize, usize)>,
    targeted: Vec<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Pool {
    /// Number of threads that are workers; the others are spares.
    size: usize,
    counts: Counts,
    queue: Vec<usize>,
    threads: Vec<Thread>,
    closing: bool,
    /// Set if workers are interchangeable.
    alike: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    pools: Vec<Pool>,
    tasks: Vec<Task>,
    outside: Vec<Outside>,
}

/// What a thread outside of the pools does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Outside {
    Push,
    Wake,
    StartSpare,
    Close,
    /// Wakes the thread with this number, and those after it.
    WakeAll(usize),
    Done,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Action {
    /// A thread makes its step, with this choice if it has one.
    Thread {
        pool: usize,
        index: usize,
        choice: usize,
    },
    Outside {
        root: usize,
        choice: usize,
    },
}

/// Maximum number of alternatives if a thread has a choice.
const CHOICES: usize = 3;

impl Model for Program {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let thread = |sleep| Thread {
            sleep,
            summoned: false,
            // A spare starts with a call, since it has missed those that were left before.
            called: sleep == Sleep::Absent,
            drafted: false,
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
            closing: false,
            alike: !self.has_targets(),
        });
        vec![State {
            pools: pools.collect(),
            tasks: vec![Task::New; self.tasks.len()],
            outside: vec![Outside::Push; self.roots.len()],
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        for pool in 0..self.pools.len() {
            for index in 0..state.pools[pool].threads.len() {
                if self.is_enabled(state, pool, index) {
                    let thread = |choice| Action::Thread {
                        pool,
                        index,
                        choice,
                    };
                    actions.extend((0..CHOICES).map(thread));
                }
            }
        }
        for root in 0..self.roots.len() {
            if self.outside_is_enabled(state, root) {
                actions.extend((0..CHOICES).map(|choice| Action::Outside { root, choice }));
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
                !actions.is_empty() || state.is_finished()
            },
        )]
    }
}

impl State {
    /// Returns `true` if all tasks are done, and all threads have left the pools that were closed.
    fn is_finished(&self) -> bool {
        let left = |pool: &Pool| !pool.closing || pool.is_left();
        self.tasks.iter().all(|&task| task == Task::Done) && self.pools.iter().all(left)
    }

    /// Returns the representative of all states that differ only by a permutation of threads.
    fn representative(&self) -> State {
        let mut state = self.clone();
        for pool in &mut state.pools {
            let (workers, spares) = pool.threads.split_at_mut(pool.size);
            if pool.alike {
                workers.sort_unstable();
            }
            // Those that have not been started are the last.
            spares.sort_unstable_by(|a, b| b.cmp(a));
        }
        state
    }
}
