//! Synchronous rounds: SLFWS and CFSAWSS (thesis, Algorithms 3 and 5).
//!
//! In a round every processor makes one scheduling iteration. All go through its stages in step:
//!
//! | stage | busy | idle |
//! |---|---|---|
//! | I | executes its node | tries to steal from a random processor; may change the flag of another |
//! | II | if it enabled two nodes and its flag is set: tries to give one to a random processor | |
//! | III | keeps one enabled node and pushes the other, or pops | takes the node that it was given |
//!
//! All attempts of a stage are simultaneous. Of the thieves that aim at the same deque, if it is
//! not empty, one is drawn that succeeds; the others are aborted. Of the donors that aim at the
//! same idle processor, one is drawn that succeeds. Without a heuristic no processor gives, and
//! stages II and III together are the second stage of SLFWS.
//!
//! As in the paper, a processor may draw itself. **Deviations from the paper.** The paper prints
//! three values for thieves under Greedy; here there are four, one for each outcome of a steal.

mod endless;
mod run;

pub use endless::Endless;
pub(crate) use run::run;

use std::collections::VecDeque;

use locksley_policy::{Outcome, Sharing, Source, Spread};

use crate::CounterRng;
use crate::dag::{Computation, Enabled};

/// Counters of a round.
///
/// ```
/// use locksley_sim::rounds::{Endless, Round, Rounds};
///
/// // The first processor forks; the second draws a victim, in vain.
/// let round: Round = Rounds::new(Endless, 2, None, 1).round();
/// assert_eq!((round.busy, round.forked, round.idle, round.empty), (1, 1, 1, 1));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Round {
    /// Processors that executed a node.
    pub busy: u64,
    /// Processors that executed no node.
    pub idle: u64,
    /// Busy processors that enabled two nodes.
    pub forked: u64,
    /// Steals.
    pub stolen: u64,
    /// Attempts to steal that found an empty deque.
    pub empty: u64,
    /// Attempts to steal that another thief won.
    pub aborted: u64,
    /// Opportunities to steal that were skipped (theta_r).
    pub skipped: u64,
    /// Nodes given away.
    pub donated: u64,
    /// Attempts to give that failed.
    pub refused: u64,
    /// Opportunities to give that were skipped (theta_s).
    pub kept: u64,
    /// `true` if the sink has been executed.
    pub ended: bool,
}

/// A processor.
#[derive(Clone, Debug)]
struct Processor<N> {
    assigned: Option<N>,
    /// The oldest node first.
    deque: VecDeque<N>,
    spreading: bool,
    /// Nodes that it enabled or stole in stage I, or was given in stage II.
    enabled: Enabled<N>,
}

/// Draws one of several processors that enter one after the other, each with equal probability.
#[derive(Clone, Copy, Debug, Default)]
struct Lottery {
    tickets: u32,
    winner: u32,
}

impl Lottery {
    fn enter(&mut self, p: usize, draw: &mut CounterRng) {
        self.tickets += 1;
        if draw.below(self.tickets as usize) == 0 {
            self.winner = p as u32;
        }
    }

    fn winner(&self) -> Option<usize> {
        (self.tickets > 0).then_some(self.winner as usize)
    }
}

/// Processors that run in synchronous rounds.
///
/// ```
/// use locksley_policy::Sharing;
/// use locksley_sim::dag::{Balanced, Strands};
/// use locksley_sim::rounds::Rounds;
///
/// let sharing: Sharing = "sharing:greedy".parse()?;
/// let mut rounds = Rounds::new(Strands::new(Balanced::new(8, 1)), 32, Some(sharing), 42);
/// let mut donated = 0;
/// let mut count = 0;
/// loop {
///     let round = rounds.round();
///     assert_eq!(round.busy + round.idle, 32);
///     donated += round.donated;
///     count += 1;
///     if round.ended {
///         break;
///     }
/// }
/// assert!(donated > 0 && count >= 17);
/// # Ok::<(), locksley_policy::ParseError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Rounds<C: Computation> {
    computation: C,
    sharing: Option<Sharing>,
    processors: Vec<Processor<C::Node>>,
    seed: u64,
    number: u64,
    /// For each processor, the lottery among those that aim at it.
    lotteries: Vec<Lottery>,
    /// For each processor, the processor that it aims at.
    aims: Vec<Option<u32>>,
}

