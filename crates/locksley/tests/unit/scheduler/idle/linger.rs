use super::*;

/// A worker that was paused and busy for these times in turn, and has just run out of work.
fn after(pause: u64, busy: u64) -> (Linger, u64) {
    let (linger, mut now) = (Linger::new(), 0);
    for _ in 0..20 {
        linger.begin_pause(now);
        now += pause;
        linger.end_pause(now);
        now += busy;
    }
    linger.begin_pause(now);
    (linger, now)
}

#[test]
fn a_worker_lingers_for_up_to_twice_its_usual_pause() {
    let (linger, now) = after(50_000, 100_000);
    assert!(linger.is_worthwhile(now));
    assert!(linger.is_worthwhile(now + 99_000));
    assert!(!linger.is_worthwhile(now + 105_000));
}

#[test]
fn a_worker_sleeps_after_long_pauses_and_for_little_work() {
    let (long, now) = after(LONGEST + 1_000, 1_000_000);
    assert!(!long.is_worthwhile(now));
    let (little, now) = after(100_000, 20_000);
    assert!(!little.is_worthwhile(now));
    assert!(!Linger::new().is_worthwhile(0), "nothing is known yet");
}

#[test]
fn short_work_is_not_worth_a_wake_up() {
    let linger = Linger::new();
    assert_eq!(linger.begin_pause(WAKE_UP), None, "it was not woken");
    for busy in [WAKE_UP - 1, WAKE_UP] {
        linger.end_pause(0);
        linger.woken.set(true);
        assert_eq!(linger.begin_pause(busy), Some(busy >= WAKE_UP));
    }
}

#[test]
fn long_pauses_are_forgotten_after_a_few_short_ones() {
    let (linger, mut now) = after(1_000_000_000, 20_000);
    let mut rounds = 0;
    while !linger.is_worthwhile(now) {
        now += 20_000;
        linger.end_pause(now);
        now += 20_000;
        linger.begin_pause(now);
        rounds += 1;
    }
    assert!((2..=6).contains(&rounds), "{rounds} rounds");
}

#[test]
fn a_worker_that_was_sent_a_job_lingers_whatever_its_pauses_were() {
    let (linger, now) = after(1_000_000_000, 100);
    assert!(!linger.is_worthwhile(now));
    linger.targeted.set(true);
    assert!(linger.is_worthwhile(now + LONGEST - 1));
    assert!(!linger.is_worthwhile(now + LONGEST));
}
