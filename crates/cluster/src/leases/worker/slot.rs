//! A thread that runs one lease after the other.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use super::{Notice, Service};
use crate::Parcel;
use crate::leases::{Completed, Completion, GiveUp, Lease, Oversized, Run, Served, Trouble};
use crate::local::message;

/// What came of running a lease.
enum Outcome {
    Ran(Completion),
    GaveUp(GiveUp),
}

/// With so many partial results, and at every multiple, they are combined: few enough to be read at once, and
/// enough that it costs little for each.
const RESULTS: u64 = 64;

/// A list that could not be made shorter is left alone from here on.
const HOPELESS: u64 = 4096;

/// Bytes of children of one completion: a request of some mebibytes keeps a server busy for milliseconds.
const CHILDREN: usize = 16 << 20;

/// Longest between two looks whether the worker is to stop.
const LOOK: Duration = Duration::from_millis(100);

impl Service {
    /// Runs leases until the desk is closed.
    pub(super) fn work(&self) {
        loop {
            let next = {
                let desk = self.desk();
                let idle = |desk: &mut super::Desk| desk.queue.is_empty() && !desk.closed;
                let waited = self.changed.wait_while(desk, idle);
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

    /// Runs a lease, and says what came of it. Gives the next one, if that came with the answer.
    fn process(&self, number: u64, lease: &Lease) -> Option<(u64, Lease)> {
        // A program's own code is called here too, to read its tasks and to add its results up. If that panicked through, the lease
        // would be renewed for ever and never be completed.
        let outcome = match catch_unwind(AssertUnwindSafe(|| self.run(number, lease))) {
            Ok(Ok(completion)) => Outcome::Ran(completion),
            Ok(Err(why)) => Outcome::GaveUp(why),
            Err(panic) => {
                let (program, said) = (&lease.job.program, message(&*panic));
                let why = format!("a value of the program {program} panicked: {said}");
                Outcome::GaveUp(GiveUp::Failed(why))
            }
        };
        if let (Outcome::GaveUp(_), Some(held)) = (&outcome, self.desk().held.get(&number)) {
            held.run.iter().for_each(|run| run.cancel());
        }
        // What is lost needs no farewell.
        let lost = self.desk().held.get(&number).is_none_or(|held| held.lost);
        let mut next = None;
        let counted = match outcome {
            _ if lost => false,
            Outcome::Ran(completion) => self.complete(lease, &completion, &mut next),
            Outcome::GaveUp(why) => self.give_up(lease, &why),
        };
        if !counted && !self.abandoned.load(Ordering::Relaxed) {
            self.desk().tally.lost += 1;
            self.tell(Notice::Lost(lease.ticket.clone()));
        }
        match next {
            Some(next) => Some((self.replace(number, &next), next)),
            None => {
                self.remove(number);
                None
            }
        }
    }

    /// Runs a lease for a while.
    fn run(&self, number: u64, lease: &Lease) -> Result<Completion, GiveUp> {
        let (program, parcel) = self.open(lease).map_err(GiveUp::Hopeless)?;
        let run: Arc<dyn Run> = program
            .start(&self.setup.pool, &parcel)
            .map_err(|why| GiveUp::Hopeless(why.to_string()))?
            .into();
        if let Some(held) = self.desk().held.get_mut(&number) {
            held.run = Some(run.clone());
            if held.lost {
                run.cancel();
            }
        }
        let children = match self.first_quantum(lease, &*run) {
            true => Vec::new(),
            false => self.drain(lease, &*run),
        };
        if let Some(fault) = run.fault() {
            return Err(GiveUp::Failed(fault.to_string()));
        }
        let tasks = run.usage().tasks;
        if tasks == 0 && self.stop.is_set() {
            // It did not get to begin. As its own child it would be new, with none of its tries.
            return Err(GiveUp::Stopping);
        }
        let completion = Completion {
            tasks,
            result: run.take_result(),
            children,
        };
        completion
            .check(&lease.job.terms.limits)
            .map_err(|oversized| GiveUp::Hopeless(format!("{} gave {oversized}", parcel.kind)))?;
        Ok(completion)
    }

    /// The program of a lease, and its task.
    fn open(&self, lease: &Lease) -> Result<(Arc<dyn Served>, Parcel), String> {
        let name = &lease.job.program;
        let program = self.setup.catalogue.get(name);
        let program = program.ok_or_else(|| format!("there is no program {name} in this build"))?;
        let task = lease.task.as_ref().ok_or("there is no task in the entry")?;
        Oversized::check("a task", task.len(), lease.job.terms.limits.task)
            .map_err(|oversized| oversized.to_string())?;
        let parcel = Parcel::decode(task).map_err(|why| why.to_string())?;
        Ok((program.clone(), parcel))
    }

    /// Waits until a run is at its end, or has had its time. Is it at its end?
    fn first_quantum(&self, lease: &Lease, run: &dyn Run) -> bool {
        let quantum = self.quantum(lease);
        let mut began = Instant::now();
        loop {
            let left = quantum.saturating_sub(began.elapsed());
            if run.wait(left.min(LOOK)) {
                return true;
            }
            if !run.begun() {
                // Its task waits for a worker of the pool. Its time has not begun; to send it back would be no progress.
                began = Instant::now();
                if self.stop.is_set() {
                    return false;
                }
            }
            if self.stop.is_set() || began.elapsed() >= quantum {
                return false;
            }
        }
    }

    /// Shorter while others have nothing to do.
    fn quantum(&self, lease: &Lease) -> Duration {
        let everybody = u64::from(self.everybody.load(Ordering::Relaxed));
        let others = everybody > self.setup.slots as u64;
        let outstanding = self.desk().outstanding.get(&lease.job.id).copied();
        match others && outstanding.unwrap_or(0) < 2 * everybody {
            true => self.setup.quantum / 5,
            false => self.setup.quantum,
        }
    }

    /// Takes away what waits, until there is nothing left. Where that is more than fits the rest is done here.
    fn drain(&self, lease: &Lease, run: &dyn Run) -> Vec<Vec<u8>> {
        let most = lease.job.terms.limits.children;
        let (mut children, mut bytes) = (Vec::new(), 0);
        // Often at first: what is spawned now would else be begun here.
        let (mut looks, mut pause) = (0, Duration::from_micros(100));
        run.set_appetite(Some(usize::MAX));
        loop {
            if children.len() < most && bytes < CHILDREN {
                let more = run.withdraw((most - children.len()).min(256));
                bytes += more.iter().map(Vec::len).sum::<usize>();
                children.extend(more);
            } else {
                run.set_appetite(None);
            }
            if run.wait(pause) {
                return children;
            }
            looks += 1;
            if looks > 50 {
                pause = (2 * pause).min(LOOK / 5);
            }
        }
    }

    /// Says what came of a lease. Did it count?
    fn complete(&self, lease: &Lease, completion: &Completion, next: &mut Option<Lease>) -> bool {
        let completed = self.retried(|| {
            if self.stop.is_set() || self.reserved.load(Ordering::Relaxed) {
                return self.leases.complete(&lease.ticket, completion);
            }
            let (completed, more) = self.leases.complete_and_lease(lease, completion)?;
            *next = more;
            Ok(completed)
        });
        match completed {
            Some(Ok(Completed::Counted {
                outstanding,
                results,
            })) => {
                let mut desk = self.desk();
                desk.outstanding.insert(lease.job.id.clone(), outstanding);
                if outstanding == 0 {
                    desk.outstanding.remove(&lease.job.id);
                }
                desk.tally.completed += 1;
                desk.tally.tasks += completion.tasks;
                desk.tally.children += completion.children.len() as u64;
                drop(desk);
                if results > 0 && results.is_multiple_of(RESULTS) && results < HOPELESS {
                    self.compact(lease);
                }
                true
            }
            // The server has other limits than the worker was told.
            Some(Err(trouble @ Trouble::Oversized(_))) => {
                self.give_up(lease, &GiveUp::Hopeless(trouble.to_string()))
            }
            // Of a server that refuses now the task is not to blame.
            Some(Err(trouble)) => self.give_up(lease, &GiveUp::Failed(trouble.to_string())),
            Some(Ok(Completed::Fenced)) | None => false,
        }
    }

    /// Gives a lease up. Was it ours?
    fn give_up(&self, lease: &Lease, why: &GiveUp) -> bool {
        let ours = self.retried(|| self.leases.give_up(&lease.ticket, why));
        let ours = matches!(ours, Some(Ok(true)));
        if ours {
            self.desk().tally.given_up += 1;
            self.tell(Notice::GivenUp(lease.ticket.clone(), why.clone()));
        }
        ours
    }

    /// Does something with the server until there is an answer, or nobody waits for it any more.
    fn retried<T>(
        &self,
        mut act: impl FnMut() -> Result<T, Trouble>,
    ) -> Option<Result<T, Trouble>> {
        let mut pause = Duration::from_millis(20);
        while !self.abandoned.load(Ordering::Relaxed) {
            match self.told(act()) {
                Err(trouble) if trouble.passes() => {
                    std::thread::sleep(pause);
                    pause = (2 * pause).min(Duration::from_secs(2));
                }
                outcome => return Some(outcome),
            }
        }
        None
    }

    /// Combines the partial results of a job. Where that fails they stay as they are.
    fn compact(&self, lease: &Lease) {
        let job = &lease.job.id;
        let Some(program) = self.setup.catalogue.get(&lease.job.program) else {
            return;
        };
        let Ok(results) = self.leases.results(job) else {
            return;
        };
        let combined = catch_unwind(AssertUnwindSafe(|| program.combine(&results)));
        if let Ok(Ok(combined)) = combined
            && results.len() > 1
            && combined.len() <= lease.job.terms.limits.result
        {
            let _ = self.leases.compact(job, &results, &combined);
        }
    }
}
