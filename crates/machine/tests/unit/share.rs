use super::*;

#[test]
fn as_many_workers_for_each_processor_as_before() {
    assert_eq!(share(8, 8, 8), 8);
    assert_eq!(share(8, 8, 16), 8);
    assert_eq!(share(8, 8, 3), 3);
    assert_eq!(share(8, 8, 0), 1);
    assert_eq!(
        share(8, 2, 2),
        8,
        "more workers than processors, as was asked for"
    );
    assert_eq!(share(8, 2, 1), 4);
    assert_eq!(share(2, 64, 63), 2);
    assert_eq!(share(2, 64, 32), 1);
}

#[test]
fn a_worker_holds_back_while_the_processors_are_in_use() {
    let usage = |time, preemptions| Usage { time, preemptions };
    let mut hold = Backoff {
        begun: 0,
        looked: (0, usage(1000, 7)),
    };
    let mut crowded = |now, usage, processors| hold.is_crowded(now, usage, processors);
    assert!(crowded(100, usage(1100, 7), 1), "one processor, in use");
    assert!(crowded(200, usage(1150, 7), 1), "half of the time");
    assert!(!crowded(300, usage(1190, 7), 1), "less than that");
    assert!(crowded(400, usage(1350, 7), 2), "one and a half of two");
    assert!(!crowded(500, usage(1490, 8), 2), "one of two is free");
    assert!(crowded(600, usage(1500, 10), 2), "both were taken away");
    let late = nanoseconds(LONGEST);
    assert!(!crowded(late, usage(2 * late, 10), 1), "held back for long");
}

#[test]
fn one_look_in_a_second() {
    let share = ActiveShare::new(4);
    let second = nanoseconds(EVERY);
    share.look(second - 1, || unreachable!("too early"));
    assert_eq!(share.active(), 4);
    share.look(second, || 4);
    assert_eq!(share.active(), 4);
    share.look(2 * second - 1, || unreachable!("too early"));
    share.look(2 * second, || 2);
    assert_eq!((share.active(), share.processors()), (2, 2));
    share.look(3 * second, || 4);
    assert_eq!(share.active(), 4);
}
