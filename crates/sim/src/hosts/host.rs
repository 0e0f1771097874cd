//! A host: its workers, and the tasks that wait there. It models `locksley_cluster::Local` running
//! the program `uts`.
//!
//! A task is a stack of subtrees. A worker runs it depth first. Every `grain` nodes it checks
//! whether tasks are wanted, and if so turns every second subtree of its stack into a new task.
//! Checks that would find no demand are not simulated, so a task costs few events, whatever its
//! size.

use std::collections::VecDeque;

use locksley_policy::Random;
use locksley_policy::rank::Store;

use super::Cluster;
use super::tree::Subtree;

/// Subtrees, ordered from the root: the nearest come first.
pub(super) type Task = Vec<Subtree>;

struct Running {
    stack: Task,
    /// Time at which it had `left` nodes to execute.
    since: u64,
    left: u64,
}

/// A worker, which has a core of its own.
#[derive(Default)]
struct Worker {
    running: Option<Running>,
    /// If it runs a task, time at which it checks whether tasks are wanted, or ends the task.
    due: u64,
    /// Set if it checks then, clear if it ends the task.
    checks: bool,
    first: Option<u64>,
    last: u64,
    nodes: u64,
}

/// Start of a worker's first task, end of its last, and the time for which it worked.
#[derive(Clone, Copy, Debug)]
pub(super) struct WorkerTimes {
    pub(super) first: Option<u64>,
    pub(super) last: u64,
    pub(super) busy: u64,
}

pub(super) struct Host {
    /// Waiting tasks, the oldest first.
    waiting_tasks: VecDeque<Task>,
    workers: Vec<Worker>,
    idle: usize,
    /// Number of waiting tasks below which tasks are wanted.
    appetite: usize,
    /// Number of nodes between two checks of a worker.
    grain: u64,
    /// Time per node.
    node: u64,
    random: Random,
}

impl Host {
    pub(super) fn new(cluster: &Cluster, number: usize, random: Random) -> Host {
        Host {
            waiting_tasks: VecDeque::new(),
            workers: (0..cluster.workers).map(|_| Worker::default()).collect(),
            idle: cluster.workers,
            appetite: cluster.appetite,
            grain: cluster.grain,
            node: cluster.node_on(number),
            random,
        }
    }

    /// Adds a task from outside.
    pub(super) fn submit(&mut self, task: Task) {
        self.waiting_tasks.push_back(task);
    }

    /// Returns the time of the next event of a worker.
    pub(super) fn next(&self) -> Option<u64> {
        let busy = self.workers.iter().filter(|one| one.running.is_some());
        busy.map(|worker| worker.due).min()
    }

    /// Assigns waiting tasks to idle workers, the newest first. If too few tasks wait then,
    /// schedules checks of some running workers.
    pub(super) fn dispatch(&mut self, now: u64) {
        while self.idle > 0 {
            let Some(stack) = self.waiting_tasks.pop_back() else {
                break;
            };
            let mut workers = self.workers.iter_mut();
            let Some(worker) = workers.find(|one| one.running.is_none()) else {
                break;
            };
            let left: u64 = stack.iter().map(|subtree| subtree.nodes).sum();
            let since = now;
            worker.first.get_or_insert(now);
            worker.due = now + left * self.node;
            worker.checks = false;
            worker.running = Some(Running { stack, since, left });
            self.idle -= 1;
        }
        let missing = self.appetite.saturating_sub(self.waiting_tasks.len());
        if missing > 0 && self.idle < self.workers.len() {
            self.schedule_checks(now, missing);
        }
    }

    /// Schedules the next check of as many running workers as tasks are missing. The checks of the
    /// others need no event, as they would find enough tasks.
    fn schedule_checks(&mut self, now: u64, missing: usize) {
        let pause = self.grain * self.node;
        let checking = self.workers.iter().filter(|worker| worker.checks).count();
        let mut more = missing.saturating_sub(checking);
        for worker in &mut self.workers {
            let Some(running) = worker.running.as_ref().filter(|_| !worker.checks) else {
                continue;
            };
            let time = running.since + ((now - running.since) / pause + 1) * pause;
            if more > 0 && time + pause <= worker.due {
                (worker.due, worker.checks) = (time, true);
                more -= 1;
            }
        }
    }

    /// Performs all events that are due.
    pub(super) fn perform_due(&mut self, now: u64) {
        for place in 0..self.workers.len() {
            let worker = &self.workers[place];
            if worker.running.is_some() && worker.due <= now {
                if worker.checks {
                    self.check_demand(now, place)
                } else {
                    self.end(now, place)
                }
            }
        }
        self.dispatch(now);
    }

    fn end(&mut self, now: u64, place: usize) {
        let worker = &mut self.workers[place];
        if let Some(running) = worker.running.take() {
            worker.nodes += running.left;
            worker.last = now;
            self.idle += 1;
        }
    }

