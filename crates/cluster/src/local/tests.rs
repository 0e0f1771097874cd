use std::sync::Barrier;

use serde::{Deserialize, Serialize};

use super::shared::lock;
use super::*;
use crate::{Continuation, Parcel, Sum, Tasks, tangle};

/// A test task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum TestTask {
    Give(u64),
    /// A tree of tasks: number of children, and depth.
    Grow(u32, u32),
    Panic,
    /// Runs until it is told to stop.
    Linger,
    /// The same, after it has met the test; then it spawns a delayed task, and makes a group.
    SpawnLate,
    /// Meets the test twice at a barrier.
    Meet,
    /// After a delay in milliseconds, spawns a task that gives this number.
    Later(u64, u64),
}

static MEETING: Barrier = Barrier::new(2);

static LATE: Barrier = Barrier::new(2);

impl Task for TestTask {
    const KIND: &'static str = "deed";
    type Output = Sum<u64>;

    fn run(self, tasks: &Tasks<Sum<u64>>) -> Sum<u64> {
        match self {
            TestTask::Give(number) => return Sum(number),
            TestTask::Grow(_, 0) => return Sum(1),
            TestTask::Grow(children, depth) => {
                (0..children).for_each(|_| tasks.spawn(TestTask::Grow(children, depth - 1)));
            }
            TestTask::Panic => panic!("a deed most foul"),
            TestTask::Linger => {
                while !tasks.cancelled() {
                    std::thread::yield_now();
                }
            }
            TestTask::SpawnLate => {
                LATE.wait();
                while !tasks.cancelled() {
                    std::thread::yield_now();
                }
                tasks.spawn_after(Duration::from_secs(3600), TestTask::Give(1));
                tasks.spawn_all([TestTask::Give(2)]).then(Total);
            }
            TestTask::Later(millis, number) => {
                tasks.spawn_after(Duration::from_millis(millis), TestTask::Give(number));
            }
            TestTask::Meet => {
                MEETING.wait();
                MEETING.wait();
            }
        }
        Sum(0)
    }
}

/// Returns the sum of its inputs.
#[derive(Serialize, Deserialize)]
struct Total;

impl Continuation for Total {
    const KIND: &'static str = "total";
    type Output = Sum<u64>;

    fn run(self, inputs: Vec<Sum<u64>>, _: &Tasks<Sum<u64>>) -> Sum<u64> {
        Sum(inputs.iter().map(|Sum(input)| input).sum())
    }
}

fn local(workers: usize) -> Local<Sum<u64>> {
    let pool = Pool::builder().workers(workers).build().unwrap();
    let program = Program::new("deeds").with::<TestTask>();
    Local::new(pool, &program.with_continuation::<Total>())
}

fn free(task: TestTask) -> Waiting<Sum<u64>> {
    let (task, origin, to) = (Box::new(task), Origin::Untracked, None);
    Waiting { task, origin, to }
}

#[test]
fn every_task_is_run_once() {
    for workers in [1, 2, 3] {
        let local = local(workers);
        let (sum, usage) = local
            .run([TestTask::Grow(3, 6), TestTask::Give(1000)])
            .unwrap();
        assert_eq!(sum, Sum(729 + 1000));
        let tasks = (3_u64.pow(7) - 1) / 2 + 1;
        assert_eq!(
            (usage.tasks, usage.added, usage.withdrawn),
            (tasks, tasks, 0)
        );
        assert!(local.is_passive());
        assert_eq!(local.surplus(), 0);
    }
}

#[test]
fn a_run_does_not_end_before_its_delayed_tasks() {
    let local = local(2);
    for _ in 0..2 {
        let start = std::time::Instant::now();
        let deeds = [30, 1, 15].map(|millis| TestTask::Later(millis, millis));
        let (sum, _) = local.run(deeds).unwrap();
        assert_eq!(sum, Sum(46));
        assert!(start.elapsed() >= Duration::from_millis(30));
        assert!(local.is_passive());
    }
}

#[test]
fn a_run_that_is_cancelled_waits_for_no_delayed_task() {
    let local = local(1);
    local.submit(Box::new(TestTask::Later(3_600_000, 1)));
    while local.usage().tasks == 0 {
        std::thread::yield_now();
    }
    assert!(!local.is_passive());
    local.cancel();
    assert!(local.wait(Duration::MAX));
    assert!(local.is_passive());
}

#[test]
fn a_local_can_run_again() {
    let local = local(2);
    for round in 1..5 {
        let (sum, usage) = local.run([TestTask::Give(round)]).unwrap();
        assert_eq!((sum, usage.tasks), (Sum(round), round));
    }
}

/// The one test that uses the barrier: it occupies the only worker, so that tasks wait.
#[test]
fn the_oldest_leave_first_and_are_not_run_here() {
    let local = local(1);
    local.submit(Box::new(TestTask::Meet));
    MEETING.wait();
    for number in 0..10 {
        local.submit(Box::new(TestTask::Give(number)));
    }
    assert_eq!(local.surplus(), 10);
    assert!(!local.wait(Duration::from_millis(1)), "the meeting goes on");

    let away = local.withdraw(4);
    let numbers: Vec<Parcel> = away.iter().map(|task| task.pack()).collect();
    let expected: Vec<Parcel> = (0..4)
        .map(|number| Parcel::of(&TestTask::Give(number)))
        .collect();
    assert_eq!(numbers, expected);
    assert_eq!(local.surplus(), 6);

    // They come back as parcels, one by one.
    for parcel in &numbers[..2] {
        local.submit(local.program().unpack(parcel).unwrap());
    }
    MEETING.wait();
    assert!(local.wait(Duration::MAX));
    assert_eq!(local.take_result(), Sum((4..10).sum::<u64>() + 1));
    assert_eq!(local.take_result(), Sum(0), "it was taken");
    let usage = local.usage();
    assert_eq!((usage.tasks, usage.added, usage.withdrawn), (9, 13, 4));
}

