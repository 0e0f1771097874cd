//! Recordings of a run: loads at regular times, and the timeline of each processor.

use serde::{Deserialize, Serialize};

use super::Setup;
use super::wheel::NEVER;

/// Summary of the loads of all processors at one time. The load of a processor is the number of its
/// ready nodes, including the one that it executes.
///
/// ```
/// use locksley_sim::dag::{Balanced, Strands};
/// use locksley_sim::{Load, Setup, Strategy, simulate};
///
/// let setup = Setup { sample: 5, ..Setup::new(4, Strategy::Greedy) };
/// let report = simulate(&mut Strands::new(Balanced::new(6, 3)), &setup)?;
/// let first: &Load = &report.loads[0];
/// assert_eq!((first.time, first.busy), (5, 4));
/// # Ok::<(), locksley_sim::SimError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// Tick of the sample.
    pub time: u64,
    /// Number of busy processors.
    pub busy: u64,
    /// Mean load.
    pub mean: f64,
    /// Median load.
    pub median: u64,
    /// 0.9 quantile of the loads.
    pub quantile_90: u64,
    /// 0.99 quantile of the loads.
    pub quantile_99: u64,
    /// Largest load.
    pub max: u64,
}

impl Load {
    /// Summarises `loads`, and sorts them.
    pub(crate) fn of(time: u64, busy: u64, loads: &mut [u64]) -> Load {
        loads.sort_unstable();
        let rank = |share: f64| {
            let rank = (loads.len() as f64 * share).ceil() as usize;
            loads.get(rank.max(1) - 1).copied().unwrap_or(0)
        };
        Load {
            time,
            busy,
            mean: loads.iter().sum::<u64>() as f64 / loads.len().max(1) as f64,
            median: rank(0.5),
            quantile_90: rank(0.9),
            quantile_99: rank(0.99),
            max: loads.last().copied().unwrap_or(0),
        }
    }
}

/// Way in which work was moved from one processor to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Move {
    /// It was stolen.
    Steal,
    /// It was taken through an offer or a letter.
    Donation,
    /// It was dealt or sent.
    Dealing,
    /// It was sent in answer to a lifeline request.
    Lifeline,
}

/// Event of a timeline.
///
/// ```
/// use locksley_sim::dag::{Balanced, Strands};
/// use locksley_sim::{TimelineEvent, Move, Setup, Strategy, simulate};
///
/// let setup = Setup { timeline: true, ..Setup::new(2, Strategy::LockFree) };
/// let report = simulate(&mut Strands::new(Balanced::new(5, 3)), &setup)?;
/// let stolen = report.timeline.iter().flatten().filter(|event| {
///     matches!(event, TimelineEvent::Moved { how: Move::Steal, .. })
/// });
/// assert_eq!(stolen.count() as u64, report.tally.stolen);
/// # Ok::<(), locksley_sim::SimError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "event")]
pub enum TimelineEvent {
    /// A processor executed nodes from one time to another.
    Busy {
        /// The processor.
        processor: u32,
        /// Start of the interval.
        from: u64,
        /// End of the interval.
        to: u64,
    },
    /// Work was moved from one processor to another.
    Moved {
        /// Way in which it was moved.
        how: Move,
        /// Processor that lost it.
        from: u32,
        /// Processor that got it.
        to: u32,
        /// Tick in which it left.
        left: u64,
        /// Tick in which it arrived.
        arrived: u64,
    },
}

/// Recorder of loads and of the timeline during a run.
#[derive(Debug)]
pub(crate) struct Sampler {
    every: u64,
    next: u64,
    pub(crate) loads: Vec<Load>,
    scratch: Vec<u64>,
    timeline: Option<Timeline>,
}

#[derive(Debug)]
struct Timeline {
    /// For each busy processor, start of its current interval.
    since: Vec<u64>,
    events: Vec<TimelineEvent>,
}

impl Sampler {
    pub(crate) fn new(setup: &Setup) -> Sampler {
        Sampler {
            every: setup.sample,
            next: if setup.sample == 0 {
                NEVER
            } else {
                setup.sample
            },
            loads: Vec::new(),
            scratch: Vec::new(),
            timeline: setup.timeline.then(|| Timeline {
                since: vec![NEVER; setup.processors],
                events: Vec::new(),
            }),
        }
    }

    /// Returns the time of the next sample.
    #[inline]
    pub(crate) fn next_sample(&self) -> u64 {
        self.next
    }

    /// Records a sample. `load` returns the load of a processor, and whether it is busy.
    pub(crate) fn sample(&mut self, count: usize, load: impl Fn(usize) -> (usize, bool)) {
        self.scratch.clear();
        let mut busy = 0;
        for p in 0..count {
            let (load, is_busy) = load(p);
            busy += u64::from(is_busy);
            self.scratch.push(load as u64);
        }
        self.loads
            .push(Load::of(self.next, busy, &mut self.scratch));
        self.next += self.every;
    }

    /// Records that a processor is busy from a time on.
    #[inline]
    pub(crate) fn busy(&mut self, p: usize, from: u64) {
        if let Some(timeline) = &mut self.timeline {
            timeline.since[p] = from;
        }
    }

    /// Records that a processor is busy at a time. It may have been busy before.
    #[inline]
    pub(crate) fn busy_still(&mut self, p: usize, now: u64) {
        let Some(timeline) = &mut self.timeline else {
            return;
        };
        if timeline.since[p] == NEVER {
            timeline.since[p] = now;
        }
    }

    /// Records that a processor is idle from a time on.
    #[inline]
    pub(crate) fn idle(&mut self, p: usize, to: u64) {
        if let Some(timeline) = &mut self.timeline {
            let from = std::mem::replace(&mut timeline.since[p], NEVER);
            if from != NEVER {
                timeline.events.push(TimelineEvent::Busy {
                    processor: p as u32,
                    from,
                    to,
                });
            }
        }
    }

    /// Records a move of work from one processor to another.
    #[inline]
    pub(crate) fn moved(&mut self, how: Move, from: usize, to: usize, left: u64, arrived: u64) {
        if let Some(timeline) = &mut self.timeline {
            timeline.events.push(TimelineEvent::Moved {
                how,
                from: from as u32,
                to: to as u32,
                left,
                arrived,
            });
        }
    }

    /// Returns the samples, and the timeline sorted by time.
    pub(crate) fn into_parts(self) -> (Vec<Load>, Option<Vec<TimelineEvent>>) {
        let events = self.timeline.map(|timeline| {
            let mut events = timeline.events;
            events.sort_by_key(|event| match *event {
                TimelineEvent::Busy {
                    processor, from, ..
                } => (from, 0, processor),
                TimelineEvent::Moved { left, to, .. } => (left, 1, to),
            });
            events
        });
        (self.loads, events)
    }
}
