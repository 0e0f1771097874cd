use super::*;
use crate::random::Random;
use crate::statistics::fits;

/// Addresses of 2 sockets x 2 caches x 2 cores.
fn sockets() -> Vec<[u32; 3]> {
    (0..8).map(|cpu| [cpu / 4, cpu / 2, cpu]).collect()
}

/// Counts how often each processor is the first of a sweep.
fn firsts(order: &Order, count: usize, sweeps: usize) -> Vec<usize> {
    let mut random = Random::new(11, 0);
    let mut firsts = vec![0; count];
    for _ in 0..sweeps {
        firsts[order.sweep(count, &mut random).next().unwrap()] += 1;
    }
    firsts
}

#[test]
fn a_sweep_visits_all_others_once() {
    let flat: Vec<[u32; 1]> = vec![[0]; 8];
    let holes: Vec<Vec<u32>> = vec![
        vec![0, 0],
        vec![],
        vec![0, 1],
        vec![1, 2],
        vec![],
        vec![0, 0],
    ];
    let mut random = Random::new(5, 0);
    for me in 0..8 {
        let orders = [
            Order::uniform(me),
            Order::nearest(me, &flat, 0.5),
            Order::nearest(me, &sockets(), 0.5),
            Order::nearest(me, &sockets(), 1.0),
            Order::nearest(me, &sockets(), 0.0),
            Order::nearest(me, &holes, 0.9),
        ];
        for order in orders {
            // Fewer processors than are known, as many, and more.
            for count in [1, 2, 3, 6, 8, 13] {
                for _ in 0..50 {
                    let mut victims: Vec<usize> = order.sweep(count, &mut random).collect();
                    victims.sort_unstable();
                    let others: Vec<usize> = (0..count).filter(|&v| v != me).collect();
                    assert_eq!(victims, others, "{order:?} among {count}");
                }
            }
        }
    }
}

#[test]
fn no_processor_to_try() {
    assert_eq!(Order::uniform(0).sweep(1, Random::new(1, 1)).next(), None);
    assert_eq!(Order::uniform(0).sweep(0, Random::new(1, 1)).next(), None);
    assert_eq!(Order::uniform(3).sweep(0, Random::new(1, 1)).next(), None);
}

#[test]
fn uniform_starts_at_any_processor_alike() {
    let counts = firsts(&Order::uniform(2), 6, 60_000);
    assert_eq!(counts[2], 0, "oneself");
    for victim in [0, 1, 3, 4, 5] {
        assert!(fits(counts[victim], 60_000, 0.2), "{counts:?}");
    }
}

/// Algorithm 11 with theta = 1/2: half of the starts are uniform over the seven others; of the rest
/// half are in ring 0, a quarter in ring 1, and the last quarter in ring 2, which is the last but
/// one.
#[test]
fn nearest_starts_where_the_thesis_says() {
    let cpus: Vec<[u32; 4]> = (0..16)
        .map(|cpu| [cpu / 8, cpu / 4, cpu / 2, cpu])
        .collect();
    let order = Order::nearest(0, &cpus, 0.5);
    assert_eq!(order.rings(), 4);
    let counts = firsts(&order, 16, 100_000);
    let rings = [1..2, 2..4, 4..8, 8..16].map(|ring| counts[ring].iter().sum::<usize>());
    let uniform = 0.5;
    let expected = [
        uniform / 15.0 + 0.25,
        uniform * 2.0 / 15.0 + 0.125,
        uniform * 4.0 / 15.0 + 0.125,
        uniform * 8.0 / 15.0,
    ];
    for (count, probability) in rings.into_iter().zip(expected) {
        assert!(
            fits(count, 100_000, probability),
            "{rings:?} for {expected:?}"
        );
    }
    assert!(
        fits(counts[2], rings[1], 0.5),
        "alike within a ring: {counts:?}"
    );
}

#[test]
fn rings_are_visited_from_near_to_far() {
    let ring_of = |victim: usize| match victim {
        1 => 0,
        2 | 3 => 1,
        4..=7 => 2,
        _ => 3,
    };
    let order = Order::nearest(0, &sockets(), 1.0);
    let mut random = Random::new(9, 0);
    for _ in 0..1000 {
        // The last two of the ten were not known when the order was made.
        let mut rings: Vec<usize> = order.sweep(10, &mut random).map(ring_of).collect();
        rings.dedup();
        let first = rings.remove(0);
        let rest: Vec<usize> = (0..4).filter(|&ring| ring != first).collect();
        assert_eq!(rings, rest, "after ring {first}");
        assert!(
            first < 2,
            "no sweep starts with the last ring or with strangers"
        );
    }
}

