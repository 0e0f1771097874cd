//! Leases that go on, outages, cancelling, limits, and a storm.

use locksley_policy::{Random, Source};

use super::*;

pub(in crate::leases) fn a_lease_goes_on_with_what_is_kept(world: &dyn World) {
    let case = Case::with(world, &["a"]);
    let lease = case.lease("w").expect("a waits");
    let kept = Completion {
        kept: Some(b"rest".to_vec()),
        ..completion("half", &["c"])
    };
    let step = |ticket: &Ticket| case.pool.complete(ticket, &kept).expect("it is there");
    assert_eq!(step(&lease.ticket), counted(2, 1));
    assert_eq!(
        step(&lease.ticket),
        counted(2, 1),
        "repeated, it is told the same"
    );
    assert_eq!(case.results(), ["half"], "and counts once");
    assert_eq!(
        case.complete(&lease, "A", &[]),
        Completed::Fenced,
        "another completion of an earlier step does not count"
    );
    assert!(case.renew(&lease));
    let mut next = lease.clone();
    next.ticket.step += 1;
    assert_eq!(
        case.lease("v").and_then(|lease| lease.task),
        Some(b"c".to_vec())
    );
    world.advance(LATE);
    let again = case.reclaim("v", false);
    let rest = again
        .iter()
        .find(|lease| lease.task.as_deref() == Some(b"rest"));
    let rest = rest.expect("what was kept is tried again, and only that");
    assert_eq!((again.len(), rest.attempt), (2, 2));
    assert_eq!(case.complete(&next, "late", &[]), Completed::Fenced);
    assert_eq!(case.complete(rest, "rest", &[]), counted(1, 2));
    let status = case.status();
    assert_eq!((status.done, status.tasks), (1, 4));
}

pub(in crate::leases) fn children_keep_their_tries_and_some_are_set_aside(world: &dyn World) {
    let case = Case::with(world, &["a"]);
    let lease = case.lease("w").expect("a waits");
    let mut both = completion("A", &["b"]);
    both.children[0].tries = 1;
    both.aside.push(SetAside {
        task: b"c".to_vec(),
        attempts: 3,
        reason: "never again".to_owned(),
        urgent: false,
    });
    let done = case.pool.complete(&lease.ticket, &both);
    assert_eq!(done, Ok(counted(1, 1)));
    let child = case.lease("w").expect("b waits");
    assert_eq!(child.attempt, 2);
    assert_eq!(case.complete(&child, "B", &[]), counted(0, 2));
    let status = case.status();
    assert_eq!((status.state, status.aside), (State::Done, 1));
    let Aside {
        attempts, reason, ..
    } = &status.reasons[0];
    assert_eq!((*attempts, reason.as_str()), (3, "never again"));
}

pub(in crate::leases) fn a_job_comes_in_chunks_and_does_not_end_before_the_last(world: &dyn World) {
    let case = Case::new(world);
    let gone = Err(LeaseError::Vanished(case.job.id.clone()));
    assert_eq!(case.chunk(&["b"], 1, true), gone, "nothing was before it");
    assert_eq!(case.chunk(&["a", "b"], 0, false), Ok(Submitted::New));
    for _ in 0..2 {
        let lease = case.lease("w").expect("workers need not wait for the rest");
        case.complete(&lease, "x", &[]);
    }
    let status = case.status();
    assert_eq!((status.state, status.sealed), (State::Running, false));
    assert_eq!((status.outstanding, status.done), (0, 2));
    // The job is submitted again from the start.
    let taken = Err(LeaseError::Taken(case.job.id.clone()));
    assert_eq!(case.chunk(&["a"], 0, false), taken);
    assert_eq!(case.chunk(&["a", "b"], 0, false), Ok(Submitted::Attached));
    assert_eq!(case.chunk(&["c"], 1, true), Ok(Submitted::Attached));
    assert_eq!(case.chunk(&["c"], 1, true), Ok(Submitted::Attached));
    assert_eq!(case.chunk(&["d"], 2, true), taken, "it is complete");
    let status = case.status();
    assert_eq!((status.outstanding, status.sealed), (1, true));
    let lease = case.lease("w").expect("c waits");
    assert_eq!(case.complete(&lease, "x", &[]), counted(0, 3));
    let over = Ok(Submitted::Over(State::Done));
    assert_eq!(case.chunk(&["a", "b"], 0, false), over);
    // The last chunk may come when all tasks are done.
    let case = Case::new(world);
    assert_eq!(case.chunk(&[], 0, false), Ok(Submitted::New));
    assert_eq!(case.status().state, State::Running);
    assert_eq!(case.chunk(&[], 1, true), Ok(Submitted::Attached));
    assert_eq!(case.status().state, State::Done);
}

