//! Tests of building and merging timelines.

use super::*;

/// Returns a trace of process 7 with an event of each kind, the first at time 1.
fn every_kind() -> Trace {
    let mut trace = Trace::new();
    trace.name_process(7, "pool");
    trace.name_thread(7, 1, "worker 1");
    trace.slice(Activity::Work, (7, 1), 1.0, 10.0);
    trace.instant("lost", "trace", (7, 1), 2.0);
    trace.arrow(Arrow::Steal, 7, (0, 3.0), (1, 4.0));
    trace.load(7, 5.0, Counters::default());
    trace
}

fn time(event: &TraceEvent) -> Option<f64> {
    match event {
        TraceEvent::Name { .. } => None,
        TraceEvent::Slice { ts, .. }
        | TraceEvent::Instant { ts, .. }
        | TraceEvent::Left { ts, .. }
        | TraceEvent::Arrived { ts, .. }
        | TraceEvent::Counter { ts, .. } => Some(*ts),
    }
}

#[test]
fn a_trace_with_an_event_is_not_empty() {
    assert!(Trace::new().is_empty() && !every_kind().is_empty());
}

#[test]
fn arrows_have_names() {
    let names = Arrow::ALL.map(Arrow::name);
    assert_eq!(names, ["steal", "donation", "dealing", "lifeline"]);
}

#[test]
fn times_are_rounded_to_nanoseconds_and_text_is_escaped() {
    let mut trace = Trace::new();
    trace.name_process(7, "a \"b\" \\ \u{1f}\n c");
    for (start, length) in [(1.5, 1.0 / 3.0), (-0.0004, 2.04), (-1.25, 3.0), (-0.0, 0.1)] {
        trace.slice(Activity::Work, (7, 0), start, length);
    }
    let json = trace.to_rounded_json();
    let expected = [
        r#""a \"b\" \\ \u001f\u000a c""#,
        r#""ts":1.5,"dur":0.333,"#,
        r#""ts":0,"dur":2.04,"#,
        r#""ts":-1.25,"dur":3,"#,
        r#""ts":0,"dur":0.1,"#,
    ];
    for part in expected {
        assert!(json.contains(part), "{part} in {json}");
    }
}

#[test]
fn every_kind_of_event_is_shifted() {
    let mut one = Trace::new();
    one.arrow(Arrow::Steal, 1, (0, 0.0), (1, 0.0));
    one.source = Source {
        lost: 3,
        origin: Some(100),
    };
    let mut later = every_kind();
    later.source = Source {
        lost: 4,
        origin: Some(1100),
    };
    let first = one.events.len();
    one.append(later.clone());
    let times: Vec<f64> = one.events[first..].iter().filter_map(time).collect();
    assert_eq!(times, [1001.0, 1002.0, 1003.0, 1004.0, 1005.0]);
    assert_eq!(one.source.lost, 7);
    // The arrow has number 4 in its own trace. Here 0 is the highest number in use, so it is
    // shifted by 1.
    let ids: Vec<u64> = one.events.iter().filter_map(TraceEvent::id).collect();
    assert_eq!(ids, [0, 0, 5, 5]);
    let TraceEvent::Slice { dur, .. } = one.events[first + 2] else {
        panic!("the slice is the third event");
    };
    assert_eq!(dur, 10.0, "a shift changes no duration");
    // An earlier trace moves the other way; without an origin, nothing moves.
    let mut other = Trace::new();
    other.source.origin = Some(2100);
    other.append(later.clone());
    assert_eq!(other.events.iter().find_map(time), Some(-999.0));
    let mut unknown = Trace::new();
    unknown.append(later);
    assert_eq!(unknown.events.iter().find_map(time), Some(1.0));
}

#[test]
fn becoming_a_process_renames_the_process_alone() {
    let mut trace = every_kind();
    trace.replace_process(3, "rank 3");
    assert!(trace.events.iter().all(|event| event.pid() == 3));
    let names = |trace: &Trace| -> Vec<(Subject, String)> {
        let name = |event: &TraceEvent| match event {
            TraceEvent::Name { name, args, .. } => Some((*name, args.name.to_string())),
            _ => None,
        };
        trace.events.iter().filter_map(name).collect()
    };
    let process = (Subject::Process, "rank 3".to_owned());
    let thread = (Subject::Thread, "worker 1".to_owned());
    assert_eq!(names(&trace), [process.clone(), thread.clone()]);
    // A process without a name gets one.
    let mut nameless = every_kind();
    nameless.events.remove(0);
    nameless.replace_process(3, "rank 3");
    assert_eq!(names(&nameless), [thread, process]);
    assert_eq!(nameless.events.last().map(TraceEvent::pid), Some(3));
}

#[test]
fn merged_processes_keep_apart() {
    let mut one = every_kind();
    one.slice(Activity::Idle, (8, 0), 0.0, 1.0);
    one.merge(every_kind());
    let pids: Vec<u32> = one.events.iter().map(TraceEvent::pid).collect();
    assert_eq!(pids, [[7; 7].as_slice(), &[8], &[9; 7]].concat());
}
