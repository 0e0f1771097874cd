//! What the workers noted, drawn.
//!
//! Each worker's entries are read in their order, with a stack of the activities under way. A
//! reading goes on where the last one ended; an activity that is still under way is drawn up to
//! now, and the rest of it next time.
//!
//! **Where entries were lost**, everything that was under way ends at the last entry before. What
//! is found to be under way after it begins at the first entry after it; what it is, its end will
//! tell.
//!
//! **Arrows** lead from the victim, at the time when the thief had the job, to where the thief
//! begins to work on it; or to that same time, if it does something else first.
//!
//! **Loads** are what workers saw when they noted something: their own, and that of the worker that
//! they got a job from. At most [`BINS`] values are shown, each for the time up to the next.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use locksley_trace::{Activity, Arrow, Counters, Trace};

use super::ring::{Run, Words};
use super::{Entry, Tracer, What};
use crate::machine::clock::{Instant, wall_clock};
use crate::scheduler::registry::Registry;
use crate::sync::{Mutex, lock};

/// How many values of the load a trace shows at most.
const BINS: u64 = 500;

/// What a pool needs to trace its workers.
pub(crate) struct Tracing {
    capacity: usize,
    start: Instant,
    /// When that was, in microseconds since 1970.
    origin: Option<u64>,
    last: Mutex<Last>,
}

/// How far the last reading got.
#[derive(Default)]
struct Last {
    readings: Vec<Reading>,
    time: u64,
}

/// How far the last reading of one worker got.
#[derive(Default)]
struct Reading {
    /// The number of the next entry.
    next: u64,
    /// What is under way, the outermost first.
    open: Vec<Open>,
    /// The time of the last entry.
    seen: u64,
    /// The load that was seen last.
    load: u16,
}

/// An activity that is under way.
#[derive(Clone, Copy)]
struct Open {
    /// Not known if its beginning was lost.
    activity: Option<Activity>,
    since: u64,
}

/// What was read of one worker.
#[derive(Default)]
struct Sheet {
    slices: Vec<(u64, Reverse<u64>, Activity)>,
    arrows: Vec<Flight>,
    /// When it worked.
    busy: Vec<(u64, u64)>,
    /// Whose load was seen when.
    loads: Vec<(u64, usize, u16)>,
    lost: u64,
    /// Set if the last job that came has not begun.
    flying: bool,
    /// From when on there is something again.
    gap: Option<u64>,
}

/// A job on its way to the worker.
#[derive(Clone, Copy)]
struct Flight {
    how: Arrow,
    from: usize,
    left: u64,
    arrived: u64,
}

impl Tracing {
    /// Traces with so many entries for each worker.
    pub(crate) fn new(capacity: usize) -> Tracing {
        Tracing {
            capacity,
            start: Instant::now(),
            origin: wall_clock(),
            last: Mutex::new(Last::default()),
        }
    }

    /// A tracer for a worker.
    pub(crate) fn tracer(&self) -> Tracer {
        Tracer::new(self.capacity, self.start)
    }

    /// What the workers have noted since the last call.
    pub(crate) fn take(&self, registry: &Registry) -> Trace {
        let mut last = lock(&self.last);
        let workers = registry.workers();
        if last.readings.len() < workers {
            last.readings.resize_with(workers, Reading::default);
        }
        let now = self.start.elapsed().as_nanos() as u64;
        let rings = (0..workers).filter_map(|index| registry.worker(index).tracer.as_ref());
        let readings = last.readings.iter();
        let runs: Vec<Run> = rings
            .zip(readings)
            .map(|(tracer, reading)| tracer.ring.read(reading.next))
            .collect();
        let since = std::mem::replace(&mut last.time, now);
        let mut loads: Vec<u16> = last.readings.iter().map(|reading| reading.load).collect();
        let readings = last.readings.iter_mut().zip(runs).enumerate();
        let sheets: Vec<Sheet> = readings
            .map(|(index, (reading, run))| reading.go_on(index, run, now))
            .collect();
        let mut trace = Trace::new();
        trace.source.origin = self.origin;
        draw(registry, &sheets, &mut trace);
        draw_loads(&sheets, &mut loads, (since, now), &mut trace);
        for (reading, load) in last.readings.iter_mut().zip(loads) {
            reading.load = load;
        }
        trace
    }
}

impl Reading {
    /// Reads on, up to now.
    fn go_on(&mut self, index: usize, run: Run, now: u64) -> Sheet {
        let mut sheet = Sheet {
            lost: run.first - self.next,
            ..Sheet::default()
        };
        self.next = run.next();
        if sheet.lost > 0 {
            self.close_all(self.seen, &mut sheet);
            sheet.gap = run.entries.first().map(|&[time, _]| time.max(self.seen));
        }
        for [time, word] in run.entries {
            // A worker reads the clock before it writes. What it wrote after the last reading may
            // be older than what was drawn up to then.
            self.read(index, [time.max(self.seen), word], &mut sheet);
        }
        let now = now.max(self.seen);
        self.pass(now, &mut sheet);
        for open in &mut self.open {
            if let Some(activity) = open.activity {
                sheet.draw(activity, open.since, now);
            }
            open.since = now;
        }
        sheet
    }

    /// Notes the time since the last entry, as busy if the worker had a job.
    fn pass(&mut self, time: u64, sheet: &mut Sheet) {
        let since = self.seen.max(sheet.gap.unwrap_or(0));
        if self.is_working() && time > since {
            sheet.busy.push((since, time));
        }
        self.seen = time;
    }

    fn is_working(&self) -> bool {
        let innermost = self.open.last();
        innermost.is_some_and(|open| open.activity == Some(Activity::Work))
    }

