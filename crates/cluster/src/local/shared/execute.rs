//! Runs tasks, and handles their results and panics.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use super::{NewDeferred, Node, Panicked, Shared, TakenTask, Tracked, lock, message};
use crate::continuation::Slot;
use crate::parcel::{Parcel, size};
use crate::reduce::Reduce;
use crate::task::{Boxed, Tasks};

impl<R: Reduce> Shared<R> {
    pub(super) fn execute(self: Arc<Self>, begun: TakenTask<R>) {
        let TakenTask { task, to, tracked } = begun;
        match tracked {
            _ if self.cancelled() => {}
            Some(tracked) => self.clone().execute_tracked(task, to, tracked),
            None => self.clone().execute_untracked(task, to),
        }
        if self.cancelled() {
            // A task that ran when the run was cancelled may have spawned and deferred others.
            self.discard();
        }
        self.leave(&mut lock(&self.line), 1);
    }

    fn execute_untracked(self: Arc<Self>, task: Boxed<R>, to: Option<Slot>) {
        let kind = task.kind();
        let tasks = Tasks {
            shared: self.clone(),
            node: None,
            to,
            made: Mutex::default(),
        };
        let done = catch_unwind(AssertUnwindSafe(|| {
            let result = task.run(&tasks);
            let made = tasks.made.into_inner();
            let made = made.unwrap_or_else(PoisonError::into_inner);
            let result = if to.is_none() && made.groups.is_empty() {
                Some(result)
            } else {
                let (result, numbers) =
                    self.conclude(&mut lock(&self.line), (to, made), None, result);
                self.start(numbers);
                result
            };
            self.keep(result);
        }));
        if let Err(payload) = done {
            self.give_up(kind, payload.as_ref());
        }
    }

    /// Ends the run because of a panic.
    fn give_up(&self, kind: &'static str, payload: &(dyn std::any::Any + Send)) {
        let message = message(payload);
        lock(&self.fault).get_or_insert(Panicked { kind, message });
        self.cancel();
    }

    fn execute_tracked(self: Arc<Self>, task: Boxed<R>, to: Option<Slot>, tracked: Tracked<R>) {
        let (kind, number) = (task.kind(), tracked.number);
        let pack = || {
            let parcel = task.pack();
            Parcel { to, ..parcel }.encode()
        };
        let encoded = tracked
            .encoded
            .map_or_else(|| catch_unwind(AssertUnwindSafe(pack)), Ok);
        match encoded {
            Ok(encoded) => self.on_lineage(|lineage| lineage.describe(number, encoded)),
            // A task that cannot be encoded cannot be tried again elsewhere.
            Err(payload) => return self.give_up(kind, payload.as_ref()),
        }
        let node = tracked.node;
        let tasks = Tasks {
            shared: self.clone(),
            node: Some(node.clone()),
            to,
            made: Mutex::default(),
        };
        let done = catch_unwind(AssertUnwindSafe(|| {
            let result = task.run(&tasks);
            let bytes = size(&result);
            (result, bytes)
        }));
        let made = tasks.made.into_inner();
        let made = made.unwrap_or_else(PoisonError::into_inner);
        let done = match done {
            Ok((_, bytes)) if bytes > tracked.limit => {
                let limit = tracked.limit;
                let why =
                    format!("{kind} returned a result of {bytes} bytes; the limit is {limit}");
                Err((why, true))
            }
            Ok(done) => Ok(done),
            Err(payload) => {
                let message = message(payload.as_ref());
                Err((Panicked { kind, message }.to_string(), false))
            }
        };
        let ended = catch_unwind(AssertUnwindSafe(|| {
            let numbers = self.end_tracked(number, (to, made), node, done);
            self.start(numbers);
        }));
        // If results panic while they are combined, the combined value is worthless, and the
        // culprit cannot be identified.
        if let Err(payload) = ended {
            self.give_up(kind, payload.as_ref());
        }
    }

    /// Ends a tracked task: with its result and the size of that, or with the reason why it failed,
    /// and whether it would fail anywhere. Returns the numbers of tasks that need a job.
    fn end_tracked(
        &self,
        number: u64,
        (to, made): (Option<Slot>, NewDeferred),
        node: Arc<Node<R>>,
        done: Result<(R, usize), (String, bool)>,
    ) -> Vec<u64> {
        let mut guard = lock(&self.line);
        let line = &mut *guard;
        let Some(lineage) = &mut line.lineage else {
            return Vec::new();
        };
        match done {
            Ok((result, bytes)) if to.is_none() => {
                if lineage.end(number, Some((result, bytes))) {
                    return self.close(line, &made.groups);
                }
            }
            Ok((result, _)) => {
                if lineage.end(number, None) {
                    return self.conclude(line, (to, made), Some(node), result).1;
                }
            }
            Err((why, hopeless)) => lineage.fail(number, why, hopeless),
        }
        // The deferred tasks that it has made are void.
        for id in made.merge.into_iter().chain(made.groups) {
            line.deferred.remove(&id);
        }
        Vec::new()
    }
}
