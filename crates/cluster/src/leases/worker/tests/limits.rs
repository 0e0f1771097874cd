//! Many tasks, and large results.

use super::*;
use crate::leases::Child;
use crate::leases::worker::completion::bundled;

#[test]
fn more_children_than_fit_into_a_request_go_in_bundles() {
    let mut job = job("odd", Duration::from_secs(60));
    job.terms.limits.children = 7;
    let (ran, status) = outcome(2, &job, Odd::Many(20_000));
    assert_eq!((ran, status.aside), (20_001, 0));
    let limits = Limits {
        task: 100,
        children: 8,
        ..Limits::default()
    };
    let tasks = vec![vec![1; 30]; 10];
    let child = |task: &Vec<u8>| Child {
        tries: 2,
        ..Child::new(task.clone())
    };
    let bundles = bundled(tasks.iter().map(child).collect(), &limits);
    assert_eq!(
        bundles.len(),
        5,
        "two of them, of which a third is too much"
    );
    let mut all = Vec::new();
    for bundle in bundles {
        assert!(bundle.task.len() <= 100 && bundle.tries == 2);
        all.extend(Parcel::unbundle(&bundle.task).expect("it is one"));
    }
    assert_eq!(all, tasks);
}

/// Each is tried again, and set aside on its own: they do not exceed the limits of a request.
#[test]
fn more_failures_than_fit_into_a_request_cost_no_more_than_themselves() {
    let mut job = job("odd", Duration::from_secs(60));
    job.terms.limits.children = 7;
    let (ran, status) = outcome(2, &job, Odd::AllBad(100));
    assert_eq!((ran, status.aside), (1, 100), "{:?}", status.reasons);
    assert!(status.reasons.iter().all(|aside| aside.attempts == 3));
}

/// A task that runs where it was spawned may be larger than a task that is sent. If its worker dies
/// it is one of several tasks that the lease kept.
#[test]
fn a_task_that_is_too_large_costs_none_of_its_bundle() {
    for why in [GiveUp::Stopping, GiveUp::Failed("it died".to_owned())] {
        let pool: Arc<dyn LeasePool> = Arc::new(Memory::default());
        let mut job = job("odd", Duration::from_secs(60));
        job.terms.limits.task = 100;
        submit(&*pool, &job, [Odd::Fine]).expect("it is new");
        let name = "other".to_owned();
        let other = WorkerId { name, build: BUILD };
        let lease = pool.lease(&other, 1, true, Duration::ZERO);
        let mut ticket = lease.expect("it is in memory").remove(0).ticket;
        let fine = Parcel::of(&Odd::Fine).encode();
        let large = Parcel::new("odd", vec![0; 200]).encode();
        let kept = Parcel::bundle(&[fine.clone(), large, fine]);
        let completion = Completion {
            kept: Some(kept),
            ..Completion::default()
        };
        let completed = pool.complete(&ticket, &completion);
        assert!(matches!(completed, Ok(Completed::Counted { .. })));
        ticket.step += 1;
        assert_eq!(pool.give_up(&ticket, &why), Ok(true));
        work(&pool, 1);
        let ended = follow(&*pool, &job.id, Duration::ZERO, |_| {}).expect("it is over");
        let (Sum(ran), _) = ended.result(&odd()).expect("it is a result");
        let reasons = &ended.status.reasons;
        assert_eq!((ran, ended.status.aside), (2, 1), "{reasons:?}");
        assert!(reasons[0].reason.contains("a task of 2"), "{reasons:?}");
    }
}

#[test]
fn a_bundle_of_no_tasks_is_set_aside() {
    let pool: Arc<dyn LeasePool> = Arc::new(Memory::default());
    let job = job("odd", Duration::from_secs(60));
    let order = crate::leases::Order::whole(job, vec![Parcel::bundle(&[])]);
    pool.submit(&order).expect("it is new");
    work(&pool, 1);
    let status = status(&pool);
    assert_eq!((status.state, status.aside), (State::Done, 1), "{status:?}");
}