#[test]
fn unknown_places_make_it_uniform() {
    let unknown: [&[u32]; 4] = [&[], &[], &[], &[]];
    assert_eq!(Order::nearest(1, &unknown, 0.5), Order::uniform(1));
    let same: [&[u32]; 3] = [&[0, 1]; 3];
    assert_eq!(Order::nearest(1, &same, 0.5), Order::uniform(1));
    assert_eq!(
        Order::nearest(7, &same, 0.5),
        Order::uniform(7),
        "not among them"
    );
    // The others' places are of no use without that of the thief itself.
    let others: [&[u32]; 4] = [&[], &[0], &[], &[1]];
    assert_eq!(Order::nearest(0, &others, 0.5), Order::uniform(0));
}

#[test]
fn processors_are_known_up_to_the_largest_index() {
    let addresses = |count: u32| -> Vec<[u32; 1]> { (0..count).map(|cpu| [cpu % 2]).collect() };
    let most = u32::from(u16::MAX);
    assert_eq!(Order::nearest(0, &addresses(most), 0.5).rings(), 2);
    let more = Order::nearest(0, &addresses(most + 1), 0.5);
    assert_eq!(more, Order::uniform(0));
}

#[test]
fn a_neighbour_is_any_of_its_ring() {
    let order = Order::nearest(0, &sockets(), 0.5);
    assert_eq!((order.rings(), order.neighbourhood()), (3, 2));
    let mut random = Random::new(4, 0);
    let mut drawn = |ring, count| {
        let mut drawn = [0; 9];
        for _ in 0..1000 {
            drawn[order.neighbour(ring, count, &mut random).unwrap_or(8)] += 1;
        }
        drawn
    };
    assert_eq!(drawn(0, 8), [0, 1000, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(
        drawn(2, 8),
        [0, 0, 0, 0, 0, 0, 0, 0, 1000],
        "not in the neighbourhood"
    );
    let both = drawn(1, 8);
    assert_eq!(both[2] + both[3], 1000, "{both:?}");
    assert!((400..600).contains(&both[2]), "{both:?}");
    let first = drawn(1, 3);
    assert_eq!(first[2] + first[8], 1000, "{first:?}");
    assert!((400..600).contains(&first[8]), "{first:?}");
}

#[test]
fn those_of_unknown_place_come_last() {
    let addresses: [&[u32]; 4] = [&[0, 0], &[], &[1, 0], &[0, 1]];
    let order = Order::nearest(0, &addresses, 1.0);
    assert_eq!(order.rings(), 3);
    let mut random = Random::new(2, 0);
    let sweep = std::iter::repeat_with(|| order.sweep(4, &mut random).collect::<Vec<_>>())
        .find(|sweep| sweep[0] == 3)
        .unwrap();
    assert_eq!(sweep, [3, 2, 1]);
    let firsts = firsts(&order, 4, 1000);
    assert_eq!(
        firsts[3], 1000,
        "the other two are no neighbours: {firsts:?}"
    );
    let known: [&[u32]; 3] = [&[0], &[], &[0]];
    let firsts = self::firsts(&Order::nearest(0, &known, 1.0), 3, 1000);
    assert_eq!(
        firsts[2], 1000,
        "better than one of unknown place: {firsts:?}"
    );
}

#[test]
fn the_same_seed_gives_the_same_sweeps() {
    let sweeps = |seed| {
        let order = Order::nearest(3, &sockets(), 0.5);
        let mut random = Random::new(seed, 3);
        (0..100)
            .flat_map(|_| order.sweep(8, &mut random).collect::<Vec<_>>())
            .collect::<Vec<_>>()
    };
    assert_eq!(sweeps(17), sweeps(17));
    assert_ne!(sweeps(17), sweeps(18));
}

#[test]
fn a_search_tries_what_a_sweep_yields() {
    for count in 1..6 {
        for me in 0..7 {
            let order = Order::uniform(me);
            let swept: Vec<_> = order.sweep(count, Random::new(5, 7)).collect();
            let mut tried = Vec::new();
            let nothing: Option<()> = order.search(count, &mut Random::new(5, 7), |victim| {
                tried.push(victim);
                None
            });
            assert_eq!((nothing, tried), (None, swept), "{me} among {count}");
        }
    }
}
