use super::*;

#[test]
fn a_worker_stops_showing_what_it_takes_back() {
    let eager_exposure = EagerExposure::default();
    eager_exposure.renew(0, 0);
    assert!(eager_exposure.applies(), "after the first request");
    eager_exposure.renew(SAMPLE, 2);
    assert!(!eager_exposure.applies(), "nearly all were taken back");
    eager_exposure.renew(2 * SAMPLE - 1, SAMPLE);
    assert!(!eager_exposure.applies(), "too few to judge by");
    eager_exposure.renew(2 * SAMPLE, SAMPLE);
    let applied = (0..2 * EAGER_PUSHES)
        .filter(|_| eager_exposure.applies())
        .count();
    assert_eq!(applied, EAGER_PUSHES as usize, "most were stolen");
}
