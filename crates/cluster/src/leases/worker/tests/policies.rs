//! Time limits, pauses between tries, urgency and delays of whole programs.

use super::*;
use crate::Policy;

/// The output: the number of tasks.
type Count = Sum<u64>;

/// Takes longer than its time limit. `Looks` polls whether it is late; `Stuck` does not, and runs
/// until the test releases it.
#[derive(Serialize, Deserialize)]
enum Slow {
    Looks,
    Stuck,
    /// Spawns a `Looks`, and many tasks that are fine.
    Among(u32),
    Fine,
}

static LET_GO: AtomicBool = AtomicBool::new(false);

impl Task for Slow {
    const KIND: &'static str = "slow";
    const POLICY: Policy = Policy::new().timeout(Duration::from_millis(50)).tries(2);
    type Output = Count;

    fn run(self, tasks: &Tasks<Count>) -> Count {
        match self {
            Slow::Looks => {
                // The task that it spawns is void.
                tasks.spawn(Slow::Fine);
                while !tasks.cancelled() {
                    thread::sleep(Duration::from_millis(1));
                }
            }
            Slow::Stuck => {
                while !LET_GO.load(Ordering::Relaxed) {
                    thread::sleep(Duration::from_millis(1));
                }
            }
            Slow::Among(fine) => {
                tasks.spawn(Slow::Looks);
                (0..fine).for_each(|_| tasks.spawn(Slow::Fine));
            }
            Slow::Fine => {}
        }
        Sum(1)
    }
}

/// Fails at its first tries, with pauses of hours.
#[derive(Serialize, Deserialize)]
struct Shaky;

static SHAKEN: AtomicU32 = AtomicU32::new(0);

const HOUR: Duration = Duration::from_secs(3600);

impl Task for Shaky {
    const KIND: &'static str = "shaky";
    const POLICY: Policy = Policy::new()
        .tries(4)
        .back_off(HOUR, HOUR.saturating_mul(2));
    type Output = Count;

    fn run(self, _: &Tasks<Count>) -> Count {
        let before = SHAKEN.fetch_add(1, Ordering::Relaxed);
        assert!(before >= 3, "it fell");
        Sum(1)
    }
}

/// Records the order in which tasks ran.
#[derive(Serialize, Deserialize)]
struct Plain(u64);

#[derive(Serialize, Deserialize)]
struct Rush;

static ORDER: Mutex<Vec<u64>> = Mutex::new(Vec::new());

impl Task for Plain {
    const KIND: &'static str = "plain";
    type Output = Count;

    fn run(self, _: &Tasks<Count>) -> Count {
        ORDER.lock().expect("no panic").push(self.0);
        Sum(1)
    }
}

impl Task for Rush {
    const KIND: &'static str = "rush";
    const POLICY: Policy = Policy::new().urgent();
    type Output = Count;

    fn run(self, _: &Tasks<Count>) -> Count {
        ORDER.lock().expect("no panic").push(99);
        Sum(1)
    }
}

/// Spawns a delayed task, and so on.
#[derive(Serialize, Deserialize)]
struct Plans {
    later: u32,
}

impl Task for Plans {
    const KIND: &'static str = "plans";
    type Output = Count;

    fn run(self, tasks: &Tasks<Count>) -> Count {
        if self.later > 0 {
            let later = self.later - 1;
            tasks.spawn_after(HOUR, Plans { later });
        }
        Sum(1)
    }
}

pub(super) fn program() -> Program<Count> {
    let program = Program::new("policies").with::<Slow>().with::<Shaky>();
    program.with::<Plain>().with::<Rush>().with::<Plans>()
}

fn start<T: Task<Output = Count>>(tasks: impl IntoIterator<Item = T>) -> Arc<Memory> {
    let memory = Arc::new(Memory::default());
    let job = job("policies", Duration::from_secs(60));
    submit(&*memory, &job, tasks).expect("it is new");
    memory
}

