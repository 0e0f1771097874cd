use super::*;

#[test]
fn parts_add_up_whichever_worker_counts() {
    let pending = CountLatch::owned();
    pending.add(true);
    pending.add(true);
    assert!(!pending.take_away(false));
    pending.add(false);
    assert!(!pending.take_away(true));
    assert!(!pending.take_away(true));
    assert!(!pending.is_over());
    assert!(!pending.take_away(true));
    assert!(pending.is_over());
    assert!(pending.latch().is_none(), "no task is left to set it");
}

#[test]
fn the_last_one_of_a_settled_count_is_told() {
    let pending = CountLatch::owned();
    pending.add(true);
    pending.add(true);
    pending.take_away(true);
    assert!(pending.latch().is_some());
    assert!(!pending.take_away(false));
    pending.add(true);
    assert!(!pending.take_away(true));
    assert!(!pending.is_over());
    assert!(pending.take_away(false));
}

#[test]
fn without_an_owner_the_last_one_is_told() {
    let pending = CountLatch::shared();
    pending.add(false);
    assert!(!pending.take_away(false));
    assert!(pending.take_away(false));
}