impl<C: Computation> Rounds<C> {
    /// Creates `count` processors, the first of which has the root. Without `sharing`, the
    /// scheduler is SLFWS.
    pub fn new(mut computation: C, count: usize, sharing: Option<Sharing>, seed: u64) -> Rounds<C> {
        let root = computation.start();
        let processor = |p| Processor {
            assigned: (p == 0).then_some(root),
            deque: VecDeque::new(),
            spreading: sharing.is_some_and(|sharing| sharing.heuristic.initial),
            enabled: Enabled::Nothing,
        };
        Rounds {
            computation,
            sharing,
            processors: (0..count.max(1)).map(processor).collect(),
            seed,
            number: 0,
            lotteries: vec![Lottery::default(); count.max(1)],
            aims: vec![None; count.max(1)],
        }
    }

    /// Sets the state of a processor: the node that it is to execute, and the nodes in its deque,
    /// the oldest first. The computation must accept nodes that it has not enabled, as [`Endless`]
    /// does.
    ///
    /// ```
    /// use locksley_sim::rounds::{Endless, Rounds};
    ///
    /// let mut rounds = Rounds::new(Endless, 4, None, 1);
    /// rounds.place(3, Some(()), [(), ()]);
    /// assert_eq!(rounds.load(3), 3);
    /// assert_eq!(rounds.round().busy, 2);
    /// ```
    pub fn place(
        &mut self,
        p: usize,
        assigned: Option<C::Node>,
        deque: impl IntoIterator<Item = C::Node>,
    ) {
        self.processors[p].assigned = assigned;
        self.processors[p].deque = deque.into_iter().collect();
    }

    /// Returns the number of nodes that a processor has, including the assigned one.
    pub fn load(&self, p: usize) -> usize {
        let Processor {
            assigned, deque, ..
        } = &self.processors[p];
        deque.len() + usize::from(assigned.is_some())
    }

    /// Returns the number of processors.
    pub fn count(&self) -> usize {
        self.processors.len()
    }

    pub(crate) fn is_busy(&self, p: usize) -> bool {
        self.processors[p].assigned.is_some()
    }

    /// Runs one round, in which every processor makes one iteration.
    pub fn round(&mut self) -> Round {
        let mut round = Round::default();
        self.number += 1;
        self.aim_thieves(&mut round);
        self.steal(&mut round);
        if round.ended {
            return round;
        }
        self.aim_donors(&mut round);
        self.give(&mut round);
        self.settle();
        round
    }

    /// Returns the random numbers of a processor in a stage of this round.
    fn draw(&self, p: usize, stage: u64) -> CounterRng {
        CounterRng::at(self.seed, p, 4 * self.number + stage)
    }

    /// Stage I, first half: idle processors draw victims, and busy processors execute their nodes.
    fn aim_thieves(&mut self, round: &mut Round) {
        self.lotteries.fill(Lottery::default());
        let theta = self.sharing.map_or(0.0, |sharing| sharing.theta_r.get());
        let count = self.processors.len();
        for p in 0..count {
            self.aims[p] = None;
            if self.processors[p].assigned.is_some() {
                continue;
            }
            let mut draw = self.draw(p, 0);
            if draw.unit() >= theta {
                let victim = draw.below(count);
                self.aims[p] = Some(victim as u32);
                self.lotteries[victim].enter(p, &mut draw);
            } else {
                round.skipped += 1;
            }
        }
        for processor in &mut self.processors {
            processor.enabled = Enabled::Nothing;
            if let Some(node) = processor.assigned.take() {
                round.busy += 1;
                processor.enabled = self.computation.execute(node);
                round.ended |= matches!(processor.enabled, Enabled::End);
                round.forked += u64::from(matches!(processor.enabled, Enabled::Two(..)));
                // Until stage III, busy processors are those that have a node assigned.
                processor.assigned = Some(node);
            } else {
                round.idle += 1;
            }
        }
    }

