//! The second phase: ranks work, and steal from each other.
//!
//! ```text
//!   workers of the pool          the messaging thread, which is not a worker
//!   | task | task | task | <── submit ── TaskStore <── take ── Rank <── packets ── Link
//!                          ── withdraw ──>         ── give ──>      ── packets ──>
//! ```
//!
//! [`Rank`] makes all decisions; this module provides the time, packets in and out, and the
//! process's tasks.
//!
//! **How the thread waits.** No call of MPI waits for a message without spinning, so the thread
//! sleeps and polls, and sleeps longer after each poll that finds nothing: from [`SHORTEST_SLEEP`]
//! to [`LONGEST_SLEEP`]. It wakes at once when its own process runs out of work. If a poll costs
//! `c` and requests come at a rate `r`, sleeps of `p` cost `c / p` of a processor and make thieves
//! wait for
//! `r p / 2` of the time. The sum is least for `p = sqrt(2 c / r)`. On a virtual machine a poll
//! costs some 25 us, and in UTS T1L on two ranks 40 requests come in a second: 1.1 ms.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use locksley_policy::rank::{Counts, Hosts, Message, Next, ProtocolError, Rank, Store};

use super::clock;
use super::error::RankError;
use super::mailbox::{Mailbox, run_phase};
use super::peer::{Link, Peer};
use super::wire::{Packet, Sealed};
use crate::continuation::Slot;
use crate::local::Local;
use crate::parcel::{Malformed, Parcel, decode, encode};
use crate::reduce::Reduce;
use crate::task::Boxed;

/// First sleep after a message has come: the system makes 100 us of it.
const SHORTEST_SLEEP: Duration = Duration::from_micros(50);

/// Longest sleep.
const LONGEST_SLEEP: Duration = Duration::from_millis(1);

/// Most bytes of a batch of tasks, unless a single task is larger.
const HEAVY: usize = 4 << 20;

/// Most packets that are read before the rank takes its next step.
const AT_ONCE: usize = 64;

/// About the time for which first tasks are added before the rank takes its next step: other ranks
/// wait for its answers meanwhile.
const FIRST: Duration = Duration::from_millis(10);

/// Most movements of work that are kept for a trace.
const MOST_MOVES: usize = 1 << 16;

/// One end of a movement of work from one rank to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Move {
    /// The giver and the receiver.
    pub(super) ends: (usize, usize),
    /// Number of earlier movements between the same two ranks in this direction.
    pub(super) number: u64,
    /// Whether it was sent along a lifeline, to a rank that had asked earlier.
    pub(super) lifeline: bool,
    pub(super) tasks: usize,
    /// Start and end of the time that the rank spent on it, in nanoseconds since 1970.
    pub(super) time: (u64, u64),
}

/// What a rank has done by the end of the phase.
#[derive(Debug, Default)]
pub(super) struct Done {
    pub(super) counts: Counts,
    pub(super) moves: Vec<Move>,
}

/// Works until the work of all ranks is done. `first` is not empty on rank 0 only.
pub(super) fn work<R: Reduce>(
    peer: &mut dyn Peer,
    mailbox: &mut Mailbox,
    (local, first): (&Local<R>, &mut dyn Iterator<Item = Boxed<R>>),
    rank: Rank<Hosts>,
    hosts: &BTreeMap<usize, String>,
) -> Result<Done, RankError> {
    let mut engine = Engine {
        store: TaskStore {
            local,
            ranks: mailbox.count,
            first: Some(first),
            malformed: None,
        },
        rank,
        hosts,
        sleep: SHORTEST_SLEEP,
        numbers: vec![(0, 0); mailbox.count],
        moves: Vec::new(),
    };
    run_phase(peer, mailbox, |mailbox, link| engine.turn(mailbox, link))
}

type Tasks = Vec<Parcel>;

