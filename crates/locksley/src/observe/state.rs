//! Snapshots of what a pool is doing, for the diagnosis of programs that seem to hang.

use std::fmt;

use crate::scheduler::registry::Registry;
use crate::scheduler::worker::Worker;
use crate::task::job::GroupId;

/// What a worker was seen to do. See [`Pool::state`](crate::Pool::state).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WorkerActivity {
    /// It runs a job.
    Running,
    /// It waits for what another worker runs, and helps meanwhile if it can.
    Waiting,
    /// It is blocked, in a wait or in [`blocking`](crate::blocking), and a spare may take its
    /// place.
    Blocked,
    /// It looks for work.
    Searching,
    /// It sleeps until there is work.
    Asleep,
    /// It is a spare, and sleeps until it is needed.
    SpareIdle,
}

impl fmt::Display for WorkerActivity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            WorkerActivity::Running => "running",
            WorkerActivity::Waiting => "waiting",
            WorkerActivity::Blocked => "blocked",
            WorkerActivity::Searching => "searching",
            WorkerActivity::Asleep => "asleep",
            WorkerActivity::SpareIdle => "spare, idle",
        })
    }
}

/// What one worker was seen to do. See [`Pool::state`](crate::Pool::state).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkerState {
    /// The worker's index. Spares come after the workers.
    pub index: usize,
    /// What it does.
    pub activity: WorkerActivity,
    /// The joins, scopes and tasks that it waits for, outermost first, as addresses that tell them
    /// apart. Workers that run a part of one of them list it in `runs`.
    pub waits_for: Vec<usize>,
    /// The joins, scopes and tasks of which it runs a part, outermost first, as addresses.
    pub runs: Vec<usize>,
    /// Number of jobs in its own queues.
    pub queued: usize,
    /// Number of waiting jobs that only this worker may run.
    pub targeted: usize,
}

/// What a pool was seen to do. See [`Pool::state`](crate::Pool::state).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PoolState {
    /// Its workers, and after them the spares that have been started.
    pub workers: Vec<WorkerState>,
    /// Number of jobs in the pool's own queue.
    pub queued: usize,
    /// Number of workers that are counted as blocked, so that spares take their places.
    pub blocked: usize,
    /// Number of spares that are awake.
    pub spares_awake: usize,
    /// Set while the pool is being dropped, and finishes the spawned tasks.
    pub closing: bool,
}

impl PoolState {
    pub(crate) fn of(registry: &Registry) -> PoolState {
        let workers = registry.workers_in(0..registry.workers());
        let (blocked, spares_awake) = registry.counts.get().blocked_and_spares();
        PoolState {
            workers: workers.map(WorkerState::of).collect(),
            queued: registry.injector.len(),
            blocked,
            spares_awake,
            closing: registry.is_closing(),
        }
    }
}

impl WorkerState {
    fn of(worker: &Worker) -> WorkerState {
        let (mut runs, mut waits_for, mut waits) = (Vec::new(), Vec::new(), false);
        worker.task_stack.show(|GroupId(group), wait| {
            waits = wait;
            if wait { &mut waits_for } else { &mut runs }.push(group);
        });
        let inside = waits || !runs.is_empty();
        let activity = if worker.sleep.is_spare() {
            WorkerActivity::SpareIdle
        } else if worker.sleep.is_asleep() && !inside {
            WorkerActivity::Asleep
        } else if worker.is_blocked() {
            WorkerActivity::Blocked
        } else if waits || worker.sleep.is_asleep() {
            // A worker that sleeps inside of a job waits, for example in `block_on`.
            WorkerActivity::Waiting
        } else if inside {
            WorkerActivity::Running
        } else {
            WorkerActivity::Searching
        };
        // Tasks that no caller waits for have no address of their own.
        runs.retain(|&group| group != GroupId::NONE.0);
        WorkerState {
            index: worker.index(),
            activity,
            waits_for,
            runs,
            queued: worker.load(),
            targeted: worker.targeted_jobs.len(),
        }
    }
}

/// Names of groups: numbers in the order in which the groups are first mentioned.
struct Names(Vec<usize>);

impl Names {
    fn of(&mut self, groups: &[usize]) -> String {
        let names = groups.iter().map(|group| {
            let known = self.0.iter().position(|one| one == group);
            known.unwrap_or_else(|| {
                self.0.push(*group);
                self.0.len() - 1
            })
        });
        let names: Vec<String> = names.map(|name| format!("#{name}")).collect();
        names.join(" ")
    }
}

impl fmt::Display for PoolState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let closing = if self.closing { ", closing" } else { "" };
        writeln!(
            f,
            "{} jobs in the pool's queue, {} workers blocked, {} spares awake{closing}\n\
             worker  state         queued  targeted  runs / waits for",
            self.queued, self.blocked, self.spares_awake
        )?;
        let mut names = Names(Vec::new());
        for worker in &self.workers {
            let (runs, waits) = (names.of(&worker.runs), names.of(&worker.waits_for));
            let line = format!(
                "{:6}  {:12}  {:6}  {:8}  {runs} / {waits}",
                worker.index, worker.activity, worker.queued, worker.targeted
            );
            writeln!(f, "{}", line.trim_end_matches([' ', '/']))?;
        }
        Ok(())
    }
}

#[cfg(all(test, not(loom)))]
#[path = "../../tests/unit/observe/state.rs"]
mod tests;
