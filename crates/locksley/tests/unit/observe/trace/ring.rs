use super::*;

#[test]
fn the_newest_are_kept_and_no_more_than_there_is_room_for() {
    for capacity in [1, 2, 7] {
        let ring = Ring::new(capacity);
        for number in 0..20_u64 {
            let run = ring.read(0);
            assert_eq!(run.next(), number);
            assert_eq!(run.entries.len() as u64, number.min(capacity as u64));
            let expected: Vec<EntryWords> = (run.first..number).map(|n| [n, !n]).collect();
            assert_eq!(run.entries, expected);
            ring.push(number, [number, !number]);
        }
    }
}

#[test]
fn a_reader_goes_on_where_it_was() {
    let ring = Ring::new(4);
    let (mut next, mut number) = (0, 0);
    for (written, lost) in [(3, 0), (4, 0), (0, 0), (9, 5), (1, 0)] {
        for _ in 0..written {
            ring.push(number, [0, 0]);
            number += 1;
        }
        let run = ring.read(next);
        assert_eq!(run.first - next, lost);
        assert_eq!(run.entries.len() as u64, written - lost);
        next = run.next();
    }
}

#[test]
fn a_reader_beside_a_writer_sees_whole_entries() {
    let (ring, last) = (Ring::new(3), 100_000);
    std::thread::scope(|threads| {
        threads.spawn(|| (0..last).for_each(|number| ring.push(number, [number, !number])));
        let mut next = 0;
        while next < last {
            let run = ring.read(next);
            for (&words, number) in run.entries.iter().zip(run.first..) {
                assert_eq!(words, [number, !number]);
            }
            next = run.next();
        }
    });
}
