//! Programs that end under the rules, and stand still without one of them.

use stateright::{Checker, Model};

use super::Op::{self, Block, Broadcast, Close, Hand, Leave, Meet, Spawn, Spin, Target, Wait};
use super::{Program, RULES, Rules, State};

/// Explores a program. Returns how many states it has, or `None` if it can stand still.
fn explore(program: Program) -> Option<usize> {
    let checker = program.checker().symmetry_fn(State::representative);
    let checker = checker.threads(1).spawn_dfs().join();
    match checker.discovery("no standstill") {
        Some(_) => None,
        None => Some(checker.unique_state_count()),
    }
}

/// Explores a program under the rules, and with one of them broken.
fn needs(program: Program, broken: Rules) {
    let ends = explore(program.clone()).is_some();
    assert!(ends, "{program:?} can stand still");
    let stands_still = explore(Program {
        rules: broken,
        ..program.clone()
    });
    assert_eq!(stands_still, None, "{program:?} ends without the rule too");
}

/// A program on a pool with this number of workers and spares. One outside thread hands over the
/// first task.
fn one_pool(workers: usize, spares: usize, tasks: Vec<Vec<Op>>) -> Program {
    Program {
        pools: vec![(workers, spares)],
        tasks,
        roots: vec![(0, 0)],
        refuses: false,
        closes: false,
        rules: RULES,
    }
}

#[test]
fn forks_and_joins_end() {
    let tasks = vec![
        vec![Spawn(1), Spawn(2), Wait(2), Wait(1)],
        vec![Spawn(3), Wait(3)],
        vec![],
        vec![],
    ];
    let states = explore(one_pool(2, 1, tasks)).expect("no standstill");
    assert!(states > 1000, "{states}");
}

/// Explores a program on three workers with two spares, handed over by two outside threads, as it
/// is, with threads that the system refuses, and with a pool that is closed.
fn explore_large(name: &str, tasks: Vec<Vec<Op>>) {
    for (refuses, closes) in [(false, false), (true, false), (false, true)] {
        let program = Program {
            roots: vec![(0, 0), (0, 1)],
            refuses,
            closes,
            ..one_pool(3, 2, tasks.clone())
        };
        let states = explore(program);
        let states = states.unwrap_or_else(|| panic!("{name} can stand still: {tasks:?}"));
        println!("{name}: {states} states (refuses {refuses}, closes {closes})");
    }
}

#[test]
#[ignore = "takes minutes without optimisation; scripts/deep-check runs it"]
fn three_workers_end_block_on_and_join() {
    let tasks = vec![
        vec![Spawn(2), Block(2)],
        vec![Spawn(3), Wait(3)],
        vec![],
        vec![],
    ];
    explore_large("block_on and join", tasks);
}

#[test]
#[ignore = "takes minutes without optimisation; scripts/deep-check runs it"]
fn three_workers_end_a_scope() {
    let tasks = vec![
        vec![Spawn(2), Spawn(3), Wait(2), Wait(3)],
        vec![Block(2)],
        vec![],
        vec![],
    ];
    explore_large("a scope, and a task that waits for one of its tasks", tasks);
}

#[test]
#[ignore = "takes minutes without optimisation; scripts/deep-check runs it"]
fn three_workers_end_blocked_tasks() {
    let tasks = vec![
        vec![Spawn(2), Block(2)],
        vec![Spawn(3), Block(3)],
        vec![Block(3)],
        vec![],
    ];
    explore_large("as many blocked tasks as workers", tasks);
}

#[test]
#[ignore = "takes minutes without optimisation; scripts/deep-check runs it"]
fn three_workers_end_a_broadcast() {
    let tasks = vec![
        vec![Broadcast(2), Block(2), Block(3), Block(4)],
        vec![Spawn(5), Block(5)],
        vec![],
        vec![],
        vec![],
        vec![],
    ];
    explore_large("a broadcast beside a blocked task", tasks);
}

/// A pool that is dropped while tasks of it wait, and while its workers go to sleep.
#[test]
fn a_pool_that_is_closed_ends() {
    let tasks = vec![
        vec![Spawn(1), Spawn(2), Wait(1)],
        vec![Spawn(3), Block(3)],
        vec![],
        vec![],
    ];
    let program = Program {
        closes: true,
        ..one_pool(2, 1, tasks)
    };
    let broken = Rules {
        wakes_when_leaving: false,
        ..RULES
    };
    needs(program, broken);
}

/// A worker drops another pool, whose last task calls into the worker's own pool.
#[test]
fn a_pool_is_dropped_by_another_ones_worker() {
    let tasks = vec![
        vec![Hand(1, 1), Close(1), Leave(1)],
        vec![Hand(0, 2), Block(2)],
        vec![],
    ];
    let program = Program {
        pools: vec![(1, 1), (1, 1)],
        ..one_pool(1, 1, tasks)
    };
    let broken = Rules {
        serves_while_closing: false,
        ..RULES
    };
    needs(program, broken);
}