    /// Stage I, second half: performs steals and changes flags.
    fn steal(&mut self, round: &mut Round) {
        for p in 0..self.processors.len() {
            if self.processors[p].assigned.is_some() {
                continue;
            }
            let outcome = match self.aims[p] {
                None => Outcome::Skipped,
                Some(victim) => self.steal_from(p, victim as usize, round),
            };
            self.update_random_flag(p, outcome);
        }
        for p in 0..self.processors.len() {
            // All outcomes are known, so stolen nodes leave the deques.
            let Some(thief) = self.lotteries[p].winner() else {
                continue;
            };
            if let Some(node) = self.processors[p].deque.pop_front() {
                self.processors[thief].enabled = Enabled::One(node);
            }
        }
    }

    fn steal_from(&self, p: usize, victim: usize, round: &mut Round) -> Outcome {
        if self.processors[victim].deque.is_empty() {
            round.empty += 1;
            Outcome::Empty
        } else if self.lotteries[victim].winner() == Some(p) {
            round.stolen += 1;
            Outcome::Success
        } else {
            round.aborted += 1;
            Outcome::Abort
        }
    }

    fn update_random_flag(&mut self, p: usize, outcome: Outcome) {
        let Some(sharing) = self.sharing else { return };
        let mut draw = self.draw(p, 1);
        if draw.unit() >= sharing.theta_r.get() {
            let updated = draw.below(self.processors.len());
            let flag = &mut self.processors[updated].spreading;
            *flag = sharing.heuristic.by_thief(outcome).of(*flag);
        }
    }

    /// Stage II, first half: processors that have two nodes and their flag set draw donees.
    fn aim_donors(&mut self, round: &mut Round) {
        self.aims.fill(None);
        let Some(sharing) = self.sharing else { return };
        self.lotteries.fill(Lottery::default());
        for p in 0..self.processors.len() {
            let Processor {
                enabled, spreading, ..
            } = self.processors[p];
            if !spreading || !matches!(enabled, Enabled::Two(..)) {
                continue;
            }
            let mut draw = self.draw(p, 2);
            if draw.unit() < sharing.theta_s.get() {
                round.kept += 1;
                self.update(p, Spread::Unmade);
                continue;
            }
            let donee = draw.below(self.processors.len());
            self.aims[p] = Some(donee as u32);
            if self.is_available(donee) {
                self.lotteries[donee].enter(p, &mut draw);
            }
        }
    }

    /// Returns `true` if a processor is idle and has not got a node in this round.
    fn is_available(&self, p: usize) -> bool {
        let processor = &self.processors[p];
        processor.assigned.is_none() && matches!(processor.enabled, Enabled::Nothing)
    }

    /// Stage II, second half: performs donations.
    fn give(&mut self, round: &mut Round) {
        for p in 0..self.processors.len() {
            let Some(donee) = self.aims[p].map(|donee| donee as usize) else {
                continue;
            };
            let won = self.is_available(donee) && self.lotteries[donee].winner() == Some(p);
            self.update(
                p,
                if won {
                    Spread::Success
                } else {
                    Spread::Failure
                },
            );
            if !won {
                round.refused += 1;
            } else if let Enabled::Two(next, given) = self.processors[p].enabled {
                round.donated += 1;
                self.processors[p].enabled = Enabled::One(next);
                self.processors[donee].enabled = Enabled::One(given);
            }
        }
    }

    fn update(&mut self, p: usize, spread: Spread) {
        if let Some(sharing) = self.sharing {
            let flag = &mut self.processors[p].spreading;
            *flag = sharing.heuristic.after(spread).of(*flag);
        }
    }

    /// Stage III: assigns nodes, and pushes the others.
    fn settle(&mut self) {
        for processor in &mut self.processors {
            processor.assigned = match processor.enabled {
                Enabled::One(next) => Some(next),
                Enabled::Two(next, other) => {
                    processor.deque.push_back(other);
                    Some(next)
                }
                Enabled::Nothing | Enabled::End => processor.deque.pop_back(),
            };
        }
    }
}

#[cfg(test)]
mod tests;
