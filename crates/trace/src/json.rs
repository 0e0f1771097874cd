//! Writes a trace in the JSON object format of Chrome's trace events.

use std::fmt;
use std::io::{self, Write};

use crate::{Counters, Subject, Trace, TraceEvent};

/// Writes a number.
pub(crate) type Show = fn(f64, &mut fmt::Formatter<'_>) -> fmt::Result;

/// Writes a trace, event by event.
pub(crate) fn write(trace: &Trace, show: Show, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(b"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[")?;
    for (number, event) in trace.events.iter().enumerate() {
        out.write_all(if number == 0 { b"\n" } else { b",\n" })?;
        write_event(event, show, out)?;
    }
    write!(out, "],\"otherData\":{{\"lost\":{}", trace.source.lost)?;
    if let Some(origin) = trace.source.origin {
        write!(out, ",\"origin\":{origin}")?;
    }
    out.write_all(b"}}")
}

/// The fields of an event, in the order in which they are written.
#[derive(Default)]
struct Line<'a> {
    /// The `ph` field, as JSON, with further fields that events of its kind have.
    phase: &'static str,
    name: &'a str,
    category: Option<&'a str>,
    id: Option<u64>,
    time: Option<f64>,
    duration: Option<f64>,
    pid: u32,
    tid: Option<u32>,
    label: Option<&'a str>,
    counters: Option<Counters>,
}

impl<'a> Line<'a> {
    fn of(event: &'a TraceEvent) -> Line<'a> {
        let mut line = Line {
            pid: event.pid(),
            ..Line::default()
        };
        match event {
            TraceEvent::Name {
                name, tid, args, ..
            } => {
                line.phase = "\"M\"";
                line.name = match name {
                    Subject::Process => "process_name",
                    Subject::Thread => "thread_name",
                };
                (line.tid, line.label) = (Some(*tid), Some(args.name.as_ref()));
            }
            TraceEvent::Counter { name, ts, args, .. } => {
                line.phase = "\"C\"";
                (line.name, line.time, line.counters) = (name, Some(*ts), Some(*args));
            }
            TraceEvent::Slice { dur, .. } => {
                (line.phase, line.duration) = ("\"X\"", Some(*dur));
            }
            TraceEvent::Instant { .. } => line.phase = "\"i\",\"s\":\"t\"",
            TraceEvent::Left { id, .. } => (line.phase, line.id) = ("\"s\"", Some(*id)),
            // `"bp":"e"` binds the arrow's end to the enclosing slice, not to the next one.
            TraceEvent::Arrived { id, .. } => {
                (line.phase, line.id) = ("\"f\",\"bp\":\"e\"", Some(*id));
            }
        }
        line.place(event);
        line
    }

    /// Fills in the fields that all events on a thread have.
    fn place(&mut self, event: &'a TraceEvent) {
        let (TraceEvent::Slice {
            name, cat, ts, tid, ..
        }
        | TraceEvent::Instant {
            name, cat, ts, tid, ..
        }
        | TraceEvent::Left {
            name, cat, ts, tid, ..
        }
        | TraceEvent::Arrived {
            name, cat, ts, tid, ..
        }) = event
        else {
            return;
        };
        (self.name, self.category) = (name, Some(cat.as_ref()));
        (self.time, self.tid) = (Some(*ts), Some(*tid));
    }
}

fn write_event(event: &TraceEvent, show: Show, out: &mut dyn Write) -> io::Result<()> {
    let line = Line::of(event);
    let number = |value| Number(value, show);
    write!(out, "{{\"ph\":{},\"name\":{}", line.phase, Text(line.name))?;
    if let Some(category) = line.category {
        write!(out, ",\"cat\":{}", Text(category))?;
    }
    if let Some(id) = line.id {
        write!(out, ",\"id\":{id}")?;
    }
    if let Some(time) = line.time {
        write!(out, ",\"ts\":{}", number(time))?;
    }
    if let Some(duration) = line.duration {
        write!(out, ",\"dur\":{}", number(duration))?;
    }
    write!(out, ",\"pid\":{}", line.pid)?;
    if let Some(tid) = line.tid {
        write!(out, ",\"tid\":{tid}")?;
    }
    if let Some(label) = line.label {
        write!(out, ",\"args\":{{\"name\":{}}}", Text(label))?;
    }
    if let Some(Counters { busy, mean, max }) = line.counters {
        let [busy, mean, max] = [busy, mean, max].map(number);
        write!(
            out,
            ",\"args\":{{\"busy\":{busy},\"mean\":{mean},\"max\":{max}}}"
        )?;
    }
    out.write_all(b"}")
}

/// A number in JSON. A number that JSON cannot represent is written as 0.
struct Number(f64, Show);

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (self.1)(if self.0.is_finite() { self.0 } else { 0.0 }, f)
    }
}

/// Writes a number such that reading it gives the same value.
pub(crate) fn exact(number: f64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    // Written without an exponent it would have up to 309 digits.
    if number.abs() >= 1e17 {
        return write!(f, "{number:e}");
    }
    write!(f, "{number}")
}

