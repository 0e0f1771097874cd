//! Compares runtimes, which take turns with one program.
//!
//! A runtime is started for its turn and shut down after it, so that its idle threads do not
//! disturb another. It is warmed up before the clock starts. A sample is the mean of as many runs
//! as fill a few milliseconds. The result of every run is checked.

use std::cell::RefCell;
use std::thread;
use std::time::Duration;

use locksley::{Pool, Strategy};
use locksley_measure::runtimes::{self, Chili, Locksley, Rayon, Runtime as _, Serial};
use locksley_measure::{Contender, Plan, Sample, Workload, WrongResult};
use locksley_report as report;
use locksley_workload::catalog::{Spec, Visitor};
use locksley_workload::{FibTask, Program};

use crate::error::Error;
use crate::measure::progress::Ticker;
use crate::render::units::several;

/// A runtime that is compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Runtime {
    /// Serial code, without a runtime.
    Serial,
    /// A pool of Locksley.
    Ours(Strategy),
    /// rayon.
    Rayon,
    /// chili.
    Chili,
}

/// A runtime with a number of workers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate {
    pub(crate) runtime: Runtime,
    pub(crate) workers: usize,
}

impl Candidate {
    /// Returns the contender's name in results.
    pub(crate) fn contender(&self) -> report::Contender {
        match self.runtime {
            Runtime::Serial => report::Contender::Serial,
            Runtime::Ours(strategy) => report::Contender::strategy(strategy.to_string()),
            Runtime::Rayon => report::Contender::rival(Rayon::NAME),
            Runtime::Chili => report::Contender::rival(Chili::NAME),
        }
    }

    fn label(&self) -> String {
        format!(
            "{} with {}",
            self.contender(),
            several(self.workers, "worker")
        )
    }
}

/// Combines every runtime with every number of workers. Serial code has one worker.
pub(crate) fn candidates(runtimes: &[Runtime], workers: &[usize]) -> Vec<Candidate> {
    let mut candidates = Vec::new();
    if runtimes.contains(&Runtime::Serial) {
        let runtime = Runtime::Serial;
        candidates.push(Candidate {
            runtime,
            workers: 1,
        });
    }
    for &workers in workers {
        let parallel = runtimes
            .iter()
            .filter(|runtime| **runtime != Runtime::Serial);
        candidates.extend(parallel.map(|&runtime| Candidate { runtime, workers }));
    }
    candidates
}

/// Returns the default stack size of threads, which applies to chili's.
fn usual_stack() -> usize {
    let said = std::env::var("RUST_MIN_STACK").ok();
    said.and_then(|said| said.parse().ok()).unwrap_or(2 << 20)
}

/// Explains why a candidate cannot run the workload. Returns `None` if it can.
pub(crate) fn obstacle(candidate: &Candidate, spec: &Spec) -> Option<String> {
    (candidate.runtime == Runtime::Chili && spec.stack() > usual_stack()).then(|| {
        format!(
            "chili is left out of {}: its threads' stacks are too small and cannot be configured; \
             RUST_MIN_STACK={} makes them large enough",
            spec.entry().name,
            spec.stack()
        )
    })
}

/// Lets the candidates take turns with a program. Calls `watch` with the index of a candidate and
/// the seconds of each sample.
pub(crate) fn hold(
    spec: &Spec,
    candidates: &[Candidate],
    plan: &Plan,
    watch: &mut (dyn FnMut(usize, f64) + Send),
) -> Result<(), Error> {
    let comparison = Comparison {
        spec,
        candidates,
        plan,
        watch,
    };
    visit(spec, comparison)?
}

/// Builds a program and passes it to a visitor, on a thread whose stack is large enough for it.
pub(crate) fn visit<V>(spec: &Spec, visitor: V) -> Result<V::Output, Error>
where
    V: Visitor<Output: Send> + Send,
{
    let builder = thread::Builder::new().stack_size(spec.stack().max(8 << 20));
    thread::scope(|scope| {
        let visit = || spec.visit(visitor).map_err(Error::usage);
        let thread = builder.spawn_scoped(scope, visit);
        let thread = thread
            .map_err(|error| Error::System(format!("the system refused a thread: {error}")))?;
        let panicked = |_| Error::Check(format!("{spec} panicked"));
        thread.join().map_err(panicked)?
    })
}

struct Comparison<'a> {
    spec: &'a Spec,
    candidates: &'a [Candidate],
    plan: &'a Plan,
    watch: &'a mut (dyn FnMut(usize, f64) + Send),
}

