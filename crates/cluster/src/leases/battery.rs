//! What every lease pool does, whatever it is made of.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use super::*;
use crate::Build;
use crate::continuation::{DeferredId, DeferredTask, Slot};

/// A pool, and its time.
pub(super) trait World: Sync {
    fn pool(&self) -> &dyn LeasePool;

    /// Lets time pass.
    fn pass(&self, time: Duration);

    /// Sets the clock back.
    fn set_back(&self, time: Duration);
}

/// The lease of the tests. Short, since some pools have a clock that cannot be set; and long enough that nothing runs out by chance
/// in those tests where nothing shall.
pub(super) const LEASE: Duration = Duration::from_millis(300);

/// A little longer than a lease.
const LATE: Duration = Duration::from_millis(330);

const NOW: Duration = Duration::ZERO;

/// Longer than any test.
const LONG: Duration = Duration::from_secs(600);

/// One test's job, with a build of its own: no other test sees its tasks.
struct Case<'a> {
    pool: &'a dyn LeasePool,
    job: JobInfo,
}

impl<'a> Case<'a> {
    fn new(world: &'a dyn World) -> Case<'a> {
        static NUMBER: AtomicU64 = AtomicU64::new(1);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let unique = number << 32 | u64::from(std::process::id());
        let job = JobInfo {
            id: format!("case-{unique}").parse().expect("it is plain"),
            build: Build(unique),
            program: "battery".to_owned(),
            terms: Terms {
                lease: LEASE,
                tries: 4,
                keep: Duration::from_secs(60),
                limits: Limits {
                    task: 100,
                    children: 5,
                    result: 50,
                },
            },
        };
        let case = Case {
            pool: world.pool(),
            job,
        };
        case.beat("bystander", LONG);
        case
    }

    fn with(world: &'a dyn World, tasks: &[&str]) -> Case<'a> {
        let case = Case::new(world);
        assert_eq!(case.submit(tasks), Ok(Submitted::New));
        case
    }

    fn submit(&self, tasks: &[&str]) -> Result<Submitted, Trouble> {
        self.chunk(tasks, 0, true)
    }

    fn chunk(&self, tasks: &[&str], chunk: u64, last: bool) -> Result<Submitted, Trouble> {
        self.pool.submit(&Order {
            job: self.job.clone(),
            tasks: tasks.iter().map(|task| task.as_bytes().to_vec()).collect(),
            chunk,
            last,
        })
    }

    fn worker(&self, name: &str) -> WorkerId {
        WorkerId {
            name: name.to_owned(),
            build: self.job.build,
        }
    }

    fn beat(&self, name: &str, alive_for: Duration) {
        let (worker, slots) = (self.worker(name), 1);
        let beat = self.pool.beat(&Present { worker, slots }, alive_for);
        beat.expect("the pool is there");
    }

    fn lease(&self, name: &str) -> Option<Lease> {
        let leases = self.pool.lease(&self.worker(name), 1, false, NOW);
        leases.expect("the pool is there").pop()
    }

    /// Looks for leases that ran out, and takes what waits then.
    fn reclaim(&self, name: &str, suspect: bool) -> Vec<Lease> {
        self.pool.reclaim().expect("the pool is there");
        let leases = self.pool.lease(&self.worker(name), 8, suspect, NOW);
        leases.expect("the pool is there")
    }

    fn complete(&self, lease: &Lease, result: &str, children: &[&str]) -> Completed {
        let completed = self
            .pool
            .complete(&lease.ticket, &completion(result, children));
        completed.expect("the pool is there")
    }

    fn renew(&self, lease: &Lease) -> bool {
        let renewed = self.pool.renew(std::slice::from_ref(&lease.ticket));
        renewed.expect("the pool is there")[0]
    }

    fn status(&self) -> Status {
        let status = self.pool.status(&self.job.id).expect("the pool is there");
        status.expect("the job is there")
    }

    fn results(&self) -> Vec<String> {
        let results = self
            .pool
            .results(&self.job.id, 99)
            .expect("the pool is there");
        let text = |bytes| String::from_utf8(bytes).expect("it is text");
        results.into_iter().map(text).collect()
    }
}

fn completion(result: &str, children: &[&str]) -> Completion {
    let child = |task: &&str| Child {
        task: task.as_bytes().to_vec(),
        tries: 0,
    };
    Completion {
        results: vec![result.as_bytes().to_vec()],
        children: children.iter().map(child).collect(),
        tasks: 2,
        ..Completion::default()
    }
}

fn counted(outstanding: u64, results: u64) -> Completed {
    Completed::Counted {
        outstanding,
        results,
    }
}

/// Runs every test of the battery.
macro_rules! battery {
    ($world:expr) => {
        $crate::leases::battery::battery!($world;
            tasks_become_results_and_children
            a_job_without_tasks_is_done
            what_ran_out_goes_to_another_and_the_late_completion_is_fenced
            a_ticket_of_an_earlier_delivery_is_void_even_for_the_same_worker
            a_renewed_lease_does_not_run_out
            a_void_ticket_cannot_be_renewed_and_takes_nothing_back
            a_repeated_completion_counts_once
            the_same_job_is_attached_and_another_refused
            of_many_who_submit_at_once_one_creates
            giving_up_lets_others_try
            what_fails_too_often_is_set_aside
            what_kills_its_workers_is_set_aside
            a_worker_gets_one_suspect_at_a_time_beside_others
            a_lease_goes_on_with_what_is_kept
            children_keep_their_tries_and_some_are_set_aside
            a_job_comes_in_chunks_and_does_not_end_before_the_last
            a_clock_that_is_set_back_does_not_stop_reclaiming
            after_an_outage_leases_have_their_time_again
            cancelling_voids_everything
            compaction_replaces_what_is_still_there
            limits_are_kept
            other_builds_get_nothing
            a_worker_that_waits_is_woken
            the_living_are_counted
            a_deferred_task_waits_when_its_last_slot_is_filled
            a_slot_is_filled_once
            deferred_tasks_have_limits
            a_storm_loses_nothing_and_counts_nothing_twice
        );
    };
    ($world:expr; $($test:ident)*) => {
        $(#[test]
        fn $test() {
            if let Some(world) = $world {
                $crate::leases::battery::$test(world);
            }
        })*
    };
}
pub(super) use battery;

pub(super) fn tasks_become_results_and_children(world: &dyn World) {
    let case = Case::with(world, &["a", "b"]);
    let lease = case.lease("w").expect("a waits");
    assert_eq!(lease.task.as_deref(), Some(&b"a"[..]));
    assert_eq!((lease.attempt, &*lease.job), (1, &case.job));
    let status = case.status();
    assert_eq!((status.outstanding, status.in_flight), (2, 1));
    assert_eq!(case.complete(&lease, "A", &["c", "d"]), counted(3, 1));
    for (result, left) in [("B", 2), ("C", 1), ("D", 0)] {
        let lease = case.lease("w").expect("there is more");
        assert_eq!(lease.task, Some(result.to_lowercase().into_bytes()));
        let results = 4 - left;
        assert_eq!(case.complete(&lease, result, &[]), counted(left, results));
    }
    let status = case.status();
    assert_eq!((status.state, status.outstanding), (State::Done, 0));
    assert_eq!((status.done, status.tasks), (4, 8));
    assert_eq!(status.shares.len(), 1);
    assert_eq!(
        (status.shares[0].worker.as_str(), status.shares[0].done),
        ("w", 4)
    );
    assert_eq!(case.results(), ["A", "B", "C", "D"]);
    assert_eq!(case.lease("w"), None);
    let running = case.pool.running().expect("the pool is there");
    assert!(running.iter().all(|(job, _)| *job != case.job.id));
}

pub(super) fn a_job_without_tasks_is_done(world: &dyn World) {
    let case = Case::with(world, &[]);
    assert_eq!(case.status().state, State::Done);
    assert_eq!(
        case.pool.await_end(&case.job.id, Duration::from_secs(60)),
        Ok(())
    );
}

pub(super) fn what_ran_out_goes_to_another_and_the_late_completion_is_fenced(world: &dyn World) {
    let case = Case::with(world, &["a"]);
    let slow = case.lease("slow").expect("a waits");
    assert_eq!(case.reclaim("other", true), []);
    world.pass(LATE);
    assert_eq!(case.lease("other"), None, "it is delivered, not new");
    let again = case.reclaim("other", true).remove(0);
    assert_eq!((again.attempt, &again.task), (2, &slow.task));
    assert_eq!(case.complete(&slow, "SLOW", &["x"]), Completed::Fenced);
    assert_eq!(case.complete(&again, "A", &[]), counted(0, 1));
    assert_eq!(case.complete(&slow, "SLOW", &["x"]), Completed::Fenced);
    assert_eq!(case.results(), ["A"]);
    assert_eq!((case.status().state, case.status().done), (State::Done, 1));
}

pub(super) fn a_ticket_of_an_earlier_delivery_is_void_even_for_the_same_worker(world: &dyn World) {
    let case = Case::with(world, &["a"]);
    let first = case.lease("w").expect("a waits");
    world.pass(LATE);
    let second = case.reclaim("w", true).remove(0);
    assert_eq!(
        case.pool
            .renew(&[first.ticket.clone(), second.ticket.clone()]),
        Ok(vec![false, true])
    );
    assert_eq!(case.complete(&first, "1", &[]), Completed::Fenced);
    assert_eq!(
        case.pool.give_up(&first.ticket, &GiveUp::Stopping),
        Ok(false)
    );
    assert_eq!(case.complete(&second, "2", &[]), counted(0, 1));
}

pub(super) fn a_renewed_lease_does_not_run_out(world: &dyn World) {
    let case = Case::with(world, &["a"]);
    let lease = case.lease("w").expect("a waits");
    for _ in 0..4 {
        world.pass(LEASE / 2);
        assert!(case.renew(&lease));
        assert_eq!(case.reclaim("other", true), []);
    }
    assert_eq!(case.complete(&lease, "A", &[]), counted(0, 1));
    assert!(!case.renew(&lease));
}

pub(super) fn a_void_ticket_cannot_be_renewed_and_takes_nothing_back(world: &dyn World) {
    let case = Case::with(world, &["a"]);
    let slow = case.lease("slow").expect("a waits");
    world.pass(LATE);
    // Late, but nobody has taken it: the lease goes on.
    assert!(case.renew(&slow));
    world.pass(LATE);
    let again = case.reclaim("other", true).remove(0);
    assert!(!case.renew(&slow));
    assert_eq!(case.complete(&again, "A", &[]), counted(0, 1));
}

pub(super) fn a_repeated_completion_counts_once(world: &dyn World) {
    let case = Case::with(world, &["a", "z"]);
    let lease = case.lease("w").expect("a waits");
    assert_eq!(case.complete(&lease, "A", &["c"]), counted(2, 1));
    assert_eq!(case.complete(&lease, "A", &["c"]), Completed::Fenced);
    let status = case.status();
    assert_eq!((status.done, status.outstanding), (1, 2));
    assert_eq!(case.results(), ["A"]);
}

pub(super) fn the_same_job_is_attached_and_another_refused(world: &dyn World) {
    let mut case = Case::with(world, &["a"]);
    assert_eq!(case.submit(&["a"]), Ok(Submitted::Attached));
    let taken = Err(Trouble::Taken(case.job.id.clone()));
    assert_eq!(case.submit(&["b"]), taken);
    let lease = case.lease("w").expect("a waits");
    assert_eq!(case.lease("w"), None);
    assert_eq!(case.complete(&lease, "A", &[]), counted(0, 1));
    assert_eq!(case.submit(&["a"]), Ok(Submitted::Over(State::Done)));
    case.job.program = "another".to_owned();
    assert_eq!(case.submit(&["a"]), taken);
    assert_eq!(case.status().done, 1);
}

pub(super) fn of_many_who_submit_at_once_one_creates(world: &dyn World) {
    let case = &Case::new(world);
    let created = AtomicU64::new(0);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| match case.submit(&["a", "b"]) {
                Ok(Submitted::New) => drop(created.fetch_add(1, Ordering::Relaxed)),
                other => assert_eq!(other, Ok(Submitted::Attached)),
            });
        }
    });
    assert_eq!(created.into_inner(), 1);
    assert_eq!(case.status().outstanding, 2);
}

