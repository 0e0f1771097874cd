//! Groups whose jobs a waiter may run: those that descend from the awaited group, as far as workers
//! were seen inside of them.

use crate::scheduler::registry::Registry;
use crate::scheduler::task_stack::Sighting;
use crate::task::job::GroupId;

/// Maximum number of groups that a search for descendants follows.
const REACH: usize = 16;

/// The groups whose descendants a waiter may run.
pub(super) struct Descendants {
    pub(super) groups: [GroupId; REACH],
    /// For each group, the worker that was seen waiting for it, and inside of which group. `None`
    /// for the first group, for which the searching waiter itself waits.
    links: [Option<Link>; REACH],
    /// For each group, the worker that runs it, if that is known and the group is one job.
    pub(super) runners: [Option<usize>; REACH],
    pub(super) count: usize,
}

/// A worker that was seen inside of a group, waiting for another group.
#[derive(Clone, Copy)]
struct Link {
    worker: usize,
    sighting: Sighting,
    /// Index of the group that the worker was inside of.
    inside: usize,
}

impl Descendants {
    pub(super) fn of(group: GroupId, runner: Option<usize>) -> Descendants {
        Descendants {
            groups: [group; REACH],
            links: [None; REACH],
            runners: [runner; REACH],
            count: 1,
        }
    }

    fn contains(&self, group: GroupId) -> bool {
        self.groups[..self.count].contains(&group)
    }

    /// Returns `true` if `group` is one of these groups, and the workers that led to it are still
    /// where they were seen.
    pub(super) fn includes(&self, group: GroupId, registry: &Registry) -> bool {
        let mut groups = self.groups[..self.count].iter();
        let number = groups.position(|&one| one == group);
        number.is_some_and(|number| self.holds(number, registry))
    }

    /// Checks whether a worker is inside of the group with this index, and adds the groups that it
    /// waits for there.
    pub(super) fn sight(
        &mut self,
        worker: usize,
        number: usize,
        registry: &Registry,
    ) -> Option<Sighting> {
        let stack = &registry.worker(worker).task_stack;
        if !stack.seems_inside(self.groups[number]) {
            return None;
        }
        let (mut waits, mut count) = ([(GroupId::NONE, None); REACH], 0);
        // If there are too many, the innermost ones are kept: what they lead to has yet to begin.
        let sighting = stack.sight(self.groups[number], |wait, runner| {
            waits[count % REACH] = (wait, runner);
            count += 1;
        })?;
        for &wait in &waits[..count.min(REACH)] {
            let link = Link {
                worker,
                sighting,
                inside: number,
            };
            self.add(wait, link);
        }
        Some(sighting)
    }

    fn add(&mut self, (group, runner): (GroupId, Option<usize>), link: Link) {
        if self.count < REACH && !self.contains(group) {
            self.groups[self.count] = group;
            self.runners[self.count] = runner;
            self.links[self.count] = Some(link);
            self.count += 1;
        }
    }

    /// Returns `true` if the workers that led to this group are still where they were seen. If not,
    /// the group may be over, and its address in use by another one.
    pub(super) fn holds(&self, mut number: usize, registry: &Registry) -> bool {
        while let Some(link) = self.links[number] {
            let stack = &registry.worker(link.worker).task_stack;
            if !stack.unchanged(link.sighting) {
                return false;
            }
            number = link.inside;
        }
        true
    }
}
