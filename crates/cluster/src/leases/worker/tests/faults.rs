//! Lost leases, values that panic, servers that refuse, cancelled jobs.

use super::*;

#[test]
fn a_short_lease_is_renewed_often_while_it_is_held_and_not_for_ever() {
    let held = |lease| Held {
        ticket: Ticket {
            job: "a".parse().expect("it is plain"),
            entry: String::new(),
            worker: String::new(),
            delivery: 1,
            step: 0,
        },
        run: None,
        lost: false,
        lease: Duration::from_millis(lease),
        suspect: false,
    };
    let mut table = LeaseTable::default();
    assert_eq!(table.shortest(), None);
    table.held.insert(1, held(5000));
    table.held.insert(2, held(30));
    assert_eq!(table.shortest(), Some(Duration::from_millis(30)));
    table.held.remove(&2);
    assert_eq!(table.shortest(), Some(Duration::from_secs(5)));
}

#[test]
fn values_that_panic_are_set_aside_and_cost_no_thread() {
    let pool: Arc<dyn LeasePool> = Arc::new(Memory::default());
    let parcel = |number: u8| crate::Parcel::new("fragile", vec![number]).encode();
    let job = job("fragile", Duration::from_secs(60));
    let order = crate::leases::Order::whole(job, vec![parcel(1), parcel(0)]);
    pool.submit(&order).expect("it is new");
    work(&pool, 1);
    let status = status(&pool);
    assert_eq!(
        (status.state, status.done, status.aside),
        (State::Done, 1, 1)
    );
    let Aside {
        attempts, reason, ..
    } = &status.reasons[0];
    assert!(
        *attempts == 3 && reason.contains("no such number"),
        "{reason}"
    );
}

#[test]
fn a_server_that_refuses_for_a_while_costs_no_task() {
    let pool: Arc<dyn LeasePool> = Arc::new(Flaky {
        refusals: AtomicU64::new(2),
        ..Flaky::new(u64::MAX, 1)
    });
    let job = job("odd", Duration::from_secs(60));
    submit(&*pool, &job, [Odd::Fine]).expect("it is new");
    work(&pool, 1);
    let status = status(&pool);
    assert_eq!(
        (status.state, status.done, status.aside),
        (State::Done, 1, 0),
        "{status:?}"
    );
}

#[test]
fn a_listener_that_panics_keeps_no_lease() {
    let pool: Arc<dyn LeasePool> = Arc::new(Memory::default());
    let job = job("odd", Duration::from_secs(60));
    submit(&*pool, &job, [Odd::Panics, Odd::Fine]).expect("it is new");
    let deaf = |_| panic!("the output is closed");
    let counts = serve(pool.clone(), setup("w", 1), &Stop::default(), deaf).expect("no error");
    assert_eq!((counts.failed, counts.given_up), (3, 0));
    assert_eq!(status(&pool).state, State::Done);
}

#[test]
fn an_unknown_program_is_set_aside() {
    let pool: Arc<dyn LeasePool> = Arc::new(Memory::default());
    submit(
        &*pool,
        &job("another", Duration::from_secs(60)),
        [Odd::Fine],
    )
    .expect("it is new");
    work(&pool, 1);
    let status = status(&pool);
    assert!(
        status.reasons[0].reason.contains("no program another"),
        "{status:?}"
    );
}

/// Starts a worker with a task that does not end.
fn endless(
    pool: &Arc<dyn LeasePool>,
    stop: &Stop,
    grace: Duration,
) -> thread::JoinHandle<WorkerCounts> {
    submit(
        &**pool,
        &job("odd", Duration::from_millis(50)),
        [Odd::Endless],
    )
    .expect("it is new");
    let (pool, stop) = (pool.clone(), stop.clone());
    let mut setup = setup("w", 1);
    (setup.linger, setup.grace) = (None, grace);
    let worker = pool.clone();
    let thread = thread::spawn(move || serve(worker, setup, &stop, |_| {}).expect("no error"));
    while status(&pool).in_flight == 0 {
        thread::sleep(Duration::from_millis(1));
    }
    thread
}

