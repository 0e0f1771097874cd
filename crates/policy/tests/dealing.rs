//! Tests of what "Work Dealing" proves about its oracles.

use locksley_policy::{DealRule, Dealer, Dealing, Random, Source};
use proptest::prelude::*;

fn dealer(rule: DealRule, me: usize, count: usize) -> Dealer {
    let dealing = Dealing {
        rule,
        ..Dealing::default()
    };
    dealing.dealer(me, count)
}

/// Deals items with these affinities. Returns the number of items that each process gets, and the
/// number of items that go to the process that they have affinity to.
fn deal(
    dealer: &mut Dealer,
    count: usize,
    items: impl Iterator<Item = usize>,
) -> (Vec<u64>, usize) {
    let mut random = Random::new(5, 5);
    let (mut dealt, mut hits) = (vec![0; count], 0);
    for affinity in items {
        let to = dealer.deal(Some(affinity), |_| 0, &mut random);
        dealt[to] += 1;
        hits += usize::from(to == affinity);
    }
    (dealt, hits)
}

/// Returns the hit ratio of a producer for 16 processes, over a million items of these
/// popularities.
fn hit_ratio(l: u32, popularity: &[f64; 16]) -> f64 {
    const ITEMS: usize = 1_000_000;
    let total: f64 = popularity.iter().sum();
    let mut random = Random::new(77, 0);
    let items = std::iter::repeat_with(|| {
        let mut left = random.unit() * total;
        let found = popularity.iter().position(|share| {
            left -= share;
            left < 0.0
        });
        found.unwrap_or(15)
    });
    let (_, hits) = deal(
        &mut dealer(DealRule::Locality { l }, 0, 16),
        16,
        items.take(ITEMS),
    );
    hits as f64 / ITEMS as f64
}

/// Theorem 3: however many items each producer makes, the numbers of any two consumers differ by at
/// most n.
#[test]
fn simple_deals_evenly() {
    let mut random = Random::new(3, 3);
    for count in [1, 2, 5, 16] {
        let mut dealers: Vec<Dealer> = (0..count)
            .map(|me| dealer(DealRule::Simple, me, count))
            .collect();
        let mut dealt = vec![0_usize; count];
        for _ in 0..10_000 {
            // Some producers make many more items than others.
            let maker = random.below(count).min(random.below(count));
            dealt[dealers[maker].deal(None, |_| 0, &mut random)] += 1;
            let (most, least) = (dealt.iter().max(), dealt.iter().min());
            assert!(most.unwrap() - least.unwrap() <= count, "{dealt:?}");
        }
    }
}

/// Theorem 11, with items whose affinity is uniform over the processes: its bound 1 - 1/L, and the
/// measured ratio, which is nearly 1.
#[test]
fn nearly_all_items_without_a_favourite_go_where_they_want() {
    for l in [2, 3, 4, 8] {
        let ratio = hit_ratio(l, &[1.0; 16]);
        assert!(ratio >= 1.0 - 1.0 / f64::from(l), "{ratio} for {l}");
        assert!(ratio > 0.999, "{ratio} for {l}");
    }
}

/// Beyond the theorem's assumptions: a process of popularity p gets about min(p, L/n) of the items.
/// A million items; the tolerance covers `distAvg`, which runs ahead of the average by up to one.
#[test]
fn a_favourite_gets_l_times_its_share() {
    let mut hot = [0.0; 16];
    hot[6] = 1.0;
    let ratio = hit_ratio(3, &hot);
    assert!((ratio - 3.0 / 16.0).abs() < 0.001, "{ratio}");
    let zipf: [f64; 16] = std::array::from_fn(|rank| 1.0 / (rank + 1) as f64);
    let total: f64 = zipf.iter().sum();
    let predicted: f64 = zipf.iter().map(|p| (p / total).min(3.0 / 16.0)).sum();
    let ratio = hit_ratio(3, &zipf);
    assert!((ratio - predicted).abs() < 0.01, "{ratio} for {predicted}");
    assert!(ratio >= 1.0 - 1.0 / 3.0);
}

/// If one process does not consume, sampling two and taking the shorter backlog keeps its backlog
/// much shorter than dealing round robin does.
#[test]
fn adaptive_avoids_who_does_not_consume() {
    let count = 8;
    let mut adaptive = dealer(DealRule::ADAPTIVE, 0, count);
    let mut random = Random::new(8, 8);
    let mut pending = vec![0_usize; count];
    for _ in 0..80_000 {
        let to = adaptive.deal(None, |process| pending[process], &mut random);
        pending[to] += 1;
        // Process 3 consumes nothing; the others together keep up.
        let consumer = random.below(count);
        if consumer != 3 {
            pending[consumer] = pending[consumer].saturating_sub(1);
        }
    }
    // Dealing round robin would give it 10,000.
    assert!(pending[3] < 2_000, "{pending:?}");
}

