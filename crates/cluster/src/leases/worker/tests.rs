//! Workers as threads, with a pool in memory.

use std::sync::Mutex;
use std::sync::atomic::AtomicU64;

use locksley_workload::{Size, Uts, UtsTree};
use serde::{Deserialize, Serialize};

use super::*;
use crate::leases::flaky::Flaky;
use crate::leases::{
    Aside, Completed, Completion, JobInfo, Limits, Memory, State, Status, Terms, follow, submit,
};
use crate::programs::uts::{self, Search};
use crate::{Max, Parcel, Program, Sum, Task, Tasks};

const BUILD: Build = Build(7);

/// Some 25,000 nodes: many quanta of a millisecond.
fn tree() -> (UtsTree, Size) {
    let tree = UtsTree::binomial(2000.0, 0.115, 8, 7);
    (tree, Uts::new(tree).size())
}

pub(super) fn job(program: &str, lease: Duration) -> JobInfo {
    JobInfo {
        id: "job".parse().expect("it is plain"),
        build: BUILD,
        program: program.to_owned(),
        terms: Terms {
            lease,
            tries: 3,
            ..Terms::default()
        },
    }
}

/// A task that does what its number says.
#[derive(Serialize, Deserialize)]
enum Odd {
    Fine,
    /// Panics.
    Panics,
    /// Gives a result that is too large.
    Bloated,
    /// Spawns that many, which are fine.
    Many(u32),
    /// Goes on until it is told not to.
    Endless,
    /// Spawns that many, of which the one with this number panics.
    OneBad(u32, u32),
    /// Spawns that many which meet.
    Meeting(u32),
    /// Waits until so many run at the same time; if that takes too long it gives no result.
    Meet(u32),
}

static ENDED: AtomicU64 = AtomicU64::new(0);
static MET: AtomicU32 = AtomicU32::new(0);

impl Task for Odd {
    const KIND: &'static str = "odd";
    type Output = (Sum<u64>, Max<Vec<u8>>);

    fn run(self, tasks: &Tasks<Self::Output>) -> Self::Output {
        match self {
            Odd::Fine => {}
            Odd::Panics => panic!("as it does"),
            Odd::Bloated => return (Sum(1), Max(vec![1; 2 << 20])),
            Odd::Many(number) => (0..number).for_each(|_| tasks.spawn(Odd::Fine)),
            Odd::Endless => {
                while !tasks.cancelled() {
                    thread::sleep(Duration::from_millis(1));
                }
                ENDED.fetch_add(1, Ordering::Relaxed);
            }
            Odd::OneBad(number, bad) => (0..number).for_each(|leaf| {
                tasks.spawn(if leaf == bad { Odd::Panics } else { Odd::Fine });
            }),
            Odd::Meeting(number) => (0..number).for_each(|_| tasks.spawn(Odd::Meet(number))),
            Odd::Meet(number) => {
                MET.fetch_add(1, Ordering::Relaxed);
                let start = Instant::now();
                while MET.load(Ordering::Relaxed) < number {
                    if start.elapsed() > Duration::from_secs(60) {
                        return <Self::Output as crate::Reduce>::identity();
                    }
                    thread::sleep(Duration::from_millis(1));
                }
            }
        }
        (Sum(1), Max::default())
    }
}

fn odd() -> Program<(Sum<u64>, Max<Vec<u8>>)> {
    Program::new("odd").with::<Odd>()
}

/// A task that panics when it is read, before it runs anywhere.
#[derive(Serialize, Deserialize)]
#[serde(from = "u8")]
struct Fragile;

impl From<u8> for Fragile {
    fn from(number: u8) -> Fragile {
        assert_eq!(number, 0, "no such number");
        Fragile
    }
}

impl Task for Fragile {
    const KIND: &'static str = "fragile";
    type Output = Sum<u64>;

    fn run(self, _: &Tasks<Sum<u64>>) -> Sum<u64> {
        Sum(1)
    }
}

