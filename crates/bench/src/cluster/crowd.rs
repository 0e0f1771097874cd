//! The cost for a Redis server of ten thousand workers that hold eight leases each and are
//! otherwise idle, and of as many that hold none.
//!
//! A few threads simulate the workers, and send the same requests at the same rate ([`pace`]).
//! Workers that ask for work block on the server: a thread simulates [`TOGETHER`] of these, and
//! blocks for the corresponding part of the time. The result is the processor time of the server
//! divided by the elapsed time.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use locksley_cluster::Build;
use locksley_cluster::leases::{
    JobInfo, LeaseError, LeasePool, Order, Redis, Server, Terms, Ticket, WorkerId, WorkerInfo, pace,
};

use super::redis::Started;
use crate::harness::report::{Figures, Outcome};
use crate::harness::{Plan, WrongResult};

pub(super) const NAME: &str = "crowd";

const LEASES: usize = 8;
const THREADS: usize = 4;
const BUILD: Build = Build(1);

/// Number of asking workers that one thread simulates, of which one blocks at a time. It blocks for
/// hundreds of milliseconds: an idle server ends a wait a tenth of a second late.
const TOGETHER: usize = 20;

/// Smallest share of the requests that must have been sent; otherwise the clients were too slow.
const ASKED: f64 = 0.75;

/// Measures the share of a processor that the server takes, the larger of the two cases. Returns
/// `None` without a server.
pub(super) fn measure(plan: &Plan, outcome: &mut Outcome) -> Result<Option<f64>, WrongResult> {
    let (workers, title, time) = if plan.quick {
        (
            400,
            "Redis server for 400 workers: parts of a processor",
            Duration::from_secs(1),
        )
    } else {
        (
            10_000,
            "Redis server for 10,000 workers: parts of a processor",
            Duration::from_secs(20),
        )
    };
    let mut figures = Figures::new(title);
    let mut most = 0.0_f64;
    for (leases, hold) in [(LEASES, "with 8 leases each"), (0, "with nothing to do")] {
        let Some(server) = Started::new("everysec") else {
            eprintln!("skipped: there is no redis-server, or it does not start");
            return Ok(None);
        };
        let wrong = |why: String| WrongResult::new(NAME, "a crowd", "a load".into(), why);
        let crowd = Crowd {
            server: &server,
            workers,
            leases,
            time,
            come: AtomicUsize::new(0),
            over: AtomicBool::new(false),
        };
        let load = crowd.load().map_err(|trouble| wrong(trouble.to_string()))?;
        let Some(load) = load else {
            eprintln!("skipped: this machine is too busy to ask as much as {workers} workers do");
            return Ok(None);
        };
        figures.add(hold, load);
        most = most.max(load);
    }
    outcome.figures.push(figures);
    Ok(Some(most))
}

/// Equal workers.
struct Crowd<'a> {
    server: &'a Started,
    workers: usize,
    /// Number of leases that each worker holds.
    leases: usize,
    /// Duration of the measurement.
    time: Duration,
    /// Number of threads that have registered all of their workers.
    come: AtomicUsize,
    /// Set when the measurement is over.
    over: AtomicBool,
}

