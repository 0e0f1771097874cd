//! Random programs that a correct pool finishes.
//!
//! # Which programs are legal
//!
//! **Strict waits.** With few exceptions a task waits only for work that it has started itself: its
//! forks, scopes and handles, its calls into pools, the pools that it has made. Such a program ends
//! whatever a waiter runs meanwhile. A task A is held up by B if A waits for B, or if B runs above
//! A on the same stack; in either case B was started after A. So tasks cannot hold each other up in
//! a cycle, and the task that was started last can go on.
//!
//! **Meetings.** A task may wait for a sibling that sends before it does anything else. A sender
//! that was started is never held up before it sends; one that was not started can be taken by any
//! worker that searches for work. During a wait in `block_on` or by yielding, the worker or a spare
//! searches; during a wait on a channel it does not. So there is only one wait on a channel at a
//! time, in a pool of two workers or more: the other workers search, or are held up by work that
//! ends without the sender's help.
//!
//! **Handles joined elsewhere** are waits for work that another task has started. A waiter that
//! takes unrelated work could run above the task that it waits for. So they need
//! [`Waiting::Leapfrog`] with enough spares in all pools, and no yields.
//!
//! **Locks held while waiting** need the same: a waiter that takes unrelated work may take a task
//! that wants the lock. A task under the lock must not take the lock again, yield, broadcast,
//! await, or call other pools: tasks that want the lock block their workers, which cannot help
//! then. The holder alone can finish joins, scopes and handles. A worker's share of a broadcast
//! runs on top of a waiting holder too; so in programs with locks, no broadcast waits
//! for other workers.
//!
//! **Barriers in broadcasts** block a worker until all workers of its pool have arrived. So in
//! programs with them, no task blocks on a channel or on a lock that is held for long. The barrier
//! is the first step of a share, so that no worker is in a second share when the first needs it.

use std::sync::Arc;

use locksley::{Strategy, Waiting};

use crate::plan::{
    BroadcastBody, Call, Ending, Joining, Meeting, Node, Panic, PoolPlan, Program, Spawning, Tree,
    Work,
};
use crate::random::Random;
use crate::{Feature, is_left_out};

/// Strategies in addition to [`Strategy::ALL`].
const MORE: [&str; 4] = [
    "steal-half:probabilistic,amount=half",
    "sharing:greedy",
    "dealing:adaptive,batch=2",
    "flexible:sticky,theta_r=0.9",
];

/// Largest number of nodes of a program that may block no more tasks than there are spares.
const FEW: usize = 40;

/// What a program may contain.
#[derive(Clone, Copy, Debug)]
struct Allowed {
    /// Every pool leapfrogs and has enough spares, and there are few tasks.
    enough_spares: bool,
    locks: bool,
    elsewhere: bool,
    yields: bool,
    barriers: bool,
    channels: bool,
}

/// The context of a node.
#[derive(Clone, Copy)]
struct Context {
    /// Number of workers of its pool; 0 outside of pools.
    workers: usize,
    depth: usize,
    locked: bool,
}

/// Generates one program.
struct Generator {
    random: Random,
    allowed: Allowed,
    pools: Vec<PoolPlan>,
    /// Number of further nodes that the program may have.
    budget: usize,
}

/// Generates the program of a seed.
pub(crate) fn generate(seed: u64) -> Program {
    let mut random = Random::new(seed);
    let allowed = allowed(&mut random);
    let mut generator = Generator {
        budget: match random.below(4) {
            0 => 6,
            1 | 2 => 20,
            _ if allowed.few_tasks() => FEW,
            _ => 80,
        },
        random,
        allowed,
        pools: Vec::new(),
    };
    let pools = 1 + generator.random.skewed(3);
    for _ in 0..pools {
        let plan = generator.pool();
        generator.pools.push(plan);
    }
    let count = 1 + generator.random.skewed(4);
    let threads = (0..count).map(|_| generator.outside()).collect();
    // Spawned tasks may be left from the previous round, and be blocked too.
    let rounds = match generator.random.below(8) {
        _ if generator.allowed.few_tasks() => 1,
        0 => 12,
        1 => 3,
        _ => 1,
    };
    Program {
        pools: generator.pools,
        threads,
        rounds,
        nested_end: generator.random.one_in(3),
    }
}

