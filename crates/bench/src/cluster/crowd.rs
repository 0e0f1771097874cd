//! Ten thousand workers that hold eight leases each and have nothing else to do, and as many that
//! hold none: what they cost a Redis server.
//!
//! A few threads stand for them, and ask what they would ask, as often as they would ([`pace`]),
//! each for its part of them. What is measured is the processor time of the server, as a part of
//! the time that passes.

use std::thread;
use std::time::{Duration, Instant};

use locksley_cluster::Build;
use locksley_cluster::leases::{
    JobInfo, LeasePool, Order, Present, Redis, Server, Terms, Ticket, Trouble, WorkerId, pace,
};

use super::redis::Started;
use crate::harness::report::{Figures, Outcome};
use crate::harness::{Plan, Wrong};

pub(super) const NAME: &str = "crowd";

const LEASES: usize = 8;
const THREADS: usize = 4;
const BUILD: Build = Build(1);

/// So long a worker blocks that asks for work.
const SHORT: Duration = Duration::from_millis(1);

/// The part of a processor that the server takes, the larger of the two; nothing where there is no
/// server.
pub(super) fn measure(plan: &Plan, outcome: &mut Outcome) -> Result<Option<f64>, Wrong> {
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
        let wrong = |why: String| Wrong::new(NAME, "a crowd", "a load".into(), why);
        let load = load(&server, workers, leases, time);
        let load = load.map_err(|trouble| wrong(trouble.to_string()))?;
        figures.add(hold, load);
        most = most.max(load);
    }
    outcome.figures.push(figures);
    Ok(Some(most))
}

fn load(server: &Started, workers: usize, leases: usize, time: Duration) -> Result<f64, Trouble> {
    let connect = || {
        let found = Server::find(Some(&server.url()));
        Redis::connect(found.map_err(|bad| Trouble::Refused(bad.to_string()))?)
    };
    let redis = connect()?;
    let job = JobInfo {
        id: "crowd"
            .parse()
            .map_err(|_| Trouble::Refused("a name".to_owned()))?,
        build: BUILD,
        program: "crowd".to_owned(),
        terms: Terms::default(),
    };
    let chunks = (workers * leases).div_ceil(job.terms.limits.children);
    for chunk in 0..chunks {
        let left = workers * leases - chunk * job.terms.limits.children;
        redis.submit(&Order {
            job: job.clone(),
            tasks: vec![b"task".to_vec(); left.min(job.terms.limits.children)],
            chunk: chunk as u64,
            last: chunk + 1 == chunks,
            urgent: false,
        })?;
    }
    let part = |number: usize| -> Result<(f64, Duration), Trouble> {
        let redis = connect()?;
        let numbers = (number..workers).step_by(THREADS);
        let mut all = numbers
            .map(|number| Simulated::begin(&redis, number, leases))
            .collect::<Result<Vec<_>, _>>()?;
        // All of them have come, and are taken to be alive. From now on they go on as they would.
        let (before, start) = (server.used(None), Instant::now());
        let crowd = workers as u32;
        let length = all.len();
        for (place, one) in all.iter_mut().enumerate() {
            one.spread(place as f64 / length as f64, crowd);
        }
        let mut look = start;
        while start.elapsed() < time {
            for one in &mut all {
                one.go_on(&redis, crowd)?;
            }
            if number == 0 && Instant::now() >= look {
                look = Instant::now() + pace::look(crowd, redis.reclaim()?.next) / crowd;
            }
            thread::sleep(Duration::from_millis(2));
        }
        Ok((server.used(None) - before, start.elapsed()))
    };
    let parts = thread::scope(|scope| {
        let part = &part;
        let threads: Vec<_> = (0..THREADS)
            .map(|number| scope.spawn(move || part(number)))
            .collect();
        let ended = threads.into_iter().map(|thread| thread.join());
        ended
            .map(|part| part.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect::<Result<Vec<_>, _>>()
    })?;
    // Those that were ready first saw the others come. The last one saw none.
    let (used, passed) = parts
        .into_iter()
        .min_by(|a, b| a.0.total_cmp(&b.0))
        .unwrap_or_default();
    Ok(used / passed.as_secs_f64())
}

/// A worker that holds leases.
struct Simulated {
    present: Present,
    tickets: Vec<Ticket>,
    beat: Instant,
    /// When it asks for work, if it has none.
    ask: Option<Instant>,
}

impl Simulated {
    fn begin(redis: &Redis, number: usize, leases: usize) -> Result<Simulated, Trouble> {
        let worker = WorkerId {
            name: format!("worker-{number}"),
            build: BUILD,
        };
        let present = Present {
            worker,
            slots: LEASES as u32,
        };
        redis.beat(&present, Duration::from_secs(60))?;
        let idle = leases == 0;
        let leases = redis.lease(&present.worker, leases, false, Duration::ZERO)?;
        Ok(Simulated {
            present,
            tickets: leases.into_iter().map(|lease| lease.ticket).collect(),
            beat: Instant::now(),
            ask: idle.then(Instant::now),
        })
    }

    /// Lets it be anywhere between two beats, and between two questions.
    fn spread(&mut self, part: f64, crowd: u32) {
        let now = Instant::now();
        self.beat = now + pace::beat(crowd).mul_f64(part);
        self.ask = self.ask.map(|_| now + pace::wait(crowd).mul_f64(part));
    }

    fn go_on(&mut self, redis: &Redis, crowd: u32) -> Result<(), Trouble> {
        if let Some(ask) = self.ask.filter(|ask| *ask <= Instant::now()) {
            // A thread stands for thousands, so it does not block as long as a worker does. The
            // server has the same to do: to look, to block the client, and to let it go.
            self.ask = Some(ask + pace::wait(crowd));
            redis.lease(&self.present.worker, LEASES, true, SHORT)?;
        }
        if Instant::now() < self.beat {
            return Ok(());
        }
        // A lease of 15 s is renewed every 5 s or with every beat. A worker does it between three
        // quarters of that time and all of it.
        let every = pace::beat(crowd).min(pace::renew(crowd, Terms::default().lease));
        self.beat += every.mul_f64(0.875);
        let (_, good) = redis.live(&self.present, pace::alive_for(crowd), &self.tickets)?;
        if good.contains(&false) {
            return Err(Trouble::Refused("a lease was lost".to_owned()));
        }
        Ok(())
    }
}
