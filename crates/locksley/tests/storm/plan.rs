//! Programs as trees that can be counted, printed and cut.

use std::fmt;
use std::sync::Arc;

use locksley::{Strategy, Waiting};

/// A part of a program. Shared, because spawned tasks may outlive the task that spawned them.
pub(crate) type Tree = Arc<Node>;

/// The configuration of a pool.
#[derive(Clone, Debug)]
pub(crate) struct PoolPlan {
    pub(crate) workers: usize,
    pub(crate) strategy: Strategy,
    pub(crate) waiting: Waiting,
    /// Largest number of spares, if not the default.
    pub(crate) spares: Option<usize>,
    pub(crate) depth_limit: usize,
    pub(crate) breadth_first: bool,
    /// Set if workers sleep as soon as they find no work.
    pub(crate) sleepy: bool,
}

/// A program: its pools, and the trees that threads outside of them run at the same time, several
/// rounds each.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) pools: Vec<PoolPlan>,
    pub(crate) threads: Vec<Tree>,
    pub(crate) rounds: usize,
    /// Set if each pool is dropped on a worker of another.
    pub(crate) nested_end: bool,
}

/// The work of a leaf.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Work {
    Nothing,
    Spin(u32),
    /// Sleeps for some 10 µs.
    Sleep,
    /// Yields the processor to another thread.
    Give,
    /// Takes a lock for a moment.
    Lock,
}

/// How another pool is called.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Call {
    Install,
    InPlaceScope,
    SpawnJoin,
    SpawnFifoJoin,
    SpawnAwait,
    Detached,
}

/// How tasks outside of a scope are spawned.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Spawning {
    Plain,
    Fifo,
    Near,
}

/// How the handles of spawned tasks are waited for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Joining {
    InOrder,
    Backwards,
    /// `block_on` for each.
    Await,
    /// One `block_on` for all.
    AwaitAll,
    Detached,
}

/// How one of two siblings waits for the other, which sends before it does anything else.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Meeting {
    /// On a channel, without telling the pool. The pool has two workers or more, and there is only
    /// one such wait at a time: if another is under way, the sibling just sends.
    Channel,
    /// In `block_on` of a future.
    Future,
    /// By `yield_now` until a flag is set.
    Yielding,
}

/// A worker's share of a broadcast.
#[derive(Clone, Copy, Debug)]
pub(crate) enum BroadcastBody {
    Leaf,
    /// A join of two leaves.
    Fork,
    /// A broadcast of leaves from each worker.
    Nested,
    /// All workers meet at a barrier first.
    Barrier,
}

/// The origin of a panic that the node itself catches.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Panic {
    First,
    Second,
    ScopeBody,
    ScopeTask,
    Handle,
    Broadcast,
}

/// How a pool that a task has made ends.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ending {
    /// Dropped after its `install` has returned.
    Idle,
    /// Dropped while its task runs.
    Busy,
    /// Shut down in the background while its task runs.
    Retired,
    /// Dropped by its own task or by its maker, whichever is later.
    ByItself,
}

/// A part of a program.
#[derive(Clone, Debug)]
pub(crate) enum Node {
    /// A leaf, which is counted once.
    Leaf(Work),
    Row(Vec<Tree>),
    Join(Tree, Tree),
    /// A scope; `chained` tasks spawn one another. It may be cancelled after `cancel` spawns.
    Scope {
        fifo: bool,
        chained: bool,
        cancel: Option<usize>,
        tasks: Vec<Tree>,
    },
    Spawn {
        spawning: Spawning,
        joining: Joining,
        tasks: Vec<Tree>,
    },
    /// Two siblings of a join, of which one waits for the other: the first if `first_waits`.
    Meet {
        meeting: Meeting,
        first_waits: bool,
        waiter: Tree,
        sender: Tree,
    },
    /// A join whose second closure waits for a task that was spawned before.
    Elsewhere {
        task: Tree,
        first: Tree,
    },
    /// A flow: tasks that update one object one after the other, and independent ones.
    Flow {
        chain: Vec<Tree>,
        free: Vec<Tree>,
    },
    Yield {
        local: bool,
    },
    /// A broadcast to a pool of the program, or to the current one.
    Broadcast {
        pool: Option<usize>,
        body: BroadcastBody,
        detached: bool,
    },
    Call {
        pool: usize,
        call: Call,
        task: Tree,
    },
    Caught(Panic, Tree),
    /// Holds a lock while the tree runs.
    Locked(Tree),
    /// Makes a pool, runs the tree in it, and ends it.
    Fresh {
        plan: PoolPlan,
        ending: Ending,
        task: Tree,
    },
}

