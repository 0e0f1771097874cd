use super::*;

/// Notes a yield of this length, and returns when it has ended.
fn yield_for(backoff: &YieldBackoff, began: u64, length: u64) -> u64 {
    backoff.note_yield(began, began + length);
    began + length
}

#[test]
fn threads_yield_while_yields_are_short() {
    let backoff = YieldBackoff::new();
    let mut now = 0;
    for _ in 0..1000 {
        now = yield_for(&backoff, now, LONG - 1);
        assert!(backoff.may_yield(now));
    }
}

#[test]
fn each_long_yield_doubles_the_pause() {
    let backoff = YieldBackoff::new();
    let (mut now, mut pause) = (0, FIRST);
    for _ in 0..20 {
        now = yield_for(&backoff, now, LONG);
        assert!(!backoff.may_yield(now + pause - 1), "a pause of {pause} ns");
        now += pause;
        assert!(backoff.may_yield(now), "a pause of {pause} ns");
        // A few short ones do not mean that there is room.
        (0..ROOM - 1).for_each(|_| now = yield_for(&backoff, now, 1000));
        pause = (2 * pause).min(LAST);
    }
}

#[test]
fn a_row_of_short_yields_ends_the_pauses() {
    let backoff = YieldBackoff::new();
    let mut now = 0;
    for _ in 0..3 {
        now = yield_for(&backoff, now, LONG) + LAST;
        now = yield_for(&backoff, now, LONG) + LAST;
        (0..ROOM).for_each(|_| now = yield_for(&backoff, now, 1000));
    }
    now = yield_for(&backoff, now, LONG);
    assert!(backoff.may_yield(now + FIRST), "the first pause again");
}

#[test]
fn threads_that_wait_for_one_processor_count_once() {
    let backoff = YieldBackoff::new();
    (0..8).for_each(|began| backoff.note_yield(began, LONG + began));
    assert!(backoff.may_yield(LONG + FIRST), "the first pause");
}
