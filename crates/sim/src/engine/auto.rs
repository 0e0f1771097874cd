//! The strategy `auto`, which switches between stealing, stealing half and sharing.
//!
//! As in the runtime, every processor has the queue of [steal-half](super::half) and that of
//! [sharing](super::sharing), and uses one of them. The thief decides whether it steals one item or
//! half, so a change between these two modes takes effect at once. A processor switches to its
//! other queue only when the current one is empty; it checks this at each push.
//!
//! [`Auto`] decides once in a period. The ratio of idle processors is sampled every
//! [`Period::EVERY`] pushes and pops of a processor, and whenever a processor runs out of work. A
//! period ends after at least [`Period::SAMPLES`] samples and [`Period::TASKS`] items taken for
//! execution.
//!
//! The attempts of a period are searches of the runtime, which try every processor once. A
//! simulated processor tries one victim at a time, so P - 1 failed attempts in a row count as a
//! search, and so does a successful attempt together with the failed ones before it.

use locksley_policy::{Amount, Auto, Mode, Outcome, Period, Sharing, StealHalf, Tuning, When};

use super::core::{Core, Scheduler};
use super::half::Half;
use super::sampler::Move;
use super::sharing::{Sharers, SharingAttempt};
use crate::dag::{Computation, Enabled};

/// Samples and counts since the start of the period, and the values of the counters at its start.
#[derive(Default)]
struct ModeSampler {
    auto: Auto,
    samples: u32,
    idle: f64,
    searches: u64,
    executed: u64,
    stolen: u64,
    successes: u64,
}

impl ModeSampler {
    /// Samples the ratio of idle processors, and decides if the period is over.
    fn sample<C: Computation>(&mut self, core: &mut Core<C>) {
        self.samples += 1;
        self.idle += 1.0 - core.busy.count() as f64 / core.count() as f64;
        if self.samples < Period::SAMPLES || self.executed < Period::TASKS {
            return;
        }
        let before = self.auto.mode();
        let period = Period {
            idle: self.idle / f64::from(self.samples),
            attempts: self.searches,
            stolen: core.tally.items_stolen - self.stolen,
            successes: core.tally.stolen - self.successes,
            executed: self.executed,
        };
        core.tally.mode_changes += u64::from(self.auto.observe(&period) != before);
        *self = ModeSampler {
            auto: self.auto,
            stolen: core.tally.items_stolen,
            successes: core.tally.stolen,
            ..ModeSampler::default()
        };
    }
}

/// The processors of `auto`.
pub(crate) struct Autos<N> {
    half: Half<N>,
    sharers: Sharers<N>,
    sampler: ModeSampler,
    /// For each processor, whether it pushes into its sharing queue. The other queue is empty then.
    shares: Vec<bool>,
    /// For each processor, number of pushes and pops until its next sample.
    left: Vec<u32>,
    /// For each processor, number of attempts since its last complete search.
    in_vain: Vec<u32>,
}

impl<N: Copy> Autos<N> {
    pub(crate) fn new(tuning: Tuning, count: usize, mailbox: u32) -> Autos<N> {
        let one = StealHalf {
            when: When::Empty,
            amount: Amount::One,
        };
        Autos {
            half: Half::new(one, count),
            sharers: Sharers::new(Sharing::default(), count, mailbox),
            sampler: ModeSampler {
                auto: Auto::new(tuning),
                ..ModeSampler::default()
            },
            shares: vec![false; count],
            left: vec![Period::EVERY; count],
            in_vain: vec![0; count],
        }
    }

    /// Switches a processor to the queue of the current mode, unless its old queue is not empty.
    fn follow(&mut self, p: usize) {
        match self.sampler.auto.mode() {
            Mode::Sharing(heuristic) => {
                self.sharers.set_heuristic(heuristic);
                self.shares[p] |= self.half.queues[p].len() == 0;
            }
            Mode::Stealing | Mode::StealHalf => self.shares[p] &= self.sharers.len(p) > 0,
        }
    }

    /// Counts a push or a pop, and takes a sample if one is due.
    fn count_down<C: Computation<Node = N>>(&mut self, core: &mut Core<C>, p: usize) {
        self.left[p] -= 1;
        if self.left[p] == 0 {
            self.left[p] = Period::EVERY;
            self.sampler.sample(core);
        }
    }

