//! Times and order of tasks: delays, pauses between tries, urgency.

use super::*;

/// Longer than a test takes before it lets time pass.
const DELAY: Duration = Duration::from_millis(400);

fn child(task: &str) -> Child {
    Child::new(task.as_bytes().to_vec())
}

fn urgent(task: &str) -> Child {
    Child {
        urgent: true,
        ..child(task)
    }
}

fn later(task: &str, delay: Duration) -> Child {
    Child {
        delay,
        ..child(task)
    }
}

impl Case<'_> {
    /// Completes a lease with these children.
    fn complete_with(&self, lease: &Lease, children: Vec<Child>) -> Completed {
        let completion = Completion {
            children,
            ..completion("r", &[])
        };
        let completed = self.pool.complete(&lease.ticket, &completion);
        completed.expect("the pool is there")
    }

    /// Returns the tasks that a worker gets: as many as there are.
    fn tasks(&self, name: &str, suspect: bool) -> Vec<String> {
        let leases = self.pool.lease(&self.worker(name), 99, suspect, NOW);
        leases
            .expect("the pool is there")
            .iter()
            .map(text)
            .collect()
    }
}

fn text(lease: &Lease) -> String {
    let task = lease.task.clone().unwrap_or_default();
    String::from_utf8_lossy(&task).into_owned()
}

pub(in crate::leases) fn a_delayed_child_waits_for_its_time(world: &dyn World) {
    let case = Case::with(world, &["a"]);
    let lease = case.lease("w").expect("a waits");
    let children = vec![later("c", 2 * DELAY), later("b", DELAY), child("d")];
    assert_eq!(case.complete_with(&lease, children), counted(3, 1));
    assert_eq!(case.tasks("w", true), ["d"]);
    let status = case.status();
    assert_eq!(
        (status.outstanding, status.in_flight, status.delayed),
        (3, 1, 2)
    );
    assert_eq!(status.ready(), 0);
    world.advance(DELAY);
    assert_eq!(case.status().ready(), 1, "whether a worker came or not");
    assert_eq!(case.tasks("w", true), ["b"]);
    world.advance(DELAY);
    assert_eq!(case.tasks("w", true), ["c"]);
    let status = case.status();
    assert_eq!((status.delayed, status.in_flight), (0, 3));
}

pub(in crate::leases) fn a_job_may_begin_later(world: &dyn World) {
    let mut case = Case::new(world);
    case.job.terms.delay = DELAY;
    assert_eq!(case.chunk(&["a"], 0, false), Ok(Submitted::New));
    assert_eq!(case.tasks("w", true), [""; 0]);
    assert_eq!(case.status().delayed, 1);
    world.advance(DELAY);
    // The delay counts from the submission of the job.
    assert_eq!(case.chunk(&["b"], 1, true), Ok(Submitted::Attached));
    let mut tasks = case.tasks("w", true);
    tasks.sort();
    assert_eq!(tasks, ["a", "b"]);
    assert_eq!(case.status().job.terms, case.job.terms);
}

pub(in crate::leases) fn urgent_tasks_go_first(world: &dyn World) {
    let case = Case::with(world, &["a", "b", "c"]);
    let lease = case.lease("w").expect("a waits");
    let children = vec![child("d"), urgent("e"), urgent("f")];
    assert_eq!(case.complete_with(&lease, children), counted(5, 1));
    assert_eq!(case.lease("w").map(|lease| text(&lease)), Some("e".into()));
    assert_eq!(case.tasks("w", true), ["f", "b", "c", "d"]);
}

pub(in crate::leases) fn an_urgent_job_goes_before_others(world: &dyn World) {
    let case = Case::with(world, &["a", "b"]);
    let mut rush = Case {
        pool: case.pool,
        job: case.job.clone(),
    };
    rush.job.id = format!("{}-rush", case.job.id)
        .parse()
        .expect("it is plain");
    rush.job.terms.urgent = true;
    assert_eq!(rush.submit(&["c"]), Ok(Submitted::New));
    let lease = case.lease("w").expect("c waits");
    assert_eq!(text(&lease), "c");
    // Its children are urgent, too, whatever their kinds are.
    assert_eq!(rush.complete_with(&lease, vec![child("d")]), counted(1, 1));
    assert_eq!(case.tasks("w", true), ["d", "a", "b"]);
    let mut kind = Case {
        pool: case.pool,
        job: case.job.clone(),
    };
    kind.job.id = format!("{}-kind", case.job.id)
        .parse()
        .expect("it is plain");
    assert_eq!(case.chunk(&["a", "b"], 0, true), Ok(Submitted::Attached));
    let order = |task: &str, urgent| Order {
        urgent,
        last: urgent,
        chunk: u64::from(urgent),
        ..Order::whole(kind.job.clone(), vec![task.as_bytes().to_vec()])
    };
    assert_eq!(case.pool.submit(&order("e", false)), Ok(Submitted::New));
    assert_eq!(case.pool.submit(&order("f", true)), Ok(Submitted::Attached));
    assert_eq!(case.tasks("w", true), ["f", "e"]);
}

pub(in crate::leases) fn urgent_tasks_stay_urgent_when_they_are_tried_again(world: &dyn World) {
    let mut case = Case::new(world);
    case.job.terms.tries = 9;
    assert_eq!(case.submit(&["a", "b", "c"]), Ok(Submitted::New));
    let lease = case.lease("w").expect("a waits");
    assert_eq!(case.complete_with(&lease, vec![urgent("u")]), counted(3, 1));
    for why in [GiveUp::Stopping, GiveUp::NotBegun] {
        let lease = case.lease("w").expect("u waits");
        assert_eq!(case.pool.give_up(&lease.ticket, &why), Ok(true));
    }
    let lease = case.lease("w").expect("u waits");
    assert_eq!((text(&lease).as_str(), lease.attempt), ("u", 1));
    let failed = GiveUp::Failed("it did not".to_owned());
    assert_eq!(case.pool.give_up(&lease.ticket, &failed), Ok(true));
    let lease = case.lease("w").expect("u waits");
    assert_eq!((text(&lease).as_str(), lease.attempt), ("u", 2));
    world.advance(LATE);
    let again = case.reclaim("v", false);
    let again: Vec<_> = again.iter().map(text).collect();
    assert_eq!(again, ["u", "b", "c"]);
}