    /// Everything that was under way ended at some time after this.
    fn close_all(&mut self, time: u64, sheet: &mut Sheet) {
        for open in self.open.drain(..) {
            if let Some(activity) = open.activity {
                sheet.draw(activity, open.since, time);
            }
        }
    }

    fn read(&mut self, index: usize, [time, word]: Words, sheet: &mut Sheet) {
        self.pass(time, sheet);
        let Entry { what, depth, load } = Entry::from_word(word);
        let unknown = Open {
            activity: None,
            since: sheet.gap.unwrap_or(time),
        };
        match what {
            What::Begin(activity) => {
                self.open.resize(depth.into(), unknown);
                self.open.push(Open {
                    activity: Some(activity),
                    since: time,
                });
                if activity == Activity::Work {
                    sheet.land(time);
                }
                sheet.flying = false;
                sheet.loads.push((time, index, load));
            }
            What::End(activity) => {
                self.open.resize(usize::from(depth) + 1, unknown);
                let open = self.open.pop().unwrap_or(unknown);
                sheet.draw(activity, open.since, time);
                sheet.loads.push((time, index, load));
                sheet.flying &= activity == Activity::Idle;
            }
            What::Moved(how, from) => {
                sheet.flying = true;
                sheet.arrows.push(Flight {
                    how,
                    from,
                    left: time,
                    arrived: time,
                });
                sheet.loads.push((time, from, load));
            }
        }
    }
}

impl Sheet {
    fn draw(&mut self, activity: Activity, since: u64, until: u64) {
        self.slices.push((since, Reverse(until), activity));
    }

    /// The worker begins to work at a time. If it got a job, and has done nothing since but end its
    /// idle time, that is what it works on.
    fn land(&mut self, time: u64) {
        if let Some(flight) = self.arrows.last_mut().filter(|_| self.flying) {
            flight.arrived = time;
        }
    }
}

/// Draws names, slices and arrows.
fn draw(registry: &Registry, sheets: &[Sheet], trace: &mut Trace) {
    let (pid, config) = (std::process::id(), &registry.config);
    let name = format!(
        "locksley {}, {} workers",
        config.strategy.shown(),
        registry.size()
    );
    trace.name_process(pid, name);
    for (index, sheet) in sheets.iter().enumerate() {
        let tid = index as u32;
        let what = if index < registry.size() {
            "worker"
        } else {
            "spare"
        };
        trace.name_thread(pid, tid, format!("{what} {index}"));
        // What is around comes before what is inside.
        let slices = sheet.slices.iter();
        let slices = slices.map(|&(since, Reverse(until), what)| (since, !until, what as u64));
        for (since, until, what) in sorted(slices.collect()) {
            let (until, activity) = (!until, Activity::ALL[what as usize]);
            let length = micros(until.saturating_sub(since));
            trace.slice(activity, (pid, tid), micros(since), length);
        }
        for flight in &sheet.arrows {
            let left = (flight.from as u32, micros(flight.left));
            trace.arrow(flight.how, pid, left, (tid, micros(flight.arrived)));
        }
        if sheet.lost > 0 {
            trace.source.lost += sheet.lost;
            let back = sheet.gap.unwrap_or(0);
            trace.instant("lost", "trace", (pid, tid), micros(back));
        }
    }
}

/// Sorts rows. One function for all, and by a heap: the standard library's sort adds kilobytes to a
/// program for each type.
#[inline(never)]
fn sorted(rows: Vec<(u64, u64, u64)>) -> Vec<(u64, u64, u64)> {
    BinaryHeap::from(rows).into_sorted_vec()
}

/// Draws how many were busy, and the loads that were seen. `loads` are those from before, and
/// become those at the end.
fn draw_loads(sheets: &[Sheet], loads: &mut [u16], (start, end): (u64, u64), trace: &mut Trace) {
    let seen = sheets.iter().flat_map(|sheet| &sheet.loads);
    let seen = seen.map(|&(when, who, load)| (when, who as u64, u64::from(load)));
    let seen = sorted(seen.collect());
    // An idle pool had nothing before the first of them.
    let start = seen.first().map_or(start, |first| first.0.max(start));
    let width = (end.saturating_sub(start) / BINS).max(1);
    let mut busy = vec![0; BINS as usize + 1];
    for &(since, until) in sheets.iter().flat_map(|sheet| &sheet.busy) {
        spread(
            (since.max(start) - start, until.max(start) - start),
            width,
            &mut busy,
        );
    }
    let (mut seen, mut shown) = (seen.into_iter().peekable(), None);
    for (number, busy) in (0..).zip(busy) {
        let time = start + number * width;
        if time >= end {
            break;
        }
        while let Some((_, who, load)) = seen.next_if(|&(when, ..)| when < time + width) {
            if let Some(known) = loads.get_mut(who as usize) {
                *known = load as u16;
            }
        }
        let all = loads.iter().map(|&load| f64::from(load));
        let counters = Counters {
            busy: rounded(busy as f64 / width.min(end - time) as f64),
            mean: rounded(all.clone().sum::<f64>() / loads.len().max(1) as f64),
            max: all.fold(0.0, f64::max),
        };
        if shown.replace(counters) != Some(counters) {
            trace.load(std::process::id(), micros(time), counters);
        }
    }
}

/// Adds an interval to the bins that it covers.
fn spread((mut since, until): (u64, u64), width: u64, bins: &mut [u64]) {
    while since < until {
        let bin = since / width;
        let next = until.min((bin + 1) * width);
        if let Some(sum) = bins.get_mut(bin as usize) {
            *sum += next - since;
        }
        since = next;
    }
}

/// To three digits: more cannot be seen.
fn rounded(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

fn micros(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1000.0
}
