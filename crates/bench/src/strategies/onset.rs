//! Time until all workers are busy, and time of the whole program.
//!
//! An episode begins when all workers have just run out of work: they meet in a broadcast, and all
//! but one return to looking for work. The remaining worker, the generator, creates all the work:
//! it spawns tasks one after another ([`Shape::Generator`]), or runs a chain that forks from time
//! to time ([`Shape::Chain`]). Every task records when its worker first had a task. The time of the
//! last worker is the time to *all busy*; if a worker never had a task, it is the time of the whole
//! episode.
//!
//! **More workers than processors.** A pool normally keeps workers beyond the number of processors
//! asleep, and the system assigns processors in slices of milliseconds; neither depends on the
//! strategy. So the pool is told that there are enough processors
//! ([`Builder::processors`](locksley::Builder::processors)); tasks block instead of computing, so
//! that all workers can be in a task at the same time; and workers that look for work or create it
//! yield their processor in between, so that each runs every few microseconds.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use locksley::{Idle, Pool, Strategy};

use super::lineup::{self, CROWDS, STEALING, Work};
use crate::harness::report::Outcome;
use crate::harness::stats::median;
use crate::harness::{Contender, Measured, Plan, Sample, Workload, WrongResult, verify};

/// Ways to create the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    Generator,
    Chain,
}

/// The shapes, each with the names of its makespan with two, four and eight workers, and the names
/// of its time to all busy.
const SCENES: [(Shape, [&str; 3], [&str; 3]); 2] = [
    (
        Shape::Generator,
        ["generator P=2", "generator P=4", "generator P=8"],
        GENERATOR_BUSY,
    ),
    (
        Shape::Chain,
        ["chain P=2", "chain P=4", "chain P=8"],
        [
            "chain all busy P=2",
            "chain all busy P=4",
            "chain all busy P=8",
        ],
    ),
];

/// Names of the times to all busy where one worker creates all the work.
pub(super) const GENERATOR_BUSY: [&str; 3] = [
    "generator all busy P=2",
    "generator all busy P=4",
    "generator all busy P=8",
];

const CONTENDERS: [&str; 8] = [
    STEALING,
    "stealing",
    "steal-half",
    "sharing",
    "sharing:greedy",
    "dealing",
    "dealing:adaptive",
    "dealing:simple,mode=dedicated",
];

/// Time for which the other workers look for work before there is any.
const HUNGER: Duration = Duration::from_micros(10);

/// Search policy of workers if there are too few processors: they yield after every attempt.
const TURNS: Idle = Idle {
    spins: 0,
    yields: u32::MAX,
};

/// Parameters of an episode.
#[derive(Clone, Copy, Debug)]
struct Scene {
    shape: Shape,
    workers: usize,
    tasks: u64,
    /// Time of the work before each task is created.
    gap: Duration,
    task: Work,
}

impl Scene {
    fn new(shape: Shape, workers: usize) -> Scene {
        let micros = Duration::from_micros;
        let tasks = workers as u64 * if lineup::is_crowded(workers) { 8 } else { 32 };
        match shape {
            Shape::Generator => Scene {
                shape,
                workers,
                tasks,
                gap: micros(1),
                task: Work::for_workers(workers, micros(20), micros(500)),
            },
            Shape::Chain => Scene {
                shape,
                workers,
                tasks,
                gap: micros(10),
                task: Work::for_workers(workers, micros(15), micros(200)),
            },
        }
    }

    fn about(&self) -> &'static str {
        match (self.shape, self.task) {
            (Shape::Generator, Work::Compute(_)) => {
                "one worker spawns a task of 20 us every us, per task"
            }
            (Shape::Generator, Work::Block(_)) => {
                "one worker spawns a task every us, which blocks for 500 us, per task; crowded"
            }
            (Shape::Chain, Work::Compute(_)) => {
                "a chain that forks a task of 15 us every 10 us, per task"
            }
            (Shape::Chain, Work::Block(_)) => {
                "a chain that forks a task every 10 us, which blocks for 200 us, per task; crowded"
            }
        }
    }

    /// Runs an episode.
    fn play(&self, pool: &Pool) -> Episode {
        let (arrived, left) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let others = self.workers - 1;
        let until = |count: &AtomicUsize, many| {
            while count.load(Ordering::Acquire) < many {
                thread::yield_now();
            }
        };
        let episodes = pool.broadcast(|place| {
            if place.index() > 0 {
                arrived.fetch_add(1, Ordering::AcqRel);
                until(&arrived, others);
                left.fetch_add(1, Ordering::AcqRel);
                return None;
            }
            until(&left, others);
            self.work_alone(HUNGER);
            let notes = Notes::new(self.workers);
            match self.shape {
                Shape::Generator => self.generate(&notes),
                Shape::Chain => self.chain(self.tasks, &notes),
            }
            Some(notes.close())
        });
        let episode = episodes.into_iter().flatten().next();
        episode.expect("the first worker plays")
    }

    /// Runs the generator's own work between tasks. If there are too few processors, the generator
    /// also yields its own.
    fn work_alone(&self, time: Duration) {
        let start = Instant::now();
        while start.elapsed() < time {
            match self.task {
                Work::Compute(_) => std::hint::spin_loop(),
                Work::Block(_) => thread::yield_now(),
            }
        }
    }

    fn generate(&self, notes: &Notes) {
        locksley::scope(|scope| {
            for _ in 0..self.tasks {
                scope.spawn(|_| notes.task(self.task));
                self.work_alone(self.gap);
            }
            notes.gate.open();
        });
    }

    fn chain(&self, links: u64, notes: &Notes) {
        if links == 0 {
            notes.gate.open();
        } else {
            let go_on = || {
                self.work_alone(self.gap);
                self.chain(links - 1, notes);
            };
            locksley::join(go_on, || notes.task(self.task));
        }
    }
}

