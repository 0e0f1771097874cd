//! A job in memory: its tasks, and the operations on them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use crate::continuation::{DeferredId, DeferredTask};
use crate::leases::{
    Aside, AsideTask, Completed, Completion, JobInfo, Lease, LeaseError, Order, Share, State,
    Status, Ticket, shortened,
};

#[derive(Debug)]
pub(super) struct Job {
    pub(super) info: Arc<JobInfo>,
    pub(super) chunks: Vec<Vec<Vec<u8>>>,
    pub(super) sealed: bool,
    pub(super) state: State,
    /// All outstanding entries.
    pub(super) entries: BTreeMap<u64, Entry>,
    waiting: VecDeque<u64>,
    urgent: VecDeque<u64>,
    suspects: VecDeque<u64>,
    /// Delayed entries, by when they may be leased.
    later: BTreeSet<(Duration, u64)>,
    pub(super) leased: BTreeMap<u64, Holder>,
    pub(super) results: Vec<Vec<u8>>,
    /// Continuations that wait for inputs.
    pub(super) deferred: BTreeMap<DeferredId, DeferredTask>,
    pub(super) aside: Vec<AsideTask>,
    pub(super) done: BTreeMap<String, u64>,
    pub(super) tasks: u64,
    pub(super) submitted: Duration,
    pub(super) ended: Option<Duration>,
}

#[derive(Debug)]
pub(super) struct Entry {
    pub(super) task: Vec<u8>,
    /// Number of failed tries.
    pub(super) tries: u32,
    step: u64,
    urgent: bool,
    /// Time before which it may not be leased.
    due: Duration,
}

impl Entry {
    /// Returns the entry with this number of failed tries.
    pub(super) fn tried(self, tries: u32) -> Entry {
        Entry { tries, ..self }
    }
}

/// The queue in which an entry waits.
#[derive(Clone, Copy, Debug)]
pub(super) enum Queue {
    /// For a worker that has no other suspect.
    Suspects,
    /// Before all that are not urgent.
    Urgent,
    Usual,
}

#[derive(Debug)]
pub(super) struct Holder {
    pub(super) worker: String,
    pub(super) delivery: u64,
    pub(super) since: Duration,
}

impl Job {
    pub(super) fn new(order: &Order, now: Duration) -> Job {
        Job {
            info: Arc::new(order.job.clone()),
            chunks: Vec::new(),
            sealed: false,
            state: State::Running,
            entries: BTreeMap::new(),
            waiting: VecDeque::new(),
            urgent: VecDeque::new(),
            suspects: VecDeque::new(),
            later: BTreeSet::new(),
            leased: BTreeMap::new(),
            results: Vec::new(),
            deferred: BTreeMap::new(),
            aside: Vec::new(),
            done: BTreeMap::new(),
            tasks: 0,
            submitted: now,
            ended: None,
        }
    }

    /// Adds a chunk of first tasks, unless it is there, or the job is over.
    ///
    /// # Errors
    ///
    /// If it differs from an earlier submission, or the chunks before it are missing.
    pub(super) fn chunk(
        &mut self,
        order: &Order,
        numbers: &mut u64,
        now: Duration,
    ) -> Result<(), LeaseError> {
        let id = || order.job.id.clone();
        if let Some(before) = self.chunks.get(order.chunk as usize) {
            let last = self.sealed && order.chunk as usize + 1 == self.chunks.len();
            let same = *before == order.tasks && last == (order.last && self.sealed);
            return same.then_some(()).ok_or_else(|| LeaseError::Taken(id()));
        }
        if self.sealed {
            return Err(LeaseError::Taken(id()));
        }
        if self.chunks.len() as u64 != order.chunk {
            return Err(LeaseError::Vanished(id()));
        }
        if self.state != State::Running {
            return Ok(());
        }
        self.chunks.push(order.tasks.clone());
        self.sealed = order.last;
        let due = self.submitted + self.info.terms.delay;
        for task in &order.tasks {
            *numbers += 1;
            let entry = Entry {
                due,
                ..self.entry(task.clone(), order.urgent)
            };
            self.line_up(*numbers, entry, now);
        }
        Ok(())
    }

    /// Creates an entry that has not been tried.
    fn entry(&self, task: Vec<u8>, urgent: bool) -> Entry {
        Entry {
            task,
            tries: 0,
            step: 0,
            urgent: urgent || self.info.terms.urgent,
            due: Duration::ZERO,
        }
    }

