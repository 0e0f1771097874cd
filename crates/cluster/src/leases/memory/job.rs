//! A job in memory: its tasks, and what becomes of them.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use super::shortened;
use crate::continuation::{DeferredId, DeferredTask};
use crate::leases::{Aside, Completion, Dead, JobInfo, Lease, Order, State, Ticket};

#[derive(Debug)]
pub(super) struct Job {
    pub(super) info: Arc<JobInfo>,
    pub(super) chunks: Vec<Vec<Vec<u8>>>,
    pub(super) sealed: bool,
    pub(super) state: State,
    /// All that are outstanding.
    pub(super) entries: BTreeMap<u64, Entry>,
    pub(super) waiting: VecDeque<u64>,
    pub(super) suspects: VecDeque<u64>,
    pub(super) leased: BTreeMap<u64, Holder>,
    pub(super) results: Vec<Vec<u8>>,
    /// Continuations that wait for inputs.
    pub(super) deferred: BTreeMap<DeferredId, DeferredTask>,
    pub(super) aside: Vec<Dead>,
    pub(super) done: BTreeMap<String, u64>,
    pub(super) tasks: u64,
    pub(super) submitted: Duration,
    pub(super) ended: Option<Duration>,
}

#[derive(Debug)]
pub(super) struct Entry {
    pub(super) task: Vec<u8>,
    /// How often it was tried in vain.
    pub(super) tries: u32,
    pub(super) step: u64,
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
            suspects: VecDeque::new(),
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

    /// Adds a chunk of first tasks. Returns `false` if it is another one than before.
    pub(super) fn chunk(&mut self, order: &Order, numbers: &mut u64) -> bool {
        if let Some(before) = self.chunks.get(order.chunk as usize) {
            let last = self.sealed && order.chunk as usize + 1 == self.chunks.len();
            return *before == order.tasks && last == (order.last && self.sealed);
        }
        if self.sealed || self.chunks.len() as u64 != order.chunk {
            return false;
        }
        self.chunks.push(order.tasks.clone());
        self.sealed = order.last;
        for task in &order.tasks {
            *numbers += 1;
            self.add(*numbers, task.clone(), 0);
        }
        true
    }

    /// Lets a task wait.
    pub(super) fn add(&mut self, number: u64, task: Vec<u8>, tries: u32) {
        let entry = Entry {
            task,
            tries,
            step: 0,
        };
        self.entries.insert(number, entry);
        if self.info.terms.suspect(tries + 1) {
            self.suspects.push_back(number);
        } else {
            self.waiting.push_back(number);
        }
    }

    /// Keeps deferred tasks and fills slots. Adds those that are ready.
    pub(super) fn defer(
        &mut self,
        completion: &Completion,
        numbers: &mut impl Iterator<Item = u64>,
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
                self.add(new, deferred.assemble(inputs), 0);
            }
        }
    }

    /// Ends the job if there is nothing left.
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

    pub(super) fn set_aside(&mut self, number: u64, task: &[u8], attempts: u32, reason: &str) {
        let aside = Aside {
            entry: number.to_string(),
            attempts,
            reason: shortened(reason),
        };
        let whole = task.len() <= Dead::WHOLE;
        let task = if whole { task } else { &task[..Dead::PART] };
        self.aside.push(Dead {
            aside,
            task: task.to_vec(),
            whole,
        });
    }

    /// Lets tasks wait again that were set aside. Returns how many.
    pub(super) fn retry_dead(&mut self, entries: &[String], numbers: &mut u64) -> u64 {
        let chosen =
            |dead: &Dead| dead.whole && (entries.is_empty() || entries.contains(&dead.aside.entry));
        let (again, left): (Vec<_>, _) = std::mem::take(&mut self.aside)
            .into_iter()
            .partition(chosen);
        self.aside = left;
        for dead in &again {
            *numbers += 1;
            self.add(*numbers, dead.task.clone(), 0);
        }
        if !again.is_empty() {
            (self.state, self.ended) = (State::Running, None);
        }
        again.len() as u64
    }

    /// Takes a leased entry away.
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
                self.set_aside(number, &entry.task, attempts, &reason);
                aside += 1;
            } else {
                self.add(number, entry.task, attempts);
                returned += 1;
            }
        }
        self.tidy(now);
        (returned, aside)
    }
}
