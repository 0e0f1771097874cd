//! Draws a [`Trace`] from the entries that the workers of a pool recorded.
//!
//! Each worker's entries are read in order, with a stack of open activities. A reading continues
//! where the last one ended. An activity that is still open is drawn up to now, and the rest of it
//! at the next reading.
//!
//! **Where entries were lost**, all open activities end at the last entry before the gap.
//! Activities that turn out to be open after the gap begin at the first entry after it; their ends
//! tell which activities they are.
//!
//! **Arrows** lead from the victim, at the time when the thief got the job, to where the thief
//! begins to work on it; or to that same time, if it does something else first.
//!
//! **Loads** are what workers saw when they recorded an entry: their own load, and that of the
//! worker that they got a job from. At most `BINS` values are shown, each for the time up to the
//! next.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::{Activity, Arrow, Counters, Trace};

/// The largest number of load values that a trace shows.
const BINS: u64 = 500;

/// One record of a worker. As a word:
///
/// | bits | meaning |
/// |---|---|
/// | 0-1 | begin, end or move |
/// | 2-3 | the activity, or the kind of move |
/// | 8-23 | number of activities around this one |
/// | 24-39 | the load of the worker, or of the one that the job moved from; at most 65535 |
/// | 40-63 | the worker that the job moved from |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What happened.
    pub what: EntryKind,
    /// Number of activities around it.
    pub depth: u16,
    /// The load of the worker, or of the one that a job moved from.
    pub load: u16,
}

/// The events that a worker records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// An activity begins.
    Begin(Activity),
    /// An activity ends.
    End(Activity),
    /// A job moved here from this worker.
    Moved(Arrow, usize),
}

const BEGIN: u64 = 0;
const END: u64 = 1;
const MOVED: u64 = 2;

/// The largest index of a worker in an entry: far more workers than a pool can start.
pub const MOST_INDEX: usize = (1 << 24) - 1;

const _: () = assert!(Activity::ALL.len() <= 4 && Arrow::ALL.len() <= 4);

impl Entry {
    /// Returns the entry as a word.
    pub fn to_word(self) -> u64 {
        let (kind, which, who) = match self.what {
            EntryKind::Begin(activity) => (BEGIN, activity as u64, 0),
            EntryKind::End(activity) => (END, activity as u64, 0),
            EntryKind::Moved(how, from) => (MOVED, how as u64, from.min(MOST_INDEX) as u64),
        };
        let (depth, load) = (u64::from(self.depth), u64::from(self.load));
        kind | which << 2 | depth << 8 | load << 24 | who << 40
    }

    /// Returns the entry that a word encodes.
    pub fn from_word(word: u64) -> Entry {
        let which = (word >> 2 & 3) as usize;
        Entry {
            what: match word & 3 {
                BEGIN => EntryKind::Begin(Activity::ALL[which]),
                END => EntryKind::End(Activity::ALL[which]),
                _ => EntryKind::Moved(Arrow::ALL[which], (word >> 40) as usize),
            },
            depth: (word >> 8) as u16,
            load: (word >> 24) as u16,
        }
    }
}

/// A time in nanoseconds, and an [`Entry`] as a word.
pub type EntryWords = [u64; 2];

/// Entries of one worker, in the order in which they were written.
#[derive(Debug)]
pub struct EntryBatch {
    /// The entries.
    pub entries: Vec<EntryWords>,
    /// Number of the first entry.
    pub first: u64,
}

impl EntryBatch {
    /// Returns the number of the next entry after these.
    pub fn next(&self) -> u64 {
        self.first + self.entries.len() as u64
    }
}

/// The name of a timeline, and how many of its threads are workers. The others are spares.
pub struct Names {
    /// The name of the process.
    pub process: String,
    /// Number of the process.
    pub pid: u32,
    /// Number of workers.
    pub workers: usize,
}

/// The state of drawing a pool's timeline: how far each worker's entries have been drawn.
#[derive(Default)]
pub struct Timeline {
    readings: Vec<Reading>,
    time: u64,
}