pub(super) fn giving_up_lets_others_try(world: &dyn World) {
    let case = Case::with(world, &["a"]);
    let lease = case.lease("w").expect("a waits");
    assert_eq!(
        case.pool.give_up(&lease.ticket, &GiveUp::Stopping),
        Ok(true)
    );
    assert_eq!(
        case.pool.give_up(&lease.ticket, &GiveUp::Stopping),
        Ok(false)
    );
    assert_eq!(case.complete(&lease, "LATE", &[]), Completed::Fenced);
    let lease = case.lease("v").expect("it waits again");
    assert_eq!((lease.attempt, lease.task.as_deref()), (1, Some(&b"a"[..])));
    let failed = GiveUp::Failed("it did not".to_owned());
    assert_eq!(case.pool.give_up(&lease.ticket, &failed), Ok(true));
    let lease = case.lease("u").expect("it waits again");
    assert_eq!(lease.attempt, 2);
    assert_eq!(case.complete(&lease, "A", &[]), counted(0, 1));
    assert_eq!(case.status().aside, 0);
}

pub(super) fn what_fails_too_often_is_set_aside(world: &dyn World) {
    let case = Case::with(world, &["a", "b", "c"]);
    let hopeless = case.lease("w").expect("a waits");
    let why = GiveUp::Hopeless("no such kind".to_owned());
    assert_eq!(case.pool.give_up(&hopeless.ticket, &why), Ok(true));
    let good = case.lease("w").expect("b waits");
    for attempt in 1..=4 {
        let lease = case.reclaim("w", true).pop().expect("c waits");
        assert_eq!(lease.attempt, attempt);
        let why = GiveUp::Failed(format!("it broke at {attempt}"));
        assert_eq!(case.pool.give_up(&lease.ticket, &why), Ok(true));
    }
    assert_eq!(case.lease("w"), None);
    assert_eq!(case.status().state, State::Running);
    assert_eq!(case.complete(&good, "B", &[]), counted(0, 1));
    let status = case.status();
    assert_eq!(
        (status.state, status.done, status.aside),
        (State::Done, 1, 2)
    );
    assert_eq!(
        (
            status.reasons[0].attempts,
            status.reasons[0].reason.as_str()
        ),
        (1, "no such kind")
    );
    assert_eq!(
        (
            status.reasons[1].attempts,
            status.reasons[1].reason.as_str()
        ),
        (4, "it broke at 4")
    );
}