#[test]
fn what_is_wanted_depends_on_what_waits() {
    let local = local(1);
    assert!(!local.shared.wanted(), "no other process is here");
    local.set_appetite(1);
    assert!(local.shared.wanted());
    let job = local.shared.clone();
    let job = job.enter(free(TestTask::Give(1))).unwrap();
    assert!(!local.shared.wanted());
    assert!(!local.is_passive());
    job();
    assert!(local.shared.wanted());
    assert!(local.is_passive());
}

/// A long task spawns many tasks, and other processes take them away.
#[test]
fn ghosts_run_what_comes_next() {
    let local = local(1);
    let mut jobs = Vec::new();
    for round in 0..100 {
        for number in 0..5 {
            let task = free(TestTask::Give(1000 * round + number));
            jobs.extend(local.shared.clone().enter(task));
        }
        assert_eq!(jobs.len(), 5, "those of the first round serve all");
        if round < 99 {
            assert_eq!(local.withdraw(9).len(), 5);
        }
    }
    jobs.into_iter().for_each(|job| job());
    assert_eq!(local.take_result(), Sum(5 * 99_000 + 10));
    assert!(local.is_passive());
    let line = lock(&local.shared.line);
    assert_eq!((line.jobs, local.surplus()), (0, 0));
}

#[test]
fn a_panic_is_reported_and_ends_the_run() {
    let local = local(2);
    let tasks = [TestTask::Give(1), TestTask::Panic, TestTask::Linger];
    let panicked = local.run(tasks).unwrap_err();
    assert_eq!(panicked.kind, "deed");
    assert_eq!(
        panicked.to_string(),
        "a task of the kind deed panicked: a deed most foul"
    );
    assert!(local.is_passive());
}

#[test]
fn cancelling_ends_what_runs_and_drops_what_waits() {
    let local = local(1);
    local.submit(Box::new(TestTask::Linger));
    for _ in 0..100 {
        local.submit(Box::new(TestTask::Linger));
    }
    local.cancel();
    assert!(local.wait(Duration::MAX));
    assert!(local.usage().tasks <= 1);
    assert_eq!(local.surplus(), 0);
}

#[test]
fn what_is_spawned_and_deferred_after_a_cancellation_is_dropped() {
    let local = local(1);
    local.submit(Box::new(TestTask::SpawnLate));
    LATE.wait();
    local.cancel();
    assert!(local.wait(Duration::from_secs(60)));
    assert!(local.is_passive());
}

/// Tasks leave and come back while workers run others: none is lost, and none is run twice.
#[test]
fn tasks_that_leave_and_return_are_counted_once() {
    let local = local(2);
    local.set_appetite(usize::MAX);
    local.submit(Box::new(TestTask::Grow(2, 12)));
    let mut moved = 0;
    loop {
        let away = local.withdraw(3);
        moved += away.len();
        // While these are away the process may be passive.
        let done = local.is_passive() && away.is_empty();
        for task in away {
            local.submit(local.program().unpack(&task.pack()).unwrap());
        }
        if done {
            break;
        }
    }
    assert_eq!(local.take_result(), Sum(1 << 12));
    let usage = local.usage();
    assert_eq!(usage.tasks, (1 << 13) - 1);
    assert_eq!(usage.withdrawn, moved as u64);
}

/// Chains, trees, nested groups, continuations that spawn: the result equals that of the recursion.
#[test]
fn continuations_get_the_whole_results_of_their_groups_in_order() {
    let mut grouped = 0;
    for (workers, seed) in [1, 2, 3]
        .into_iter()
        .flat_map(|w| (0..40).map(move |s| (w, s)))
    {
        let pool = Pool::builder().workers(workers).build().unwrap();
        let local = Local::new(pool, &tangle::program());
        let task = tangle::RandomTask::new(seed, 5);
        let (Sum(found), usage) = local.run([task]).unwrap();
        assert_eq!(found, task.whole(), "seed {seed}");
        assert!(local.is_passive());
        assert_eq!(usage.tasks, usage.added);
        grouped += usage.tasks;
    }
    assert!(grouped > 10_000, "they are tangled: {grouped}");
}

#[test]
fn what_is_withdrawn_by_others_is_in_no_group() {
    let local = local(1);
    local.set_home(1);
    let shared = &local.shared;
    let made = std::sync::Mutex::default();
    let of = shared.defer(&made, Box::new(crate::continuation::Merge::new()), 1, &None);
    let slot = Slot { of, index: 0 };
    let (task, origin) = (Box::new(TestTask::Give(1)), Origin::Untracked);
    let to = Some(slot);
    let job = shared.clone().enter(Waiting { task, origin, to });
    assert!(local.withdraw(9).is_empty());
    let parcels = local.withdraw_parcels(9);
    assert_eq!(parcels[0].to, to);
    assert!(!local.is_passive(), "an input is missing");
    assert!(local.deliver(Slot { of, index: 1 }, Sum(5)).is_err());
    assert!(local.deliver(slot, Sum(5)).is_ok());
    assert!(local.deliver(slot, Sum(5)).is_err(), "it is full");
    drop(job);
    local.cancel();
}
