use super::*;

/// How long an attempt to steal takes between far processors.
const ATTEMPT: u64 = 2 * FAR;

/// A thief on a far processor.
fn far() -> TinyWork {
    let tiny = TinyWork::new();
    tiny.cost.set(ATTEMPT);
    tiny
}

/// A worker steals jobs that run for `busy` nanoseconds each, one after the other, until it pauses.
/// Returns the number of steals, at most `most`, and the time after them.
fn steals(tiny: &TinyWork, from: u64, busy: u64, was_last: bool, most: u32) -> (u32, u64) {
    let mut now = from;
    for count in 0..most {
        if tiny.pauses(|| now) {
            return (count, now);
        }
        tiny.note_steal(now, now + ATTEMPT, was_last);
        let stolen = tiny.begin_job();
        assert!(stolen.is_some());
        now += ATTEMPT + busy;
        tiny.end_job(stolen, || now);
    }
    (most, now)
}

const SHORT_JOB: u64 = SHORT * ATTEMPT - 1;

#[test]
fn a_thief_of_short_last_jobs_pauses_and_tries_again() {
    let tiny = far();
    let (count, now) = steals(&tiny, 0, SHORT_JOB, true, 100);
    assert_eq!(count, HIGHEST / PENALTY);
    let pause = PAUSE * ATTEMPT;
    assert!(tiny.pauses(|| now + pause - 1));
    assert!(!tiny.pauses(|| now + pause));
    let (count, _) = steals(&tiny, now + pause, SHORT_JOB, true, 100);
    assert_eq!(count, 1, "it pauses after the next one");
}

#[test]
fn a_thief_of_longer_jobs_or_of_some_out_of_many_does_not_pause() {
    let long = far();
    assert_eq!(steals(&long, 0, SHORT_JOB + 1, true, 100).0, 100);
    let many = far();
    assert_eq!(steals(&many, 0, SHORT_JOB, false, 100).0, 100);
}

#[test]
fn a_thief_on_a_near_processor_does_not_pause() {
    let near = TinyWork::new();
    for now in 0..100 {
        near.note_steal(now, now + FAR / 2, true);
        let stolen = near.begin_job();
        near.end_job(stolen, || now + FAR / 2 + 1);
        assert!(!near.pauses(|| now + FAR / 2 + 1));
    }
}

#[test]
fn one_long_job_makes_up_for_all_short_ones() {
    let tiny = far();
    let (_, now) = steals(&tiny, 0, SHORT_JOB, true, 100);
    let (count, now) = steals(&tiny, now + PAUSE * ATTEMPT, 1_000_000, true, 1);
    assert_eq!(count, 1);
    assert_eq!(
        steals(&tiny, now, SHORT_JOB, true, 100).0,
        HIGHEST / PENALTY
    );
}

#[test]
fn what_is_short_depends_on_how_long_steals_take() {
    let tiny = far();
    for _ in 0..50 {
        tiny.note_steal(0, 5 * ATTEMPT, false);
    }
    assert_eq!(
        steals(&tiny, 0, SHORT_JOB + 1, true, 100).0,
        HIGHEST / PENALTY
    );
}

#[test]
fn one_search_that_takes_long_counts_for_little() {
    let tiny = far();
    tiny.note_steal(0, 1_000_000_000, false);
    assert!(tiny.cost.get() <= ATTEMPT * 9 / 8);
}

#[test]
fn a_job_that_was_not_stolen_is_not_judged() {
    let tiny = far();
    tiny.note_steal(0, ATTEMPT, true);
    assert!(!tiny.pauses(|| 0), "another search begins");
    assert!(tiny.begin_job().is_none());
    tiny.end_job(None, || unreachable!("the clock is not read"));
}