/// The state after the last reading of one worker.
#[derive(Default)]
struct Reading {
    /// Number of the next entry.
    next: u64,
    /// OpenActivity activities, the outermost first.
    open: Vec<OpenActivity>,
    /// Time of the last entry.
    seen: u64,
    /// The last load that was seen.
    load: u16,
}

/// An activity that has begun and not ended.
#[derive(Clone, Copy)]
struct OpenActivity {
    /// `None` if its beginning was lost.
    activity: Option<Activity>,
    since: u64,
}

/// What one reading of a worker has found.
#[derive(Default)]
struct Findings {
    slices: Vec<(u64, Reverse<u64>, Activity)>,
    arrows: Vec<Transfer>,
    /// Intervals in which the worker was working.
    busy: Vec<(u64, u64)>,
    /// Loads that were seen: time, worker, load.
    loads: Vec<(u64, usize, u16)>,
    lost: u64,
    /// Set if the worker has not begun to work on the last job that moved to it.
    flying: bool,
    /// Time of the first entry after lost ones.
    gap: Option<u64>,
}

/// A job on its way to the worker.
#[derive(Clone, Copy)]
struct Transfer {
    how: Arrow,
    from: usize,
    left: u64,
    arrived: u64,
}

impl Timeline {
    /// Returns the number of the next entry of a worker.
    pub fn next(&self, worker: usize) -> u64 {
        self.readings.get(worker).map_or(0, |reading| reading.next)
    }

    /// Draws the entries since the last call, one run for each worker, up to `now`.
    pub fn draw(&mut self, runs: Vec<EntryBatch>, now: u64, names: Names, trace: &mut Trace) {
        if self.readings.len() < runs.len() {
            self.readings.resize_with(runs.len(), Reading::default);
        }
        let since = std::mem::replace(&mut self.time, now);
        let mut loads: Vec<u16> = self.readings.iter().map(|reading| reading.load).collect();
        let readings = self.readings.iter_mut().zip(runs).enumerate();
        let all_findings: Vec<Findings> = readings
            .map(|(index, (reading, run))| reading.read_until(index, run, now))
            .collect();
        let pid = names.pid;
        draw(names, &all_findings, trace);
        draw_loads(pid, &all_findings, &mut loads, (since, now), trace);
        for (reading, load) in self.readings.iter_mut().zip(loads) {
            reading.load = load;
        }
    }
}

impl Reading {
    /// Reads the next entries of the worker, up to `now`.
    fn read_until(&mut self, index: usize, run: EntryBatch, now: u64) -> Findings {
        let mut findings = Findings {
            lost: run.first - self.next,
            ..Findings::default()
        };
        self.next = run.next();
        if findings.lost > 0 {
            self.close_all(self.seen, &mut findings);
            findings.gap = run.entries.first().map(|&[time, _]| time.max(self.seen));
        }
        for [time, word] in run.entries {
            // A worker reads the clock before it writes the entry. So an entry written after the
            // last reading may be older than the time up to which that reading was drawn.
            self.read(index, [time.max(self.seen), word], &mut findings);
        }
        let now = now.max(self.seen);
        self.pass(now, &mut findings);
        for open in &mut self.open {
            if let Some(activity) = open.activity {
                findings.draw(activity, open.since, now);
            }
            open.since = now;
        }
        findings
    }

    /// Advances to `time`. The interval since the last entry counts as busy if the worker was
    /// working.
    fn pass(&mut self, time: u64, findings: &mut Findings) {
        let since = self.seen.max(findings.gap.unwrap_or(0));
        if self.is_working() && time > since {
            findings.busy.push((since, time));
        }
        self.seen = time;
    }

    fn is_working(&self) -> bool {
        let innermost = self.open.last();
        innermost.is_some_and(|open| open.activity == Some(Activity::Work))
    }

    /// Ends all open activities at `time`, the time of the last entry before the lost ones.
    fn close_all(&mut self, time: u64, findings: &mut Findings) {
        for open in self.open.drain(..) {
            if let Some(activity) = open.activity {
                findings.draw(activity, open.since, time);
            }
        }
    }