/// Two broadcasts whose tasks meet: if a worker gets the one first and another worker the other,
/// none of them goes on.
#[test]
fn broadcasts_arrive_everywhere_in_one_order() {
    let meetings = [vec![Meet(3)], vec![Meet(2)], vec![Meet(5)], vec![Meet(4)]];
    let program = |first: Vec<Op>, second: Vec<Op>| Program {
        roots: vec![(0, 0), (0, 1)],
        ..one_pool(2, 0, [vec![first, second], meetings.to_vec()].concat())
    };
    let (first, second) = ([Block(2), Block(3)], [Block(4), Block(5)]);
    let at_once = program(
        [&[Broadcast(2)], &first[..]].concat(),
        [&[Broadcast(4)], &second[..]].concat(),
    );
    explore(at_once).expect("no standstill");
    let one_by_one = program(
        [&[Target(0, 2), Target(1, 3)], &first[..]].concat(),
        [&[Target(0, 4), Target(1, 5)], &second[..]].concat(),
    );
    assert_eq!(explore(one_by_one), None, "ends in any order too");
}

/// Tasks that block until another task of the pool has run, more of them than workers.
#[test]
fn blocked_tasks_end_with_spares() {
    let tasks = vec![
        vec![Spawn(1), Spawn(2), Wait(1), Wait(2)],
        vec![Spawn(3), Block(3)],
        vec![Spawn(4), Block(4)],
        vec![],
        vec![],
    ];
    explore(one_pool(1, 2, tasks)).expect("no standstill");
}

/// More blocked tasks than spares: the program hangs if a waiter blocks all the same.
#[test]
fn a_waiter_without_a_spare_takes_any_work() {
    let tasks = vec![
        vec![Spawn(1), Block(1)],
        vec![Spawn(2), Block(2)],
        vec![Spawn(3), Block(3)],
        vec![],
    ];
    let broken = Rules {
        takes_any: false,
        ..RULES
    };
    needs(one_pool(1, 1, tasks), broken);
}

/// The system refuses spares' threads, at any moment.
#[test]
fn refused_threads_do_not_matter() {
    let tasks = vec![
        vec![Spawn(1), Spawn(2), Block(1), Block(2)],
        vec![Spawn(3), Block(3)],
        vec![],
        vec![],
    ];
    let program = Program {
        refuses: true,
        ..one_pool(2, 2, tasks)
    };
    explore(program).expect("no standstill");
}

/// Calls back and forth between two pools, in a chain longer than the number of spares: the worker
/// that is left may be a spare.
#[test]
fn calls_between_pools_end() {
    let tasks = vec![
        vec![Hand(1, 1), Block(1)],
        vec![Hand(0, 2), Block(2)],
        vec![Hand(1, 3), Block(3)],
        vec![Hand(0, 4), Block(4)],
        vec![],
    ];
    let program = Program {
        pools: vec![(1, 1), (1, 1)],
        ..one_pool(1, 1, tasks)
    };
    let broken = Rules {
        wakes_waiting_spares: false,
        ..RULES
    };
    needs(program, broken);
}

/// A worker is woken to search, and gets a targeted job that lasts until another worker has run the
/// job that it was woken for.
#[test]
fn a_summons_is_passed_on() {
    let tasks = vec![
        vec![Spawn(2), Target(1, 1), Spin(2), Block(1)],
        vec![Spin(2)],
        vec![],
    ];
    let program = one_pool(3, 0, tasks);
    let broken = Rules {
        passes_on: false,
        ..RULES
    };
    needs(program, broken);
}

/// A woken worker cannot get at the first of two tasks at once, and goes to sleep; the pusher
/// relied on it to wake another one for the second.
#[test]
fn a_summons_is_kept_by_one_that_sees_work() {
    let tasks = vec![vec![Spawn(1), Spawn(2), Spin(2)], vec![Spin(2)], vec![]];
    let broken = Rules {
        keeps_summons: false,
        ..RULES
    };
    needs(one_pool(3, 0, tasks), broken);
}

/// A task waits, without telling the pool, for one that it has left to a sleeper that naps.
#[test]
fn a_sleeper_looks_after_its_nap() {
    let program = one_pool(2, 0, vec![vec![Spawn(1), Spin(1)], vec![]]);
    let broken = Rules {
        looks_after_naps: false,
        ..RULES
    };
    needs(program, broken);
}

/// A task is left to a napper, which clears its pusher's call; the next one needs a third worker.
#[test]
fn a_napper_restores_the_calls() {
    let tasks = vec![vec![Spawn(1), Spawn(2), Spin(2)], vec![Spin(2)], vec![]];
    let broken = Rules {
        restores_calls: false,
        ..RULES
    };
    needs(one_pool(3, 0, tasks), broken);
}

/// A task is left to a sleeper that was drafted, and that gets a targeted job before it naps.
#[test]
fn a_draft_is_not_forgotten() {
    let tasks = vec![
        vec![Spawn(2), Target(1, 1), Spin(2), Block(1)],
        vec![Spin(2)],
        vec![],
    ];
    let broken = Rules {
        ends_drafts: false,
        ..RULES
    };
    needs(one_pool(3, 0, tasks), broken);
}

/// A task is pushed just when the only spare finds nothing and is put aside.
#[test]
fn a_spare_that_is_put_aside_looks_again() {
    let program = Program {
        roots: vec![(0, 0), (0, 2)],
        ..one_pool(1, 1, vec![vec![Spawn(1), Block(2)], vec![], vec![]])
    };
    let broken = Rules {
        spares_look_again: false,
        ..RULES
    };
    needs(program, broken);
}

/// Two outside threads, and a pool without spares.
#[test]
fn pools_without_spares_end() {
    let tasks = vec![
        vec![Spawn(2), Wait(2)],
        vec![Spawn(3), Block(3)],
        vec![],
        vec![],
    ];
    let program = Program {
        roots: vec![(0, 0), (0, 1)],
        ..one_pool(2, 0, tasks)
    };
    explore(program).expect("no standstill");
}