pub(super) fn setup(name: &str, threads: usize) -> Setup {
    let pool = Pool::builder()
        .workers(threads)
        .build()
        .expect("it is small");
    let worker = WorkerId {
        name: name.to_owned(),
        build: BUILD,
    };
    let catalogue = Catalogue::default().with(uts::program()).with(odd());
    let catalogue = catalogue.with(Program::new("fragile").with::<Fragile>());
    let catalogue = catalogue.with(Program::new("print").with::<Print>());
    let mut setup = Setup::new(worker, pool, catalogue);
    setup.quantum = Duration::from_millis(2);
    setup.linger = Some(Duration::from_millis(300));
    setup
}

/// Lets some workers work until they have had nothing to do for a while.
fn work(pool: &Arc<dyn LeasePool>, workers: usize) -> Vec<Tally> {
    let stop = Stop::default();
    let tally = |number: usize| {
        let setup = setup(&format!("w{number}"), 1 + number % 2);
        serve(pool.clone(), setup, &stop, |_| {}).expect("no trouble")
    };
    thread::scope(|scope| {
        let tally = &tally;
        let threads: Vec<_> = (0..workers)
            .map(|number| scope.spawn(move || tally(number)))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("no panic"))
            .collect()
    })
}

fn status(pool: &Arc<dyn LeasePool>) -> Status {
    let status = pool.status(&job("", Duration::ZERO).id);
    status.expect("it is there").expect("it was submitted")
}

#[test]
fn a_tree_is_counted_by_several_workers() {
    let (tree, size) = tree();
    let pool: Arc<dyn LeasePool> = Arc::new(Memory::default());
    let job = job("uts", Duration::from_secs(60));
    submit(&*pool, &job, [Search::whole(tree)]).expect("it is new");
    let tallies = work(&pool, 3);
    let ended = follow(&*pool, &job.id, Duration::ZERO, |_| {}).expect("it is over");
    assert_eq!(
        ended.result(&uts::program()).expect("it is a result").0,
        size
    );
    let completed: u64 = tallies.iter().map(|tally| tally.completed).sum();
    assert_eq!(completed, ended.status.done);
    assert!(completed > 1, "it was never divided: {tallies:?}");
    assert!(ended.results.len() < 128, "they are combined");
}

#[test]
fn lost_requests_and_replies_change_nothing() {
    let (tree, size) = tree();
    for seed in 1..=2 {
        let flaky = Flaky {
            pool: Memory::default(),
            one_in: 16,
            random: Mutex::new(seed << 40 | 0x9E37_79B9),
            refusals: AtomicU64::new(0),
        };
        let flaky = Arc::new(flaky);
        let pool: Arc<dyn LeasePool> = flaky.clone();
        let mut job = job("uts", Duration::from_millis(40));
        // Leases whose replies are lost run out, and so often that nothing shall be set aside for
        // it.
        job.terms.tries = 1000;
        while submit(&*pool, &job, [Search::whole(tree)]).is_err() {}
        while flaky
            .pool
            .status(&job.id)
            .expect("it is there")
            .expect("it was submitted")
            .state
            == State::Running
        {
            work(&pool, 2);
        }
        let ended = follow(&*pool, &job.id, Duration::from_secs(60), |_| {}).expect("it is over");
        assert_eq!(
            ended.result(&uts::program()).expect("it is a result").0,
            size
        );
        assert_eq!(ended.status.aside, 0);
    }
}

#[test]
fn tasks_that_panic_or_are_malformed_or_give_too_much_are_set_aside() {
    let pool: Arc<dyn LeasePool> = Arc::new(Memory::default());
    let job = job("odd", Duration::from_secs(60));
    let mut tasks: Vec<Vec<u8>> = [Odd::Fine, Odd::Panics, Odd::Bloated, Odd::Many(5000)]
        .iter()
        .map(|task| crate::Parcel::of(task).encode())
        .collect();
    tasks.push(vec![0xFF; 10]);
    let stranger = crate::Parcel::new("stranger", Vec::new());
    tasks.push(stranger.encode());
    let order = crate::leases::Order::whole(job, tasks);
    pool.submit(&order).expect("it is new");
    work(&pool, 2);
    let status = status(&pool);
    assert_eq!((status.state, status.aside), (State::Done, 4), "{status:?}");
    for reason in [
        "panicked",
        "a result of",
        "malformed",
        "no kind \"stranger\"",
    ] {
        let found = status
            .reasons
            .iter()
            .any(|aside| aside.reason.contains(reason));
        assert!(found, "{reason}: {:?}", status.reasons);
    }
    let ended = follow(&*pool, &status.job.id, Duration::ZERO, |_| {}).expect("it is over");
    let (Sum(ran), _) = ended.result(&odd()).expect("it is a result");
    assert_eq!(ran, 5002, "one that is fine, and one that spawned 5000");
}

