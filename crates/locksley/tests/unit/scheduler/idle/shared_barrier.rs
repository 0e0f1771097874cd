use super::*;

#[test]
fn a_barrier_counts_for_tickets_that_were_taken_before_it() {
    let barrier = SharedBarrier::default();
    let before = barrier.ticket();
    assert!(!barrier.was_passed_since(before));
    let ordered = barrier.pass();
    assert_eq!(barrier.was_passed_since(before), ordered);
    assert!(!barrier.was_passed_since(barrier.ticket()));
}