/// Times at which each worker first had a task.
struct Notes {
    start: Instant,
    /// Times in nanoseconds, 0 for never. The generator comes first and is busy from the start.
    first: Vec<AtomicU64>,
    /// Number of workers other than the generator that have had a task.
    busy: AtomicUsize,
    gate: Gate,
    tasks: AtomicU64,
}

/// Blocking tasks wait here until every worker has a task or there will be no more tasks. A timer
/// would take longer than getting a task does.
struct Gate {
    is_open: Mutex<bool>,
    opened: Condvar,
}

impl Gate {
    fn new() -> Gate {
        Gate {
            is_open: Mutex::new(false),
            opened: Condvar::new(),
        }
    }

    fn open(&self) {
        *self.is_open.lock().expect("no task panics here") = true;
        self.opened.notify_all();
    }

    fn wait(&self) {
        let is_open = self.is_open.lock().expect("no task panics here");
        let opened = self.opened.wait_while(is_open, |is_open| !*is_open);
        drop(opened.expect("no task panics here"));
    }
}

/// Result of an episode.
struct Episode {
    makespan: Duration,
    all_busy: Duration,
    tasks: u64,
}

impl Notes {
    fn new(workers: usize) -> Notes {
        Notes {
            start: Instant::now(),
            first: (0..workers).map(|_| AtomicU64::new(0)).collect(),
            busy: AtomicUsize::new(0),
            gate: Gate::new(),
            tasks: AtomicU64::new(0),
        }
    }

    fn task(&self, work: Work) {
        // Spare workers, which replace workers that wait, are not included.
        let place = locksley::current_worker_index().and_then(|index| self.first.get(index));
        if let Some(first) = place
            && first.load(Ordering::Relaxed) == 0
        {
            first.store(self.start.elapsed().as_nanos() as u64, Ordering::Relaxed);
            if self.busy.fetch_add(1, Ordering::Relaxed) + 2 == self.first.len() {
                self.gate.open();
            }
        }
        if let Work::Block(_) = work {
            self.gate.wait();
        }
        work.run();
        self.tasks.fetch_add(1, Ordering::Relaxed);
    }

    fn close(self) -> Episode {
        let makespan = self.start.elapsed();
        let others = self.first[1..].iter();
        let all_busy = others.map(|first| match first.load(Ordering::Relaxed) {
            0 => makespan,
            nanoseconds => Duration::from_nanos(nanoseconds),
        });
        Episode {
            makespan,
            all_busy: all_busy.max().unwrap_or(makespan),
            tasks: self.tasks.into_inner(),
        }
    }
}

fn contender(name: &'static str, strategy: Strategy, scene: Scene) -> Contender {
    Contender::new(name, move |operations| {
        let mut builder = lineup::builder(strategy, scene.workers);
        if lineup::is_crowded(scene.workers) {
            builder = builder.idle(TURNS);
        }
        let pool = builder.build().expect("the machine has room for a pool");
        let episodes = operations.div_ceil(scene.tasks).max(1);
        let (mut makespan, mut busy) = (Duration::ZERO, Vec::new());
        for _ in 0..episodes {
            let episode = scene.play(&pool);
            verify(name, "tasks", scene.tasks, episode.tasks)?;
            makespan += episode.makespan;
            busy.push(episode.all_busy.as_secs_f64() * 1e9);
        }
        Ok(Sample {
            elapsed: makespan,
            operations: episodes * scene.tasks,
            note: median(&busy),
        })
    })
}

pub(super) fn measure(plan: &Plan, outcome: &mut Outcome) -> Result<(), WrongResult> {
    for (shape, makespans, busies) in SCENES {
        let names = makespans.into_iter().zip(busies);
        for (workers, (name, busy)) in CROWDS.into_iter().zip(names) {
            if plan.includes(name) || plan.includes(busy) {
                let scene = Scene::new(shape, workers);
                let measured = scene_workload(name, scene).run(&plan_for(plan))?;
                let onset = onset_of(&measured, busy);
                outcome.workloads.extend([measured, onset]);
            }
        }
    }
    Ok(())
}

fn plan_for(plan: &Plan) -> Plan {
    Plan {
        rounds: plan.rounds.div_ceil(2),
        sample: if plan.quick {
            plan.sample
        } else {
            Duration::from_millis(20)
        },
        ..plan.clone()
    }
}

fn scene_workload(name: &'static str, scene: Scene) -> Workload {
    let contenders = lineup::known(&CONTENDERS).into_iter();
    Workload {
        name,
        about: scene.about(),
        reference: STEALING,
        note: None,
        contenders: contenders
            .filter_map(|name| Some(contender(name, lineup::strategy(name)?, scene)))
            .collect(),
    }
}

/// Returns the times to all busy that were measured in the same runs, under `name`.
fn onset_of(measured: &Measured, name: &'static str) -> Measured {
    let mut onset = measured.clone();
    onset.name = name;
    onset.about = "of the same episodes, the time until every worker has had work";
    for series in &mut onset.series {
        series.samples = std::mem::take(&mut series.notes);
    }
    onset
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_episode_runs_every_task_and_ends_after_its_onset() {
        for shape in [Shape::Generator, Shape::Chain] {
            for workers in [2, 4] {
                let strategy = lineup::strategy(STEALING).expect("the reference");
                let pool = lineup::builder(strategy, workers).build().expect("a pool");
                let scene = Scene::new(shape, workers);
                let episode = scene.play(&pool);
                assert_eq!(episode.tasks, scene.tasks);
                assert!(episode.all_busy <= episode.makespan);
            }
        }
    }
}
