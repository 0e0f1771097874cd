//! One trace of all ranks: the traces of their pools on one clock, with work that moved between
//! ranks as arrows.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use locksley_trace::{Arrow, Subject, Trace, TraceEvent};

use super::engine::Move;
use super::outcome::Report;

/// Adds the movements of work that the messaging thread handled to the trace of a rank's pool, and
/// shifts the trace to the clock of rank 0, which is `ahead`. Returns the trace, and the number of
/// that thread.
pub(super) fn of_rank(
    mut trace: Trace,
    report: &Report,
    moves: &mut [Move],
    ahead: i64,
) -> (Trace, u32) {
    let pid = report.rank as u32;
    let tid = messaging_thread(&trace);
    for end in moves.iter_mut() {
        let (since, until) = end.time;
        end.time = (
            since.saturating_add_signed(ahead),
            until.saturating_add_signed(ahead),
        );
    }
    let origin = trace.source.origin.unwrap_or_default();
    let origin = origin.saturating_add_signed(ahead / 1000);
    trace.source.origin = Some(origin);
    trace.replace_process(pid, format!("rank {} on {}", report.rank, report.host));
    trace.name_thread(pid, tid, "messages");
    for end in moves.iter() {
        let gave = end.ends.0 == report.rank;
        let (verb, word, other) = if gave {
            ("give", "to", end.ends.1)
        } else {
            ("take", "from", end.ends.0)
        };
        trace.events.push(TraceEvent::Slice {
            name: format!("{verb} {} {word} rank {other}", end.tasks).into(),
            cat: Cow::Borrowed("work"),
            ts: since(origin, end.time.0),
            dur: end.time.1.saturating_sub(end.time.0) as f64 / 1e3,
            pid,
            tid,
        });
    }
    (trace, tid)
}

/// Merges the traces of all ranks, with arrows between the two ends of each movement.
/// `messaging_threads` has the number of each rank's messaging thread.
pub(super) fn merge(
    traces: Vec<Trace>,
    messaging_threads: &BTreeMap<usize, u32>,
    moves: &[Move],
) -> Trace {
    let mut traces = traces.into_iter();
    let mut whole = traces.next().unwrap_or_default();
    for trace in traces {
        whole.merge(trace);
    }
    let origin = whole.source.origin.unwrap_or_default();
    let mut ends: HashMap<_, Vec<&Move>> = HashMap::new();
    for end in moves {
        ends.entry((end.ends, end.number)).or_default().push(end);
    }
    let mut pairs: Vec<_> = ends.into_iter().collect();
    pairs.sort_unstable_by_key(|&(key, _)| key);
    for ((ends, _), pair) in pairs {
        // One end may be missing: each rank keeps a limited number.
        let [one, other] = pair[..] else { continue };
        let (left, arrived) = (one.time.0.min(other.time.0), one.time.0.max(other.time.0));
        let how = if one.lifeline {
            Arrow::Lifeline
        } else {
            Arrow::Steal
        };
        let place = |rank: usize| Some((rank as u32, *messaging_threads.get(&rank)?));
        let (Some(from), Some(to)) = (place(ends.0), place(ends.1)) else {
            continue;
        };
        let (left, arrived) = (since(origin, left), since(origin, arrived));
        whole.arrow_between(how, (from, left), (to, arrived));
    }
    whole
}

/// Returns a number for the messaging thread: after those of the workers and spare threads.
fn messaging_thread(trace: &Trace) -> u32 {
    let threads = trace.events.iter().filter_map(|event| match event {
        TraceEvent::Name {
            name: Subject::Thread,
            tid,
            ..
        } => Some(*tid),
        _ => None,
    });
    threads.max().map_or(0, |last| last + 1)
}

/// Converts a time in nanoseconds to microseconds since an origin.
fn since(origin: u64, time: u64) -> f64 {
    (time as i64 - origin as i64 * 1000) as f64 / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_thread_that_talks_has_a_number_of_its_own() {
        let mut trace = Trace::new();
        trace.name_thread(4711, 0, "worker 0");
        trace.name_thread(4711, 1, "spare 1");
        assert_eq!(messaging_thread(&trace), 2);
        assert_eq!(messaging_thread(&Trace::new()), 0);
    }

    #[test]
    fn a_movement_from_nowhere_has_no_arrow() {
        let end = |ends| Move {
            ends,
            number: 0,
            lifeline: false,
            tasks: 1,
            time: (1, 2),
        };
        let moves = [end((0, 1)), end((0, 1)), end((0, 7)), end((0, 7))];
        let whole = merge(
            vec![Trace::new(), Trace::new()],
            &BTreeMap::from([(0, 1), (1, 3)]),
            &moves,
        );
        assert_eq!(whole.events.len(), 2);
        assert!(matches!(
            whole.events[1],
            TraceEvent::Arrived { pid: 1, tid: 3, .. }
        ));
    }
}