pub(in crate::leases) fn a_clock_that_is_set_back_does_not_stop_reclaiming(world: &dyn World) {
    let case = Case::with(world, &["a", "b"]);
    assert!(case.lease("w").is_some());
    case.heartbeat("w", LONG);
    world.set_back(Duration::from_secs(3600));
    assert!(case.lease("w").is_some(), "from after it was set back");
    assert_eq!(case.reclaim("v", false), []);
    world.advance(LATE);
    assert_eq!(case.reclaim("v", false).len(), 2);
}

pub(in crate::leases) fn after_an_outage_leases_have_their_time_again(world: &dyn World) {
    let case = Case::with(world, &["a"]);
    let leave = |name| case.pool.leave(&case.worker(name));
    leave("bystander").expect("the pool is there");
    // The worker that comes back first may look for expired leases before its first heartbeat.
    for says_so in [false, true] {
        if says_so {
            let again = case.pool.cancel(&case.job.id, true);
            assert_eq!(again, Ok(Some(State::Done)));
            assert_eq!(case.submit(&["a"]), Ok(Submitted::New));
        }
        case.heartbeat("w", LEASE);
        let lease = case.lease("w").expect("one waits");
        world.advance(LATE);
        if says_so {
            case.heartbeat("v", LONG);
        }
        assert_eq!(case.reclaim("v", true), []);
        case.heartbeat("v", LONG);
        assert_eq!(case.reclaim("v", true), []);
        assert!(case.renew(&lease));
        world.advance(LATE);
        let again = case.reclaim("v", true).remove(0);
        assert_eq!(
            again.attempt, 2,
            "one that is not renewed runs out after all"
        );
        assert!(matches!(
            case.complete(&again, "A", &[]),
            Completed::Counted { .. }
        ));
        leave("v").expect("the pool is there");
    }
}

pub(in crate::leases) fn cancelling_voids_everything(world: &dyn World) {
    let case = Case::with(world, &["a", "b", "c"]);
    let done = case.lease("w").expect("a waits");
    assert_eq!(case.complete(&done, "A", &[]), counted(2, 1));
    let lease = case.lease("w").expect("b waits");
    assert_eq!(
        case.pool.cancel(&case.job.id, false),
        Ok(Some(State::Cancelled))
    );
    assert!(!case.renew(&lease));
    assert_eq!(case.complete(&lease, "B", &["x"]), Completed::Fenced);
    assert_eq!(case.lease("w"), None);
    assert_eq!(case.reclaim("w", true), []);
    let status = case.status();
    assert_eq!(
        (status.state, status.done, status.outstanding),
        (State::Cancelled, 1, 0)
    );
    assert!(case.results().is_empty());
    assert_eq!(
        case.pool.await_end(&case.job.id, Duration::from_secs(60)),
        Ok(())
    );
    let over = Ok(Submitted::Over(State::Cancelled));
    assert_eq!(case.submit(&["a", "b", "c"]), over);
    assert_eq!(
        case.pool.cancel(&case.job.id, true),
        Ok(Some(State::Cancelled))
    );
    assert_eq!(case.pool.cancel(&case.job.id, true), Ok(None));
    assert_eq!(case.pool.status(&case.job.id), Ok(None));
    assert_eq!(case.submit(&["b"]), Ok(Submitted::New));
    assert_eq!(case.complete(&lease, "B", &["x"]), Completed::Fenced);
    assert_eq!(case.status().outstanding, 1);
}

/// The submitter may not know of the cancellation yet, and continue.
pub(in crate::leases) fn a_job_that_is_cancelled_while_it_is_submitted_stays_so(world: &dyn World) {
    let case = Case::new(world);
    assert_eq!(case.chunk(&["a"], 0, false), Ok(Submitted::New));
    let vanished = Err(LeaseError::Vanished(case.job.id.clone()));
    assert_eq!(case.chunk(&["c"], 2, true), vanished, "one is missing");
    let cancelled = case.pool.cancel(&case.job.id, false);
    assert_eq!(cancelled, Ok(Some(State::Cancelled)));
    let over = Ok(Submitted::Over(State::Cancelled));
    assert_eq!(case.chunk(&["b"], 1, true), over);
    assert_eq!(case.lease("w"), None);
    let status = case.status();
    assert_eq!((status.state, status.outstanding), (State::Cancelled, 0));
}