    fn check_demand(&mut self, now: u64, place: usize) {
        let worker = &mut self.workers[place];
        let Some(running) = &mut worker.running else {
            return;
        };
        if self.waiting_tasks.len() < self.appetite {
            let done = (now - running.since) / self.node;
            worker.nodes += done;
            running.since = now;
            running.left -= done;
            advance(&mut running.stack, done, self.grain, &mut self.random);
            let given = halve(&mut running.stack);
            if !given.is_empty() {
                running.left -= given.iter().map(|subtree| subtree.nodes).sum::<u64>();
                self.waiting_tasks.push_back(given);
            }
        }
        worker.checks = false;
        worker.due = running.since + running.left * self.node;
    }

    /// Returns the times of all workers.
    pub(super) fn worker_times(&self) -> impl Iterator<Item = WorkerTimes> + '_ {
        self.workers.iter().map(|worker| WorkerTimes {
            first: worker.first,
            last: worker.last,
            busy: worker.nodes * self.node,
        })
    }
}

/// Takes every second subtree out of a stack, but not the newest. That is about half of the work,
/// since siblings are adjacent.
fn halve(stack: &mut Task) -> Task {
    let newest = stack.len() % 2;
    let mut given = Vec::with_capacity(stack.len() / 2);
    let mut place = 0;
    stack.retain(|&subtree| {
        let gives = place % 2 == newest;
        place += 1;
        if gives {
            given.push(subtree);
        }
        !gives
    });
    given
}

/// Executes `done` nodes depth first, and unfolds the current subtree until at most a grain is left
/// of it.
fn advance(stack: &mut Task, mut done: u64, grain: u64, random: &mut Random) {
    while let Some(&top) = stack.last() {
        if top.nodes <= done {
            done -= top.nodes;
            stack.pop();
        } else if top.nodes - done <= grain || top.is_flat() {
            break;
        } else {
            stack.pop();
            top.unfold(random, stack);
            match (done, stack.last_mut()) {
                // The root of the subtree has not been visited. It is counted with its last child.
                (0, Some(last)) => last.nodes += 1,
                _ => done -= 1,
            }
        }
    }
    if let Some(top) = stack.last_mut() {
        top.nodes -= done;
    }
}

impl Store for Host {
    type Work = Vec<Task>;

    fn surplus(&self) -> usize {
        self.waiting_tasks.len().saturating_sub(self.idle)
    }

    fn is_passive(&self) -> bool {
        self.waiting_tasks.is_empty() && self.idle == self.workers.len()
    }

    fn is_hungry(&self) -> bool {
        self.waiting_tasks.is_empty() && self.idle > 0
    }

    fn give(&mut self, at_most: usize) -> Option<Vec<Task>> {
        let some = at_most.min(self.waiting_tasks.len());
        (some > 0).then(|| self.waiting_tasks.drain(..some).collect())
    }

    fn take(&mut self, work: Vec<Task>) {
        self.waiting_tasks.extend(work);
    }

    fn size(work: &Vec<Task>) -> usize {
        work.len()
    }
}

#[cfg(test)]
mod tests {
    use locksley_policy::Source;

    use super::*;

    #[test]
    fn every_second_but_the_newest() {
        for count in 0..10_u64 {
            let mut stack: Task = (0..count).map(|nodes| Subtree::whole(nodes + 1)).collect();
            let given = halve(&mut stack);
            assert_eq!(given.len() as u64, count / 2);
            assert_eq!((stack.len() + given.len()) as u64, count);
            assert!(given.iter().all(|subtree| subtree.nodes != count));
        }
    }

    #[test]
    fn advancing_loses_nothing() {
        let mut random = Random::new(3, 0);
        for _ in 0..200 {
            let nodes = 1 + random.below(1_000_000) as u64;
            let mut stack = vec![Subtree::whole(nodes)];
            let mut left = nodes;
            while left > 0 {
                let done = random.below(left as usize + 1) as u64;
                advance(&mut stack, done, 512, &mut random);
                left -= done;
                let sum: u64 = stack.iter().map(|subtree| subtree.nodes).sum();
                assert_eq!(sum, left);
            }
        }
    }

    /// Tests that a worker with a large task supplies the others.
    #[test]
    fn workers_of_a_host_share() {
        let mut host = Host::new(&Cluster::new(1, 4, 1), 0, Random::new(4, 0));
        host.submit(vec![Subtree::whole(1_000_000)]);
        host.dispatch(0);
        let mut now = 0;
        while let Some(next) = host.next() {
            now = next;
            host.perform_due(now);
        }
        assert!(host.is_passive());
        let busy: u64 = host.worker_times().map(|times| times.busy).sum();
        assert_eq!(busy, 100_000_000);
        assert!(
            now < 30_000_000,
            "a quarter is 25 ms, and this took {now} ns"
        );
    }
}
