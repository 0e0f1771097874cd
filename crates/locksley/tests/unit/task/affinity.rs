use super::*;

#[test]
fn keys_are_spread_over_all_workers() {
    for workers in [1, 3, 8] {
        let mut counts = vec![0; workers];
        for key in 0..1000 * workers {
            counts[worker_for(workers, &key)] += 1;
        }
        assert!(counts.iter().all(|n| (800..1200).contains(n)), "{counts:?}");
    }
}
