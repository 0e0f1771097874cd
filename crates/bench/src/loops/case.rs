//! A loop and the contenders that run it.

use std::fmt::Debug;
use std::hint::black_box;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crate::harness::{Bar, Contender, Measured, Plan, Sample, Workload, WrongResult, verify};

pub(super) const SEQUENTIAL: &str = "sequential";
pub(super) const LOCKSLEY: &str = "locksley";
pub(super) const RAYON: &str = "rayon";

/// Pause before a turn, in which the workers of the turn before come to rest.
const SETTLE: Duration = Duration::from_millis(1);

/// The pools in which loops run.
#[derive(Clone)]
pub(super) struct Pools {
    locksley: Arc<locksley::Pool>,
    rayon: Arc<rayon::ThreadPool>,
}

impl Pools {
    /// Starts pools of `workers` workers.
    pub(super) fn new(workers: usize) -> Pools {
        let locksley = locksley::Pool::builder().workers(workers).build();
        let rayon = rayon::ThreadPoolBuilder::new().num_threads(workers).build();
        Pools {
            locksley: Arc::new(locksley.expect("the pool starts")),
            rayon: Arc::new(rayon.expect("the pool starts")),
        }
    }

    /// Runs a closure in the pool that a contender uses.
    fn install<R: Send>(&self, contender: &str, run: impl FnOnce() -> R + Send) -> R {
        if contender == SEQUENTIAL {
            // In a pool too, so that all contenders run on a worker.
            self.rayon.install(run)
        } else if contender == LOCKSLEY {
            self.locksley.install(run)
        } else {
            self.rayon.install(run)
        }
    }
}

/// A loop to which contenders are added.
pub(super) struct Case {
    name: &'static str,
    about: &'static str,
    pools: Pools,
    contenders: Vec<Contender>,
}

impl Case {
    pub(super) fn new(name: String, about: &'static str, pools: &Pools) -> Case {
        Case {
            name: name.leak(),
            about,
            pools: pools.clone(),
            contenders: Vec::new(),
        }
    }

    /// Adds a contender, whose loop must return `expected`.
    pub(super) fn with<R>(
        mut self,
        contender: &'static str,
        expected: R,
        run: impl Fn() -> R + Send + Sync + 'static,
    ) -> Case
    where
        R: PartialEq + Debug + Clone + Send + Sync + 'static,
    {
        let (pools, name) = (self.pools.clone(), self.name);
        self.contenders
            .push(Contender::new(contender, move |operations| {
                thread::sleep(SETTLE);
                let (elapsed, last) = pools.install(contender, || {
                    let start = Instant::now();
                    let mut last = None;
                    for _ in 0..operations {
                        last = Some(black_box(run()));
                    }
                    (start.elapsed(), last)
                });
                verify(contender, name, Some(expected.clone()), last)?;
                Ok(sample(elapsed, operations))
            }));
        self
    }

    /// Adds a contender that changes its input, which is created before each run, untimed.
    pub(super) fn changing<T>(
        mut self,
        contender: &'static str,
        make: impl Fn() -> T + Send + Sync + 'static,
        run: impl Fn(&mut T) + Send + Sync + 'static,
        check: impl Fn(&T) -> bool + Send + Sync + 'static,
    ) -> Case
    where
        T: Send,
    {
        let (pools, name) = (self.pools.clone(), self.name);
        self.contenders
            .push(Contender::new(contender, move |operations| {
                let mut elapsed = Duration::ZERO;
                for _ in 0..operations {
                    let mut input = make();
                    thread::sleep(SETTLE);
                    elapsed += pools.install(contender, || {
                        let start = Instant::now();
                        run(&mut input);
                        start.elapsed()
                    });
                    verify(contender, name, true, check(&input))?;
                }
                Ok(sample(elapsed, operations))
            }));
        self
    }

    /// Lets the contenders take turns, if the plan includes the case. The plan's rounds are divided
    /// by `length`.
    pub(super) fn run(self, plan: &Plan, length: usize) -> Result<Option<Measured>, WrongResult> {
        if !plan.includes(self.name) {
            return Ok(None);
        }
        let plan = Plan {
            rounds: plan.rounds.div_ceil(length),
            first: 1,
            ..plan.clone()
        };
        let workload = Workload {
            name: self.name,
            about: self.about,
            reference: SEQUENTIAL,
            note: None,
            contenders: self.contenders,
        };
        workload.run(&plan).map(Some)
    }
}

fn sample(elapsed: Duration, operations: u64) -> Sample {
    Sample {
        elapsed,
        operations,
        note: 0.0,
    }
}

/// Returns the bar that Locksley's time is at most `limit` times that of `to`.
pub(super) fn bar(measured: &Option<Measured>, name: &str, to: &str, limit: f64) -> Bar {
    let ratio = measured.as_ref().and_then(|m| m.ratio(LOCKSLEY, to));
    Bar {
        name: format!("loops {name} of {to}").into(),
        limit,
        measured: ratio.map(|ratio| ratio.median),
    }
}
