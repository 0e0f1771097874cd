//! A simulated world: ranks, a network with arbitrary delays, and a global view that checks
//! invariants.

use std::collections::VecDeque;

use super::*;

/// Tasks of a rank. A task is a number: the number of tasks in its subtree, itself included.
pub(super) struct Tasks {
    pub(super) waiting: VecDeque<u32>,
    pub(super) running: Option<u32>,
    pub(super) done: u32,
    /// A mutant: claims to be passive while its last task runs.
    pub(super) lies: bool,
    /// Set if the rank asks for more work while it runs its last task.
    pub(super) eager: bool,
}

impl Store for Tasks {
    type Work = Vec<u32>;

    fn surplus(&self) -> usize {
        let next = usize::from(self.running.is_none());
        self.waiting.len().saturating_sub(next)
    }

    fn is_passive(&self) -> bool {
        self.waiting.is_empty() && (self.lies || self.running.is_none())
    }

    fn is_hungry(&self) -> bool {
        self.is_passive() || self.eager && self.waiting.is_empty()
    }

    fn give(&mut self, at_most: usize) -> Option<Vec<u32>> {
        let some = at_most.min(self.waiting.len());
        (some > 0).then(|| self.waiting.drain(..some).collect())
    }

    fn take(&mut self, work: Vec<u32>) {
        self.waiting.extend(work);
    }

    fn size(work: &Vec<u32>) -> usize {
        work.len()
    }
}

impl Tasks {
    fn new() -> Tasks {
        Tasks {
            waiting: VecDeque::new(),
            running: None,
            done: 0,
            lies: false,
            eager: false,
        }
    }

    /// Begins or ends a task. A task that ends has up to three children.
    fn work(&mut self, random: &mut Random) {
        let Some(size) = self.running.take() else {
            self.running = self.waiting.pop_back();
            return;
        };
        self.done += 1;
        let mut below = size - 1;
        for _ in 0..2 {
            let child = random.below(below as usize + 1) as u32;
            self.waiting.extend((child > 0).then_some(child));
            below -= child;
        }
        self.waiting.extend((below > 0).then_some(below));
    }

    fn is_busy(&self) -> bool {
        self.running.is_some() || !self.waiting.is_empty()
    }
}

/// A change of the protocol that the test must detect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mutant {
    /// The protocol as it is.
    None,
    /// A rank that receives work does not turn black.
    NotBlack,
    /// Work that is received is not counted.
    ReceiptNotCounted,
    /// Work that is sent is not counted.
    SendingNotCounted,
    /// Neither is counted, as if only colours were needed.
    NoCounts,
    /// A rank keeps its colour when it passes its token.
    StaysBlack,
    /// A rank counts as passive while it runs its last task.
    PassiveTooEarly,
    /// A rank that has asked for work counts as passive.
    AsksSoPassive,
    /// The network loses work now and then.
    LosesWork,
    /// The network delivers work twice now and then.
    RepeatsWork,
}

/// Why a run is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// A rank was told that all work is done, and it was not.
    Early,
    /// The run did not end.
    Endless,
    /// Tasks were lost or run twice.
    Miscounted,
    /// A rank left before every message to it had arrived.
    Undelivered,
    /// A rank saw trouble.
    Protocol(ProtocolError),
}

type Network = Vec<VecDeque<(u64, Message<Vec<u32>>)>>;

pub(super) struct World {
    pub(super) now: u64,
    pub(super) ranks: Vec<Rank<Blind>>,
    pub(super) piles: Vec<Tasks>,
    /// The messages in transit for each pair of ranks, with the earliest time of arrival.
    network: Network,
    pub(super) left: Vec<bool>,
    /// Ranks that have died.
    pub(super) dead: Vec<bool>,
    random: Random,
    mutant: Mutant,
    slow: u64,
    tasks: u32,
}

impl World {
    pub(super) fn new(count: usize, tasks: u32, protocol: Protocol, seed: u64) -> World {
        let mut random = Random::new(seed, 99);
        let mut piles: Vec<Tasks> = (0..count).map(|_| Tasks::new()).collect();
        piles[random.below(count)]
            .waiting
            .extend((tasks > 0).then_some(tasks));
        let eager = random.below(2) == 0;
        piles.iter_mut().for_each(|pile| pile.eager = eager);
        World {
            now: 1_000,
            ranks: (0..count)
                .map(|me| Rank::new(me, protocol, Blind(count), 7, seed))
                .collect(),
            piles,
            network: vec![VecDeque::new(); count * count],
            left: vec![false; count],
            dead: vec![false; count],
            // Delays from nearly none to much longer than a task.
            slow: 1 << random.below(8),
            random,
            mutant: Mutant::None,
            tasks,
        }
    }

