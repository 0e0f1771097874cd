use locksley_policy::Heuristic;

use super::*;
use crate::dag::{Fib, Strands};

fn sharing(heuristic: Heuristic) -> Option<Sharing> {
    Some(Sharing {
        heuristic,
        ..Sharing::default()
    })
}

#[test]
fn every_node_is_executed_once_under_every_heuristic() {
    let heuristics = Heuristic::ALL.map(sharing);
    for sharing in heuristics.into_iter().chain([None]) {
        for count in [1, 2, 7, 40] {
            let mut rounds = Rounds::new(Strands::new(Fib::new(12)), count, sharing, 3);
            let (mut work, mut number) = (0, 0_u64);
            loop {
                let round = rounds.round();
                work += round.busy;
                number += 1;
                assert_eq!(round.busy + round.idle, count as u64);
                assert_eq!(
                    round.stolen + round.empty + round.aborted + round.skipped,
                    round.idle
                );
                if round.ended {
                    break;
                }
            }
            let size = rounds.computation.size();
            assert_eq!(work, size.work);
            assert!(number as f64 >= size.at_least(count));
        }
    }
}

#[test]
fn an_idle_processor_gets_one_node_at_most() {
    let mut rounds = Rounds::new(Endless, 50, sharing(Heuristic::GREEDY), 5);
    for _ in 0..10 {
        let idle: Vec<usize> = (0..50).filter(|&p| !rounds.is_busy(p)).collect();
        let before: u64 = (0..50).map(|p| rounds.load(p) as u64).sum();
        let round = rounds.round();
        assert!(idle.iter().all(|&p| rounds.load(p) <= 1));
        let after: u64 = (0..50).map(|p| rounds.load(p) as u64).sum();
        assert_eq!(
            after,
            before + round.busy,
            "each execution makes one more of one"
        );
    }
}

#[test]
fn lotteries_are_fair() {
    let mut wins = [0; 5];
    for time in 0..10_000 {
        let mut lottery = Lottery::default();
        let mut draw = CounterRng::at(4, 0, time);
        (0..5).for_each(|p| lottery.enter(p, &mut draw));
        wins[lottery.winner().unwrap()] += 1;
    }
    // 2000 each; six standard deviations are 240.
    assert!(
        wins.iter().all(|wins| (1760..2240).contains(wins)),
        "{wins:?}"
    );
}