/// Failures are reported, and results are handed in, while another task of the lease never ends.
#[test]
fn what_failed_and_what_ended_does_not_wait_for_what_runs() {
    let pool: Arc<dyn LeasePool> = Arc::new(Memory::default());
    let job = job("odd", Duration::from_secs(60));
    submit(&*pool, &job, [Odd::Mixed]).expect("it is new");
    let stop = Stop::default();
    let mut setup = setup("w", 3);
    (setup.linger, setup.grace) = (None, Duration::from_millis(100));
    let (worker, told) = (pool.clone(), stop.clone());
    let thread = thread::spawn(move || serve(worker, setup, &told, |_| {}).expect("no error"));
    let start = Instant::now();
    let found = loop {
        let status = status(&pool);
        // The first task, and the one that is fine.
        let found = (status.aside, status.tasks, status.in_flight);
        if found == (1, 2, 1) || start.elapsed() > Duration::from_secs(30) {
            break found;
        }
        thread::sleep(Duration::from_millis(5));
    };
    stop.stop();
    thread.join().expect("no panic");
    assert_eq!(found, (1, 2, 1));
}

#[test]
fn a_cancelled_job_frees_its_workers() {
    let pool: Arc<dyn LeasePool> = Arc::new(Memory::default());
    let stop = Stop::default();
    let thread = endless(&pool, &stop, Duration::from_secs(60));
    let before = ENDED.load(Ordering::Relaxed);
    pool.cancel(&status(&pool).job.id, false)
        .expect("it is there");
    while ENDED.load(Ordering::Relaxed) == before {
        thread::sleep(Duration::from_millis(1));
    }
    stop.stop();
    let counts = thread.join().expect("no panic");
    assert_eq!((counts.lost, counts.completed), (1, 0));
}

#[test]
fn a_worker_that_is_stopped_gives_back_what_does_not_end() {
    let pool: Arc<dyn LeasePool> = Arc::new(Memory::default());
    let stop = Stop::default();
    let thread = endless(&pool, &stop, Duration::from_millis(100));
    stop.stop();
    thread.join().expect("no panic");
    let status = status(&pool);
    assert_eq!((status.outstanding, status.in_flight), (1, 0));
    let other = WorkerId {
        name: "other".to_owned(),
        build: BUILD,
    };
    let lease = pool
        .lease(&other, 1, true, Duration::ZERO)
        .expect("it is there")
        .remove(0);
    assert_eq!(lease.attempt, 1, "it was not its fault");
    let completed = pool.complete(&lease.ticket, &Completion::default());
    assert_ne!(completed, Ok(Completed::Fenced));
}

#[test]
fn a_job_of_another_build_is_left_alone_and_said_so() {
    let pool: Arc<dyn LeasePool> = Arc::new(Memory::default());
    let mut job = job("odd", Duration::from_secs(60));
    job.build = Build(8);
    submit(&*pool, &job, [Odd::Fine]).expect("it is new");
    let heard = Arc::new(Mutex::new(Vec::new()));
    let ear = heard.clone();
    let hear = move |notice: Notice| ear.lock().expect("no panic").push(notice.to_string());
    serve(pool.clone(), setup("w", 1), &Stop::default(), hear).expect("no error");
    let heard = heard.lock().expect("no panic");
    assert!(
        heard.len() == 1 && heard[0].contains("the job job is of build 0000000000000008"),
        "{heard:?}"
    );
    assert_eq!(status(&pool).outstanding, 1);
}

#[test]
fn a_submitter_that_waits_is_not_given_the_result_of_the_next_one_of_its_name() {
    let pool = Memory::default();
    let job = job("odd", Duration::from_secs(60));
    submit(&pool, &job, [Odd::Fine]).expect("it is new");
    let mut told = 0;
    let followed = follow(&pool, &job.id, Duration::ZERO, |_| {
        told += 1;
        if told == 1 {
            pool.cancel(&job.id, true).expect("it is there");
            let none: [Odd; 0] = [];
            submit(&pool, &job, none).expect("it is new");
        }
    });
    assert_eq!(followed.err(), Some(LeaseError::Vanished(job.id.clone())));
}