/// Writes a number to three decimal places, without the standard library's code for floats.
pub(crate) fn rounded(number: f64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let thousandths = (number.abs() * 1000.0).round() as u64;
    let (whole, rest) = (thousandths / 1000, thousandths % 1000);
    let sign = if number < 0.0 && thousandths > 0 {
        "-"
    } else {
        ""
    };
    write!(f, "{sign}{whole}")?;
    match (rest, rest % 10, rest % 100) {
        (0, ..) => Ok(()),
        (_, _, 0) => write!(f, ".{}", rest / 100),
        (_, 0, _) => write!(f, ".{:02}", rest / 10),
        _ => write!(f, ".{rest:03}"),
    }
}

/// A string in JSON.
struct Text<'a>(&'a str);

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write;

        f.write_char('"')?;
        for character in self.0.chars() {
            match character {
                '"' | '\\' => write!(f, "\\{character}")?,
                control if control < ' ' => write!(f, "\\u{:04x}", u32::from(control))?,
                other => f.write_char(other)?,
            }
        }
        f.write_char('"')
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Activity, Arrow};

    /// Returns a trace with an event of each kind, and with names and numbers that are hard to
    /// write.
    fn everything() -> Trace {
        let mut trace = Trace::new();
        trace.name_process(7, "quote \" backslash \\ newline \n tab \t bell \u{7} ü 🏹");
        trace.name_thread(7, 0, "");
        for (tid, activity) in Activity::ALL.into_iter().enumerate() {
            trace.slice(activity, (7, tid as u32), 0.1 + 0.2, 1e-9);
        }
        for arrow in Arrow::ALL {
            trace.arrow(arrow, 7, (0, 1e15 + 0.5), (1, f64::MAX));
        }
        trace.instant("lost", "trace", (7, 1), 0.001);
        trace.load(7, 3.0, Counters::default());
        trace.source.lost = u64::MAX;
        trace.source.origin = Some(1);
        trace
    }

    #[test]
    fn what_is_written_is_json() {
        let value: serde_json::Value = serde_json::from_str(&everything().to_json()).unwrap();
        let events = value["traceEvents"].as_array().unwrap();
        assert_eq!(events.len(), everything().events.len());
        let name = events[0]["args"]["name"].as_str().unwrap();
        assert!(name.contains("\" backslash \\ newline \n tab \t bell \u{7} ü 🏹"));
        assert_eq!(value["otherData"]["lost"], u64::MAX);
        assert!(events.iter().all(|event| event["pid"] == 7));
    }

    #[test]
    fn numbers_keep_their_values() {
        let text = |number: f64| Number(number, exact).to_string();
        assert_eq!(
            [0.0, 1.5, -2.0, 1e16].map(text),
            ["0", "1.5", "-2", "10000000000000000"]
        );
        assert_eq!(
            [1e17, -1e17, 2.5e300].map(text),
            ["1e17", "-1e17", "2.5e300"]
        );
        assert_eq!([f64::NAN, f64::NEG_INFINITY].map(text), ["0", "0"]);
    }

    #[test]
    fn rounded_numbers_have_three_places() {
        let text = |number: f64| Number(number, rounded).to_string();
        assert_eq!(
            [0.0, 1.5, -2.0, 1e16, 7.25, 0.001, 12.034, -0.0001].map(text),
            [
                "0",
                "1.5",
                "-2",
                "10000000000000000",
                "7.25",
                "0.001",
                "12.034",
                "0"
            ]
        );
        assert_eq!([1.9996, -1.0004, 0.1 + 0.2].map(text), ["2", "-1", "0.3"]);
        assert_eq!([f64::NAN, f64::NEG_INFINITY].map(text), ["0", "0"]);
    }

    #[test]
    fn events_say_what_they_are() {
        let json = everything().to_json();
        for part in [
            r#""name":"work","cat":"work","ts":0.30000000000000004,"dur":0.000000001,"pid":7,"tid":0"#,
            r#""name":"parked","cat":"idle""#,
            r#""args":{"busy":0,"mean":0,"max":0}"#,
        ] {
            assert!(json.contains(part), "{part} in {json}");
        }
        for (phase, count) in [("M", 2), ("X", 4), ("s", 4), ("f", 4), ("i", 1), ("C", 1)] {
            let phase = format!("\"ph\":\"{phase}\"");
            assert_eq!(json.matches(&phase).count(), count, "{phase}");
        }
    }

    #[test]
    fn what_json_cannot_say_is_zero() {
        let mut trace = Trace::new();
        trace.slice(Activity::Work, (0, 0), f64::NAN, f64::INFINITY);
        assert!(trace.to_json().contains("\"ts\":0,\"dur\":0,"));
    }

    #[cfg(feature = "read")]
    #[test]
    fn what_is_written_is_read_back() {
        let trace = everything();
        assert_eq!(Trace::from_json(&trace.to_json()).unwrap(), trace);
    }

    #[test]
    fn merged_traces_share_no_process_and_no_arrow() {
        let (mut one, two) = (everything(), everything());
        one.merge(two.clone());
        one.merge(two);
        let mut pids: Vec<u32> = one.events.iter().map(TraceEvent::pid).collect();
        pids.dedup();
        assert_eq!(pids, [7, 8, 9]);
        let mut ids: Vec<u64> = one.events.iter().filter_map(TraceEvent::id).collect();
        ids.sort_unstable();
        assert!(ids.chunks(2).all(|ends| ends[0] == ends[1]));
        ids.dedup();
        assert_eq!(ids.len(), 3 * Arrow::ALL.len());
    }
}
