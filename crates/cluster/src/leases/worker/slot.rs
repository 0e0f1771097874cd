//! Slots: threads that run one lease after the other.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use super::completion::{OpenLease, split_bundle};
use super::drain::Drain;
use super::{Notice, Service};
use crate::Parcel;
use crate::leases::{
    Completed, Completion, EncodedCut, GiveUp, Lease, LeaseError, Run, RunOptions, Served, Ticket,
};
use crate::local::message;

/// Tasks, encoded.
type Encoded = Vec<Vec<u8>>;

/// The outcome of running a lease.
pub(super) enum Outcome {
    /// The run has ended; the ticket is that of the last step.
    Ran(Ticket, Completion),
    GaveUp(GiveUp),
    /// The lease was lost.
    Lost,
}

/// Number of partial results at which, and at every multiple of which, the first ones are combined:
/// few enough to be read at once, and enough that the cost for each is small.
const RESULTS: u64 = 64;

/// Longest time between two checks whether the worker is to stop.
const STOP_CHECK: Duration = Duration::from_millis(100);

/// Time for which a lease waits for a worker of the pool while there are more leases than workers.
const CROWDED: Duration = Duration::from_millis(50);

impl Service {
    /// Runs leases until the table is closed.
    pub(super) fn work(&self) {
        loop {
            let next = {
                let table = self.table();
                let idle = |table: &mut super::LeaseTable| table.queue.is_empty() && !table.closed;
                let waited = self.changed.wait_while(table, idle);
                waited
                    .unwrap_or_else(PoisonError::into_inner)
                    .queue
                    .pop_front()
            };
            let Some(mut next) = next else { return };
            while let Some(more) = self.process(next.0, &next.1) {
                next = more;
            }
        }
    }

    /// Runs a lease, and completes it or gives it up. Returns the next lease, if one came with the
    /// answer.
    fn process(&self, number: u64, lease: &Lease) -> Option<(u64, Lease)> {
        // The program's own code is called here too, to deserialise tasks and to combine results.
        // If a panic of it ended the thread, the lease would be renewed for ever and never be
        // completed.
        let outcome = match catch_unwind(AssertUnwindSafe(|| self.run(number, lease))) {
            Ok(outcome) => outcome,
            Err(panic) => {
                let (program, said) = (&lease.job.program, message(&*panic));
                let why = format!("a value of the program {program} panicked: {said}");
                Outcome::GaveUp(GiveUp::Failed(why))
            }
        };
        if let (Outcome::GaveUp(_), Some(held)) = (&outcome, self.table().held.get(&number)) {
            held.run.iter().for_each(|run| run.cancel());
        }
        // A lost lease needs no request.
        let lost = self.table().held.get(&number).is_none_or(|held| held.lost);
        let mut next = None;
        let counted = match outcome {
            _ if lost => false,
            Outcome::Lost => false,
            Outcome::Ran(ticket, completion) => {
                let lease = Lease {
                    ticket,
                    ..lease.clone()
                };
                self.complete(&lease, &completion, &mut next)
            }
            Outcome::GaveUp(why) => self.give_up(lease, &why),
        };
        if !counted && !self.abandoned.load(Ordering::Relaxed) {
            self.table().counts.lost += 1;
            self.notify(Notice::Lost(lease.ticket.clone()));
        }
        match next {
            Some(next) => Some((self.replace(number, &next), next)),
            None => {
                self.remove(number);
                None
            }
        }
    }

    /// Runs a lease to its end.
    fn run(&self, number: u64, lease: &Lease) -> Outcome {
        let (program, tasks) = match self.open(lease) {
            Ok(open) => open,
            Err(why) => return Outcome::GaveUp(GiveUp::Hopeless(why)),
        };
        if lease.attempt > 1 && tasks.len() > 1 {
            // One of them may have killed a worker. From now on each is on its own.
            return Outcome::Ran(lease.ticket.clone(), split_bundle(lease, &*program, tasks));
        }
        let how = RunOptions {
            limits: lease.job.terms.limits,
            hand_over: lease.attempt > 1,
            home: lease.ticket.delivery,
        };
        let run: Arc<dyn Run> = program.start(&self.setup.pool, tasks, how).into();
        if let Some(held) = self.table().held.get_mut(&number) {
            held.run = Some(run.clone());
            if held.lost {
                run.cancel();
            }
        }
        let lease = &OpenLease { lease, program };
        let outcome = if self.first_quantum(lease, &*run) {
            self.last_cut(lease, lease.ticket.clone(), &*run)
        } else {
            Drain::new(self, lease, &*run).finish()
        };
        self.note_stuck(run);
        outcome
    }

    /// Returns the outcome of a run that has ended, with its last cut.
    pub(super) fn last_cut(&self, lease: &OpenLease<'_>, ticket: Ticket, run: &dyn Run) -> Outcome {
        loop {
            if let Some(fault) = run.fault() {
                return Outcome::GaveUp(GiveUp::Failed(fault.to_string()));
            }
            if let Some(cut) = run.cut() {
                return self.ran(lease, ticket, cut);
            }
            std::thread::sleep(Duration::from_micros(100));
        }
    }

    /// Returns the outcome of a run that has ended with this cut.
    pub(super) fn ran(&self, lease: &OpenLease<'_>, ticket: Ticket, cut: EncodedCut) -> Outcome {
        if cut.tasks == 0 && cut.failed.is_empty() {
            // It was not begun. Returned as its own child it would be new, and lose its count of
            // tries.
            return Outcome::GaveUp(if self.stop.is_set() {
                GiveUp::Stopping
            } else {
                GiveUp::NotBegun
            });
        }
        Outcome::Ran(ticket, self.completion(lease, cut))
    }