struct Engine<'a, R> {
    rank: Rank<Hosts>,
    store: TaskStore<'a, R>,
    /// Names of the hosts that are known on this rank.
    hosts: &'a BTreeMap<usize, String>,
    /// Length of the next sleep.
    sleep: Duration,
    /// Numbers of movements of work to each rank, and from it.
    numbers: Vec<(u64, u64)>,
    moves: Vec<Move>,
}

impl<R: Reduce> Engine<'_, R> {
    fn turn(
        &mut self,
        mailbox: &mut Mailbox,
        link: &mut dyn Link,
    ) -> Result<ControlFlow<Done>, RankError> {
        let now = mailbox.now().as_nanos() as u64;
        let mut packets = 0;
        while packets < AT_ONCE
            && let Some((from, packet)) = mailbox.receive(link)?
        {
            packets += 1;
            match packet {
                Packet::Sealed(Sealed::Protocol(message)) => {
                    self.receive(now, (from, message), mailbox, link)?;
                }
                Packet::Sealed(Sealed::Inputs(inputs)) => self.deliver(from, inputs)?,
                packet => mailbox.put_off(from, packet),
            }
        }
        self.store.fill();
        self.send_inputs(mailbox, link);
        let mut out = Vec::new();
        let since = clock::wall();
        let next = self.rank.step(now, &mut self.store, &mut out);
        self.send(since, out, mailbox, link);
        self.check(mailbox)?;
        match next.map_err(|error| self.protocol_error(mailbox, error))? {
            Next::Done => Ok(ControlFlow::Break(Done {
                counts: *self.rank.counts(),
                moves: std::mem::take(&mut self.moves),
            })),
            Next::At(time) => {
                let busy = packets > 0 || self.store.first.is_some();
                self.sleep(busy, Duration::from_nanos(time.saturating_sub(now)));
                Ok(ControlFlow::Continue(()))
            }
        }
    }

    fn receive(
        &mut self,
        now: u64,
        (from, message): (usize, Message<Tasks>),
        mailbox: &mut Mailbox,
        link: &mut dyn Link,
    ) -> Result<(), RankError> {
        let since = clock::wall();
        let brought = match &message {
            Message::Work { tasks, lifeline } => Some((tasks.len(), *lifeline)),
            _ => None,
        };
        let mut out = Vec::new();
        let store = &mut self.store;
        let received = self.rank.receive(now, from, message, store, &mut out);
        if let Some((tasks, lifeline)) = brought {
            let number = &mut self.numbers[from].1;
            *number += 1;
            let number = *number - 1;
            self.record_move((from, mailbox.me), number, (tasks, lifeline), since);
        }
        self.send(since, out, mailbox, link);
        if let Some(why) = self.store.malformed.take() {
            return Err(RankError::Malformed { rank: from, why });
        }
        received.map_err(|error| self.protocol_error(mailbox, error))
    }

    fn send(
        &mut self,
        since: u64,
        out: Vec<(usize, Message<Tasks>)>,
        mailbox: &mut Mailbox,
        link: &mut dyn Link,
    ) {
        for (to, message) in out {
            if let Message::Work { tasks, lifeline } = &message {
                let number = &mut self.numbers[to].0;
                *number += 1;
                let number = *number - 1;
                self.record_move((mailbox.me, to), number, (tasks.len(), *lifeline), since);
            }
            mailbox.send(link, to, &Packet::Sealed(Sealed::Protocol(message)));
        }
    }

    fn record_move(
        &mut self,
        ends: (usize, usize),
        number: u64,
        (tasks, lifeline): (usize, bool),
        since: u64,
    ) {
        if self.moves.len() < MOST_MOVES {
            self.moves.push(Move {
                ends,
                number,
                lifeline,
                tasks,
                time: (since, clock::wall()),
            });
        }
    }

    /// Sends the inputs of continuations that other ranks own.
    fn send_inputs(&mut self, mailbox: &mut Mailbox, link: &mut dyn Link) {
        let mut by_rank: BTreeMap<usize, Vec<(Slot, Vec<u8>)>> = BTreeMap::new();
        for (slot, input) in self.store.local.take_outbox() {
            let owner = by_rank.entry(slot.of.home as usize).or_default();
            owner.push((slot, encode(&input)));
        }
        for (owner, inputs) in by_rank {
            mailbox.send(link, owner, &Packet::Sealed(Sealed::Inputs(inputs)));
        }
    }

    /// Delivers inputs to continuations that this rank owns.
    fn deliver(&mut self, from: usize, inputs: Vec<(Slot, Vec<u8>)>) -> Result<(), RankError> {
        let malformed = |why: Malformed| RankError::Malformed {
            rank: from,
            why: why.to_string(),
        };
        for (slot, input) in inputs {
            let input = decode(&input).map_err(malformed)?;
            let delivered = self.store.local.deliver(slot, input);
            delivered.map_err(malformed)?;
        }
        Ok(())
    }

    /// Fails if a task has panicked here.
    fn check(&self, mailbox: &Mailbox) -> Result<(), RankError> {
        match self.store.local.fault() {
            None => Ok(()),
            Some(panicked) => Err(RankError::Panicked {
                rank: mailbox.me,
                host: self.hosts.get(&mailbox.me).cloned().unwrap_or_default(),
                panicked,
            }),
        }
    }

    fn protocol_error(&self, mailbox: &Mailbox, error: ProtocolError) -> RankError {
        let culprit = match error {
            ProtocolError::OtherBuild { rank, .. }
            | ProtocolError::Silent { rank, .. }
            | ProtocolError::Unexpected { rank, .. } => Some(rank),
            _ => None,
        };
        let host = culprit.and_then(|rank| self.hosts.get(&rank)).cloned();
        RankError::Protocol {
            rank: mailbox.me,
            host,
            error,
        }
    }

    /// Sleeps until a poll is due, unless packets have just come.
    fn sleep(&mut self, busy: bool, due: Duration) {
        if busy {
            self.sleep = SHORTEST_SLEEP;
            return;
        }
        let sleep = self.sleep.min(due);
        self.sleep = (self.sleep * 2).min(LONGEST_SLEEP);
        if self.store.local.pending() == 0 {
            thread::sleep(sleep);
        } else if self.store.local.wait(sleep) {
            // Work has just run out: poll soon for an answer.
            self.sleep = SHORTEST_SLEEP;
        }
    }
}

