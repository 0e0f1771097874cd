//! Profiles are correct for every way to start tasks.
#![cfg(not(loom))]

use std::time::Duration;

use locksley::{Pool, Strategy};

fn spin(micros: u64) {
    let start = std::time::Instant::now();
    while start.elapsed() < Duration::from_micros(micros) {}
}

/// A program's profile has the same structure under every strategy.
#[test]
fn profiles_are_about_the_program() {
    for strategy in Strategy::ALL {
        for workers in [1, 2, 5] {
            let pool = Pool::builder().workers(workers).strategy(strategy).build();
            let pool = pool.expect("the pool starts");
            let ((), profile) = pool.profile(|| {
                spin(50);
                locksley::scope(|s| {
                    for _ in 0..4 {
                        s.spawn(|_| spin(50));
                    }
                    locksley::join(|| spin(100), || spin(50));
                });
            });
            // Strands: before and after the scope; six parts of its body; four tasks; two closures.
            assert_eq!(
                (profile.spawns, profile.strands),
                (5, 2 + 6 + 4 + 2),
                "{strategy}"
            );
            let micros = |time: Duration| time.as_micros();
            assert!(micros(profile.work) >= 395, "{strategy}:\n{profile}");
            assert!(micros(profile.span) >= 145, "{strategy}:\n{profile}");
            assert!(
                profile.span <= profile.burdened_span,
                "{strategy}:\n{profile}"
            );
            assert!(
                profile.burdened_span <= profile.span + 5 * profile.burden,
                "{strategy}"
            );
            let bounds = [1, 2, 64].map(|workers| profile.bounds(workers));
            assert!(bounds.is_sorted_by(|a, b| a.most <= b.most && a.greedy <= b.greedy));
            assert!(profile.to_string().contains("\n      128  "), "{profile}");
        }
    }
}

/// Profiles a program under every strategy, with one worker and with more.
fn profiles(program: impl Fn() + Sync, check: impl Fn(&locksley::Profile)) {
    for strategy in Strategy::ALL {
        for workers in [1, 3] {
            let pool = Pool::builder().workers(workers).strategy(strategy).build();
            let ((), profile) = pool.expect("the pool starts").profile(&program);
            println!("{strategy}, {workers} workers:\n{profile}");
            check(&profile);
        }
    }
}

/// Checks that the work is that of `tasks` strands of 300 microseconds, and the span at least that
/// of one.
fn is_wide(profile: &locksley::Profile, tasks: u32) {
    assert_eq!(profile.unordered, 0);
    assert!(profile.work >= tasks * Duration::from_micros(290));
    assert!(profile.span >= Duration::from_micros(290));
}

#[test]
fn eight_spawned_tasks_are_beside_each_other() {
    let program = || {
        let tasks: Vec<_> = (0..8).map(|_| locksley::spawn(|| spin(300))).collect();
        tasks.into_iter().for_each(|task| task.join());
    };
    profiles(program, |profile| {
        is_wide(profile, 8);
        assert_eq!((profile.spawns, profile.strands), (8, 1 + 3 * 8));
    });
}

#[test]
fn tasks_of_a_flow_wait_for_what_they_need() {
    let program = || {
        locksley::flow(|f| {
            let cells: Vec<_> = (0..6).map(|_| f.value(0)).collect();
            for cell in &cells {
                f.fork(cell.write(), |mut cell| {
                    spin(300);
                    cell.set(1);
                });
            }
            for cell in &cells {
                f.fork((cells[0].read(), cell.read()), |_| ());
            }
        });
    };
    profiles(program, |profile| {
        is_wide(profile, 6);
        // Six tasks start, and six wait for the first of them.
        assert_eq!(profile.spawns, 5 + 5, "{profile}");
    });
}

#[test]
fn a_flow_in_a_row_is_a_row() {
    let program = || {
        locksley::flow(|f| {
            let n = f.value(0);
            for _ in 0..6 {
                f.fork(n.update(), |n| {
                    spin(300);
                    *n += 1;
                });
            }
        });
    };
    profiles(program, |profile| {
        is_wide(profile, 6);
        assert_eq!(profile.spawns, 0);
        assert_eq!(profile.span, profile.work);
    });
}

#[test]
fn nodes_of_a_graph_wait_for_what_they_need() {
    let mut graph = locksley::flow::Graph::new();
    let ends = ["a", "b", "c", "d"].map(|name| graph.task(name, || spin(300)));
    let last = graph.task("last", || ());
    ends.iter().for_each(|&end| graph.edge(end, last));
    let plan = graph.build().expect("no circles");
    profiles(
        || plan.run(),
        |profile| {
            is_wide(profile, 4);
            assert_eq!(profile.spawns, 3);
        },
    );
}

#[test]
fn a_loop_is_split_as_far_as_it_would_be() {
    use locksley::par::*;
    let program = || (0..64).into_par().for_each(|_| spin(100));
    profiles(program, |profile| {
        assert_eq!(profile.unordered, 0);
        assert!(profile.spawns > 4, "{profile}");
        assert!(profile.work >= 64 * Duration::from_micros(95));
    });
}

#[test]
fn what_nothing_waits_for_leaves_no_bounds() {
    let detached = || locksley::spawn_detached(|| spin(10));
    let dropped = || drop(locksley::spawn(|| spin(10)));
    let broadcast = || locksley::spawn_broadcast(|_| ());
    for program in [&detached as &(dyn Fn() + Sync), &dropped, &broadcast] {
        profiles(program, |profile| {
            assert!(profile.unordered > 0);
            let text = profile.to_string();
            assert!(text.contains("no span and no bounds"), "{text}");
            assert!(!text.contains("at most"), "{text}");
            assert!(profile.to_json().contains("\"bounds\": [\n\n]"));
        });
    }
}