fn result(memory: &Memory) -> (u64, Status) {
    let id = job("", Duration::ZERO).id;
    let ended = follow(memory, &id, Duration::ZERO, |_| {}).expect("it is over");
    let Sum(ran) = ended.result(&program()).expect("it is a result");
    (ran, ended.status)
}

/// Runs one worker until it has been idle for a while.
fn work_alone(memory: &Arc<Memory>) -> Result<WorkerCounts, LeaseError> {
    work_until(memory, Duration::from_millis(300))
}

fn work_until(memory: &Arc<Memory>, linger: Duration) -> Result<WorkerCounts, LeaseError> {
    let pool: Arc<dyn LeasePool> = memory.clone();
    let mut setup = setup("w", 1);
    (setup.grace, setup.linger) = (Duration::from_millis(100), Some(linger));
    serve(pool, setup, &Stop::default(), |_| {})
}

#[test]
fn a_task_that_runs_out_of_time_is_tried_again_and_set_aside_alone() {
    for tasks in [Slow::Looks, Slow::Among(50)] {
        let fine = if matches!(tasks, Slow::Among(_)) {
            51
        } else {
            0
        };
        let memory = start([tasks]);
        let pool: Arc<dyn LeasePool> = memory.clone();
        work(&pool, 2);
        let (ran, status) = result(&memory);
        assert_eq!((ran, status.aside), (fine, 1), "{status:?}");
        let Aside {
            attempts, reason, ..
        } = &status.reasons[0];
        assert_eq!(*attempts, 2, "as often as its kind may be tried");
        assert_eq!(reason, "it took longer than 50ms");
    }
}

#[test]
fn a_worker_whose_threads_are_stuck_ends_and_others_have_the_rest() {
    let memory = start([Slow::Stuck, Slow::Fine]);
    let ended = work_until(&memory, Duration::from_secs(60));
    assert_eq!(ended, Err(LeaseError::Stuck(1)));
    let id = job("", Duration::ZERO).id;
    let status = memory.status(&id).expect("it is there");
    let status = status.expect("it was submitted");
    assert_eq!((status.in_flight, status.outstanding > 0), (0, true));
    LET_GO.store(true, Ordering::Relaxed);
    work_alone(&memory).expect("no error");
    assert_eq!(result(&memory).0, 2, "what was stuck is done elsewhere");
}

#[test]
fn a_task_pauses_between_its_tries_and_the_pauses_get_longer() {
    let memory = start([Shaky]);
    for pause in [HOUR, 2 * HOUR, 2 * HOUR] {
        work_alone(&memory).expect("no error");
        let status = memory.status(&job("", Duration::ZERO).id);
        let status = status.expect("it is there").expect("it was submitted");
        assert_eq!((status.delayed, status.outstanding), (1, 1), "{status:?}");
        // A pause is at least half of its nominal length, and at most all of it.
        memory.advance(pause / 2 - Duration::from_secs(60));
        assert_eq!(work_alone(&memory), Ok(WorkerCounts::default()));
        memory.advance(pause / 2 + Duration::from_secs(60));
    }
    work_alone(&memory).expect("no error");
    let (ran, status) = result(&memory);
    assert_eq!((ran, status.aside), (1, 0));
    assert_eq!(SHAKEN.load(Ordering::Relaxed), 4);
}

#[test]
fn urgent_kinds_run_before_others_of_all_jobs() {
    let memory = start((0..10).map(Plain));
    let mut second = job("policies", Duration::from_secs(60));
    second.id = "second".parse().expect("it is plain");
    submit(&*memory, &second, [Rush]).expect("it is new");
    work_alone(&memory).expect("no error");
    let order = ORDER.lock().expect("no panic").clone();
    assert_eq!((order.len(), order[0]), (11, 99), "{order:?}");
}

#[test]
fn a_task_for_later_is_kept_by_the_server() {
    let memory = start([Plans { later: 2 }]);
    for _ in 0..2 {
        let counts = work_alone(&memory).expect("no error");
        assert_eq!((counts.tasks, counts.children), (1, 1));
        memory.advance(HOUR);
    }
    work_alone(&memory).expect("no error");
    assert_eq!(result(&memory).0, 3);
}
