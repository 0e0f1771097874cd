use super::*;

fn all() -> Vec<Strategy> {
    let names = [
        "greedy",
        "lock-free",
        "steal-half",
        "steal-half:probabilistic",
        "steal-half:factor,amount=half",
        "sending:random",
        "sending:threshold",
        "sending:shortest",
        "dealing",
        "dealing:adaptive",
    ];
    names.map(|name| name.parse().expect("a strategy")).to_vec()
}

#[test]
fn every_item_begins_or_waits_and_a_seed_repeats_a_run() {
    for strategy in all() {
        for generators in [1, 8] {
            let arrivals = Arrivals {
                generators,
                items: 5000,
                ..Arrivals::new(8, strategy)
            };
            let report = simulate(&arrivals).expect("it makes sense");
            assert_eq!(report.begun + report.left, 5000, "{strategy}");
            assert_eq!(Ok(&report), simulate(&arrivals).as_ref(), "{strategy}");
            let other = simulate(&Arrivals {
                seed: 2,
                ..arrivals
            });
            assert_ne!(Ok(report), other, "{strategy}");
        }
    }
}

/// Under one queue no processor is idle while items wait, so no strategy has a smaller mean wait.
#[test]
fn no_strategy_beats_one_queue() {
    let wait = |strategy| {
        let arrivals = Arrivals {
            items: 50_000,
            ..Arrivals::new(8, strategy)
        };
        simulate(&arrivals).expect("it makes sense").mean_wait
    };
    let best = wait(Strategy::Greedy);
    for strategy in all() {
        assert!(wait(strategy) >= 0.95 * best, "{strategy}");
    }
}

#[test]
fn what_is_beyond_the_processors_piles_up() {
    for strategy in all() {
        let arrivals = Arrivals {
            load: 1.5,
            items: 50_000,
            ..Arrivals::new(4, strategy)
        };
        let report = simulate(&arrivals).expect("it makes sense");
        assert!(!report.is_stable(), "{strategy}: {:?}", report.backlog);
        assert!(report.left > 10_000, "{strategy}: {}", report.left);
    }
}

#[test]
fn what_makes_no_sense_is_told() {
    let arrivals = Arrivals::new(4, Strategy::Greedy);
    let wrong = [
        Arrivals {
            generators: 5,
            ..arrivals.clone()
        },
        Arrivals {
            load: f64::NAN,
            ..arrivals.clone()
        },
        Arrivals {
            steal: 0,
            ..arrivals.clone()
        },
        Arrivals {
            strategy: Strategy::Synchronous,
            ..arrivals
        },
    ];
    for arrivals in wrong {
        assert!(simulate(&arrivals).is_err(), "{arrivals:?}");
    }
}