impl Node {
    pub(crate) fn children(&self) -> Vec<&Tree> {
        match self {
            Node::Leaf(_) | Node::Yield { .. } | Node::Broadcast { .. } => Vec::new(),
            Node::Row(trees)
            | Node::Scope { tasks: trees, .. }
            | Node::Spawn { tasks: trees, .. } => trees.iter().collect(),
            Node::Join(a, b)
            | Node::Meet {
                waiter: a,
                sender: b,
                ..
            }
            | Node::Elsewhere { task: a, first: b } => vec![a, b],
            Node::Flow { chain, free } => chain.iter().chain(free).collect(),
            Node::Call { task, .. }
            | Node::Caught(_, task)
            | Node::Locked(task)
            | Node::Fresh { task, .. } => vec![task],
        }
    }

    fn children_mut(&mut self) -> Vec<&mut Tree> {
        match self {
            Node::Leaf(_) | Node::Yield { .. } | Node::Broadcast { .. } => Vec::new(),
            Node::Row(trees)
            | Node::Scope { tasks: trees, .. }
            | Node::Spawn { tasks: trees, .. } => trees.iter_mut().collect(),
            Node::Join(a, b)
            | Node::Meet {
                waiter: a,
                sender: b,
                ..
            }
            | Node::Elsewhere { task: a, first: b } => vec![a, b],
            Node::Flow { chain, free } => chain.iter_mut().chain(free).collect(),
            Node::Call { task, .. }
            | Node::Caught(_, task)
            | Node::Locked(task)
            | Node::Fresh { task, .. } => vec![task],
        }
    }

    /// Returns the number of nodes, including this one.
    pub(crate) fn size(&self) -> usize {
        let below = self.children().into_iter().map(|child| child.size());
        1 + below.sum::<usize>()
    }

    /// Returns the number of leaves that are counted. `here` is the number of workers of the pool
    /// that the node runs in.
    pub(crate) fn leaves(&self, pools: &[PoolPlan], here: usize) -> u64 {
        let workers = |pool: Option<usize>| pool.map_or(here, |pool| pools[pool].workers) as u64;
        match self {
            Node::Leaf(_) => 1,
            Node::Yield { .. } => 0,
            Node::Broadcast { pool, body, .. } => match body {
                BroadcastBody::Leaf | BroadcastBody::Barrier => workers(*pool),
                BroadcastBody::Fork => 2 * workers(*pool),
                BroadcastBody::Nested => workers(*pool) * workers(*pool),
            },
            Node::Caught(Panic::Broadcast, task) => task.leaves(pools, here) + here as u64,
            Node::Call { pool, task, .. } => task.leaves(pools, pools[*pool].workers),
            Node::Fresh { plan, task, .. } => task.leaves(pools, plan.workers),
            _ => {
                let children = self.children().into_iter();
                children.map(|child| child.leaves(pools, here)).sum()
            }
        }
    }

