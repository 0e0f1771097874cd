use super::*;
use crate::TraceEvent;

#[test]
fn an_entry_fits_into_a_word() {
    let begins = Activity::ALL.map(EntryKind::Begin).into_iter();
    let ends = Activity::ALL.map(EntryKind::End);
    let moves = Arrow::ALL.map(|how| EntryKind::Moved(how, MOST_INDEX));
    for what in begins.chain(ends).chain(moves) {
        for depth in [0, 7, u16::MAX] {
            for load in [0, 9, u16::MAX] {
                let entry = Entry { what, depth, load };
                assert_eq!(Entry::from_word(entry.to_word()), entry);
            }
        }
    }
}

/// Returns a word of an entry.
fn word(what: EntryKind, depth: u16, load: u16) -> u64 {
    Entry { what, depth, load }.to_word()
}

fn begin(activity: Activity, depth: u16, load: u16) -> u64 {
    word(EntryKind::Begin(activity), depth, load)
}

fn end(activity: Activity, depth: u16, load: u16) -> u64 {
    word(EntryKind::End(activity), depth, load)
}

/// Draws the entries of some workers. Returns slices, arrows and loads, with times in µs.
fn drawn(timeline: &mut Timeline, runs: Vec<(u64, Vec<EntryWords>)>, now: u64) -> Vec<String> {
    let runs = runs
        .into_iter()
        .map(|(first, entries)| EntryBatch { entries, first });
    let names = Names {
        process: "pool".into(),
        pid: 7,
        workers: 2,
    };
    let mut trace = Trace::new();
    timeline.draw(runs.collect(), now, names, &mut trace);
    let mut shown: Vec<String> = trace
        .events
        .iter()
        .map(|event| match event {
            TraceEvent::Name { args, tid, .. } => format!("{} {tid:?}", args.name),
            TraceEvent::Slice {
                name, ts, dur, tid, ..
            } => {
                format!("{name} of {tid} at {ts} for {dur}")
            }
            TraceEvent::Instant { ts, tid, .. } => format!("lost by {tid} at {ts}"),
            TraceEvent::Left { ts, tid, .. } => format!("left {tid} at {ts}"),
            TraceEvent::Arrived { ts, tid, .. } => format!("arrived {tid} at {ts}"),
            TraceEvent::Counter { ts, args, .. } => {
                format!(
                    "at {ts}: busy {}, mean {}, max {}",
                    args.busy, args.mean, args.max
                )
            }
        })
        .collect();
    shown.push(format!("lost {}", trace.source.lost));
    shown
}

#[test]
fn entries_become_slices_arrows_and_loads() {
    use Activity::{Idle, Work};
    let mut timeline = Timeline::default();
    let moved = word(EntryKind::Moved(Arrow::Steal, 0), 0, 4);
    let first = vec![
        (
            0,
            vec![
                [1000, begin(Work, 0, 1)],
                [3000, end(Work, 0, 0)],
                [3000, begin(Idle, 0, 0)],
            ],
        ),
        (
            0,
            vec![
                [1000, begin(Idle, 0, 0)],
                [2000, moved],
                [2100, end(Idle, 0, 0)],
                [2200, begin(Work, 0, 2)],
            ],
        ),
        (0, vec![]),
    ];
    let shown = drawn(&mut timeline, first, 5000);
    assert_eq!(
        [0, 1, 2, 3].map(|worker| timeline.next(worker)),
        [3, 4, 0, 0]
    );
    let expected = [
        "pool 0",
        "worker 0 0",
        "work of 0 at 1 for 2",
        "idle of 0 at 3 for 2",
        "worker 1 1",
        "idle of 1 at 1 for 1.1",
        "work of 1 at 2.2 for 2.8",
        "left 0 at 2",
        "arrived 1 at 2.2",
        "spare 2 2",
        "at 1: busy 1, mean 0.333, max 1",
        "at 2: busy 1, mean 1.333, max 4",
        "at 2.2: busy 2, mean 2, max 4",
        "at 3: busy 1, mean 0.667, max 2",
        "lost 0",
    ];
    assert_eq!(shown, expected);
    let second = vec![
        (3, vec![[6000, end(Idle, 0, 0)], [6000, begin(Work, 0, 3)]]),
        // Written before the first reading ended, and read only now.
        (4, vec![[4900, begin(Work, 1, 5)], [6500, end(Work, 1, 1)]]),
        (0, vec![]),
    ];
    let shown = drawn(&mut timeline, second, 7000);
    let expected = [
        "pool 0",
        "worker 0 0",
        "idle of 0 at 5 for 1",
        "work of 0 at 6 for 1",
        "worker 1 1",
        "work of 1 at 5 for 2",
        "work of 1 at 5 for 1.5",
        "spare 2 2",
        "at 5: busy 1, mean 1.667, max 5",
        "at 6: busy 2, mean 2.667, max 5",
        "at 6.5: busy 2, mean 1.333, max 3",
        "lost 0",
    ];
    assert_eq!(shown, expected);
}

