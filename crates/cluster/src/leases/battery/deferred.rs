//! Deferred tasks: continuations that wait for inputs.

use super::*;

fn deferred(number: u64, slots: u32, filled: &[(u32, &str)]) -> DeferredTask {
    DeferredTask {
        id: DeferredId { home: 1, number },
        front: format!("front{number}").into_bytes(),
        head: b"head:".to_vec(),
        slots,
        urgent: false,
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

/// Returns the bytes of a task that was assembled: the length of the argument comes before it.
fn assembled(number: u64, inputs: &str) -> Vec<u8> {
    let argument = format!("head:{inputs}");
    let mut task = format!("front{number}").into_bytes();
    task.extend(crate::parcel::encode(argument.as_bytes()));
    task
}

pub(in crate::leases) fn a_deferred_task_waits_when_its_last_slot_is_filled(world: &dyn World) {
    let case = Case::with(world, &["a", "b"]);
    let (a, b) = (
        case.lease("w").expect("a waits"),
        case.lease("v").expect("b waits"),
    );
    let long = "z".repeat(45);
    let first = Completion {
        deferred: vec![
            deferred(1, 3, &[(1, "y")]),
            // Deferred tasks that need no input wait at once, the last one because its input comes
            // with it.
            deferred(2, 0, &[]),
            deferred(3, 1, &[]),
        ],
        inputs: vec![input(3, 0, "i"), input(1, 2, &long)],
        ..completion("A", &[])
    };
    let answer = case.pool.complete(&a.ticket, &first);
    assert_eq!(answer, Ok(counted(3, 1)), "b and two that are ready");
    let last = Completion {
        inputs: vec![input(1, 0, "x"), input(77, 0, "for none")],
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

pub(in crate::leases) fn a_slot_is_filled_once(world: &dyn World) {
    let case = Case::with(world, &["a", "b"]);
    let a = case.lease("w").expect("a waits");
    let keeps = Completion {
        deferred: vec![deferred(1, 2, &[])],
        inputs: vec![input(1, 0, "x")],
        kept: Some(b"a2".to_vec()),
        ..Completion::default()
    };
    for _ in 0..2 {
        // The reply was lost, so the completion is repeated.
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

pub(in crate::leases) fn deferred_tasks_have_limits(world: &dyn World) {
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
            Err(LeaseError::Oversized(oversized)) => assert_eq!(oversized.what, what),
            other => panic!("{what}: {other:?}"),
        }
    }
    // A continuation may be as large as its inputs.
    let mut parcel = crate::Parcel::new("k", vec![7; 120]);
    let child = |parcel: &crate::Parcel| Completion {
        children: vec![Child::new(parcel.encode())],
        ..Completion::default()
    };
    let refused = case.pool.complete(&a.ticket, &child(&parcel));
    assert!(
        matches!(refused, Err(LeaseError::Oversized(_))),
        "{refused:?}"
    );
    parcel.inputs = 1;
    let taken = case.pool.complete(&a.ticket, &child(&parcel));
    assert_eq!(taken, Ok(counted(1, 0)));
}

pub(in crate::leases) fn what_was_set_aside_is_tried_again(world: &dyn World) {
    let case = Case::with(world, &["a", "b"]);
    let (a, b) = (
        case.lease("w").expect("a waits"),
        case.lease("v").expect("b waits"),
    );
    // The task that is set aside would have filled a slot.
    let defers = Completion {
        deferred: vec![deferred(1, 1, &[])],
        aside: vec![SetAside {
            task: b"bad".to_vec(),
            attempts: 2,
            reason: "it broke".to_owned(),
            urgent: false,
        }],
        ..completion("A", &[])
    };
    assert_eq!(case.pool.complete(&a.ticket, &defers), Ok(counted(1, 1)));
    let hopeless = GiveUp::Hopeless("never".to_owned());
    assert_eq!(case.pool.give_up(&b.ticket, &hopeless), Ok(true));
    assert_eq!(case.status().state, State::Done);
    let dead = || {
        case.pool
            .aside_tasks(&case.job.id)
            .expect("the pool is there")
    };
    let tasks: Vec<_> = dead()
        .into_iter()
        .map(|dead| (dead.task, dead.whole))
        .collect();
    assert_eq!(tasks, [(b"bad".to_vec(), true), (b"b".to_vec(), true)]);
    let (bad, b) = (dead()[0].aside.entry.clone(), dead()[1].aside.entry.clone());
    let retry = |entries: &[String]| case.pool.retry_aside(&case.job.id, entries);
    assert_eq!(retry(&["no such entry".to_owned()]), Ok(Some(0)));
    assert_eq!(case.status().state, State::Done);
    assert_eq!(retry(&[bad]), Ok(Some(1)));
    let status = case.status();
    assert_eq!(
        (status.state, status.outstanding, status.aside),
        (State::Running, 1, 1)
    );
    let running = case.pool.running().expect("the pool is there");
    assert!(running.iter().any(|(job, _)| *job == case.job.id));
    let again = case.lease("w").expect("it waits");
    assert_eq!(
        (again.attempt, again.task.as_deref()),
        (1, Some(&b"bad"[..]))
    );
    let fills = Completion {
        inputs: vec![input(1, 0, "x")],
        ..completion("", &[])
    };
    assert_eq!(case.pool.complete(&again.ticket, &fills), Ok(counted(1, 1)));
    let ready = case.lease("w").expect("the slot is full");
    assert_eq!(ready.task, Some(assembled(1, "x")));
    assert_eq!(case.complete(&ready, "X", &[]), counted(0, 2));
    assert_eq!(case.status().state, State::Done);
    assert_eq!(retry(&[]), Ok(Some(1)), "all that are left");
    assert!(dead().is_empty());
    let b_again = case.lease("w").expect("it waits");
    assert_ne!(b_again.ticket.entry, b);
    assert_eq!(case.complete(&b_again, "B", &[]), counted(0, 3));
    let status = case.status();
    assert_eq!((status.state, status.aside), (State::Done, 0));
    assert_eq!(case.results(), ["A", "X", "B"]);
    assert_eq!(case.pool.cancel(&case.job.id, true), Ok(Some(State::Done)));
    assert_eq!(retry(&[]), Ok(None));
}

pub(in crate::leases) fn a_large_task_that_was_set_aside_is_tried_again(world: &dyn World) {
    let large = "x".repeat(AsideTask::WHOLE + 1);
    let mut case = Case::new(world);
    case.job.terms.limits.task = large.len();
    assert_eq!(case.submit(&[&large, "b"]), Ok(Submitted::New));
    for _ in 0..2 {
        let lease = case.lease("w").expect("it waits");
        let hopeless = GiveUp::Hopeless("not now".to_owned());
        assert_eq!(case.pool.give_up(&lease.ticket, &hopeless), Ok(true));
        let dead = case
            .pool
            .aside_tasks(&case.job.id)
            .expect("the pool is there");
        assert_eq!((dead[0].whole, dead[0].task.len()), (true, large.len()));
        assert_eq!(case.pool.retry_aside(&case.job.id, &[]), Ok(Some(1)));
        // The other one waited before it.
        let other = case.lease("w").expect("it waits");
        assert_eq!(
            case.pool.give_up(&other.ticket, &GiveUp::Stopping),
            Ok(true)
        );
    }
}
