//! How soon all workers have something to do, and how long it takes in all.
//!
//! An episode begins when all workers have just run out of work: they meet in a broadcast, and all
//! but one go back to looking for something. That one makes all the work: it spawns tasks one after
//! another ([`Shape::Generator`]), or it is a chain that forks once in a while ([`Shape::Chain`]).
//! Every task notes when its worker first had something to do. The last worker's time is that to
//! *all busy*; if a worker never had any, it is the whole episode's.
//!
//! **More workers than processors.** A pool keeps workers beyond the processors asleep, and
//! processors are handed out in slices of milliseconds: neither has to do with the strategy. So the
//! pool is told that there are enough processors
//! ([`Builder::processors`](locksley::Builder::processors)); tasks do not compute but block, so
//! that as many workers as there are can be in a task; and those who look for work or make it give
//! their processor away in between, so that each has a turn every few microseconds.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use locksley::{Idle, Pool, Strategy};

use super::lineup::{self, CROWDS, STEALING, Work};
use crate::harness::report::Outcome;
use crate::harness::stats::median;
use crate::harness::{Contender, Measured, Plan, Sample, Workload, Wrong, verify};

/// Who makes the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    Generator,
    Chain,
}

/// A shape, the names of its makespan with two, four and eight workers, and those of its time to
/// all busy.
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

/// The times to all busy where one worker makes all the work.
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

/// How long the others look for work in vain before there is some.
const HUNGER: Duration = Duration::from_micros(10);

/// How workers look for work where processors are too few: never without giving theirs away.
const TURNS: Idle = Idle {
    spins: 0,
    yields: u32::MAX,
};

/// What a scene consists of.
#[derive(Clone, Copy, Debug)]
struct Scene {
    shape: Shape,
    workers: usize,
    tasks: u64,
    /// What is done before each task is made.
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

    /// Plays an episode.
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

    /// What the one worker does in between. Where the processors are too few, it lets the others
    /// have its own.
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

/// When each worker first had something to do.
struct Notes {
    start: Instant,
    /// In nanoseconds; 0 for never. The generator is first, and busy from the start.
    first: Vec<AtomicU64>,
    /// How many workers beside the generator have had something to do.
    busy: AtomicUsize,
    gate: Gate,
    tasks: AtomicU64,
}

/// Tasks that block begin to do so here, until each worker has one or there will be no more: to be
/// blocked with a timer would take longer than to get a task.
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

/// What came of an episode.
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
        // Spares, which stand in for one that waits, are not asked.
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

pub(super) fn measure(plan: &Plan, outcome: &mut Outcome) -> Result<(), Wrong> {
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

/// The other thing that was measured meanwhile.
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
