//! The unbalanced tree search.
//!
//! A [`Search`] holds nodes whose subtrees are to be counted. It goes depth first with a stack of
//! its own; if tasks are [wanted](crate::Tasks::wanted), it spawns every second node of the stack.
//! It does not spawn the older half: those nodes are nearer to the root and have nearly all of the
//! work below them, so that work would move rather than be divided.

use serde::{Deserialize, Serialize};

use locksley_workload::{Size, UtsNode, UtsTree};

use crate::{Program, Reduce, Task, Tasks};

/// Number of nodes between two checks whether tasks are wanted: some 50 us, while a task costs less
/// than 1 us.
const PATIENCE: u32 = 512;

/// Counts some nodes of a tree and everything below them.
///
/// ```
/// use locksley_cluster::Local;
/// use locksley_cluster::programs::uts::{self, Search};
/// use locksley_workload::{Uts, UtsTree};
///
/// let tree = UtsTree::binomial(100.0, 0.2, 4, 42);
/// let pool = locksley::Pool::builder().workers(2).build()?;
/// let (counted, _) = Local::new(pool, &uts::program()).run([Search::whole(tree)])?;
/// assert_eq!(counted.0, Uts::new(tree).size());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Search {
    tree: UtsTree,
    nodes: Vec<UtsNode>,
}

impl Search {
    /// Creates a search of the whole tree.
    ///
    /// ```
    /// use locksley_cluster::programs::uts::Search;
    /// use locksley_workload::UtsTree;
    ///
    /// let search = Search::whole(UtsTree::published("T1L").unwrap());
    /// ```
    pub fn whole(tree: UtsTree) -> Search {
        Search {
            tree,
            nodes: vec![tree.root()],
        }
    }
}

/// The counts of a search.
///
/// ```
/// use locksley_cluster::Reduce;
/// use locksley_cluster::programs::uts::Counted;
/// use locksley_workload::Size;
///
/// let mut counted = Counted(Size { nodes: 3, depth: 1, leaves: 2 });
/// counted.combine(Counted(Size { nodes: 1, depth: 4, leaves: 1 }));
/// assert_eq!(counted.0, Size { nodes: 4, depth: 4, leaves: 3 });
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counted(pub Size);

impl Reduce for Counted {
    fn identity() -> Counted {
        Counted::default()
    }

    fn combine(&mut self, other: Counted) {
        self.0.nodes += other.0.nodes;
        self.0.leaves += other.0.leaves;
        self.0.depth = self.0.depth.max(other.0.depth);
    }
}

impl Task for Search {
    const KIND: &'static str = "uts/search";
    type Output = Counted;

    fn run(self, tasks: &Tasks<Counted>) -> Counted {
        let Search {
            tree,
            nodes: mut stack,
        } = self;
        let mut size = Size::default();
        let mut patience = PATIENCE;
        while let Some(node) = stack.pop() {
            let children = tree.children(&node);
            size.nodes += 1;
            size.leaves += u64::from(children == 0);
            size.depth = size.depth.max(node.depth());
            stack.extend((0..children).map(|number| node.child(number)));
            patience -= 1;
            if patience == 0 {
                patience = PATIENCE;
                if tasks.cancelled() {
                    break;
                }
                if stack.len() > 1 && tasks.wanted() {
                    let nodes = every_second(&mut stack);
                    tasks.spawn(Search { tree, nodes });
                }
            }
        }
        Counted(size)
    }
}

/// Removes every second node from a stack, but not the newest: about half of the work, since
/// siblings are side by side.
fn every_second(stack: &mut Vec<UtsNode>) -> Vec<UtsNode> {
    let first = stack.len() % 2;
    let mut given = Vec::with_capacity(stack.len() / 2);
    let mut place = 0;
    stack.retain(|node| {
        let gives = place % 2 == first;
        place += 1;
        if gives {
            given.push(*node);
        }
        !gives
    });
    given
}

/// Counts a tree, or its first `at_most` nodes, in the order of a [`Search`], sequentially: the
/// baseline with which the program is compared.
///
/// ```
/// use locksley_cluster::programs::uts;
/// use locksley_workload::{Uts, UtsTree};
///
/// let tree = UtsTree::binomial(100.0, 0.2, 4, 42);
/// assert_eq!(uts::serial(tree, u64::MAX), Uts::new(tree).size());
/// assert_eq!(uts::serial(tree, 7).nodes, 7);
/// ```
pub fn serial(tree: UtsTree, at_most: u64) -> Size {
    let mut size = Size::default();
    let mut stack = vec![tree.root()];
    while size.nodes < at_most
        && let Some(node) = stack.pop()
    {
        let children = tree.children(&node);
        size.nodes += 1;
        size.leaves += u64::from(children == 0);
        size.depth = size.depth.max(node.depth());
        stack.extend((0..children).map(|number| node.child(number)));
    }
    size
}

/// Returns the program, which has one kind of task.
///
/// ```
/// assert_eq!(locksley_cluster::programs::uts::program().name(), "uts");
/// ```
pub fn program() -> Program<Counted> {
    Program::new("uts").with::<Search>()
}