/// Tasks are set aside by a completion, when they are given up, or when a lease expires.
pub(in crate::leases) fn urgent_tasks_stay_urgent_when_they_were_set_aside(world: &dyn World) {
    let mut case = Case::new(world);
    case.job.terms.tries = 1;
    assert_eq!(case.submit(&["a", "b"]), Ok(Submitted::New));
    let lease = case.lease("w").expect("a waits");
    let aside = |task: &str, urgent| SetAside {
        task: task.as_bytes().to_vec(),
        attempts: 1,
        reason: "it broke".to_owned(),
        urgent,
    };
    let completion = Completion {
        children: vec![urgent("given up"), urgent("ran out")],
        aside: vec![aside("refused", true), aside("usual", false)],
        ..completion("r", &[])
    };
    let completed = case.pool.complete(&lease.ticket, &completion);
    assert_eq!(completed, Ok(counted(3, 1)));
    let lease = case.lease("w").expect("it is urgent");
    let hopeless = GiveUp::Hopeless("never".to_owned());
    assert_eq!(case.pool.give_up(&lease.ticket, &hopeless), Ok(true));
    assert_eq!(
        case.lease("w").map(|lease| text(&lease)),
        Some("ran out".into())
    );
    world.advance(LATE);
    assert_eq!(case.pool.reclaim().map(|reclaimed| reclaimed.aside), Ok(1));
    let dead = case
        .pool
        .aside_tasks(&case.job.id)
        .expect("the pool is there");
    assert_eq!(dead.iter().filter(|dead| dead.urgent).count(), 3);
    assert_eq!(case.pool.retry_aside(&case.job.id, &[]), Ok(Some(4)));
    // "b" waited before them.
    let order = ["refused", "given up", "ran out", "b", "usual"];
    assert_eq!(case.tasks("w", true), order);
}

pub(in crate::leases) fn an_urgent_continuation_goes_first(world: &dyn World) {
    let case = Case::with(world, &["a", "b"]);
    let lease = case.lease("w").expect("a waits");
    let deferred = |number, urgent| DeferredTask {
        id: DeferredId { home: 1, number },
        front: format!("front{number}").into_bytes(),
        head: Vec::new(),
        slots: 1,
        filled: vec![(0, b"i".to_vec())],
        urgent,
    };
    let completion = Completion {
        deferred: vec![deferred(1, false), deferred(2, true)],
        ..completion("r", &[])
    };
    let completed = case.pool.complete(&lease.ticket, &completion);
    assert_eq!(completed, Ok(counted(3, 1)));
    let tasks = case.tasks("w", true);
    assert!(tasks[0].starts_with("front2"), "{tasks:?}");
    assert_eq!(tasks[1], "b");
    assert!(tasks[2].starts_with("front1"), "{tasks:?}");
}

pub(in crate::leases) fn a_suspect_that_pauses_is_a_suspect_afterwards(world: &dyn World) {
    let case = Case::with(world, &["a"]);
    let lease = case.lease("w").expect("a waits");
    let tried = Child {
        tries: 2,
        urgent: true,
        ..later("bad", DELAY)
    };
    assert_eq!(case.complete_with(&lease, vec![tried]), counted(1, 1));
    assert_eq!(case.tasks("w", true), [""; 0]);
    world.advance(DELAY);
    assert_eq!(case.tasks("w", false), [""; 0], "it is a suspect");
    let lease = case.reclaim("w", true).pop().expect("its time has come");
    assert_eq!((text(&lease).as_str(), lease.attempt), ("bad", 3));
}

pub(in crate::leases) fn a_worker_that_waits_gets_a_delayed_task_in_time(world: &dyn World) {
    let case = &Case::with(world, &["a"]);
    let lease = case.lease("w").expect("a waits");
    thread::scope(|scope| {
        // It blocks before there is anything to wait for.
        let waits = scope.spawn(|| {
            loop {
                let leases = case.pool.lease(&case.worker("v"), 1, false, LONG);
                let mut leases = leases.expect("the pool is there");
                if let Some(lease) = leases.pop() {
                    return text(&lease);
                }
            }
        });
        thread::sleep(Duration::from_millis(20));
        assert_eq!(
            case.complete_with(&lease, vec![later("b", Duration::from_millis(50))]),
            counted(1, 1)
        );
        assert_eq!(waits.join().expect("no panic"), "b");
    });
}

pub(in crate::leases) fn a_job_with_delayed_tasks_is_cancelled_and_forgotten(world: &dyn World) {
    let mut case = Case::new(world);
    case.job.terms.delay = DELAY;
    assert_eq!(case.submit(&["a"]), Ok(Submitted::New));
    assert_eq!(case.status().state, State::Running);
    let cancelled = case.pool.cancel(&case.job.id, true);
    assert_eq!(cancelled, Ok(Some(State::Cancelled)));
    case.job.terms.delay = Duration::ZERO;
    assert_eq!(case.submit(&["b"]), Ok(Submitted::New));
    world.advance(DELAY);
    assert_eq!(case.tasks("w", true), ["b"], "of the first nothing is left");
}