/// The tasks of a process, as the state machine of the rank accesses them.
struct TaskStore<'a, R> {
    local: &'a Local<R>,
    /// Number of ranks.
    ranks: usize,
    /// The first tasks that have not been added yet.
    first: Option<&'a mut dyn Iterator<Item = Boxed<R>>>,
    /// Why tasks that came could not be read.
    malformed: Option<String>,
}

impl<R: Reduce> TaskStore<'_, R> {
    fn workers(&self) -> usize {
        self.local.pool().workers()
    }

    /// Fails if the owner of a slot is not a rank: the result of the task would be sent to it.
    fn check(&self, slot: Option<Slot>) -> Result<(), Malformed> {
        match slot {
            Some(Slot { of, .. }) if of.home >= self.ranks as u64 => Err(Malformed(format!(
                "a task with a slot of rank {}, and there are {} ranks",
                of.home, self.ranks
            ))),
            _ => Ok(()),
        }
    }

    /// Adds some of the first tasks.
    fn fill(&mut self) {
        let Some(first) = &mut self.first else { return };
        let since = Instant::now();
        while since.elapsed() < FIRST {
            let Some(task) = first.next() else {
                self.first = None;
                return;
            };
            self.local.submit(task);
        }
    }
}

impl<R: Reduce> Store for TaskStore<'_, R> {
    type Work = Tasks;

    /// Excludes tasks that a free worker is about to take: otherwise two hungry ranks could pass a
    /// task to and fro for ever.
    fn surplus(&self) -> usize {
        let beyond = self.local.pending().saturating_sub(self.workers());
        beyond.min(self.local.surplus())
    }

    /// A rank that owns a waiting continuation is not passive: see
    /// [`continuation`](crate::continuation).
    fn is_passive(&self) -> bool {
        self.first.is_none() && self.local.is_passive()
    }

    /// Returns `true` if a worker is without a task. It asks then, before all workers are idle.
    fn is_hungry(&self) -> bool {
        self.local.pending() < self.workers()
    }

    fn give(&mut self, at_most: usize) -> Option<Tasks> {
        let (mut work, mut bytes) = (Vec::new(), 0);
        // One by one, so that no task is withdrawn that would make the batch too large.
        while work.len() < at_most
            && bytes < HEAVY
            && let Some(parcel) = self.local.withdraw_parcels(1).pop()
        {
            bytes += parcel.kind.len() + parcel.argument.len();
            work.push(parcel);
        }
        (!work.is_empty()).then_some(work)
    }

    fn take(&mut self, work: Tasks) {
        for parcel in &work {
            if let Err(malformed) = self
                .check(parcel.to)
                .and_then(|()| self.local.submit_parcel(parcel))
            {
                self.malformed = Some(malformed.to_string());
            }
        }
    }

    fn size(work: &Tasks) -> usize {
        work.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::continuation::DeferredId;
    use crate::{Program, Sum, Task, Tasks};

    type Given = Option<Vec<Parcel>>;

    /// A task of a given size that waits for the end of the test.
    #[derive(Serialize, Deserialize)]
    struct Load(Vec<u8>);

    impl Task for Load {
        const KIND: &'static str = "load";
        type Output = Sum<u64>;

        fn run(self, tasks: &Tasks<Sum<u64>>) -> Sum<u64> {
            while !tasks.cancelled() {
                thread::yield_now();
            }
            Sum(1)
        }
    }

    fn local() -> Local<Sum<u64>> {
        let pool = locksley::Pool::builder().workers(1).build().unwrap();
        Local::new(pool, &Program::new("loads").with::<Load>())
    }

    #[test]
    fn what_is_given_is_not_too_heavy_and_what_is_left_stays() {
        let local = local();
        let mut first = [0, HEAVY / 2, HEAVY / 2, HEAVY / 2, 1, 1]
            .map(|weight| Box::new(Load(vec![0; weight])) as Boxed<Sum<u64>>)
            .into_iter();
        let mut store = TaskStore {
            local: &local,
            ranks: 1,
            first: Some(&mut first),
            malformed: None,
        };
        assert!(!store.is_passive(), "some are to come");
        while store.first.is_some() {
            store.fill();
        }
        while store.surplus() != 5 || local.surplus() != 5 {
            // The worker is about to begin with one of the tasks.
            thread::yield_now();
        }
        let count = |work: Given| work.map_or(0, |work| work.len());
        assert!((2..=3).contains(&count(store.give(100))));
        assert_eq!(count(store.give(1)), 1);
        let (usage, left) = (local.usage(), local.surplus());
        assert_eq!((usage.added, usage.withdrawn + left as u64), (6, 5));
        local.cancel();
    }

    #[test]
    fn a_task_of_an_unknown_kind_is_reported() {
        let local = local();
        let mut store = TaskStore {
            local: &local,
            ranks: 2,
            first: None,
            malformed: None,
        };
        store.take(vec![Parcel::new("stray", Vec::new())]);
        assert!(store.malformed.unwrap().contains("stray"));
        assert!(local.is_passive());
    }

    #[test]
    fn a_task_whose_result_goes_to_no_rank_is_reported() {
        for (home, accepted) in [(1, true), (2, false), (u64::MAX, false)] {
            let local = local();
            let mut store = TaskStore {
                local: &local,
                ranks: 2,
                first: None,
                malformed: None,
            };
            let of = DeferredId { home, number: 0 };
            store.take(vec![Parcel {
                to: Some(Slot { of, index: 0 }),
                ..Parcel::of(&Load(Vec::new()))
            }]);
            local.cancel();
            assert_eq!(store.malformed.is_none(), accepted, "{home}");
            assert_eq!(local.usage().added, u64::from(accepted));
        }
    }
}
