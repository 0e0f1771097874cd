//! One repetition: N threads, each with its own deque.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use locksley_measure::{WrongResult, verify};
use locksley_queue::mailbox::{self, Mailbox, Sender};
use locksley_queue::{Consumer, Owner, Steal, Thief};
use locksley_report::Repetition;
use locksley_workload::{Batch, Fib};

use super::start_gate::StartGate;
use crate::error::Error;

/// Number of fruitless searches after which an idle thread sleeps for [`NAP`], if tasks arrive
/// while others run. In a batch no thread sleeps, because no further task arrives.
const LOOKS: u32 = 16;
const NAP: Duration = Duration::from_micros(50);

/// Parameters of a repetition.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setting<'a> {
    pub(super) name: &'a str,
    /// Index of the Fibonacci number that each task computes. The first K tasks are for the first
    /// thread, and so on.
    pub(super) tasks: &'a [u64],
    pub(super) threads: usize,
    pub(super) stealing: bool,
    /// Arrival time and index of each task, in order; `None` if all are there before the start.
    pub(super) schedule: Option<&'a [(Duration, usize)]>,
    pub(super) seed: u64,
}

impl Setting<'_> {
    /// Returns K, the number of tasks of a thread, rounded up.
    pub(super) fn share(&self) -> usize {
        self.tasks.len().div_ceil(self.threads.max(1)).max(1)
    }

    /// Runs the tasks once. `deque` creates a deque for a number of tasks.
    pub(super) fn run<D>(&self, deque: impl Fn(usize) -> D) -> Result<Repetition, Error>
    where
        D: Owner<Item = usize> + Send,
        D::Thief: Send + Sync,
    {
        let mut deques: Vec<D> = (0..self.threads).map(|_| deque(self.share())).collect();
        let thieves: Vec<D::Thief> = deques.iter().map(Owner::thief).collect();
        let (senders, boxes): (Vec<Sender<usize>>, Vec<Mailbox<usize>>) = (0..self.threads)
            .map(|_| mailbox::bounded(self.share()))
            .unzip();
        if self.schedule.is_none() {
            for task in 0..self.tasks.len() {
                // The deque may be smaller than requested; the owner's mailbox has room.
                if let Err(full) = deques[task / self.share()].push(task) {
                    let _ = senders[task / self.share()].send(full.into_inner());
                }
            }
        }
        let shared = Shared {
            setting: self,
            thieves: &thieves,
            unstarted: AtomicUsize::new(self.tasks.len()),
            arrived: (0..self.tasks.len()).map(|_| AtomicU64::new(0)).collect(),
        };
        let logs = shared.start(deques.into_iter().zip(boxes), &senders)?;
        Ok(self.outcome(&logs)?)
    }

    /// Checks that every task ran once with the right result, and sums up the logs.
    fn outcome(&self, logs: &[Log]) -> Result<Repetition, WrongResult> {
        let mut results = vec![None; self.tasks.len()];
        let mut waited = Duration::ZERO;
        for done in logs.iter().flat_map(|log| &log.done) {
            verify(
                self.name,
                "a task that runs twice",
                None,
                results[done.task],
            )?;
            results[done.task] = Some(done.result);
            waited += done.waited;
        }
        for (&n, &result) in self.tasks.iter().zip(&results) {
            verify(
                self.name,
                &format!("fib({n})"),
                Some(Fib::number(n)),
                result,
            )?;
        }
        let end = logs.iter().map(|log| log.end).max().unwrap_or_default();
        Ok(Repetition {
            seconds: end.as_secs_f64(),
            waiting: waited.as_secs_f64() / self.tasks.len().max(1) as f64,
            steals: logs.iter().map(|log| log.steals).sum(),
        })
    }
}

/// A task that has run.
#[derive(Clone, Copy, Debug)]
struct Done {
    task: usize,
    result: u64,
    waited: Duration,
}

/// Log of a thread.
#[derive(Clone, Debug, Default)]
struct Log {
    done: Vec<Done>,
    steals: u64,
    /// Time from the start to the end of its last task.
    end: Duration,
}

/// State that all threads share.
struct Shared<'a, T> {
    setting: &'a Setting<'a>,
    thieves: &'a [T],
    /// Number of tasks that have not been started.
    unstarted: AtomicUsize,
    /// Arrival time of each task, in nanoseconds after the start.
    arrived: Vec<AtomicU64>,
}