pub(super) fn what_kills_its_workers_is_set_aside(world: &dyn World) {
    let case = Case::with(world, &["a"]);
    let mut last = case.lease("w1").expect("a waits");
    for attempt in 2..=4 {
        world.pass(LATE);
        last = case.reclaim(&format!("w{attempt}"), true).remove(0);
        assert_eq!(last.attempt, attempt);
    }
    world.pass(LATE);
    assert_eq!(case.reclaim("w5", true), []);
    let status = case.status();
    assert_eq!(
        (status.state, status.aside, status.outstanding),
        (State::Done, 1, 0)
    );
    assert!(status.reasons[0].reason.ends_with("w4"), "{status:?}");
    assert_eq!(case.complete(&last, "A", &[]), Completed::Fenced);
}

pub(super) fn a_worker_gets_one_suspect_at_a_time_beside_others(world: &dyn World) {
    let case = Case::with(world, &["a", "b", "c", "d", "e"]);
    assert!(case.lease("w").is_some() && case.lease("w").is_some());
    world.pass(LATE);
    let second = case.reclaim("w", false);
    let tries = |leases: &[Lease]| {
        let mut tries: Vec<u32> = leases.iter().map(|lease| lease.attempt).collect();
        tries.sort_unstable();
        tries
    };
    assert_eq!(tries(&second), [1, 1, 1, 2, 2]);
    for lease in second.iter().filter(|lease| lease.attempt == 1) {
        assert_eq!(
            case.pool.give_up(&lease.ticket, &GiveUp::Stopping),
            Ok(true)
        );
    }
    world.pass(LATE);
    case.pool.reclaim().expect("the pool is there");
    assert_eq!(case.status().outstanding, 5);
    let lease = |suspect, most| {
        let leases = case.pool.lease(&case.worker("w"), most, suspect, NOW);
        leases.expect("the pool is there")
    };
    assert_eq!(tries(&lease(true, 3)), [1, 1, 3], "one of them, and others");
    assert_eq!(tries(&lease(false, 9)), [1], "none while it has one");
    let other = lease(true, 9);
    assert_eq!(tries(&other), [3]);
    assert_eq!(case.complete(&other[0], "A", &[]), counted(4, 1));
}