    /// Returns the program of a lease, and its tasks.
    fn open(&self, lease: &Lease) -> Result<(Arc<dyn Served>, Encoded), String> {
        let name = &lease.job.program;
        let program = self.setup.catalogue.get(name);
        let program = program.ok_or_else(|| format!("there is no program {name} in this build"))?;
        let task = lease.task.as_ref().ok_or("there is no task in the entry")?;
        let tasks = Parcel::unbundle(task).map_err(|why| why.to_string())?;
        if tasks.is_empty() {
            return Err("there is no task in the bundle".to_owned());
        }
        Ok((program.clone(), tasks))
    }

    /// Waits until a run has ended, or its quantum is over. Returns `true` if it has ended.
    fn first_quantum(&self, lease: &Lease, run: &dyn Run) -> bool {
        let quantum = self.quantum(lease);
        let came = Instant::now();
        let mut began = came;
        loop {
            let left = quantum.saturating_sub(began.elapsed());
            if run.wait(left.min(STOP_CHECK)) {
                return true;
            }
            if run.expire() > 0 {
                return false;
            }
            if !run.has_begun() {
                // Its task waits for a worker of the pool, so its quantum has not begun. If other
                // leases have occupied more workers since it was requested, it is given back:
                // another process may have a free worker.
                if self.stop.is_set()
                    || (came.elapsed() >= CROWDED && self.table().busy() > self.setup.slots)
                {
                    return false;
                }
                began = Instant::now();
            }
            if self.stop.is_set() || began.elapsed() >= quantum {
                return false;
            }
        }
    }

    /// Returns the quantum, which is shorter while other workers are idle.
    fn quantum(&self, lease: &Lease) -> Duration {
        let all_slots = u64::from(self.all_slots.load(Ordering::Relaxed));
        let others = all_slots > self.setup.slots as u64;
        let outstanding = self.table().outstanding.get(&lease.job.id).copied();
        if others && outstanding.unwrap_or(0) < 2 * all_slots {
            self.setup.quantum / 5
        } else {
            self.setup.quantum
        }
    }

    /// Completes a lease. Returns `true` if it counted.
    fn complete(&self, lease: &Lease, completion: &Completion, next: &mut Option<Lease>) -> bool {
        let completed = self.retried(|| {
            let ending = self.stop.is_set() || self.table().closed;
            if ending || self.reserved.load(Ordering::Relaxed) {
                return self.leases.complete(&lease.ticket, completion);
            }
            // The worker holds at most one suspect, and this was it. If there is only one slot,
            // other waiting tasks come before the next suspect.
            let suspect = lease.is_suspect() && self.setup.slots > 1;
            let (completed, more) = self.leases.complete_and_lease(lease, completion, suspect)?;
            *next = more;
            Ok(completed)
        });
        match completed {
            Some(Ok(Completed::Counted {
                outstanding,
                results,
            })) => {
                let mut table = self.table();
                table.outstanding.insert(lease.job.id.clone(), outstanding);
                if outstanding == 0 {
                    table.outstanding.remove(&lease.job.id);
                }
                table.counts.completed += u64::from(completion.tasks > 0);
                table.counts.tasks += completion.tasks;
                table.counts.children += completion.children.len() as u64;
                drop(table);
                let before = results.saturating_sub(completion.results.len() as u64);
                if results / RESULTS > before / RESULTS {
                    self.compact(lease);
                }
                true
            }
            Some(Err(error)) => self.give_up(lease, &give_up_reason(&error)),
            Some(Ok(Completed::Fenced)) | None => false,
        }
    }

    /// Gives a lease up. Returns `true` if the ticket was good.
    fn give_up(&self, lease: &Lease, why: &GiveUp) -> bool {
        let ours = self.retried(|| self.leases.give_up(&lease.ticket, why));
        let ours = matches!(ours, Some(Ok(true)));
        if ours && *why != GiveUp::NotBegun {
            self.table().counts.given_up += 1;
            self.notify(Notice::GivenUp(lease.ticket.clone(), why.clone()));
        }
        ours
    }

    /// Repeats a request until there is an answer. Returns `None` if the worker has been abandoned.
    pub(super) fn retried<T>(
        &self,
        mut act: impl FnMut() -> Result<T, LeaseError>,
    ) -> Option<Result<T, LeaseError>> {
        let mut pause = Duration::from_millis(20);
        while !self.abandoned.load(Ordering::Relaxed) {
            match self.track_outage(act()) {
                Err(error) if error.passes() => {
                    std::thread::sleep(pause);
                    pause = (2 * pause).min(Duration::from_secs(2));
                }
                outcome => return Some(outcome),
            }
        }
        None
    }

    /// Combines the partial results of a job. If that fails they stay as they are.
    fn compact(&self, lease: &Lease) {
        let job = &lease.job.id;
        let Some(program) = self.setup.catalogue.get(&lease.job.program) else {
            return;
        };
        let Ok(results) = self.leases.results(job, RESULTS as usize) else {
            return;
        };
        let limit = lease.job.terms.limits.result;
        let combined = catch_unwind(AssertUnwindSafe(|| program.combine(&results, limit)));
        if let Ok(Ok(combined)) = combined
            && combined.len() < results.len()
            && combined.iter().all(|part| part.len() <= limit)
        {
            let _ = self.leases.compact(job, &results, &combined);
        }
    }
}

/// Returns the reason to give a lease up when the server refuses its completion.
pub(super) fn give_up_reason(error: &LeaseError) -> GiveUp {
    match error {
        // The server has other limits than it told the worker.
        LeaseError::Oversized(_) => GiveUp::Hopeless(error.to_string()),
        // The server refuses temporarily: the task is not to give_up_reason.
        _ => GiveUp::Failed(error.to_string()),
    }
}