pub(in crate::leases) fn compaction_replaces_what_is_still_there(world: &dyn World) {
    let case = Case::with(world, &["1", "2", "3"]);
    let complete = |result: &str| {
        let lease = case.lease("w").expect("one waits");
        case.complete(&lease, result, &[])
    };
    complete("1");
    complete("2");
    let first = case
        .pool
        .results(&case.job.id, 99)
        .expect("the pool is there");
    complete("3");
    assert_eq!(
        case.pool.compact(&case.job.id, &first, &[b"12".to_vec()]),
        Ok(true)
    );
    assert_eq!(case.results(), ["3", "12"]);
    assert_eq!(
        case.pool.compact(&case.job.id, &first, &[b"12".to_vec()]),
        Ok(false)
    );
    // The same bytes, divided differently, are other results.
    assert_eq!(
        case.pool.compact(
            &case.job.id,
            &[b"31".to_vec(), b"2".to_vec()],
            &[b"x".to_vec()]
        ),
        Ok(false)
    );
    let all = case
        .pool
        .results(&case.job.id, 99)
        .expect("the pool is there");
    assert_eq!(
        case.pool.compact(&case.job.id, &all, &[b"123".to_vec()]),
        Ok(true)
    );
    assert_eq!(case.results(), ["123"]);
}

pub(in crate::leases) fn limits_are_kept(world: &dyn World) {
    let case = Case::new(world);
    let (large, many) = ("x".repeat(101), vec!["x"; 6]);
    let oversized = |what, size, limit| {
        Err::<Submitted, _>(LeaseError::Oversized(Oversized { what, size, limit }))
    };
    assert_eq!(case.submit(&[&large]), oversized("a task", 101, 100));
    assert_eq!(case.submit(&many), oversized("a number of tasks", 6, 5));
    assert_eq!(case.pool.status(&case.job.id), Ok(None));
    assert_eq!(case.submit(&["a"]), Ok(Submitted::New));
    let lease = case.lease("w").expect("a waits");
    let attempt = |result: usize, children: Vec<usize>| {
        let bytes = |size| vec![0; size];
        let child = |size| Child::new(bytes(size));
        let completion = Completion {
            results: vec![bytes(result)],
            children: children.into_iter().map(child).collect(),
            tasks: 1,
            ..Completion::default()
        };
        let refused = case.pool.complete(&lease.ticket, &completion);
        assert!(
            matches!(refused, Err(LeaseError::Oversized(_))),
            "{refused:?}"
        );
    };
    attempt(51, vec![]);
    attempt(1, vec![101]);
    attempt(1, vec![1; 6]);
    assert_eq!(
        case.complete(&lease, &"r".repeat(50), &["c"; 5]),
        counted(5, 1)
    );
}

pub(in crate::leases) fn other_builds_get_nothing(world: &dyn World) {
    let case = Case::with(world, &["a"]);
    let other = WorkerId {
        name: "other".to_owned(),
        build: Build(!case.job.build.0),
    };
    assert_eq!(case.pool.lease(&other, 1, true, NOW), Ok(vec![]));
    let running = case.pool.running().expect("the pool is there");
    assert!(running.contains(&(case.job.id.clone(), case.job.build)));
    assert!(case.lease("w").is_some());
    world.advance(LATE);
    case.pool.reclaim().expect("the pool is there");
    assert_eq!(case.pool.lease(&other, 1, true, NOW), Ok(vec![]));
}

pub(in crate::leases) fn a_worker_that_waits_is_woken(world: &dyn World) {
    let case = &Case::new(world);
    // `lease` may return early without tasks.
    let wait = |name: &str| {
        for _ in 0..60 {
            let leases = case
                .pool
                .lease(&case.worker(name), 1, false, Duration::from_secs(1));
            if let Some(lease) = leases.expect("the pool is there").pop() {
                return lease;
            }
        }
        panic!("{name} was not woken")
    };
    let got = thread::scope(|scope| {
        let sleeper = scope.spawn(|| wait("sleeper"));
        assert_eq!(case.submit(&["a"]), Ok(Submitted::New));
        sleeper.join().expect("it got it")
    });
    thread::scope(|scope| {
        let sleeper = scope.spawn(|| wait("another"));
        assert_eq!(case.complete(&got, "A", &["b"]), counted(1, 1));
        let lease = sleeper.join().expect("it got it");
        assert_eq!(lease.task.as_deref(), Some(&b"b"[..]));
    });
}

