//! Delayed tasks. A tracked process hands them over with the next cut, and the server keeps them.
//! In other processes a timer thread adds them to the line when they are due.

use std::sync::{Arc, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::{Line, Node, Origin, Shared, Waiting, lock};
use crate::continuation::Slot;
use crate::reduce::Reduce;
use crate::task::Boxed;

/// A delayed task. It counts as pending.
pub(super) struct Later<R> {
    pub(super) due: Instant,
    pub(super) waiting: Waiting<R>,
}

impl<R: Reduce> Shared<R> {
    /// Adds a task that begins no earlier than `due`.
    pub(crate) fn spawn_at(
        self: &Arc<Self>,
        due: Instant,
        task: Boxed<R>,
        parent: Option<Arc<Node<R>>>,
        to: Option<Slot>,
    ) {
        let origin = parent.map_or(Origin::Untracked, Origin::Spawned);
        let waiting = Waiting { task, origin, to };
        let mut line = lock(&self.line);
        line.pending += 1;
        line.later.push(Later { due, waiting });
        if line.lineage.is_some() {
            return;
        }
        self.alarm.notify_one();
        if !std::mem::replace(&mut line.has_timer, true) {
            let shared = self.clone();
            thread::spawn(move || shared.bring_in());
        }
    }

    /// Adds delayed tasks to the line when they are due, until there are none left.
    fn bring_in(self: Arc<Self>) {
        loop {
            let mut line = lock(&self.line);
            let Some(next) = line.later.iter().map(|later| later.due).min() else {
                line.has_timer = false;
                return;
            };
            let left = next.saturating_duration_since(Instant::now());
            if !left.is_zero() {
                let waited = self.alarm.wait_timeout(line, left);
                drop(waited.unwrap_or_else(PoisonError::into_inner));
                continue;
            }
            let numbers = self.enter_due(&mut line);
            drop(line);
            let Some(pool) = self.pool.upgrade() else {
                return;
            };
            for number in numbers {
                pool.spawn_detached(self.clone().job(number));
            }
        }
    }

    /// Adds the tasks that are due to the line. Returns the numbers of those that need a job.
    fn enter_due(&self, line: &mut Line<R>) -> Vec<u64> {
        let now = Instant::now();
        let due = line.later.extract_if(.., |later| later.due <= now);
        let due: Vec<Waiting<R>> = due.map(|later| later.waiting).collect();
        // `line_up` counts them again.
        line.pending -= due.len();
        let entered = due.into_iter().filter_map(|task| self.line_up(line, task));
        entered.collect()
    }
}

impl<R> Later<R> {
    /// Returns the remaining delay.
    pub(super) fn delay(&self) -> Duration {
        self.due.saturating_duration_since(Instant::now())
    }
}
