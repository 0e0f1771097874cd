//! Turns traces into results: what each worker did when, and how many tasks moved between which
//! workers.

use std::collections::BTreeMap;

use locksley_report::{Arrow, ArrowKind, Slice, SliceKind, StealMap, Timeline, Track};
use locksley_trace::{Activity, Trace, TraceEvent};

use crate::render::units::time;

/// Largest numbers of slices and of arrows on a page.
const SLICES: usize = 4000;
const ARROWS: usize = 1000;

/// Name of the timeline's parameter that holds the pool's size. Tracks beyond it are spares.
pub(crate) const WORKERS: &str = "workers";

/// A microsecond, the unit of traces, in seconds.
const MICROSECOND: f64 = 1e-6;

/// Returns the timeline and the steal map of a trace, from its first slice on. The caller sets
/// program and strategy.
pub(crate) fn of(trace: &Trace, workers: usize) -> (Timeline, StealMap) {
    let mut nested: BTreeMap<usize, Vec<Slice>> =
        (0..workers).map(|worker| (worker, Vec::new())).collect();
    let start = start(trace);
    for event in &trace.events {
        if let TraceEvent::Slice {
            name, ts, dur, tid, ..
        } = event
        {
            nested.entry(*tid as usize).or_default().push(Slice {
                kind: kind(name),
                start: seconds(*ts, start),
                end: seconds(ts + dur, start),
                name: String::new(),
            });
        }
    }
    let tracks = nested.into_iter().map(|(worker, slices)| Track {
        worker,
        slices: flat(slices),
    });
    let mut timeline = Timeline::new("", "");
    timeline.tracks = tracks.collect();
    timeline.arrows = arrows(trace, start);
    timeline.dropped = trace.source.lost;
    let steals = map(&timeline);
    timeline.cap(SLICES, ARROWS);
    (timeline, steals)
}

fn seconds(ts: f64, start: f64) -> f64 {
    (ts - start).max(0.0) * MICROSECOND
}

/// Returns the arrows of which the trace has both ends.
fn arrows(trace: &Trace, start: f64) -> Vec<Arrow> {
    let (mut left, mut arrows) = (BTreeMap::new(), Vec::new());
    for event in &trace.events {
        match event {
            TraceEvent::Left { id, ts, tid, .. } => {
                left.insert(*id, (*tid as usize, seconds(*ts, start)));
            }
            TraceEvent::Arrived {
                id, ts, tid, name, ..
            } => {
                let Some(&(from, gone)) = left.get(id) else {
                    continue;
                };
                arrows.push(Arrow {
                    kind: way(name),
                    from,
                    to: *tid as usize,
                    left: gone,
                    arrived: seconds(*ts, start).max(gone),
                });
            }
            _ => {}
        }
    }
    arrows
}

/// Returns the time at which the first slice begins, or 0 without slices.
fn start(trace: &Trace) -> f64 {
    let times = trace.events.iter().filter_map(|event| match event {
        TraceEvent::Slice { ts, .. } => Some(*ts),
        _ => None,
    });
    let start = times.fold(f64::INFINITY, f64::min);
    if start.is_finite() { start } else { 0.0 }
}

fn kind(name: &str) -> SliceKind {
    match name {
        name if name == Activity::Work.name() => SliceKind::Task,
        name if name == Activity::Parked.name() => SliceKind::Parked,
        _ => SliceKind::Idle,
    }
}

fn way(name: &str) -> ArrowKind {
    match name {
        "donation" => ArrowKind::Donation,
        "dealing" => ArrowKind::Dealing,
        _ => ArrowKind::Steal,
    }
}

/// Flattens nested slices: at any time, only the innermost remains.
fn flat(mut slices: Vec<Slice>) -> Vec<Slice> {
    slices.sort_by(|a, b| a.start.total_cmp(&b.start).then(b.end.total_cmp(&a.end)));
    let (mut done, mut open): (Vec<Slice>, Vec<Slice>) = (Vec::new(), Vec::new());
    for slice in slices {
        close(&mut open, &mut done, slice.start);
        if let Some(outer) = open.last_mut() {
            push(&mut done, outer, slice.start);
        }
        open.push(slice);
    }
    close(&mut open, &mut done, f64::INFINITY);
    done
}