impl Allowed {
    /// Returns `true` if no more tasks may be blocked than there are spares.
    fn few_tasks(self) -> bool {
        self.enough_spares || is_left_out(Feature::FewSpares)
    }
}

fn allowed(random: &mut Random) -> Allowed {
    let enough_spares = random.one_in(3);
    let barriers = random.one_in(4) && !is_left_out(Feature::Barriers);
    let elsewhere = enough_spares && random.one_in(2);
    Allowed {
        enough_spares,
        barriers,
        elsewhere,
        locks: enough_spares && !barriers,
        yields: !elsewhere,
        channels: !barriers && !is_left_out(Feature::Channels),
    }
}

impl Generator {
    fn pool(&mut self) -> PoolPlan {
        let random = &mut self.random;
        let strategy = match random.below(Strategy::ALL.len() + MORE.len() + 5) {
            one if one < Strategy::ALL.len() => Strategy::ALL[one],
            one if one < Strategy::ALL.len() + MORE.len() => MORE[one - Strategy::ALL.len()]
                .parse()
                .expect("it is a strategy"),
            _ => Strategy::default(),
        };
        let leapfrogs = self.allowed.enough_spares || random.one_in(2);
        let most = if is_left_out(Feature::Crowd) { 2 } else { 9 };
        let few_spares = !self.allowed.enough_spares && !is_left_out(Feature::FewSpares);
        let plan = PoolPlan {
            workers: 1 + random.skewed(most),
            strategy,
            waiting: if leapfrogs {
                Waiting::Leapfrog
            } else {
                Waiting::TakeAny
            },
            spares: (few_spares && random.one_in(3)).then(|| random.below(4)),
            depth_limit: 128,
            breadth_first: random.one_in(8),
            sleepy: random.one_in(4),
        };
        let deep = plan.waiting == Waiting::TakeAny || plan.spares.is_some() || random.one_in(2);
        PoolPlan {
            depth_limit: if deep {
                128
            } else {
                [0, 1, 2, 8][random.below(4)]
            },
            ..plan
        }
    }

    /// Generates the tree of a thread outside of all pools.
    fn outside(&mut self) -> Tree {
        let outside = Context {
            workers: 0,
            depth: 0,
            locked: false,
        };
        Arc::new(match self.random.below(8) {
            0 => self.broadcast(outside),
            1 if !is_left_out(Feature::Fresh) => self.fresh(outside),
            _ => self.call(outside),
        })
    }

    fn tree(&mut self, above: Context) -> Tree {
        let context = Context {
            depth: above.depth + 1,
            ..above
        };
        Arc::new(self.node(context))
    }

    fn trees(&mut self, context: Context, most: usize) -> Vec<Tree> {
        let count = 1 + self.random.below(most);
        (0..count).map(|_| self.tree(context)).collect()
    }

    fn node(&mut self, context: Context) -> Node {
        self.budget = self.budget.saturating_sub(1);
        if self.budget == 0 || context.depth > 8 {
            return self.leaf();
        }
        let free = !context.locked;
        match self.random.below(32) {
            0..3 => self.leaf(),
            3..5 => Node::Row(self.trees(context, 4)),
            5..9 => Node::Join(self.tree(context), self.tree(context)),
            9..13 => self.scope(context),
            13..17 => self.spawn(context),
            17..19 if free => self.meet(context),
            19 if free && self.allowed.elsewhere => Node::Elsewhere {
                task: self.tree(context),
                first: self.tree(context),
            },
            20..22 => self.flow(context),
            22 if free && self.allowed.yields => Node::Yield {
                local: self.random.one_in(2),
            },
            23..25 if free => self.broadcast(context),
            25..28 if free => self.call(context),
            28..30 => self.caught(context),
            30 if free && self.allowed.locks => {
                let locked = Context {
                    locked: true,
                    ..context
                };
                Node::Locked(self.tree(locked))
            }
            31 if free && context.depth < 5 && !is_left_out(Feature::Fresh) => self.fresh(context),
            _ => Node::Join(self.tree(context), self.tree(context)),
        }
    }