    /// Adds an entry to the queue in which it waits, or to the delayed ones if it is not due.
    pub(super) fn line_up(&mut self, number: u64, entry: Entry, now: Duration) {
        if entry.due > now {
            self.later.insert((entry.due, number));
        } else if self.info.terms.suspect(entry.tries + 1) {
            self.suspects.push_back(number);
        } else if entry.urgent {
            self.urgent.push_back(number);
        } else {
            self.waiting.push_back(number);
        }
        let entry = Entry { step: 0, ..entry };
        self.entries.insert(number, entry);
    }

    pub(super) fn queue(&mut self, which: Queue) -> &mut VecDeque<u64> {
        match which {
            Queue::Suspects => &mut self.suspects,
            Queue::Urgent => &mut self.urgent,
            Queue::Usual => &mut self.waiting,
        }
    }

    /// Moves delayed tasks that are due to their queues.
    pub(super) fn promote(&mut self, now: Duration) {
        while let Some((due, number)) = self.later.first().copied()
            && due <= now
        {
            self.later.pop_first();
            if let Some(entry) = self.entries.remove(&number) {
                self.line_up(number, entry, now);
            }
        }
    }

    /// Returns the time until the next delayed task is due.
    pub(super) fn next_due(&self, now: Duration) -> Option<Duration> {
        let (due, _) = self.later.first()?;
        Some(due.saturating_sub(now))
    }

    /// Removes all tasks and results.
    pub(super) fn clear(&mut self) {
        self.entries.clear();
        self.waiting.clear();
        self.urgent.clear();
        self.suspects.clear();
        self.later.clear();
        self.leased.clear();
        self.results.clear();
        self.deferred.clear();
    }

    /// Replaces a leased task by its results, its children and what is kept of it. New entries are
    /// numbered from `first` on.
    pub(super) fn complete(
        &mut self,
        (ticket, number): (&Ticket, u64),
        completion: &Completion,
        first: u64,
        now: Duration,
    ) -> Result<Completed, LeaseError> {
        let step = self.entries.get(&number).map_or(0, |entry| entry.step);
        if step != ticket.step {
            // No other worker has this ticket, so it is this completion, repeated.
            let repeated = completion.kept.is_some() && step == ticket.step + 1;
            return Ok(if repeated {
                self.counted()
            } else {
                Completed::Fenced
            });
        }
        completion.check(&self.info.terms.limits)?;
        let mut numbers = first..;
        for (child, new) in completion.children.iter().zip(numbers.by_ref()) {
            let entry = self.entry(child.task.clone(), child.urgent);
            let entry = Entry {
                due: now + child.delay,
                ..entry.tried(child.tries)
            };
            self.line_up(new, entry, now);
        }
        for (refused, new) in completion.aside.iter().zip(numbers.by_ref()) {
            let entry = self.entry(refused.task.clone(), refused.urgent);
            self.set_aside(new, &entry, refused.attempts, &refused.reason);
        }
        self.defer(completion, &mut numbers, now);
        let results = completion.results.iter().filter(|part| !part.is_empty());
        self.results.extend(results.cloned());
        self.tasks += completion.tasks;
        if let (Some(kept), Some(entry)) = (&completion.kept, self.entries.get_mut(&number)) {
            entry.task.clone_from(kept);
            entry.step += 1;
        } else {
            // A worker that only gives tasks back has completed nothing.
            if completion.tasks > 0 {
                *self.done.entry(ticket.worker.clone()).or_default() += 1;
            }
            self.remove(number);
        }
        self.tidy(now);
        Ok(self.counted())
    }

    fn counted(&self) -> Completed {
        Completed::Counted {
            outstanding: self.entries.len() as u64,
            results: self.results.len() as u64,
        }
    }

    /// Stores deferred tasks and fills slots. Turns deferred tasks that are ready into entries.
    fn defer(
        &mut self,
        completion: &Completion,
        numbers: &mut impl Iterator<Item = u64>,
        now: Duration,
    ) {
        let mut touched = Vec::new();
        for deferred in &completion.deferred {
            touched.push(deferred.id);
            self.deferred.insert(deferred.id, deferred.clone());
        }
        for (slot, input) in &completion.inputs {
            let Some(deferred) = self.deferred.get_mut(&slot.of) else {
                continue;
            };
            if deferred
                .filled
                .iter()
                .all(|(index, _)| *index != slot.index)
            {
                deferred.filled.push((slot.index, input.clone()));
            }
            touched.push(slot.of);
        }
        for id in touched {
            let ready = |deferred: &DeferredTask| deferred.filled.len() == deferred.slots as usize;
            if !self.deferred.get(&id).is_some_and(ready) {
                continue;
            }
            if let (Some(mut deferred), Some(new)) = (self.deferred.remove(&id), numbers.next()) {
                deferred.filled.sort();
                let inputs = deferred.filled.iter().map(|(_, input)| input.as_slice());
                let entry = self.entry(deferred.assemble(inputs), deferred.urgent);
                self.line_up(new, entry, now);
            }
        }
    }