#[test]
fn adaptive_follows_affinity_in_a_tie() {
    let mut adaptive = dealer(DealRule::ADAPTIVE, 0, 8);
    let mut random = Random::new(9, 9);
    for wanted in (0..8).cycle().take(100) {
        assert_eq!(adaptive.deal(Some(wanted), |_| 7, &mut random), wanted);
        let busy = |process| usize::from(process == wanted);
        assert_ne!(adaptive.deal(Some(wanted), busy, &mut random), wanted);
    }
}

/// A dealer samples as many different processes as it is told, the affinity first. With two
/// samples, the one with fewer pending items gets the item.
#[test]
fn adaptive_looks_at_as_many_as_it_is_told() {
    let count = 5;
    for samples in 1..=5 {
        let mut adaptive = dealer(DealRule::Adaptive { samples }, 0, count);
        let mut random = Random::new(4, 4);
        for _ in 0..200 {
            let mut looked = Vec::new();
            adaptive.deal(
                Some(2),
                |process| {
                    looked.push(process);
                    9 - process
                },
                &mut random,
            );
            assert_eq!(looked.len(), samples as usize, "{looked:?}");
            assert_eq!(looked[0], 2, "its affinity is one of the samples");
            assert!(!looked[1..].contains(&2), "{looked:?}");
        }
    }
    // Of two samples, the one with less pending.
    let mut adaptive = dealer(DealRule::ADAPTIVE, 0, count);
    let mut random = Random::new(5, 5);
    for _ in 0..200 {
        let mut looked = Vec::new();
        let to = adaptive.deal(
            None,
            |process| {
                looked.push(process);
                10 + process
            },
            &mut random,
        );
        assert_eq!(Some(&to), looked.iter().min(), "{looked:?}");
    }
}

/// A process with nothing pending cannot be beaten: the search ends there.
#[test]
fn adaptive_stops_at_an_idle_process() {
    let mut adaptive = dealer(DealRule::Adaptive { samples: 5 }, 0, 5);
    let mut random = Random::new(6, 6);
    for _ in 0..200 {
        let mut looked = Vec::new();
        let to = adaptive.deal(
            Some(2),
            |process| {
                looked.push(process);
                usize::from(process != 4)
            },
            &mut random,
        );
        assert_eq!((to, looked.last()), (4, Some(&4)), "{looked:?}");
    }
}

#[test]
fn affinity_to_no_worker_is_none() {
    let mut random = Random::new(1, 0);
    for rule in DealRule::ALL {
        let mut dealer = dealer(rule, 1, 3);
        for _ in 0..100 {
            assert!(dealer.deal(Some(99), |_| 0, &mut random) < 3);
        }
        assert_eq!(dealer.me(), 1);
    }
}

/// A consumer looks into every buffer, even if one never runs dry.
#[test]
fn no_buffer_starves() {
    let dealing = Dealing::default();
    let mut collector = dealing.collector(2);
    let mut looked = [0; 5];
    for _ in 0..5 * Dealing::BATCH {
        let at = collector.at();
        looked[at] += 1;
        collector.advance(at == 4, &dealing, 5);
    }
    assert!(looked.iter().all(|&times| times > 0), "{looked:?}");
    // A batch of 0, as in the paper: a buffer is drained to its end.
    let to_the_end = Dealing {
        batch: 0,
        ..dealing
    };
    let mut collector = to_the_end.collector(2);
    for _ in 0..1000 {
        collector.advance(true, &to_the_end, 5);
        assert_eq!(collector.at(), 2);
    }
}

proptest! {
    /// The L-balance invariant, against the average plus one, for any affinities.
    #[test]
    fn no_worker_gets_more_than_l_times_the_average(
        l in 2_u32..6,
        items in prop::collection::vec(0_usize..7, 1..2000),
    ) {
        let mut dealer = dealer(DealRule::Locality { l }, 3, 7);
        let mut random = Random::new(1, 1);
        let mut dealt = [0_u64; 7];
        for (number, &affinity) in items.iter().enumerate() {
            dealt[dealer.deal(Some(affinity), |_| 0, &mut random)] += 1;
            let average = (number + 1) as f64 / 7.0;
            for &got in &dealt {
                prop_assert!(got as f64 <= f64::from(l) * (average + 1.0));
            }
        }
    }
}