impl Visitor for Comparison<'_> {
    type Output = Result<(), Error>;

    fn visit<P: Program>(self, program: P) -> Result<(), Error> {
        let operations = program.operations().max(1);
        let plan = Plan {
            first: operations,
            ..self.plan.clone()
        };
        let name = self.spec.to_string();
        let labels: Vec<String> = self.candidates.iter().map(Candidate::label).collect();
        let (program, failed) = (RefCell::new(program), RefCell::new(None));
        let contenders = self
            .candidates
            .iter()
            .zip(&labels)
            .map(|(candidate, label)| {
                Contender::new(label, |operations| {
                    let program = &mut *program.borrow_mut();
                    let turn = Turn {
                        label,
                        case: &name,
                        operations,
                        stack: self.spec.stack(),
                    };
                    let taken = turn.take(candidate, program);
                    taken.map_err(|error| turn.put_aside(error, &failed))
                })
            });
        let workload = Workload {
            name: &name,
            about: "",
            reference: "",
            note: None,
            contenders: contenders.collect(),
        };
        let seconds = |sample: &Sample| sample.nanoseconds() * operations as f64 * 1e-9;
        let samples = (plan.rounds * self.candidates.len()) as u64;
        let ticker = Ticker::start(format!("measuring {name}"), samples);
        let outcome = workload.run_watched(&plan, |index, sample| {
            ticker.step();
            (self.watch)(index, seconds(sample));
        });
        let outcome = outcome.map(drop);
        match failed.take() {
            Some(error) => Err(error),
            None => Ok(outcome?),
        }
    }
}

/// Reason why a turn gave no sample.
enum TurnError {
    Wrong(WrongResult),
    Error(Error),
}

impl From<WrongResult> for TurnError {
    fn from(wrong: WrongResult) -> TurnError {
        TurnError::Wrong(wrong)
    }
}

struct Turn<'a> {
    label: &'a str,
    case: &'a str,
    operations: u64,
    stack: usize,
}

impl Turn<'_> {
    /// Converts the error for the runner, which only knows wrong results. Any other error is stored
    /// in `failed` for the caller.
    fn put_aside(&self, error: TurnError, failed: &RefCell<Option<Error>>) -> WrongResult {
        match error {
            TurnError::Wrong(wrong) => wrong,
            TurnError::Error(why) => {
                *failed.borrow_mut() = Some(why);
                WrongResult::new(self.label, self.case, "a result".into(), "none".into())
            }
        }
    }

    fn take<P: Program>(
        &self,
        candidate: &Candidate,
        program: &mut P,
    ) -> Result<Sample, TurnError> {
        match candidate.runtime {
            Runtime::Serial => self.with(Serial, program),
            Runtime::Chili => self.with(Chili::start(candidate.workers), program),
            Runtime::Rayon => {
                let builder = rayon::ThreadPoolBuilder::new().num_threads(candidate.workers);
                let pool = builder.stack_size(self.stack).build();
                let pool = pool.map_err(|error| {
                    TurnError::Error(Error::System(format!("rayon did not start: {error}")))
                })?;
                self.with(Rayon(pool), program)
            }
            Runtime::Ours(strategy) => {
                let pool = pool(strategy, candidate.workers, self.stack).build();
                let pool = pool.map_err(|error| TurnError::Error(error.into()))?;
                self.with(Locksley(pool), program)
            }
        }
    }

    fn with<R: runtimes::Runtime, P: Program>(
        &self,
        mut runtime: R,
        program: &mut P,
    ) -> Result<Sample, TurnError> {
        // Starts all threads.
        let warm = runtime.run(FibTask(16));
        debug_assert_eq!(warm, 987);
        Ok(runtimes::run_sample(
            &mut runtime,
            program,
            (self.label, self.case),
            self.operations,
        )?)
    }
}

/// Returns a builder with the settings that all commands share.
pub(crate) fn pool(strategy: Strategy, workers: usize, stack: usize) -> locksley::Builder {
    Pool::builder()
        .workers(workers)
        .strategy(strategy)
        .stack_size(stack)
}

/// Returns the plan of a comparison: a number of rounds, and no further round after the limit.
pub(crate) fn plan(rounds: usize, limit: Option<Duration>, seed: u64) -> Plan {
    Plan {
        rounds,
        sample: Duration::from_millis(20),
        seed,
        limit,
        ..Plan::default()
    }
}