    /// Returns the description of the node without its children.
    fn head(&self) -> String {
        match self {
            Node::Leaf(work) => format!("leaf {work:?}"),
            Node::Row(_) => "row".into(),
            Node::Join(..) => "join".into(),
            Node::Scope {
                fifo,
                chained,
                cancel,
                ..
            } => format!("scope fifo={fifo} chained={chained} cancel={cancel:?}"),
            Node::Spawn {
                spawning, joining, ..
            } => format!("spawn {spawning:?}, joined {joining:?}"),
            Node::Meet {
                meeting,
                first_waits,
                ..
            } => format!("meet {meeting:?} first_waits={first_waits}: waiter, sender"),
            Node::Elsewhere { .. } => "joined elsewhere: task, first closure".into(),
            Node::Flow { chain, .. } => format!("flow, chain of {}", chain.len()),
            Node::Yield { local } => format!("yield local={local}"),
            Node::Broadcast {
                pool,
                body,
                detached,
            } => format!("broadcast {body:?} to {pool:?} detached={detached}"),
            Node::Call { pool, call, .. } => format!("pool {pool}: {call:?}"),
            Node::Caught(panic, _) => format!("caught panic {panic:?}"),
            Node::Locked(_) => "locked".into(),
            Node::Fresh { plan, ending, .. } => format!("new pool, ends {ending:?}: {plan}"),
        }
    }

    /// Writes the tree, one node to a line, with the numbers that [`Program::cut`] takes.
    fn write(&self, f: &mut fmt::Formatter<'_>, depth: usize, number: &mut usize) -> fmt::Result {
        writeln!(f, "{number:4} {:1$}{2}", "", 2 * depth, self.head())?;
        *number += 1;
        for child in self.children() {
            child.write(f, depth + 1, number)?;
        }
        Ok(())
    }

    fn cut(&self, cuts: &[usize], number: &mut usize) -> Node {
        if cuts.contains(number) {
            *number += self.size();
            return Node::Leaf(Work::Nothing);
        }
        *number += 1;
        let mut copy = self.clone();
        for child in copy.children_mut() {
            *child = Arc::new(child.cut(cuts, number));
        }
        copy
    }
}

impl Program {
    /// Replaces the nodes with these numbers by leaves.
    pub(crate) fn cut(&self, cuts: &[usize]) -> Program {
        let mut number = 0;
        let threads = self.threads.iter();
        let threads = threads
            .map(|tree| Arc::new(tree.cut(cuts, &mut number)))
            .collect();
        Program {
            threads,
            ..self.clone()
        }
    }

    /// Returns the size of each node, in the order of their numbers.
    pub(crate) fn sizes(&self) -> Vec<usize> {
        fn add(tree: &Tree, sizes: &mut Vec<usize>) {
            sizes.push(tree.size());
            tree.children()
                .into_iter()
                .for_each(|child| add(child, sizes));
        }
        let mut sizes = Vec::new();
        self.threads.iter().for_each(|tree| add(tree, &mut sizes));
        sizes
    }

    /// Returns the number of leaves that are counted.
    pub(crate) fn leaves(&self) -> u64 {
        let threads = self.threads.iter();
        let once: u64 = threads.map(|tree| tree.leaves(&self.pools, 0)).sum();
        once * self.rounds as u64
    }
}

impl fmt::Display for PoolPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} workers, {}, {:?}, spares {:?}, depth limit {}, breadth first {}, sleepy {}",
            self.workers,
            self.strategy,
            self.waiting,
            self.spares,
            self.depth_limit,
            self.breadth_first,
            self.sleepy
        )
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rounds, leaves) = (self.rounds, self.leaves());
        let end = self.nested_end;
        writeln!(f, "{rounds} rounds, {leaves} leaves, nested end {end}")?;
        for (number, pool) in self.pools.iter().enumerate() {
            writeln!(f, "pool {number}: {pool}")?;
        }
        let mut number = 0;
        for (thread, tree) in self.threads.iter().enumerate() {
            writeln!(f, "thread {thread}:")?;
            tree.write(f, 0, &mut number)?;
        }
        Ok(())
    }
}