    fn leaf(&mut self) -> Node {
        Node::Leaf(match self.random.below(10) {
            0 => Work::Sleep,
            1 => Work::Give,
            2 => Work::Lock,
            3 | 4 => Work::Spin(self.random.below(2000) as u32),
            _ => Work::Nothing,
        })
    }

    fn scope(&mut self, context: Context) -> Node {
        let tasks = self.trees(context, 6);
        let cancel = self.random.one_in(6);
        Node::Scope {
            fifo: self.random.one_in(3),
            chained: self.random.one_in(4),
            cancel: cancel.then(|| self.random.below(tasks.len() + 1)),
            tasks,
        }
    }

    fn spawn(&mut self, context: Context) -> Node {
        let joining = match self.random.below(6) {
            0 | 1 => Joining::InOrder,
            2 => Joining::Backwards,
            3 if !context.locked => Joining::Await,
            4 if !context.locked => Joining::AwaitAll,
            _ if !context.locked => Joining::Detached,
            _ => Joining::InOrder,
        };
        Node::Spawn {
            spawning: [Spawning::Plain, Spawning::Fifo, Spawning::Near][self.random.below(3)],
            joining,
            tasks: self.trees(context, 5),
        }
    }

    fn meet(&mut self, context: Context) -> Node {
        let meeting = match self.random.below(3) {
            0 if self.allowed.channels && context.workers > 1 => Meeting::Channel,
            1 if self.allowed.yields => Meeting::Yielding,
            _ => Meeting::Future,
        };
        Node::Meet {
            meeting,
            first_waits: self.random.one_in(2),
            waiter: self.tree(context),
            sender: self.tree(context),
        }
    }

    fn flow(&mut self, context: Context) -> Node {
        Node::Flow {
            chain: self.trees(context, 3),
            free: self.trees(context, 3),
        }
    }

    fn broadcast(&mut self, context: Context) -> Node {
        let inside = context.workers > 0 && self.random.one_in(2);
        let waits = !is_left_out(Feature::WaitingBroadcasts);
        let body = match self.random.below(6) {
            0 if waits => BroadcastBody::Fork,
            1 if waits && !self.allowed.locks => BroadcastBody::Nested,
            2 | 3 if self.allowed.barriers => BroadcastBody::Barrier,
            _ => BroadcastBody::Leaf,
        };
        Node::Broadcast {
            pool: (!inside).then(|| self.random.below(self.pools.len())),
            body,
            detached: self.random.one_in(3),
        }
    }

    fn call(&mut self, context: Context) -> Node {
        let pool = self.random.below(self.pools.len());
        let there = Context {
            workers: self.pools[pool].workers,
            ..context
        };
        let call = match self.random.below(8) {
            0 => Call::InPlaceScope,
            1 => Call::SpawnJoin,
            2 => Call::SpawnFifoJoin,
            3 => Call::SpawnAwait,
            4 => Call::Detached,
            _ => Call::Install,
        };
        Node::Call {
            pool,
            call,
            task: self.tree(there),
        }
    }

    fn caught(&mut self, context: Context) -> Node {
        let panic = match self.random.below(7) {
            0 | 1 => Panic::First,
            2 => Panic::Second,
            3 => Panic::ScopeBody,
            4 => Panic::ScopeTask,
            5 if !context.locked => Panic::Broadcast,
            _ => Panic::Handle,
        };
        Node::Caught(panic, self.tree(context))
    }

    fn fresh(&mut self, context: Context) -> Node {
        let mut plan = self.pool();
        plan.workers = plan.workers.min(3);
        let there = Context {
            workers: plan.workers,
            ..context
        };
        let ending = [
            Ending::Idle,
            Ending::Busy,
            Ending::Busy,
            Ending::Retired,
            Ending::ByItself,
        ];
        Node::Fresh {
            ending: ending[self.random.below(ending.len())],
            task: self.tree(there),
            plan,
        }
    }
}