/// Closes the slices that end at `until` or before.
fn close(open: &mut Vec<Slice>, done: &mut Vec<Slice>, until: f64) {
    while let Some(mut inner) = open.pop_if(|slice| slice.end <= until) {
        let end = inner.end;
        push(done, &mut inner, end);
        if let Some(outer) = open.last_mut() {
            outer.start = outer.start.max(end);
        }
    }
}

/// Adds the part of a slice before `until` to `done`, if there is any, and removes it from `slice`.
fn push(done: &mut Vec<Slice>, slice: &mut Slice, until: f64) {
    let until = until.min(slice.end);
    if until > slice.start {
        done.push(Slice {
            end: until,
            ..slice.clone()
        });
        slice.start = until;
    }
}

/// Counts the tasks that moved from each worker to each other one.
fn map(timeline: &Timeline) -> StealMap {
    let arrows = timeline.arrows.iter();
    let size = arrows
        .map(|arrow| arrow.from.max(arrow.to) + 1)
        .max()
        .unwrap_or(0)
        .max(timeline.tracks.len());
    let mut counts = vec![vec![0; size]; size];
    for arrow in &timeline.arrows {
        counts[arrow.to][arrow.from] += 1;
    }
    StealMap::new("", "", counts)
}

/// Returns a line for each worker: its time at work, looking for work, and asleep.
pub(crate) fn busy(timeline: &Timeline) -> String {
    let size = timeline.parameters.get(WORKERS);
    let size = size
        .and_then(|size| size.parse().ok())
        .unwrap_or(usize::MAX);
    let mut text = String::new();
    for track in &timeline.tracks {
        let spent = |kind: SliceKind| {
            let slices = track.slices.iter().filter(|slice| slice.kind == kind);
            time(slices.fold(0.0, |sum, slice| sum + slice.end - slice.start))
        };
        let name = if track.worker < size {
            "worker"
        } else {
            "spare"
        };
        text += &format!(
            "  {name} {}: {} at work, {} waiting or looking for work, {} asleep\n",
            track.worker,
            spent(SliceKind::Task),
            spent(SliceKind::Idle),
            spent(SliceKind::Parked)
        );
    }
    if timeline.tracks.iter().any(|track| track.worker >= size) {
        text += "  a spare takes the place of a worker that is blocked\n";
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_slice_counts() {
        let mut trace = Trace::new();
        trace.slice(Activity::Work, (1, 0), 10.0, 100.0);
        trace.slice(Activity::Wait, (1, 0), 30.0, 40.0);
        trace.slice(Activity::Parked, (1, 0), 40.0, 10.0);
        trace.slice(Activity::Work, (1, 1), 20.0, 10.0);
        trace.arrow(locksley_trace::Arrow::Steal, 1, (0, 18.0), (1, 20.0));
        let (timeline, steals) = of(&trace, 2);
        let shown: Vec<(SliceKind, f64, f64)> = timeline.tracks[0]
            .slices
            .iter()
            .map(|slice| {
                (
                    slice.kind,
                    (slice.start * 1e6).round(),
                    (slice.end * 1e6).round(),
                )
            })
            .collect();
        assert_eq!(
            shown,
            [
                (SliceKind::Task, 0.0, 20.0),
                (SliceKind::Idle, 20.0, 30.0),
                (SliceKind::Parked, 30.0, 40.0),
                (SliceKind::Idle, 40.0, 60.0),
                (SliceKind::Task, 60.0, 100.0),
            ]
        );
        assert_eq!(
            steals.counts,
            [[0, 0], [1, 0]],
            "worker 1 took one from worker 0"
        );
        assert!(busy(&timeline).starts_with("  worker 0: 60.0 µs at work"));
        let mut timeline = timeline;
        timeline.parameters.insert(WORKERS.into(), "1".into());
        assert!(
            busy(&timeline).contains("\n  spare 1: "),
            "{}",
            busy(&timeline)
        );
    }
}