    fn read(&mut self, index: usize, [time, word]: EntryWords, findings: &mut Findings) {
        self.pass(time, findings);
        let Entry { what, depth, load } = Entry::from_word(word);
        let unknown = OpenActivity {
            activity: None,
            since: findings.gap.unwrap_or(time),
        };
        match what {
            EntryKind::Begin(activity) => {
                self.open.resize(depth.into(), unknown);
                self.open.push(OpenActivity {
                    activity: Some(activity),
                    since: time,
                });
                if activity == Activity::Work {
                    findings.end_last_arrow(time);
                }
                findings.flying = false;
                findings.loads.push((time, index, load));
            }
            EntryKind::End(activity) => {
                self.open.resize(usize::from(depth) + 1, unknown);
                let open = self.open.pop().unwrap_or(unknown);
                findings.draw(activity, open.since, time);
                findings.loads.push((time, index, load));
                findings.flying &= activity == Activity::Idle;
            }
            EntryKind::Moved(how, from) => {
                findings.flying = true;
                findings.arrows.push(Transfer {
                    how,
                    from,
                    left: time,
                    arrived: time,
                });
                findings.loads.push((time, from, load));
            }
        }
    }
}

impl Findings {
    fn draw(&mut self, activity: Activity, since: u64, until: u64) {
        self.slices.push((since, Reverse(until), activity));
    }

    /// Ends the last arrow at `time`, when the worker begins to work, if it has only ended its idle
    /// time since it got the job: then that job is what it works on.
    fn end_last_arrow(&mut self, time: u64) {
        if let Some(flight) = self.arrows.last_mut().filter(|_| self.flying) {
            flight.arrived = time;
        }
    }
}

/// Draws names, slices and arrows.
fn draw(names: Names, all_findings: &[Findings], trace: &mut Trace) {
    let pid = names.pid;
    trace.name_process(pid, names.process);
    for (index, findings) in all_findings.iter().enumerate() {
        let tid = index as u32;
        let what = if index < names.workers {
            "worker"
        } else {
            "spare"
        };
        trace.name_thread(pid, tid, format!("{what} {index}"));
        // Outer slices come before inner ones.
        let slices = findings.slices.iter();
        let slices = slices.map(|&(since, Reverse(until), what)| (since, !until, what as u64));
        for (since, until, what) in sorted(slices.collect()) {
            let (until, activity) = (!until, Activity::ALL[what as usize]);
            let length = micros(until.saturating_sub(since));
            trace.slice(activity, (pid, tid), micros(since), length);
        }
        for flight in &findings.arrows {
            let left = (flight.from as u32, micros(flight.left));
            trace.arrow(flight.how, pid, left, (tid, micros(flight.arrived)));
        }
        if findings.lost > 0 {
            trace.source.lost += findings.lost;
            let back = findings.gap.unwrap_or(0);
            trace.instant("lost", "trace", (pid, tid), micros(back));
        }
    }
}

/// Sorts rows. One function for all types of rows, and by a heap: the standard library's sort adds
/// kilobytes to a program for each type.
#[inline(never)]
fn sorted(rows: Vec<(u64, u64, u64)>) -> Vec<(u64, u64, u64)> {
    BinaryHeap::from(rows).into_sorted_vec()
}

/// Draws the number of busy workers, and the loads that were seen. `loads` has the loads from
/// before, and is updated to those at the end.
fn draw_loads(
    pid: u32,
    all_findings: &[Findings],
    loads: &mut [u16],
    (start, end): (u64, u64),
    trace: &mut Trace,
) {
    let seen = all_findings.iter().flat_map(|findings| &findings.loads);
    let seen = seen.map(|&(when, who, load)| (when, who as u64, u64::from(load)));
    let seen = sorted(seen.collect());
    // Starts at the first of them: before it, the pool was idle.
    let start = seen.first().map_or(start, |first| first.0.max(start));
    let width = (end.saturating_sub(start) / BINS).max(1);
    let mut busy = vec![0; BINS as usize + 1];
    for &(since, until) in all_findings.iter().flat_map(|findings| &findings.busy) {
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
            trace.load(pid, micros(time), counters);
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

/// Rounds to three decimal places: more would not be visible.
fn rounded(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

fn micros(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1000.0
}

#[cfg(test)]
#[path = "../tests/unit/timeline.rs"]
mod tests;
