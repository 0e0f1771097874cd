//! Completions: children, in bundles if they are many, and the treatment of failed tasks.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use super::pace::Jitter;
use super::{Notice, Service};
use crate::leases::{Child, Completion, EncodedCut, Lease, Limits, Oversized, Served, SetAside};
use crate::{Failed, Parcel, Policy, Spawned};

/// A lease, with the program that its tasks belong to.
pub(super) struct OpenLease<'a> {
    pub(super) lease: &'a Lease,
    pub(super) program: Arc<dyn Served>,
}

impl Deref for OpenLease<'_> {
    type Target = Lease;

    fn deref(&self) -> &Lease {
        self.lease
    }
}

/// Returns the policy of an encoded task.
fn policy(program: &dyn Served, task: &[u8]) -> Policy {
    let kind = Parcel::kind_of(task);
    kind.map_or(Policy::new(), |kind| program.policy(kind))
}

/// Returns a completion that replaces a bundle after a failed try by its tasks, each on its own:
/// one of them may have killed a worker. Tasks that are too large are set aside.
pub(super) fn split_bundle(lease: &Lease, program: &dyn Served, tasks: Vec<Vec<u8>>) -> Completion {
    let limits = &lease.job.terms.limits;
    let (mut children, mut aside) = (Vec::new(), Vec::new());
    for task in tasks {
        let urgent = policy(program, &task).urgent;
        match limits.check_task(&task) {
            Ok(()) => children.push(Child {
                tries: lease.attempt - 1,
                urgent,
                ..Child::new(task)
            }),
            Err(oversized) => aside.push(SetAside {
                urgent,
                ..refused(task, &oversized)
            }),
        }
    }
    Completion {
        children: bundled(children, limits),
        aside,
        ..Completion::default()
    }
}

impl Service {
    /// Converts a cut of a run to a completion.
    pub(super) fn completion(&self, lease: &OpenLease<'_>, cut: EncodedCut) -> Completion {
        let limits = lease.job.terms.limits;
        let mut completion = Completion {
            results: cut.results,
            inputs: cut.inputs,
            tasks: cut.tasks,
            kept: (!cut.kept.is_empty()).then(|| Parcel::bundle(&cut.kept)),
            ..Completion::default()
        };
        let mut children = Vec::new();
        for Spawned { task, delay } in cut.children {
            match limits.check_task(&task) {
                Ok(()) => children.push(Child {
                    delay,
                    urgent: policy(&*lease.program, &task).urgent,
                    ..Child::new(task)
                }),
                Err(oversized) => completion.aside.push(SetAside {
                    urgent: policy(&*lease.program, &task).urgent,
                    ..refused(task, &oversized)
                }),
            }
        }
        completion.children = children;
        for deferred in cut.deferred {
            let size = deferred.front.len() + deferred.head.len();
            match Oversized::check("a task", size, limits.task_with(1)) {
                Ok(()) => completion.deferred.push(deferred),
                // The inputs of its slots are lost.
                Err(oversized) => completion.aside.push(refused(deferred.front, &oversized)),
            }
        }
        for failed in cut.failed {
            self.add_failed(lease, failed, &mut completion);
        }
        completion.children = bundled(completion.children, &limits);
        completion
    }

    /// Makes a failed task wait for its next try, after a pause, or sets it aside.
    fn add_failed(&self, lease: &OpenLease<'_>, failed: Failed, completion: &mut Completion) {
        let tries = if failed.first { lease.attempt } else { 1 };
        let Failed { task, reason, .. } = failed;
        let policy = policy(&*lease.program, &task);
        let most = policy.tries.unwrap_or(lease.job.terms.tries);
        let aside = failed.hopeless || tries >= most;
        self.table().counts.failed += 1;
        self.notify(Notice::Failed {
            job: lease.job.id.clone(),
            reason: reason.clone(),
            aside,
        });
        if aside {
            let attempts = tries;
            completion.aside.push(SetAside {
                task,
                attempts,
                reason,
                urgent: policy.urgent,
            });
            return;
        }
        completion.children.push(Child {
            tries,
            delay: policy.pause(tries, Jitter::new().chance()),
            urgent: policy.urgent,
            task,
        });
    }
}

/// Sets aside a task that is too large for its job.
fn refused(task: Vec<u8>, oversized: &Oversized) -> SetAside {
    SetAside {
        reason: oversized.to_string(),
        attempts: 1,
        urgent: false,
        task,
    }
}

/// Packs children into bundles if they are more than the limit. A bundle has tasks of the same
/// urgency and number of tries, and the longest delay of its tasks.
pub(super) fn bundled(mut children: Vec<Child>, limits: &Limits) -> Vec<Child> {
    if children.len() <= limits.children {
        return children;
    }
    // Sorted so that tasks that may share a bundle are neighbours.
    children.sort_by_key(|child| (child.urgent, child.tries, child.delay));
    let class = |child: &Child| (child.urgent, child.tries, child.delay.is_zero());
    let changes = children
        .windows(2)
        .filter(|pair| class(&pair[0]) != class(&pair[1]))
        .count();
    // Half of the limit, since bundles may be full before they have as many tasks as the average.
    let room = limits.children.div_ceil(2).saturating_sub(changes).max(1);
    let together = children.len().div_ceil(room);
    let mut bundles = Vec::new();
    let (mut bundle, mut bytes) = (Vec::<Child>::new(), 0);
    for child in children {
        // Each task has a length prefix, and the bundle a header.
        let more = child.task.len() + 10;
        let other = bundle
            .first()
            .is_some_and(|first| class(first) != class(&child));
        let full = bundle.len() >= together || bytes + more > limits.task;
        if !bundle.is_empty() && (other || full) {
            bundles.extend(bundle_of(std::mem::take(&mut bundle)));
            bytes = 0;
        }
        bytes += more;
        bundle.push(child);
    }
    bundles.extend(bundle_of(bundle));
    bundles
}

/// Makes a bundle of several tasks. A single task stays as it is: with a header it might be too
/// large.
fn bundle_of(mut children: Vec<Child>) -> Option<Child> {
    if children.len() == 1 {
        return children.pop();
    }
    let delay = children.iter().map(|child| child.delay).max();
    let first = children.first()?;
    let (tries, urgent) = (first.tries, first.urgent);
    let tasks: Vec<Vec<u8>> = children.into_iter().map(|child| child.task).collect();
    Some(Child {
        task: Parcel::bundle(&tasks),
        tries,
        delay: delay.unwrap_or(Duration::ZERO),
        urgent,
    })
}