pub(in crate::leases) fn the_living_are_counted(world: &dyn World) {
    let case = Case::new(world);
    let worker = case.worker(&format!("alive-{}", case.job.build));
    let present = WorkerInfo {
        worker: worker.clone(),
        slots: 3,
    };
    let here = || {
        let workers = case.pool.workers().expect("the pool is there");
        workers.contains(&present)
    };
    let slots = case
        .pool
        .heartbeat(&present, LEASE)
        .expect("the pool is there");
    assert!(slots.slots >= 3 && slots.workers >= 1 && here());
    world.advance(LATE);
    assert!(!here());
    case.pool
        .heartbeat(&present, Duration::from_secs(60))
        .expect("the pool is there");
    assert!(here());
    assert_eq!(case.pool.leave(&worker), Ok(()));
    assert!(!here());
}

/// A task is a number n below 300; its children are 2n + 1 and 2n + 2, its result is itself. At
/// random, workers die, are late, repeat requests, and give tasks back.
pub(in crate::leases) fn a_storm_loses_nothing_and_counts_nothing_twice(world: &dyn World) {
    const NODES: u64 = 300;
    let mut case = Case::new(world);
    case.job.terms.tries = 1000;
    assert_eq!(case.submit(&["0"]), Ok(Submitted::New));
    let mut random = Random::new(case.job.build.0, 0);
    let mut roll = |sides: usize| random.below(sides);
    let (mut here, mut late) = (Vec::new(), Vec::new());
    let mut passed = 0;
    while case.status().state == State::Running {
        let name = format!("w{}", roll(3));
        match roll(12) {
            0..=3 => here.extend(case.lease(&name)),
            4 => here.extend(case.reclaim(&name, roll(2) == 0)),
            // The worker dies, or is slow and comes back, too late or not.
            5 if !here.is_empty() && passed < 12 => late.push(here.swap_remove(roll(here.len()))),
            6 if passed < 12 => {
                passed += 1;
                world.advance(LATE);
            }
            7 if !here.is_empty() => {
                let lease: Lease = here.swap_remove(roll(here.len()));
                case.pool
                    .give_up(&lease.ticket, &GiveUp::Stopping)
                    .expect("the pool is there");
            }
            8 => late.extend(here.first().cloned()),
            9 => {
                let results = case
                    .pool
                    .results(&case.job.id, 99)
                    .expect("the pool is there");
                let first = &results[..results.len() / 2];
                let number = |part: &Vec<u8>| {
                    String::from_utf8_lossy(part)
                        .parse::<u64>()
                        .expect("it is a number")
                };
                let sum: u64 = first.iter().map(number).sum();
                if !first.is_empty() {
                    case.pool
                        .compact(&case.job.id, first, &[sum.to_string().into_bytes()])
                        .expect("the pool is there");
                }
            }
            choice => {
                let from = if choice == 10 { &mut late } else { &mut here };
                if !from.is_empty() {
                    let lease = from.swap_remove(roll(from.len()));
                    let node: u64 =
                        String::from_utf8_lossy(lease.task.as_ref().expect("it has a task"))
                            .parse()
                            .expect("it is a number");
                    let children: Vec<String> = [2 * node + 1, 2 * node + 2]
                        .iter()
                        .filter(|child| **child < NODES)
                        .map(u64::to_string)
                        .collect();
                    let children: Vec<&str> = children.iter().map(String::as_str).collect();
                    case.complete(&lease, &(node << 16 | 1).to_string(), &children);
                }
            }
        }
        if passed >= 12 && here.is_empty() && case.status().in_flight > 0 {
            world.advance(LATE);
            here.extend(case.reclaim("last", true));
        }
    }
    let sum: u64 = case
        .results()
        .iter()
        .map(|part| part.parse::<u64>().expect("it is a number"))
        .sum();
    assert_eq!((sum & 0xFFFF, sum >> 16), (NODES, NODES * (NODES - 1) / 2));
    assert_eq!(case.status().done, NODES);
    let names: BTreeSet<String> = case
        .status()
        .shares
        .into_iter()
        .map(|share| share.worker)
        .collect();
    assert!(names.len() >= 3, "{names:?}");
}
