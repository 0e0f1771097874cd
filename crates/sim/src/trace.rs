//! A simulation's timeline as a trace, for [Perfetto](https://ui.perfetto.dev).

use locksley_trace::{Activity, Arrow, Counters, Trace};

use crate::engine::{Move, TimelineEvent};
use crate::report::Report;

/// Process id in the trace; the simulated processors are its threads.
const PROCESS: u32 = 0;

impl Report {
    /// Returns the timeline of the simulation as a trace, in which a tick is a microsecond. The
    /// trace is empty unless [`Setup::timeline`](crate::Setup::timeline) is set.
    ///
    /// Processors that neither executed a node nor took part in a move are left out.
    ///
    /// ```
    /// use locksley_sim::dag::{Fib, Strands};
    /// use locksley_sim::{Setup, Strategy, simulate};
    ///
    /// let setup = Setup { timeline: true, ..Setup::new(4, Strategy::LockFree) };
    /// let report = simulate(&mut Strands::new(Fib::new(10)), &setup)?;
    /// let json = report.trace().to_json();
    /// assert!(json.contains("processor 3"));
    /// # Ok::<(), locksley_sim::SimError>(())
    /// ```
    pub fn trace(&self) -> Trace {
        let mut trace = Trace::new();
        let Some(events) = &self.timeline else {
            return trace;
        };
        trace.name_process(
            PROCESS,
            format!(
                "simulation of {}, {} processors",
                self.strategy, self.processors
            ),
        );
        for tid in threads(events) {
            trace.name_thread(PROCESS, tid, format!("processor {tid}"));
        }
        for event in events {
            add_event(event, &mut trace);
        }
        add_idle(events, self.makespan, &mut trace);
        for load in &self.loads {
            let counters = Counters {
                busy: load.busy as f64,
                mean: load.mean,
                max: load.max as f64,
            };
            trace.load(PROCESS, load.time as f64, counters);
        }
        trace
    }
}

/// Returns the numbers of all processors that occur in the timeline, sorted.
fn threads(events: &[TimelineEvent]) -> Vec<u32> {
    let both = events.iter().flat_map(|event| match *event {
        TimelineEvent::Busy { processor, .. } => [processor, processor],
        TimelineEvent::Moved { from, to, .. } => [from, to],
    });
    let mut threads: Vec<u32> = both.collect();
    threads.sort_unstable();
    threads.dedup();
    threads
}

fn add_event(event: &TimelineEvent, trace: &mut Trace) {
    match *event {
        TimelineEvent::Busy {
            processor,
            from,
            to,
        } => {
            let (since, length) = (from as f64, (to - from) as f64);
            trace.slice(Activity::Work, (PROCESS, processor), since, length);
        }
        TimelineEvent::Moved {
            how,
            from,
            to,
            left,
            arrived,
        } => {
            let how = match how {
                Move::Steal => Arrow::Steal,
                Move::Donation => Arrow::Donation,
                Move::Dealing => Arrow::Dealing,
                Move::Lifeline => Arrow::Lifeline,
            };
            trace.arrow(how, PROCESS, (from, left as f64), (to, arrived as f64));
        }
    }
}

/// Adds an idle slice for each gap between the busy times of a processor.
fn add_idle(events: &[TimelineEvent], makespan: u64, trace: &mut Trace) {
    let busy = |event: &TimelineEvent| match *event {
        TimelineEvent::Busy {
            processor,
            from,
            to,
        } => Some((processor, from, to)),
        TimelineEvent::Moved { .. } => None,
    };
    let mut busy: Vec<_> = events.iter().filter_map(busy).collect();
    busy.sort_unstable();
    for processor in busy.chunk_by(|one, next| one.0 == next.0) {
        let thread = (PROCESS, processor[0].0);
        let mut since = 0;
        for &(_, from, to) in processor.iter().chain(&[(thread.1, makespan, makespan)]) {
            if from > since {
                trace.slice(Activity::Idle, thread, since as f64, (from - since) as f64);
            }
            since = since.max(to);
        }
    }
}

#[cfg(test)]
mod tests {
    use locksley_trace::TraceEvent;

    use super::*;
    use crate::dag::{Generator, Strands};
    use crate::{Setup, simulate};

    fn report(timeline: bool) -> Report {
        let setup = Setup {
            timeline,
            sample: 50,
            ..Setup::new(4, "sharing:greedy".parse().unwrap())
        };
        simulate(&mut Strands::new(Generator::new(50, 20, 3)), &setup).unwrap()
    }

    #[test]
    fn every_arrow_has_two_ends_and_every_thread_a_name() {
        let report = report(true);
        let (mut left, mut arrived, mut names, mut counters) = (Vec::new(), Vec::new(), 0, 0);
        for event in &report.trace().events {
            match event {
                TraceEvent::Left { id, ts, .. } => left.push((*id, *ts)),
                TraceEvent::Arrived { id, ts, .. } => arrived.push((*id, *ts)),
                TraceEvent::Name { .. } => names += 1,
                TraceEvent::Counter { .. } => counters += 1,
                TraceEvent::Slice { dur, .. } => assert!(*dur >= 0.0),
                TraceEvent::Instant { .. } => unreachable!("nothing is told that way"),
            }
        }
        assert_eq!((names, counters), (5, report.loads.len()));
        assert!(!left.is_empty());
        let mut pairs = left.iter().zip(&arrived);
        assert!(pairs.all(|(left, arrived)| left.0 == arrived.0 && left.1 <= arrived.1));
        assert_eq!(left.len(), arrived.len());
    }

    #[test]
    fn a_processor_is_always_busy_or_idle() {
        let report = report(true);
        let mut slices: Vec<(u32, f64, f64)> = Vec::new();
        for event in report.trace().events {
            if let TraceEvent::Slice { tid, ts, dur, .. } = event {
                slices.push((tid, ts, ts + dur));
            }
        }
        slices.sort_by(|one, other| one.partial_cmp(other).unwrap());
        for processor in slices.chunk_by(|one, next| one.0 == next.0) {
            assert_eq!(processor[0].1, 0.0);
            assert!(processor.windows(2).all(|pair| pair[0].2 == pair[1].1));
            assert_eq!(processor[processor.len() - 1].2, report.makespan as f64);
        }
    }

    #[test]
    fn without_a_timeline_there_is_nothing_to_tell() {
        assert!(report(false).trace().is_empty());
    }
}