    /// Ends the job if no entries are left.
    pub(super) fn tidy(&mut self, now: Duration) {
        if self.state == State::Running && self.sealed && self.entries.is_empty() {
            self.state = State::Done;
            self.ended = Some(now);
        }
    }

    pub(super) fn lease(&mut self, number: u64, holder: Holder) -> Lease {
        let entry = &self.entries[&number];
        let lease = Lease {
            job: self.info.clone(),
            ticket: Ticket {
                job: self.info.id.clone(),
                entry: number.to_string(),
                worker: holder.worker.clone(),
                delivery: holder.delivery,
                step: entry.step,
            },
            attempt: entry.tries + 1,
            task: Some(entry.task.clone()),
        };
        self.leased.insert(number, holder);
        lease
    }

    pub(super) fn set_aside(&mut self, number: u64, entry: &Entry, attempts: u32, reason: &str) {
        let aside = Aside {
            entry: number.to_string(),
            attempts,
            reason: shortened(reason),
        };
        let size = entry.task.len();
        let large = |size: &usize| *size > AsideTask::WHOLE;
        let taken = self.aside.iter().filter(|dead| dead.whole);
        let taken: usize = taken.map(|dead| dead.task.len()).filter(large).sum();
        let whole = !large(&size) || taken + size <= AsideTask::ROOM;
        let kept = if whole { size } else { AsideTask::PART };
        self.aside.push(AsideTask {
            aside,
            task: entry.task[..kept].to_vec(),
            whole,
            urgent: entry.urgent,
        });
    }

    /// Makes tasks wait again that were set aside. Returns their number.
    pub(super) fn retry_aside(
        &mut self,
        entries: &[String],
        numbers: &mut u64,
        now: Duration,
    ) -> u64 {
        let chosen = |dead: &AsideTask| {
            dead.whole && (entries.is_empty() || entries.contains(&dead.aside.entry))
        };
        let (again, left): (Vec<_>, _) = std::mem::take(&mut self.aside)
            .into_iter()
            .partition(chosen);
        self.aside = left;
        for dead in &again {
            *numbers += 1;
            self.line_up(*numbers, self.entry(dead.task.clone(), dead.urgent), now);
        }
        if !again.is_empty() {
            (self.state, self.ended) = (State::Running, None);
        }
        again.len() as u64
    }

    /// Removes a leased entry.
    pub(super) fn remove(&mut self, number: u64) -> Option<Entry> {
        self.leased.remove(&number);
        self.entries.remove(&number)
    }

    pub(super) fn reclaim(&mut self, now: Duration) -> (u64, u64) {
        let terms = self.info.terms;
        let late = |(_, holder): &(&u64, &Holder)| now >= holder.since + terms.lease;
        let late = self.leased.iter().filter(late);
        let late: Vec<(u64, String)> = late
            .map(|(number, holder)| (*number, holder.worker.clone()))
            .collect();
        let (mut returned, mut aside) = (0, 0);
        for (number, worker) in late {
            let Some(entry) = self.remove(number) else {
                continue;
            };
            let attempts = entry.tries + 1;
            if attempts >= terms.tries {
                let reason = format!("no worker lived to finish it; the last one was {worker}");
                self.set_aside(number, &entry, attempts, &reason);
                aside += 1;
            } else {
                self.line_up(number, entry.tried(attempts), now);
                returned += 1;
            }
        }
        self.tidy(now);
        (returned, aside)
    }

    /// Returns the status of the job.
    pub(super) fn status(&self, now: Duration) -> Status {
        let mut shares: BTreeMap<&String, Share> = BTreeMap::new();
        for (worker, done) in &self.done {
            shares.entry(worker).or_default().done = *done;
        }
        for holder in self.leased.values() {
            shares.entry(&holder.worker).or_default().in_flight += 1;
        }
        let named = |(worker, share): (&String, Share)| Share {
            worker: worker.clone(),
            ..share
        };
        let reasons = self.aside.iter().take(10).map(|dead| dead.aside.clone());
        Status {
            job: (*self.info).clone(),
            state: self.state,
            done: self.done.values().sum(),
            tasks: self.tasks,
            outstanding: self.entries.len() as u64,
            in_flight: self.leased.len() as u64,
            delayed: self.later.iter().filter(|(due, _)| *due > now).count() as u64,
            aside: self.aside.len() as u64,
            reasons: reasons.collect(),
            shares: shares.into_iter().map(named).collect(),
            workers: self.done.len() as u64,
            sealed: self.sealed,
            refusal: None,
            submitted: self.submitted.as_nanos() as u64,
            age: self.ended.unwrap_or(now) - self.submitted,
        }
    }
}