impl<T: Thief<Item = usize> + Sync> Shared<'_, T> {
    /// Starts the threads, lets the tasks arrive, and waits for the end.
    fn start<D: Owner<Item = usize> + Send>(
        &self,
        owners: impl Iterator<Item = (D, Mailbox<usize>)>,
        senders: &[Sender<usize>],
    ) -> Result<Vec<Log>, Error> {
        let start_gate = StartGate::new();
        thread::scope(|scope| {
            let mut threads = Vec::new();
            for (me, (deque, inbox)) in owners.enumerate() {
                let start_gate = &start_gate;
                let work = move || {
                    let start = start_gate.pass()?;
                    Some(self.worker(me, deque, inbox, start).work())
                };
                match thread::Builder::new().spawn_scoped(scope, work) {
                    Ok(thread) => threads.push(thread),
                    Err(error) => {
                        start_gate.call_off();
                        return Err(refused(self.setting.threads, &error));
                    }
                }
            }
            let start = start_gate.open(threads.len());
            self.deliver(senders, start);
            let logs = threads.into_iter().map(|thread| thread.join());
            let logs: Result<Vec<Option<Log>>, _> = logs.collect();
            let logs = logs.map_err(|_| Error::Check("a thread panicked".into()))?;
            Ok(logs.into_iter().flatten().collect())
        })
    }

    fn worker<D>(
        &self,
        me: usize,
        deque: D,
        inbox: Mailbox<usize>,
        start: Instant,
    ) -> Worker<'_, D, T> {
        let share = self.setting.share();
        let own = self.setting.tasks.chunks(share).nth(me);
        Worker {
            shared: self,
            me,
            deque,
            inbox,
            start,
            own: own.map_or(0, <[u64]>::len),
            random: fastrand::Rng::with_seed(self.setting.seed ^ me as u64),
            log: Log {
                done: Vec::with_capacity(2 * share),
                ..Log::default()
            },
        }
    }

    /// Sends the tasks that arrive while others run.
    fn deliver(&self, senders: &[Sender<usize>], start: Instant) {
        for &(at, task) in self.setting.schedule.unwrap_or_default() {
            while let Some(left) = at
                .checked_sub(start.elapsed())
                .filter(|left| !left.is_zero())
            {
                thread::sleep(left);
            }
            // Relaxed: the mailbox publishes it together with the task.
            let now = start.elapsed().as_nanos() as u64;
            self.arrived[task].store(now, Ordering::Relaxed);
            let sender = &senders[task / self.setting.share()];
            // The mailbox has room for all tasks of the thread, so this ends.
            while sender.send(task).is_err() {
                thread::yield_now();
            }
        }
    }
}

fn refused(threads: usize, error: &std::io::Error) -> Error {
    Error::System(format!(
        "the system refused one of {threads} threads: {error}; give smaller numbers to --threads"
    ))
}

/// A thread, its deque and its mailbox.
struct Worker<'a, D, T> {
    shared: &'a Shared<'a, T>,
    me: usize,
    deque: D,
    inbox: Mailbox<usize>,
    start: Instant,
    /// Number of tasks that were assigned to the thread.
    own: usize,
    random: fastrand::Rng,
    log: Log,
}