/// What a job of `odd` with one first task comes to, with so many workers.
fn outcome(workers: usize, job: &JobInfo, task: Odd) -> (u64, Status) {
    let pool: Arc<dyn LeasePool> = Arc::new(Memory::default());
    submit(&*pool, job, [task]).expect("it is new");
    work(&pool, workers);
    let ended = follow(&*pool, &job.id, Duration::ZERO, |_| {}).expect("it is over");
    let (Sum(ran), _) = ended.result(&odd()).expect("it is a result");
    (ran, ended.status)
}

#[test]
fn of_ten_thousand_leaves_one_that_panics_costs_one() {
    let job = job("odd", Duration::from_secs(60));
    for workers in [1, 3] {
        let (ran, status) = outcome(workers, &job, Odd::OneBad(10_000, 7_777));
        assert_eq!((ran, status.aside), (10_000, 1), "{:?}", status.reasons);
        let Aside {
            attempts, reason, ..
        } = &status.reasons[0];
        assert_eq!(*attempts, 3);
        assert!(reason.contains("as it does"), "{reason}");
    }
}

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
    let bundles = slot::bundled(tasks.clone(), 2, &limits);
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

/// They can meet only if the first one's children leave its process while two of them run there.
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
                serve(pool, setup, stop, |_| {}).expect("no trouble")
            });
        }
        let ended = follow(&*pool, &job.id, Duration::ZERO, |_| {}).expect("it is over");
        stop.stop();
        ended
    });
    let (Sum(ran), _) = ended.result(&odd()).expect("it is a result");
    assert_eq!(ran, 9, "the first one, and eight that met");
}

/// Results that are put together, and get as large as all of them.
#[derive(Default, Serialize, Deserialize)]
struct Pages(Vec<(u32, Vec<u8>)>);

impl crate::Reduce for Pages {
    fn identity() -> Pages {
        Pages::default()
    }

    fn combine(&mut self, other: Pages) {
        self.0.extend(other.0);
    }
}

#[derive(Serialize, Deserialize)]
enum Print {
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
    let mut desk = Desk::default();
    assert_eq!(desk.shortest(), None);
    desk.held.insert(1, held(5000));
    desk.held.insert(2, held(30));
    assert_eq!(desk.shortest(), Some(Duration::from_millis(30)));
    desk.held.remove(&2);
    assert_eq!(desk.shortest(), Some(Duration::from_secs(5)));
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
        pool: Memory::default(),
        one_in: u64::MAX,
        random: Mutex::new(1),
        refusals: AtomicU64::new(2),
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
    let deaf = |_| panic!("nobody listens");
    let tally = serve(pool.clone(), setup("w", 1), &Stop::default(), deaf).expect("no trouble");
    assert_eq!((tally.failed, tally.given_up), (3, 0));
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
fn endless(pool: &Arc<dyn LeasePool>, stop: &Stop, grace: Duration) -> thread::JoinHandle<Tally> {
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
    let thread = thread::spawn(move || serve(worker, setup, &stop, |_| {}).expect("no trouble"));
    while status(&pool).in_flight == 0 {
        thread::sleep(Duration::from_millis(1));
    }
    thread
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
    let tally = thread.join().expect("no panic");
    assert_eq!((tally.lost, tally.completed), (1, 0));
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
    serve(pool.clone(), setup("w", 1), &Stop::default(), hear).expect("no trouble");
    let heard = heard.lock().expect("no panic");
    assert!(
        heard.len() == 1 && heard[0].contains("the job job is of build 0000000000000008"),
        "{heard:?}"
    );
    assert_eq!(status(&pool).outstanding, 1);
}

#[test]
fn whoever_waits_for_a_job_is_not_given_the_result_of_the_next_one_of_its_name() {
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
    assert_eq!(followed.err(), Some(Trouble::Vanished(job.id.clone())));
}