pub(super) fn a_lease_goes_on_with_what_is_kept(world: &dyn World) {
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
    world.pass(LATE);
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

pub(super) fn children_keep_their_tries_and_some_are_set_aside(world: &dyn World) {
    let case = Case::with(world, &["a"]);
    let lease = case.lease("w").expect("a waits");
    let mut both = completion("A", &["b"]);
    both.children[0].tries = 1;
    both.aside.push(Refused {
        task: b"c".to_vec(),
        attempts: 3,
        reason: "never again".to_owned(),
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

pub(super) fn a_job_comes_in_chunks_and_does_not_end_before_the_last(world: &dyn World) {
    let case = Case::new(world);
    let gone = Err(Trouble::Vanished(case.job.id.clone()));
    assert_eq!(case.chunk(&["b"], 1, true), gone, "nothing was before it");
    assert_eq!(case.chunk(&["a", "b"], 0, false), Ok(Submitted::New));
    for _ in 0..2 {
        let lease = case.lease("w").expect("workers need not wait for the rest");
        case.complete(&lease, "x", &[]);
    }
    let status = case.status();
    assert_eq!((status.state, status.sealed), (State::Running, false));
    assert_eq!((status.outstanding, status.done), (0, 2));
    // Somebody submits it again from the start.
    let taken = Err(Trouble::Taken(case.job.id.clone()));
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
    // The last chunk may come when all is done.
    let case = Case::new(world);
    assert_eq!(case.chunk(&[], 0, false), Ok(Submitted::New));
    assert_eq!(case.status().state, State::Running);
    assert_eq!(case.chunk(&[], 1, true), Ok(Submitted::Attached));
    assert_eq!(case.status().state, State::Done);
}

pub(super) fn a_clock_that_is_set_back_does_not_stop_reclaiming(world: &dyn World) {
    let case = Case::with(world, &["a", "b"]);
    assert!(case.lease("w").is_some());
    case.beat("w", LONG);
    world.set_back(Duration::from_secs(3600));
    assert!(case.lease("w").is_some(), "from after it was set back");
    assert_eq!(case.reclaim("v", false), []);
    world.pass(LATE);
    assert_eq!(case.reclaim("v", false).len(), 2);
}

pub(super) fn after_an_outage_leases_have_their_time_again(world: &dyn World) {
    let case = Case::with(world, &["a"]);
    let leave = |name| case.pool.leave(&case.worker(name));
    leave("bystander").expect("the pool is there");
    // Whoever comes back first may ask for what ran out before it says that it is there.
    for says_so in [false, true] {
        if says_so {
            let again = case.pool.cancel(&case.job.id, true);
            assert_eq!(again, Ok(Some(State::Done)));
            assert_eq!(case.submit(&["a"]), Ok(Submitted::New));
        }
        case.beat("w", LEASE);
        let lease = case.lease("w").expect("one waits");
        world.pass(LATE);
        if says_so {
            case.beat("v", LONG);
        }
        assert_eq!(case.reclaim("v", true), []);
        case.beat("v", LONG);
        assert_eq!(case.reclaim("v", true), []);
        assert!(case.renew(&lease));
        world.pass(LATE);
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

pub(super) fn cancelling_voids_everything(world: &dyn World) {
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

pub(super) fn compaction_replaces_what_is_still_there(world: &dyn World) {
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
    // The same bytes, otherwise divided, are other results.
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

pub(super) fn limits_are_kept(world: &dyn World) {
    let case = Case::new(world);
    let (large, many) = ("x".repeat(101), vec!["x"; 6]);
    let oversized = |what, size, limit| {
        Err::<Submitted, _>(Trouble::Oversized(Oversized { what, size, limit }))
    };
    assert_eq!(case.submit(&[&large]), oversized("a task", 101, 100));
    assert_eq!(case.submit(&many), oversized("a number of tasks", 6, 5));
    assert_eq!(case.pool.status(&case.job.id), Ok(None));
    assert_eq!(case.submit(&["a"]), Ok(Submitted::New));
    let lease = case.lease("w").expect("a waits");
    let attempt = |result: usize, children: Vec<usize>| {
        let bytes = |size| vec![0; size];
        let child = |size| Child {
            task: bytes(size),
            tries: 0,
        };
        let completion = Completion {
            results: vec![bytes(result)],
            children: children.into_iter().map(child).collect(),
            tasks: 1,
            ..Completion::default()
        };
        let refused = case.pool.complete(&lease.ticket, &completion);
        assert!(matches!(refused, Err(Trouble::Oversized(_))), "{refused:?}");
    };
    attempt(51, vec![]);
    attempt(1, vec![101]);
    attempt(1, vec![1; 6]);
    assert_eq!(
        case.complete(&lease, &"r".repeat(50), &["c"; 5]),
        counted(5, 1)
    );
}

pub(super) fn other_builds_get_nothing(world: &dyn World) {
    let case = Case::with(world, &["a"]);
    let other = WorkerId {
        name: "other".to_owned(),
        build: Build(!case.job.build.0),
    };
    assert_eq!(case.pool.lease(&other, 1, true, NOW), Ok(vec![]));
    let running = case.pool.running().expect("the pool is there");
    assert!(running.contains(&(case.job.id.clone(), case.job.build)));
    assert!(case.lease("w").is_some());
    world.pass(LATE);
    case.pool.reclaim().expect("the pool is there");
    assert_eq!(case.pool.lease(&other, 1, true, NOW), Ok(vec![]));
}

pub(super) fn a_worker_that_waits_is_woken(world: &dyn World) {
    let case = &Case::new(world);
    // Whoever leases may be told early that there is nothing.
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

pub(super) fn the_living_are_counted(world: &dyn World) {
    let case = Case::new(world);
    let worker = case.worker(&format!("alive-{}", case.job.build));
    let present = Present {
        worker: worker.clone(),
        slots: 3,
    };
    let here = || {
        let workers = case.pool.workers().expect("the pool is there");
        workers.contains(&present)
    };
    let slots = case.pool.beat(&present, LEASE).expect("the pool is there");
    assert!(slots.slots >= 3 && slots.workers >= 1 && here());
    world.pass(LATE);
    assert!(!here());
    case.pool
        .beat(&present, Duration::from_secs(60))
        .expect("the pool is there");
    assert!(here());
    assert_eq!(case.pool.leave(&worker), Ok(()));
    assert!(!here());
}

fn deferred(number: u64, slots: u32, filled: &[(u32, &str)]) -> DeferredTask {
    DeferredTask {
        id: DeferredId { home: 1, number },
        front: format!("front{number}").into_bytes(),
        head: b"head:".to_vec(),
        slots,
        filled: filled
            .iter()
            .map(|(index, input)| (*index, input.as_bytes().to_vec()))
            .collect(),
    }
}

fn input(number: u64, index: u32, input: &str) -> (Slot, Vec<u8>) {
    let of = DeferredId { home: 1, number };
    (Slot { of, index }, input.as_bytes().to_vec())
}

/// What a task looks like that was put together: the length of the argument comes before it.
fn assembled(number: u64, inputs: &str) -> Vec<u8> {
    let argument = format!("head:{inputs}");
    let mut task = format!("front{number}").into_bytes();
    task.extend(crate::task::encode(argument.as_bytes()));
    task
}

pub(super) fn a_deferred_task_waits_when_its_last_slot_is_filled(world: &dyn World) {
    let case = Case::with(world, &["a", "b"]);
    let (a, b) = (
        case.lease("w").expect("a waits"),
        case.lease("v").expect("b waits"),
    );
    let long = "z".repeat(45);
    let first = Completion {
        deferred: vec![
            deferred(1, 3, &[(1, "y")]),
            // Those that need nothing wait at once, the second because of an input beside it.
            deferred(2, 0, &[]),
            deferred(3, 1, &[]),
        ],
        inputs: vec![input(3, 0, "i"), input(1, 2, &long)],
        ..completion("A", &[])
    };
    let answer = case.pool.complete(&a.ticket, &first);
    assert_eq!(answer, Ok(counted(3, 1)), "b and two that are ready");
    let last = Completion {
        inputs: vec![input(1, 0, "x"), input(77, 0, "for nobody")],
        ..completion("B", &[])
    };
    let answer = case.pool.complete(&b.ticket, &last);
    assert_eq!(answer, Ok(counted(3, 2)));
    let leases = case.pool.lease(&case.worker("w"), 9, false, NOW);
    let leases = leases.expect("the pool is there");
    let tasks: Vec<_> = leases.iter().map(|lease| lease.task.clone()).collect();
    let xyz = format!("xy{long}");
    let expected = [assembled(2, ""), assembled(3, "i"), assembled(1, &xyz)];
    assert_eq!(tasks, expected.map(Some));
    for (lease, left) in leases.iter().zip([2, 1, 0]) {
        assert_eq!(lease.attempt, 1);
        assert_eq!(case.complete(lease, "", &[]), counted(left, 2));
    }
    assert_eq!(case.status().state, State::Done);
}

pub(super) fn a_slot_is_filled_once(world: &dyn World) {
    let case = Case::with(world, &["a", "b"]);
    let a = case.lease("w").expect("a waits");
    let keeps = Completion {
        deferred: vec![deferred(1, 2, &[])],
        inputs: vec![input(1, 0, "x")],
        kept: Some(b"a2".to_vec()),
        ..Completion::default()
    };
    for _ in 0..2 {
        // The reply was lost, and it is repeated.
        assert_eq!(case.pool.complete(&a.ticket, &keeps), Ok(counted(2, 0)));
    }
    let mut later = a.clone();
    later.ticket.step += 1;
    let fills = Completion {
        inputs: vec![input(1, 0, "late"), input(1, 1, "y"), input(1, 1, "late")],
        ..Completion::default()
    };
    assert_eq!(case.pool.complete(&later.ticket, &fills), Ok(counted(2, 0)));
    assert_eq!(
        case.pool.complete(&later.ticket, &fills),
        Ok(Completed::Fenced)
    );
    let b = case.lease("w").expect("b waits");
    assert_eq!(case.complete(&b, "", &[]), counted(1, 0));
    let ready = case.lease("w").expect("both slots are full");
    assert_eq!(ready.task, Some(assembled(1, "xy")));
    assert_eq!(case.complete(&ready, "", &[]), counted(0, 0));
    assert_eq!(case.status().state, State::Done);
}

pub(super) fn deferred_tasks_have_limits(world: &dyn World) {
    let case = Case::with(world, &["a"]);
    let a = case.lease("w").expect("a waits");
    let long = "z".repeat(51);
    let mut huge = deferred(1, 1, &[]);
    huge.head = vec![0; 200];
    let with = |deferred, inputs| Completion {
        deferred,
        inputs,
        ..Completion::default()
    };
    for (too_large, what) in [
        (with(vec![huge], vec![]), "a task"),
        (
            with(vec![deferred(1, 2, &[(0, &long)])], vec![]),
            "a result",
        ),
        (
            with(vec![deferred(1, 2, &[])], vec![input(1, 0, &long)]),
            "a result",
        ),
    ] {
        match case.pool.complete(&a.ticket, &too_large) {
            Err(Trouble::Oversized(oversized)) => assert_eq!(oversized.what, what),
            other => panic!("{what}: {other:?}"),
        }
    }
    // A continuation may be as large as its inputs.
    let mut parcel = crate::Parcel::new("k", vec![7; 120]);
    let child = |parcel: &crate::Parcel| Completion {
        children: vec![Child {
            task: parcel.encode(),
            tries: 0,
        }],
        ..Completion::default()
    };
    let refused = case.pool.complete(&a.ticket, &child(&parcel));
    assert!(matches!(refused, Err(Trouble::Oversized(_))), "{refused:?}");
    parcel.inputs = 1;
    let taken = case.pool.complete(&a.ticket, &child(&parcel));
    assert_eq!(taken, Ok(counted(1, 0)));
}

/// A task is a number n below 300; its children are 2n + 1 and 2n + 2, its result is itself. Workers die, are late, repeat
/// themselves, and give back, by chance.
pub(super) fn a_storm_loses_nothing_and_counts_nothing_twice(world: &dyn World) {
    const NODES: u64 = 300;
    let mut case = Case::new(world);
    case.job.terms.tries = 1000;
    assert_eq!(case.submit(&["0"]), Ok(Submitted::New));
    let mut random = 0x9E37_79B9_7F4A_7C15_u64 ^ case.job.build.0;
    let mut roll = |sides: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % sides
    };
    let (mut here, mut late) = (Vec::new(), Vec::new());
    let mut passed = 0;
    while case.status().state == State::Running {
        let name = format!("w{}", roll(3));
        match roll(12) {
            0..=3 => here.extend(case.lease(&name)),
            4 => here.extend(case.reclaim(&name, roll(2) == 0)),
            // It dies, or is slow: then it comes back when it is too late, or not.
            5 if !here.is_empty() && passed < 12 => {
                late.push(here.swap_remove(roll(here.len() as u64) as usize))
            }
            6 if passed < 12 => {
                passed += 1;
                world.pass(LATE);
            }
            7 if !here.is_empty() => {
                let lease: Lease = here.swap_remove(roll(here.len() as u64) as usize);
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
                    let lease = from.swap_remove(roll(from.len() as u64) as usize);
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
            world.pass(LATE);
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
