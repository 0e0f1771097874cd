//! A battery of tests for every implementation of a lease pool.

mod deferred;
mod jobs;
mod schedule;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use super::*;
use crate::Build;
use crate::continuation::{DeferredId, DeferredTask, Slot};

/// A pool, and its clock.
pub(super) trait World: Sync {
    fn pool(&self) -> &dyn LeasePool;

    /// Lets time pass.
    fn advance(&self, time: Duration);

    /// Sets the clock back.
    fn set_back(&self, time: Duration);
}

/// Length of a lease in the tests. It is short, since some pools have a clock that cannot be set;
/// and long enough that no lease expires by chance.
pub(super) const LEASE: Duration = Duration::from_millis(300);

/// A little longer than a lease.
const LATE: Duration = Duration::from_millis(330);

const NOW: Duration = Duration::ZERO;

/// Longer than any test.
const LONG: Duration = Duration::from_secs(600);

/// The job of one test, with a build of its own, so that other tests do not see its tasks.
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
                ..Terms::default()
            },
        };
        let case = Case {
            pool: world.pool(),
            job,
        };
        case.heartbeat("bystander", LONG);
        case
    }

    fn with(world: &'a dyn World, tasks: &[&str]) -> Case<'a> {
        let case = Case::new(world);
        assert_eq!(case.submit(tasks), Ok(Submitted::New));
        case
    }

    fn submit(&self, tasks: &[&str]) -> Result<Submitted, LeaseError> {
        self.chunk(tasks, 0, true)
    }

    fn chunk(&self, tasks: &[&str], chunk: u64, last: bool) -> Result<Submitted, LeaseError> {
        self.pool.submit(&Order {
            job: self.job.clone(),
            tasks: tasks.iter().map(|task| task.as_bytes().to_vec()).collect(),
            chunk,
            last,
            urgent: false,
        })
    }

    fn worker(&self, name: &str) -> WorkerId {
        WorkerId {
            name: name.to_owned(),
            build: self.job.build,
        }
    }

    fn heartbeat(&self, name: &str, alive_for: Duration) {
        let (worker, slots) = (self.worker(name), 1);
        let beat = self
            .pool
            .heartbeat(&WorkerInfo { worker, slots }, alive_for);
        beat.expect("the pool is there");
    }

    fn lease(&self, name: &str) -> Option<Lease> {
        let leases = self.pool.lease(&self.worker(name), 1, false, NOW);
        leases.expect("the pool is there").pop()
    }

    /// Looks for expired leases, and takes what waits then.
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
    let child = |task: &&str| Child::new(task.as_bytes().to_vec());
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
            a_completion_brings_the_next_task_if_it_counts
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
            a_job_that_is_cancelled_while_it_is_submitted_stays_so
            compaction_replaces_what_is_still_there
            limits_are_kept
            other_builds_get_nothing
            a_worker_that_waits_is_woken
            the_living_are_counted
            a_deferred_task_waits_when_its_last_slot_is_filled
            a_slot_is_filled_once
            deferred_tasks_have_limits
            what_was_set_aside_is_tried_again
            a_large_task_that_was_set_aside_is_tried_again
            a_delayed_child_waits_for_its_time
            a_job_may_begin_later
            urgent_tasks_go_first
            an_urgent_job_goes_before_others
            urgent_tasks_stay_urgent_when_they_are_tried_again
            an_urgent_continuation_goes_first
            urgent_tasks_stay_urgent_when_they_were_set_aside
            a_suspect_that_pauses_is_a_suspect_afterwards
            a_worker_that_waits_gets_a_delayed_task_in_time
            a_job_with_delayed_tasks_is_cancelled_and_forgotten
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
pub(super) use deferred::*;
pub(super) use jobs::*;
pub(super) use schedule::*;

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
    world.advance(LATE);
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
    world.advance(LATE);
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
        world.advance(LEASE / 2);
        assert!(case.renew(&lease));
        assert_eq!(case.reclaim("other", true), []);
    }
    assert_eq!(case.complete(&lease, "A", &[]), counted(0, 1));
    assert!(!case.renew(&lease));
}

pub(super) fn a_void_ticket_cannot_be_renewed_and_takes_nothing_back(world: &dyn World) {
    let case = Case::with(world, &["a"]);
    let slow = case.lease("slow").expect("a waits");
    world.advance(LATE);
    // The lease has expired, but no worker has taken the task: the lease goes on.
    assert!(case.renew(&slow));
    world.advance(LATE);
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

pub(super) fn a_completion_brings_the_next_task_if_it_counts(world: &dyn World) {
    let case = Case::with(world, &["a", "b"]);
    let lease = case.lease("w").expect("a waits");
    let done = completion("A", &["c"]);
    let complete = |lease: &Lease| case.pool.complete_and_lease(lease, &done, false);
    let (completed, next) = complete(&lease).expect("the pool is there");
    let next = next.expect("b waits");
    assert_eq!(completed, counted(2, 1));
    assert_eq!(
        (next.task.as_deref(), next.ticket.worker.as_str()),
        (Some(&b"b"[..]), "w")
    );
    assert!(case.renew(&next));
    assert_eq!(complete(&lease), Ok((Completed::Fenced, None)));
    let status = case.status();
    assert_eq!((status.outstanding, status.in_flight), (2, 1));
}

pub(super) fn the_same_job_is_attached_and_another_refused(world: &dyn World) {
    let mut case = Case::with(world, &["a"]);
    assert_eq!(case.submit(&["a"]), Ok(Submitted::Attached));
    let taken = Err(LeaseError::Taken(case.job.id.clone()));
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
        world.advance(LATE);
        last = case.reclaim(&format!("w{attempt}"), true).remove(0);
        assert_eq!(last.attempt, attempt);
    }
    world.advance(LATE);
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
    world.advance(LATE);
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
    world.advance(LATE);
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
