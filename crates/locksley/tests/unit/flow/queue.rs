use locksley_policy::{Random, Source};

use super::*;

/// Lets accesses in and out at random, and compares with the rule: one is active when all
/// earlier ones that it conflicts with have left.
#[test]
fn an_access_is_active_when_all_before_it_that_conflict_have_left() {
    let mut random = Random::new(7, 0);
    for _ in 0..500 {
        let core = Core::new(None);
        let modes = [
            AccessMode::Read,
            AccessMode::Exclusive,
            AccessMode::Cumulate,
        ];
        let entries: Vec<Entry> = (0..12)
            .map(|_| Entry::new(NonNull::from(&core), modes[random.below(3)]))
            .collect();
        let name = |number: usize| {
            let address = std::num::NonZero::new(8 * (number + 1)).unwrap();
            NonNull::without_provenance(address)
        };
        let mut active = Vec::new();
        let mut left = vec![false; entries.len()];
        let mut entered = 0;
        while left.iter().any(|&left| !left) {
            if entered < entries.len() && random.below(2) == 0 {
                // SAFETY: there is one thread, and the entries outlive the core's use.
                if unsafe { core.enter(&entries[entered], name(entered)) } {
                    active.push(entered);
                }
                entered += 1;
            } else if !active.is_empty() {
                let gone = active.swap_remove(random.below(active.len()));
                left[gone] = true;
                // SAFETY: as above, and the access was active.
                unsafe { core.leave(|task| active.push(task.addr().get() / 8 - 1)) };
            }
            let mut expected: Vec<usize> = (0..entered)
                .filter(|&one| !left[one])
                .filter(|&one| {
                    (0..one).all(|before| {
                        left[before] || entries[before].mode.agrees_with(entries[one].mode)
                    })
                })
                .collect();
            active.sort_unstable();
            expected.sort_unstable();
            assert_eq!(active, expected);
        }
        assert!(core.is_idle());
    }
}
