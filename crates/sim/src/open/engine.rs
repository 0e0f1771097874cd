//! The events of an open system.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use locksley_policy::{Amount, Dealer, LastLoad, Random, Source, StealHalf, Target, When, other};

use super::{Arrivals, ArrivalsReport, OpenError};
use crate::engine::Extended;
use crate::strategy::Strategy;

/// Event of a processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// An item arrives from outside.
    Arrival,
    /// It has completed an item.
    Done,
    /// Its attempt to steal or to balance takes effect.
    Attempt,
}

/// A processor. An item is represented by the time of its arrival.
#[derive(Clone, Debug, Default)]
struct Processor {
    deque: Extended<u64>,
    /// Set while it processes an item.
    busy: bool,
    /// Set while an attempt is under way.
    tries: bool,
    since: LastLoad,
}

/// The scheduler, with its state beyond the deques of the processors.
enum Scheme {
    /// One queue for all processors.
    Central(VecDeque<u64>),
    Stealing(StealHalf),
    Sending(Target),
    /// The dealers, and for each processor the queue of items dealt to it, the oldest first.
    Dealing(Vec<Dealer>, Vec<VecDeque<u64>>),
}

struct System<'a> {
    arrivals: &'a Arrivals,
    scheme: Scheme,
    processors: Vec<Processor>,
    events: BinaryHeap<Reverse<(u64, u64, usize, Event)>>,
    /// Orders events of the same time.
    number: u64,
    random: Random,
    waits: Vec<u64>,
    arrived: u64,
    /// Number of items that wait, and the time of the last change of that number.
    waiting: u64,
    changed: u64,
    /// For each change, its time, and the number of waiting items before it times the time since
    /// the change before.
    history: Vec<(u64, u64)>,
    attempts: u64,
    moved: u64,
}

/// Simulates an open system until the last item has arrived.
///
/// # Errors
///
/// Returns an error if a number is out of range, or if the strategy does not support open systems.
pub fn simulate(arrivals: &Arrivals) -> Result<ArrivalsReport, OpenError> {
    arrivals.check()?;
    let mut system = System::new(arrivals);
    let end = system.run();
    Ok(system.report(end))
}

