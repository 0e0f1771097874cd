use super::*;

#[test]
fn a_worker_stops_showing_what_it_takes_back() {
    let generosity = Generosity::default();
    generosity.renew(0, 0);
    assert!(generosity.applies(), "after the first request");
    generosity.renew(SAMPLE, 2);
    assert!(!generosity.applies(), "nearly all were taken back");
    generosity.renew(2 * SAMPLE - 1, SAMPLE);
    assert!(!generosity.applies(), "too few to judge by");
    generosity.renew(2 * SAMPLE, SAMPLE);
    let applied = (0..2 * GENEROUS).filter(|_| generosity.applies()).count();
    assert_eq!(applied, GENEROUS as usize, "most were stolen");
}