/// A bundle has the longest delay of its tasks, and urgent tasks do not share a bundle with others.
#[test]
fn bundles_have_tasks_that_begin_together() {
    let limits = Limits {
        children: 8,
        ..Limits::default()
    };
    let child = |number: u8| Child {
        urgent: number.is_multiple_of(4),
        delay: Duration::from_secs(u64::from(number / 10)),
        ..Child::new(crate::Parcel::new("k", vec![number]).encode())
    };
    let bundles = bundled((0..40).map(child).collect(), &limits);
    assert!(bundles.len() <= limits.children, "{bundles:?}");
    let mut all = Vec::new();
    for bundle in bundles {
        for task in Parcel::unbundle(&bundle.task).expect("it is one") {
            let number = Parcel::decode(&task).expect("it is one").argument[0];
            let alone = child(number);
            assert_eq!(bundle.urgent, alone.urgent);
            assert_eq!(bundle.delay.is_zero(), alone.delay.is_zero());
            assert!(bundle.delay >= alone.delay, "{number} would be early");
            all.push(number);
        }
    }
    all.sort_unstable();
    assert_eq!(all, (0..40).collect::<Vec<_>>());
}

/// The tasks can meet only if the children leave their process while two of them run there.
#[test]
fn children_are_handed_over_while_others_run() {
    let pool: Arc<dyn LeasePool> = Arc::new(Memory::default());
    let job = job("odd", Duration::from_secs(60));
    submit(&*pool, &job, [Odd::Meeting(8)]).expect("it is new");
    let stop = Stop::default();
    let ended = thread::scope(|scope| {
        for number in 0..4 {
            let (pool, stop) = (pool.clone(), &stop);
            scope.spawn(move || {
                let mut setup = setup(&format!("w{number}"), 2);
                setup.linger = None;
                serve(pool, setup, stop, |_| {}).expect("no error")
            });
        }
        let ended = follow(&*pool, &job.id, Duration::ZERO, |_| {}).expect("it is over");
        stop.stop();
        ended
    });
    let (Sum(ran), _) = ended.result(&odd()).expect("it is a result");
    assert_eq!(ran, 9, "the first one, and eight that met");
}

/// Results that are concatenated, and so become as large as all of them together.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Pages(Vec<(u32, Vec<u8>)>);

impl crate::Reduce for Pages {
    fn identity() -> Pages {
        Pages::default()
    }

    fn combine(&mut self, other: Pages) {
        self.0.extend(other.0);
    }
}

#[derive(Serialize, Deserialize)]
pub(super) enum Print {
    All(u32),
    Page(u32),
}

impl Task for Print {
    const KIND: &'static str = "print";
    type Output = Pages;

    fn run(self, tasks: &Tasks<Pages>) -> Pages {
        match self {
            Print::All(pages) => {
                (0..pages).for_each(|page| tasks.spawn(Print::Page(page)));
                Pages::default()
            }
            Print::Page(page) => Pages(vec![(page, vec![page as u8; 20_000])]),
        }
    }
}

#[test]
fn the_limit_of_a_result_is_that_of_a_task_not_of_a_lease() {
    let pool: Arc<dyn LeasePool> = Arc::new(Memory::default());
    let job = job("print", Duration::from_secs(60));
    submit(&*pool, &job, [Print::All(170)]).expect("it is new");
    work(&pool, 2);
    let ended = follow(&*pool, &job.id, Duration::ZERO, |_| {}).expect("it is over");
    assert_eq!(ended.status.aside, 0, "{:?}", ended.status.reasons);
    let all = ended.result(&Program::new("print").with::<Print>());
    let mut pages = all.expect("it is a result").0;
    pages.sort();
    let numbers: Vec<u32> = pages.iter().map(|(page, _)| *page).collect();
    assert_eq!(numbers, (0..170).collect::<Vec<_>>());
    let limit = job.terms.limits.result;
    assert!(ended.results.iter().all(|part| part.len() <= limit));
}

#[test]
fn a_million_first_tasks_are_submitted_in_chunks() {
    struct Counting {
        pool: Memory,
        largest: AtomicU64,
        chunks: AtomicU64,
    }
    let counting = Counting {
        pool: Memory::default(),
        largest: AtomicU64::new(0),
        chunks: AtomicU64::new(0),
    };
    let job = job("odd", Duration::from_secs(60));
    let tasks = (0..1_000_000).map(|_| Odd::Fine);
    let order = |order: &crate::leases::Order| {
        let size = order.tasks.len() as u64;
        counting.largest.fetch_max(size, Ordering::Relaxed);
        counting.chunks.fetch_add(1, Ordering::Relaxed);
        counting.pool.submit(order)
    };
    let submitted = crate::leases::submit_chunks(&job, tasks, order);
    assert_eq!(submitted, Ok(crate::leases::Submitted::New));
    assert_eq!(counting.largest.into_inner(), 4096);
    assert_eq!(counting.chunks.into_inner(), 245);
    let status = counting.pool.status(&job.id).expect("it is there");
    assert_eq!(status.expect("it is known").outstanding, 1_000_000);
}