impl<D: Owner<Item = usize>, T: Thief<Item = usize>> Worker<'_, D, T> {
    fn work(mut self) -> Log {
        let mut looks = 0;
        loop {
            let next = self.fetch().or_else(|| self.deque.pop());
            if let Some(task) = next.or_else(|| self.steal()) {
                self.run(task);
                looks = 0;
            } else if self.is_over() {
                return self.log;
            } else {
                looks += 1;
                self.idle(looks);
            }
        }
    }

    /// Moves tasks from the mailbox to the deque. Returns a task that does not fit, to be run next.
    fn fetch(&mut self) -> Option<usize> {
        while let Some(task) = self.inbox.consume() {
            if let Err(full) = self.deque.push(task) {
                return Some(full.into_inner());
            }
        }
        None
    }

    /// Tries to steal from every other thread once, starting with a random one.
    fn steal(&mut self) -> Option<usize> {
        let threads = self.shared.thieves.len();
        if !self.shared.setting.stealing || self.shared.unstarted.load(Ordering::Relaxed) == 0 {
            return None;
        }
        // Before an attempt, a thief yields the processor to a thread with work (Arora, Blumofe and
        // Plaxton).
        thread::yield_now();
        let first = self.random.usize(..threads);
        let others = (first..threads).chain(0..first);
        for victim in others.filter(|victim| *victim != self.me) {
            if let Steal::Success(task) = self.shared.thieves[victim].steal() {
                self.log.steals += 1;
                return Some(task);
            }
        }
        None
    }

    fn run(&mut self, task: usize) {
        let arrived = self.shared.arrived[task].load(Ordering::Relaxed);
        let waited = self
            .start
            .elapsed()
            .saturating_sub(Duration::from_nanos(arrived));
        self.shared.unstarted.fetch_sub(1, Ordering::Relaxed);
        let result = black_box(Batch::piece(black_box(self.shared.setting.tasks[task])));
        self.log.done.push(Done {
            task,
            result,
            waited,
        });
        self.log.end = self.start.elapsed();
    }

    /// Returns `true` if no task remains that this thread could run.
    fn is_over(&self) -> bool {
        if self.shared.setting.stealing {
            self.shared.unstarted.load(Ordering::Relaxed) == 0
        } else {
            self.log.done.len() == self.own
        }
    }

    fn idle(&self, looks: u32) {
        if looks > LOOKS && self.shared.setting.schedule.is_some() {
            thread::sleep(NAP);
        } else if !self.shared.setting.stealing {
            thread::yield_now();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use locksley_queue::{abp, chase_lev};

    fn setting<'a>(tasks: &'a [u64], threads: usize, stealing: bool) -> Setting<'a> {
        Setting {
            name: "test",
            tasks,
            threads,
            stealing,
            schedule: None,
            seed: 1,
        }
    }

    #[test]
    fn every_task_of_a_batch_runs_once() {
        for (tasks, threads) in [(0, 3), (1, 3), (7, 2), (60, 5)] {
            let tasks = Batch::random(tasks, 1..=12, 7).pieces().to_vec();
            for stealing in [false, true] {
                let setting = setting(&tasks, threads, stealing);
                for once in [
                    setting.run(abp::Deque::with_capacity),
                    setting.run(|_| chase_lev::Deque::new()),
                ] {
                    let once = once.unwrap();
                    assert!(once.waiting <= once.seconds);
                    assert!(stealing || once.steals == 0);
                }
            }
        }
    }

    #[test]
    fn tasks_may_arrive_while_others_run() {
        let tasks = Batch::skewed(40, 12).pieces().to_vec();
        let schedule: Vec<(Duration, usize)> = (0..40)
            .map(|i| (Duration::from_micros(20 * i as u64), (i * 7) % 40))
            .collect();
        for stealing in [false, true] {
            let setting = Setting {
                schedule: Some(&schedule),
                ..setting(&tasks, 4, stealing)
            };
            let once = setting.run(|_| chase_lev::Deque::new()).unwrap();
            assert!(once.seconds >= schedule.last().unwrap().0.as_secs_f64());
            setting.run(abp::Deque::with_capacity).unwrap();
        }
    }

    #[test]
    fn a_deque_that_is_too_small_loses_nothing() {
        let tasks = [5; 30];
        setting(&tasks, 2, true)
            .run(|_| abp::Deque::with_capacity(2))
            .unwrap();
    }

    #[test]
    fn tasks_that_are_lost_repeated_or_wrong_are_found_out() {
        let tasks = [5, 6];
        let done = |task, result| Done {
            task,
            result,
            waited: Duration::ZERO,
        };
        let outcome = |done: &[Done]| {
            let log = Log {
                done: done.to_vec(),
                ..Log::default()
            };
            setting(&tasks, 1, false).outcome(&[log])
        };
        assert!(outcome(&[done(1, 8), done(0, 5)]).is_ok());
        assert!(outcome(&[done(0, 5)]).is_err());
        assert!(outcome(&[done(0, 5), done(1, 8), done(0, 5)]).is_err());
        assert!(outcome(&[done(0, 5), done(1, 7)]).is_err());
    }
}