#[test]
fn what_was_open_ends_before_a_gap_and_begins_after_it() {
    use Activity::{Idle, Work};
    let mut timeline = Timeline::default();
    let first = vec![[1000, begin(Work, 0, 0)], [1500, begin(Work, 1, 0)]];
    let shown = drawn(&mut timeline, vec![(0, first)], 2000);
    let expected = [
        "pool 0",
        "worker 0 0",
        "work of 0 at 1 for 1",
        "work of 0 at 1.5 for 0.5",
        "at 1: busy 1, mean 0, max 0",
        "lost 0",
    ];
    assert_eq!(shown, expected);
    let second = vec![
        [3000, end(Work, 1, 0)],
        [3500, end(Work, 0, 0)],
        [4000, begin(Idle, 0, 0)],
    ];
    let shown = drawn(&mut timeline, vec![(7, second)], 5000);
    let expected = [
        "pool 0",
        "worker 0 0",
        "work of 0 at 2 for 0",
        "work of 0 at 2 for 0",
        "work of 0 at 3 for 0.5",
        "work of 0 at 3 for 0",
        "idle of 0 at 4 for 1",
        "lost by 0 at 3",
        "at 3: busy 0, mean 0, max 0",
        "lost 5",
    ];
    assert_eq!(shown, expected);
    assert_eq!(timeline.next(0), 10);
}

#[test]
fn arrows_end_where_the_thief_begins_to_work_on_the_job() {
    use Activity::{Idle, Parked, Work};
    let steal = |from, load| word(EntryKind::Moved(Arrow::Steal, from), 0, load);
    let entries = vec![
        [1000, steal(1, 0)],
        [2000, begin(Work, 0, 0)],
        // Another activity comes first: the arrow is upright.
        [3000, steal(1, 0)],
        [4000, begin(Parked, 1, 0)],
        [5000, end(Parked, 1, 0)],
        [6000, begin(Work, 1, 0)],
        [7000, steal(2, 0)],
        [8000, end(Work, 1, 0)],
        [9000, begin(Work, 1, 0)],
        [10_000, steal(0, 0)],
        [11_000, begin(Idle, 2, 0)],
    ];
    let shown = drawn(&mut Timeline::default(), vec![(0, entries)], 12_000);
    let arrows: Vec<&str> = shown
        .iter()
        .map(String::as_str)
        .filter(|line| line.starts_with("left") || line.starts_with("arrived"))
        .collect();
    let expected = [
        "left 1 at 1",
        "arrived 0 at 2",
        "left 1 at 3",
        "arrived 0 at 3",
        "left 2 at 7",
        "arrived 0 at 7",
        "left 0 at 10",
        "arrived 0 at 10",
    ];
    assert_eq!(arrows, expected);
}

#[test]
fn intervals_are_spread_over_the_bins_that_they_cover() {
    let mut bins = [0; 4];
    spread((5, 32), 10, &mut bins);
    assert_eq!(bins, [5, 10, 10, 2]);
    spread((38, 99), 10, &mut bins);
    assert_eq!(
        bins,
        [5, 10, 10, 4],
        "what is beyond the last bin is left out"
    );
    spread((7, 7), 10, &mut bins);
    assert_eq!(bins, [5, 10, 10, 4]);
    assert_eq!([0.123_4, 0.123_6, 2.0].map(rounded), [0.123, 0.124, 2.0]);
}

#[test]
fn the_last_bin_may_be_shorter() {
    let entries = vec![[1000, begin(Activity::Work, 0, 1)]];
    let shown = drawn(&mut Timeline::default(), vec![(0, entries)], 2001);
    let loads: Vec<&String> = shown.iter().filter(|line| line.starts_with("at")).collect();
    assert_eq!(loads, ["at 1: busy 1, mean 1, max 1"]);
}