    fn push<C>(&mut self, core: &mut Core<C>, p: usize, node: N, now: u64) -> u32
    where
        C: Computation<Node = N>,
    {
        self.follow(p);
        self.count_down(core, p);
        if self.shares[p] {
            self.sharers.fork(core, p, node, now)
        } else {
            self.half.push(core, p, node)
        }
    }

    fn pop<C: Computation<Node = N>>(&mut self, core: &mut Core<C>, p: usize) -> (Option<N>, u32) {
        self.count_down(core, p);
        let (node, cost) = if self.shares[p] {
            self.sharers.fetch(core, p)
        } else {
            self.half.pop(core, p)
        };
        self.sampler.executed += u64::from(node.is_some());
        (node, cost)
    }

    /// Makes an attempt to steal. Returns the stolen node, and the time at which the thief has the
    /// result.
    fn attempt<C>(&mut self, core: &mut Core<C>, p: usize, now: u64) -> (Option<N>, u64)
    where
        C: Computation<Node = N>,
    {
        let Some(victim) = self.sharers.victim(p) else {
            return (None, now);
        };
        let mode = self.sampler.auto.mode();
        let (node, back, outcome);
        if self.half.queues[victim].len() == 0 && self.sharers.len(victim) > 0 {
            let (loot, cost) = self.sharers.attempt(core, p, now);
            outcome = loot.outcome();
            back = core.at(victim, p, core.after(p, now, cost));
            node = match loot {
                SharingAttempt::Node(node, _) => Some(node),
                SharingAttempt::Nothing(_) => None,
            };
            if node.is_some() {
                core.sampler.moved(Move::Steal, victim, p, now, back);
            }
        } else {
            self.half.policy.amount = match mode {
                Mode::StealHalf => Amount::Difference,
                _ => Amount::One,
            };
            (back, outcome) = self.half.steal(core, p, victim, now);
            node = self.half.next[p].take();
            // Other stolen items are in the steal-half queue, so pops must use that one.
            self.shares[p] &= self.half.queues[p].len() == 0;
        }
        if matches!(mode, Mode::Sharing(_)) {
            self.sharers.update(core, p, outcome, now);
        }
        self.count_search(core.count(), p, outcome);
        (node, back)
    }

    fn count_search(&mut self, count: usize, p: usize, outcome: Outcome) {
        self.in_vain[p] += 1;
        if outcome == Outcome::Success || self.in_vain[p] as usize >= count - 1 {
            self.in_vain[p] = 0;
            self.sampler.searches += 1;
        }
    }
}

impl<C: Computation> Scheduler<C> for Autos<C::Node> {
    fn begin(&mut self, core: &mut Core<C>) {
        self.sharers.works(0);
        for p in 1..core.count() {
            self.sharers.seek(core, p, 0);
        }
    }

    fn completed(&mut self, core: &mut Core<C>, p: usize, enabled: Enabled<C::Node>, now: u64) {
        let (next, cost) = match enabled {
            Enabled::One(next) => (Some(next), 0),
            Enabled::Two(next, other) => (Some(next), self.push(core, p, other, now)),
            Enabled::Nothing | Enabled::End => self.pop(core, p),
        };
        let now = core.after(p, now, cost);
        match next {
            Some(next) => core.execute(p, next, now),
            None => {
                self.sharers.rests(p);
                core.rest(p, now);
                self.sampler.sample(core);
                self.sharers.seek(core, p, now);
            }
        }
    }

    fn acted(&mut self, core: &mut Core<C>, p: usize, now: u64) {
        core.tally.idle_iterations += 1;
        let (node, back) = if self.sharers.reads(p) {
            (None, now)
        } else {
            self.attempt(core, p, now)
        };
        if let Some(node) = node {
            self.sharers.works(p);
            self.sampler.executed += 1;
            core.execute(p, node, back);
        } else if self.sharers.receive(core, p, now, back) {
            self.sampler.executed += 1;
        } else {
            self.sharers.seek(core, p, back);
        }
    }

    fn waiting(&self, p: usize) -> usize {
        self.half.queues[p].len() + self.sharers.len(p)
    }

    fn can_progress(&self, p: usize, is_gone: bool) -> bool {
        self.half.queues[p].len() > 0 || self.sharers.can_be_used(p, is_gone)
    }
}