impl<'a> System<'a> {
    fn new(arrivals: &'a Arrivals) -> System<'a> {
        let count = arrivals.processors;
        let one = StealHalf {
            when: When::Empty,
            amount: Amount::One,
        };
        let scheme = match arrivals.strategy {
            Strategy::StealHalf(policy) => Scheme::Stealing(policy),
            Strategy::Sending(target) => Scheme::Sending(target),
            Strategy::Dealing(policy) => Scheme::Dealing(
                (0..count).map(|p| policy.dealer(p, count)).collect(),
                vec![VecDeque::new(); count],
            ),
            Strategy::Greedy => Scheme::Central(VecDeque::new()),
            _ => Scheme::Stealing(one),
        };
        System {
            arrivals,
            scheme,
            processors: vec![Processor::default(); count],
            events: BinaryHeap::new(),
            number: 0,
            random: Random::new(arrivals.seed, count as u64),
            waits: Vec::with_capacity(arrivals.items.min(1 << 24) as usize),
            arrived: 0,
            waiting: 0,
            changed: 0,
            history: Vec::new(),
            attempts: 0,
            moved: 0,
        }
    }

    /// Runs until the last arrival, and returns its time.
    fn run(&mut self) -> u64 {
        for p in 0..self.arrivals.processors {
            if p < self.arrivals.generators {
                self.expect_arrival(p, 0);
            }
            self.go_on(p, 0);
        }
        while let Some(Reverse((now, _, p, event))) = self.events.pop() {
            match event {
                Event::Arrival => {
                    self.arrive(p, now);
                    if self.arrived == self.arrivals.items {
                        self.note(now, 0);
                        return now;
                    }
                    self.expect_arrival(p, now);
                }
                Event::Done => {
                    self.processors[p].busy = false;
                    self.go_on(p, now);
                }
                Event::Attempt => self.attempt(p, now),
            }
        }
        self.changed
    }

    fn schedule(&mut self, time: u64, p: usize, event: Event) {
        self.number += 1;
        self.events.push(Reverse((time, self.number, p, event)));
    }

    /// Draws an exponentially distributed time of at least one tick.
    fn exponential(&mut self, mean: f64) -> u64 {
        let time = -(1.0 - self.random.unit()).ln() * mean;
        (time.round() as u64).max(1)
    }

    fn expect_arrival(&mut self, p: usize, now: u64) {
        let gap = self.exponential(self.arrivals.gap());
        self.schedule(now + gap, p, Event::Arrival);
    }

    /// Changes the number of waiting items by `more`.
    fn note(&mut self, now: u64, more: i64) {
        self.history
            .push((now, self.waiting * (now - self.changed)));
        self.changed = now;
        self.waiting = self.waiting.saturating_add_signed(more);
    }

    fn begin(&mut self, p: usize, arrived: u64, now: u64) {
        self.waits.push(now - arrived);
        self.processors[p].busy = true;
        let time = self.exponential(self.arrivals.service as f64);
        self.schedule(now + time, p, Event::Done);
    }

    fn arrive(&mut self, p: usize, now: u64) {
        self.arrived += 1;
        self.note(now, 1);
        let to = self.receiver(p);
        self.moved += u64::from(to != p);
        match &mut self.scheme {
            Scheme::Central(queue) => queue.push_back(now),
            Scheme::Dealing(_, queues) => queues[to].push_back(now),
            _ => self.processors[to].deque.push(now),
        }
        match self.scheme {
            // Any free processor takes it.
            Scheme::Central(_) => {
                if let Some(free) = self.processors.iter().position(|one| !one.busy) {
                    self.go_on(free, now);
                }
            }
            _ if !self.processors[to].busy => self.go_on(to, now),
            _ => {}
        }
    }

    /// Returns the processor that gets an item that has arrived at processor `p`.
    fn receiver(&mut self, p: usize) -> usize {
        let System {
            scheme,
            processors,
            random,
            ..
        } = self;
        let length = |q: usize| processors[q].deque.len() + usize::from(processors[q].busy);
        match scheme {
            Scheme::Sending(target) if processors[p].busy => {
                let lengths: Vec<usize> = (0..processors.len()).map(length).collect();
                let chosen = target.choose(p, &lengths[..], random);
                let fits = |&q: &usize| {
                    !matches!(target, Target::Shortest { .. }) || lengths[q] < lengths[p]
                };
                chosen.filter(fits).unwrap_or(p)
            }
            Scheme::Dealing(dealers, queues) => dealers[p].deal(None, |q| queues[q].len(), random),
            _ => p,
        }
    }

    /// Takes the next item of a processor.
    fn take(&mut self, p: usize) -> Option<u64> {
        match &mut self.scheme {
            Scheme::Central(queue) => queue.pop_front(),
            Scheme::Dealing(_, queues) => queues[p].pop_front(),
            _ => self.processors[p].deque.pop(),
        }
    }

    /// Lets a free processor continue: it balances, takes an item, or tries to steal one.
    fn go_on(&mut self, p: usize, now: u64) {
        if self.balances(p) {
            self.processors[p].tries = true;
            self.attempts += 1;
            return self.schedule(now + self.arrivals.steal, p, Event::Attempt);
        }
        if self.processors[p].tries {
            return;
        }
        if let Some(arrived) = self.take(p) {
            self.note(now, -1);
            self.begin(p, arrived, now);
        }
    }

    /// Returns `true` if a processor makes an attempt now. A processor without items always does.
    fn balances(&mut self, p: usize) -> bool {
        let Scheme::Stealing(policy) = &self.scheme else {
            return false;
        };
        let one = &mut self.processors[p];
        let load = one.deque.len();
        if one.tries || self.arrivals.processors == 1 {
            return false;
        }
        let when = policy.when;
        load == 0
            || when.asks_the_busy() && when.should_balance(&mut one.since, load, &mut self.random)
    }

    /// Performs an attempt to steal or to balance.
    fn attempt(&mut self, p: usize, now: u64) {
        let count = self.arrivals.processors;
        self.processors[p].tries = false;
        if let (Scheme::Stealing(policy), Some(victim)) =
            (&self.scheme, other(p, count, &mut self.random))
        {
            let own = self.processors[p].deque.len();
            let amount = policy.amount;
            let stolen: Vec<u64> = self.processors[victim].deque.steal(amount, own).collect();
            self.moved += stolen.len() as u64;
            if !stolen.is_empty() {
                self.processors[p].deque.receive(stolen.into_iter());
            }
        }
        if self.processors[p].busy {
            return;
        }
        // It has asked its rule before this attempt, so it does not ask again before it takes an
        // item.
        match self.take(p) {
            Some(arrived) => {
                self.note(now, -1);
                self.begin(p, arrived, now);
            }
            None => self.go_on(p, now),
        }
    }

    fn report(&mut self, end: u64) -> ArrivalsReport {
        self.waits.sort_unstable();
        let waits = &self.waits;
        let quantile = |part: f64| {
            let place = (waits.len() as f64 * part).ceil() as usize;
            waits.get(place.saturating_sub(1)).copied().unwrap_or(0)
        };
        let sum: f64 = waits.iter().map(|&wait| wait as f64).sum();
        let mut backlog = [0.0; 4];
        for &(time, area) in &self.history {
            let quarter = (4 * time.saturating_sub(1) / end.max(1)).min(3) as usize;
            backlog[quarter] += area as f64 / (end as f64 / 4.0);
        }
        ArrivalsReport {
            strategy: self.arrivals.strategy.to_string(),
            processors: self.arrivals.processors,
            generators: self.arrivals.generators,
            load: self.arrivals.load,
            time: end,
            begun: waits.len() as u64,
            left: self.arrived - waits.len() as u64,
            mean_wait: sum / (waits.len() as f64).max(1.0),
            median: quantile(0.5),
            quantile_99: quantile(0.99),
            longest: quantile(1.0),
            backlog,
            attempts: self.attempts,
            moved: self.moved,
        }
    }
}