impl Crowd<'_> {
    fn connect(&self) -> Result<Redis, LeaseError> {
        let found = Server::find(Some(&self.server.url()));
        Redis::connect(found.map_err(|bad| LeaseError::Refused(bad.to_string()))?)
    }

    /// Submits the tasks that the workers lease.
    fn submit(&self) -> Result<(), LeaseError> {
        let redis = self.connect()?;
        let id = "crowd".parse();
        let job = JobInfo {
            id: id.map_err(|_| LeaseError::Refused("a name".to_owned()))?,
            build: BUILD,
            program: "crowd".to_owned(),
            terms: Terms::default(),
        };
        let (tasks, most) = (self.workers * self.leases, job.terms.limits.children);
        let chunks = tasks.div_ceil(most);
        for chunk in 0..chunks {
            redis.submit(&Order {
                job: job.clone(),
                tasks: vec![b"task".to_vec(); (tasks - chunk * most).min(most)],
                chunk: chunk as u64,
                last: chunk + 1 == chunks,
                urgent: false,
            })?;
        }
        Ok(())
    }

    /// Simulates a part of the workers. Returns the processor time of the server since all of this
    /// part were registered, and the elapsed time.
    fn live(&self, number: usize) -> Result<(f64, Duration), LeaseError> {
        let redis = self.connect()?;
        let numbers = (number..self.workers).step_by(THREADS);
        let mut all = numbers
            .map(|number| Simulated::begin(&redis, number, self.leases))
            .collect::<Result<Vec<_>, _>>()?;
        // The leases of the first workers are short, because there were few workers then.
        for one in &all {
            redis.heartbeat_and_renew(&one.present, Duration::from_secs(60), &one.tickets)?;
        }
        // All are registered and count as alive. From here on they behave like real workers.
        self.come.fetch_add(1, Ordering::Relaxed);
        let (before, start) = (self.server.used(None), Instant::now());
        let (crowd, length) = (self.workers as u32, all.len());
        for (place, one) in all.iter_mut().enumerate() {
            one.spread(place as f64 / length as f64, crowd);
        }
        let mut look = start;
        while start.elapsed() < self.time {
            for one in &mut all {
                one.go_on(&redis, crowd)?;
            }
            if number == 0 && Instant::now() >= look {
                look =
                    Instant::now() + pace::reclaim_interval(crowd, redis.reclaim()?.next) / crowd;
            }
            thread::sleep(Duration::from_millis(2));
        }
        Ok((self.server.used(None) - before, start.elapsed()))
    }

    /// Asks for work in the name of one worker after another. Returns the number of requests.
    fn ask(&self, number: usize) -> Result<u64, LeaseError> {
        let redis = self.connect()?;
        let wait = pace::wait(self.workers as u32) / TOGETHER as u32;
        let names = (number * TOGETHER..self.workers).take(TOGETHER);
        while self.come.load(Ordering::Relaxed) < THREADS && !self.over.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(20));
        }
        // The other threads send the heartbeats of all. This beat tells the number of workers.
        let first = WorkerInfo {
            worker: worker(number * TOGETHER),
            slots: LEASES as u32,
        };
        redis.heartbeat(&first, Duration::from_secs(60))?;
        let mut asked = 0;
        for number in names.cycle() {
            if self.over.load(Ordering::Relaxed) {
                break;
            }
            redis.lease(&worker(number), LEASES, true, wait)?;
            asked += 1;
        }
        Ok(asked)
    }

    /// Returns the share of a processor that the server takes for the workers, or `None` if the
    /// clients were too slow on this machine.
    fn load(&self) -> Result<Option<f64>, LeaseError> {
        self.submit()?;
        let askers = if self.leases == 0 {
            self.workers.div_ceil(TOGETHER)
        } else {
            0
        };
        let (parts, asked) = thread::scope(|scope| {
            let asking: Vec<_> = (0..askers)
                .map(|number| scope.spawn(move || self.ask(number)))
                .collect();
            let parts: Vec<_> = (0..THREADS)
                .map(|number| scope.spawn(move || self.live(number)))
                .collect();
            let parts: Vec<_> = parts.into_iter().map(joined).collect();
            self.over.store(true, Ordering::Relaxed);
            let asked: Vec<_> = asking.into_iter().map(joined).collect();
            (parts, asked)
        });
        let parts = parts.into_iter().collect::<Result<Vec<_>, _>>()?;
        let asked = asked.into_iter().sum::<Result<u64, _>>()? as f64;
        let rate = self.workers as f64 / pace::wait(self.workers as u32).as_secs_f64();
        if askers > 0 && asked < ASKED * rate * self.time.as_secs_f64() {
            return Ok(None);
        }
        // The first threads also measured the registrations of the others; the last one did not.
        let (used, passed) = parts
            .into_iter()
            .min_by(|a, b| a.0.total_cmp(&b.0))
            .unwrap_or_default();
        Ok(Some(used / passed.as_secs_f64()))
    }
}

fn worker(number: usize) -> WorkerId {
    WorkerId {
        name: format!("worker-{number}"),
        build: BUILD,
    }
}

/// Joins a thread and resumes its panic, if any.
fn joined<T>(thread: thread::ScopedJoinHandle<'_, T>) -> T {
    let ended = thread.join();
    ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// A worker that holds leases, or none.
struct Simulated {
    present: WorkerInfo,
    tickets: Vec<Ticket>,
    beat: Instant,
}

impl Simulated {
    fn begin(redis: &Redis, number: usize, leases: usize) -> Result<Simulated, LeaseError> {
        let present = WorkerInfo {
            worker: worker(number),
            slots: LEASES as u32,
        };
        redis.heartbeat(&present, Duration::from_secs(60))?;
        let leases = redis.lease(&present.worker, leases, false, Duration::ZERO)?;
        Ok(Simulated {
            present,
            tickets: leases.into_iter().map(|lease| lease.ticket).collect(),
            beat: Instant::now(),
        })
    }

    /// Sets the time of the next beat to a point between two beats.
    fn spread(&mut self, part: f64, crowd: u32) {
        self.beat = Instant::now() + pace::heartbeat(crowd).mul_f64(part);
    }

    fn go_on(&mut self, redis: &Redis, crowd: u32) -> Result<(), LeaseError> {
        if Instant::now() < self.beat {
            return Ok(());
        }
        // A lease of 15 s is renewed every 5 s or with every beat. A worker renews it after three
        // quarters to all of that time.
        let every = pace::heartbeat(crowd).min(pace::renew(crowd, Terms::default().lease));
        self.beat += every.mul_f64(0.875);
        let (_, good) =
            redis.heartbeat_and_renew(&self.present, pace::alive_for(crowd), &self.tickets)?;
        if good.contains(&false) {
            return Err(LeaseError::Refused("a lease was lost".to_owned()));
        }
        Ok(())
    }
}