    pub(super) fn with(mut self, mutant: Mutant) -> World {
        self.mutant = mutant;
        for pile in &mut self.piles {
            pile.lies = mutant == Mutant::PassiveTooEarly;
        }
        self
    }

    /// Runs the world until all ranks have left.
    pub(super) fn run(&mut self) -> Result<(), Fault> {
        for _ in 0..400_000 {
            self.turn()?;
            if self.left.iter().all(|&left| left) {
                return self.verdict();
            }
        }
        Err(Fault::Endless)
    }

    fn verdict(&self) -> Result<(), Fault> {
        if self.network.iter().any(|line| !line.is_empty()) {
            return Err(Fault::Undelivered);
        }
        let done: u32 = self.piles.iter().map(|pile| pile.done).sum();
        if done == self.tasks {
            Ok(())
        } else {
            Err(Fault::Miscounted)
        }
    }

    /// A random rank works, or reads its messages and takes a step.
    pub(super) fn turn(&mut self) -> Result<(), Fault> {
        self.now += 1 + self.random.below(40) as u64;
        let me = self.random.below(self.ranks.len());
        if self.left[me] || self.dead[me] {
            return Ok(());
        }
        if self.random.below(2) == 0 {
            self.piles[me].work(&mut self.random);
            return Ok(());
        }
        self.read(me)?;
        let mut out = Vec::new();
        let black = self.ranks[me].safra.black;
        let passed = self.ranks[me].counts.tokens;
        let asks = self.ranks[me].request.is_some();
        self.piles[me].lies |= self.mutant == Mutant::AsksSoPassive && asks;
        let next = self.ranks[me].step(self.now, &mut self.piles[me], &mut out);
        self.piles[me].lies &= self.mutant != Mutant::AsksSoPassive;
        if self.mutant == Mutant::StaysBlack && self.ranks[me].counts.tokens > passed {
            self.ranks[me].safra.black = black;
        }
        self.send(me, out);
        self.left[me] = next.map_err(Fault::Protocol)? == Next::Done;
        self.look()
    }

    fn read(&mut self, me: usize) -> Result<(), Fault> {
        let count = self.ranks.len();
        for from in 0..count {
            while self.network[from * count + me]
                .front()
                .is_some_and(|&(time, _)| time <= self.now)
            {
                let Some((_, message)) = self.network[from * count + me].pop_front() else {
                    break;
                };
                self.deliver(me, from, message)?;
            }
        }
        Ok(())
    }

    fn deliver(&mut self, me: usize, from: usize, message: Message<Vec<u32>>) -> Result<(), Fault> {
        let mut out = Vec::new();
        let is_work = message.name() == "Work";
        let rank = &mut self.ranks[me];
        let black = rank.safra.black;
        let received = rank.receive(self.now, from, message, &mut self.piles[me], &mut out);
        match self.mutant {
            Mutant::NotBlack if is_work => rank.safra.black = black,
            Mutant::ReceiptNotCounted | Mutant::NoCounts if is_work => rank.safra.balance += 1,
            _ => {}
        }
        self.send(me, out);
        received.map_err(Fault::Protocol)
    }

    fn send(&mut self, me: usize, out: Vec<(usize, Message<Vec<u32>>)>) {
        for (to, message) in out {
            let line = &mut self.network[me * self.ranks.len() + to];
            let time = self.now + 1 + self.random.below(self.slow as usize * 100) as u64;
            if message.name() == "Work" {
                let odd = self.random.below(4) == 0;
                match self.mutant {
                    Mutant::SendingNotCounted | Mutant::NoCounts => {
                        self.ranks[me].safra.balance -= 1;
                    }
                    Mutant::LosesWork if odd => continue,
                    Mutant::RepeatsWork if odd => line.push_back((time, message.clone())),
                    _ => {}
                }
            }
            line.push_back((time, message));
        }
    }

    /// Checks that all work is done if a rank believes so.
    fn look(&self) -> Result<(), Fault> {
        if !self.ranks.iter().any(Rank::is_done) {
            return Ok(());
        }
        let mut lines = self.network.iter().flatten();
        let busy = self.piles.iter().any(Tasks::is_busy)
            || lines.any(|(_, message)| message.name() == "Work");
        if busy { Err(Fault::Early) } else { Ok(()) }
    }
}
