//! How a trace is written: the JSON object format of Chrome's trace events.

use std::io::{self, Write};

use crate::{Counters, Subject, Trace, TraceEvent};

/// Writes a trace, event by event.
pub(crate) fn write(trace: &Trace, out: &mut impl Write) -> io::Result<()> {
    out.write_all(b"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[")?;
    for (number, event) in trace.events.iter().enumerate() {
        out.write_all(if number == 0 { b"\n" } else { b",\n" })?;
        write_event(event, out)?;
    }
    write!(out, "],\"otherData\":{{\"lost\":{}", trace.source.lost)?;
    if let Some(origin) = trace.source.origin {
        write!(out, ",\"origin\":{origin}")?;
    }
    out.write_all(b"}}")
}

fn write_event(event: &TraceEvent, out: &mut impl Write) -> io::Result<()> {
    match event {
        TraceEvent::Name {
            name,
            pid,
            tid,
            args,
        } => {
            let name = match name {
                Subject::Process => "process_name",
                Subject::Thread => "thread_name",
            };
            write!(out, "{{\"ph\":\"M\",\"name\":\"{name}\",\"pid\":{pid}")?;
            write!(
                out,
                ",\"tid\":{tid},\"args\":{{\"name\":{}}}}}",
                Text(&args.name)
            )
        }
        TraceEvent::Slice {
            name,
            cat,
            ts,
            dur,
            pid,
            tid,
        } => {
            write!(
                out,
                "{{\"ph\":\"X\",\"name\":{},\"cat\":{}",
                Text(name),
                Text(cat)
            )?;
            write!(out, ",\"ts\":{},\"dur\":{},", Number(*ts), Number(*dur))?;
            write!(out, "\"pid\":{pid},\"tid\":{tid}}}")
        }
        TraceEvent::Instant {
            name,
            cat,
            ts,
            pid,
            tid,
        } => {
            write!(
                out,
                "{{\"ph\":\"i\",\"s\":\"t\",\"name\":{},\"cat\":{}",
                Text(name),
                Text(cat)
            )?;
            write!(out, ",\"ts\":{},\"pid\":{pid},\"tid\":{tid}}}", Number(*ts))
        }
        TraceEvent::Left {
            name,
            cat,
            id,
            ts,
            pid,
            tid,
        } => {
            write!(
                out,
                "{{\"ph\":\"s\",\"name\":{},\"cat\":{}",
                Text(name),
                Text(cat)
            )?;
            write!(
                out,
                ",\"id\":{id},\"ts\":{},\"pid\":{pid},\"tid\":{tid}}}",
                Number(*ts)
            )
        }
        TraceEvent::Arrived {
            name,
            cat,
            id,
            ts,
            pid,
            tid,
        } => {
            // At the slice around it, not at the next one.
            write!(
                out,
                "{{\"ph\":\"f\",\"bp\":\"e\",\"name\":{},\"cat\":{}",
                Text(name),
                Text(cat)
            )?;
            write!(
                out,
                ",\"id\":{id},\"ts\":{},\"pid\":{pid},\"tid\":{tid}}}",
                Number(*ts)
            )
        }
        TraceEvent::Counter {
            name,
            ts,
            pid,
            args,
        } => {
            write!(
                out,
                "{{\"ph\":\"C\",\"name\":{},\"ts\":{}",
                Text(name),
                Number(*ts)
            )?;
            let Counters { busy, mean, max } = *args;
            let [busy, mean, max] = [busy, mean, max].map(Number);
            write!(out, ",\"pid\":{pid},\"args\":")?;
            write!(out, "{{\"busy\":{busy},\"mean\":{mean},\"max\":{max}}}}}")
        }
    }
}

/// A number as JSON has it. What JSON cannot say is 0.
struct Number(f64);

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            number if !number.is_finite() => write!(f, "0"),
            // Written out it would have up to 309 digits.
            number if number.abs() >= 1e17 => write!(f, "{number:e}"),
            number => write!(f, "{number}"),
        }
    }
}

/// A string as JSON has it.
struct Text<'a>(&'a str);

impl std::fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        use std::fmt::Write;

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

    /// One of each kind, with what is hard to write.
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
