//! Two calls for a program of your own: one for its workers, one for its submitter.

use std::sync::Arc;
use std::time::Duration;

use locksley::Pool;

use super::{
    Catalogue, JobId, JobInfo, LeaseError, LeasePool, Progress, Setup, State, Stop, Submitted,
    Terms, WorkerCounts, WorkerId, follow, serve, submit::submit_patiently, worker_name,
};
use crate::{Build, Malformed, Program, Reduce, Task};

/// Why a worker could not serve.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The pool could not be built.
    #[error("the pool cannot be built: {0}")]
    Pool(#[from] locksley::BuildError),
    /// The process has another handler for Ctrl-C. Use [`serve`] with a [`Stop`] instead.
    #[error("Ctrl-C cannot be handled: {0}; use `serve` if the program has a handler already")]
    Signal(#[from] ctrlc::Error),
    /// The server refuses access, or cannot carry out a request.
    #[error(transparent)]
    Server(#[from] LeaseError),
}

/// Runs tasks of a program until Ctrl-C or SIGTERM, with a pool that has a worker for each
/// processor. Notices are printed to standard error. Call it once in a process: it installs a
/// signal handler. [`serve`] is the same with all options.
///
/// # Errors
///
/// If the pool or the handler cannot be set up, and errors of the server that do not pass.
pub fn serve_until_ctrl_c<R: Reduce>(
    leases: Arc<dyn LeasePool>,
    build: Build,
    program: Program<R>,
) -> Result<WorkerCounts, ServeError> {
    let (stop, name) = (Stop::default(), worker_name());
    let told = stop.clone();
    ctrlc::set_handler(move || told.stop())?;
    let pool = Pool::builder().build()?;
    let catalogue = Catalogue::default().with(program);
    let setup = Setup::new(WorkerId { name, build }, pool, catalogue);
    Ok(serve(leases, setup, &stop, |notice| eprintln!("{notice}"))?)
}

/// Why there is no result of a job.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JobError {
    /// The server cannot be used, or has another job of that name.
    #[error(transparent)]
    Server(#[from] LeaseError),
    /// A job of that name is over. Its results are there until it is forgotten ([`follow`]).
    #[error("the job {0} is over already: choose another name, or forget it first")]
    Over(JobId),
    /// The job was cancelled.
    #[error("the job {0} was cancelled")]
    Cancelled(JobId),
    /// Tasks were set aside, so the result is not complete.
    #[error("{aside} tasks were set aside; the first one: {reason}")]
    Incomplete {
        /// Number of these tasks.
        aside: u64,
        /// Why the first one was set aside.
        reason: String,
    },
    /// The data on the server is not a result of the program.
    #[error(transparent)]
    Malformed(#[from] Malformed),
}

/// Time for which a submitter waits for a server that is away.
const LONGEST_OUTAGE: Duration = Duration::from_secs(60);

/// Submits a job under a name, with the default [terms](Terms), and waits for its result. If the
/// server is away, this waits for up to a minute at a time, and prints that to standard error, as
/// it does if the server's memory or disk is full. After an interruption the same call continues to
/// wait: a running job is not submitted twice.
///
/// ```
/// use std::sync::Arc;
/// use std::time::Duration;
/// use locksley_cluster::leases::*;
/// use locksley_cluster::programs::merge_sort::{self, Sort};
/// use locksley_cluster::Build;
///
/// let leases = Arc::new(Memory::default());
/// let (build, program) = (Build::named("sort 1"), merge_sort::program());
/// let worker = WorkerId { name: worker_name(), build };
/// let pool = locksley::Pool::builder().workers(2).build()?;
/// let mut setup = Setup::new(worker, pool, Catalogue::default().with(program.clone()));
/// setup.linger = Some(Duration::from_secs(1));
/// let server = leases.clone();
/// let serving = std::thread::spawn(move || serve(server, setup, &Stop::default(), |_| {}));
///
/// let sort = Sort { seed: 7, from: 0, to: 10_000, grain: 1000 };
/// let sorted = submit_and_wait(&*leases, build, &program, "sort".parse()?, [sort])?;
/// assert_eq!(sorted, merge_sort::expected(7, 10_000));
/// serving.join().unwrap()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If there is no result, or only an incomplete one.
pub fn submit_and_wait<R: Reduce, T: Task<Output = R>>(
    leases: &dyn LeasePool,
    build: Build,
    program: &Program<R>,
    name: JobId,
    tasks: impl IntoIterator<Item = T>,
) -> Result<R, JobError> {
    let job = JobInfo {
        id: name,
        build,
        program: program.name().to_owned(),
        terms: Terms::default(),
    };
    if let Submitted::Over(_) = submit_patiently(leases, &job, tasks, LONGEST_OUTAGE)? {
        return Err(JobError::Over(job.id));
    }
    let mut told = String::new();
    let ended = follow(leases, &job.id, LONGEST_OUTAGE, |progress| {
        let hindrance = hindrance(progress);
        if hindrance != told && !hindrance.is_empty() {
            eprintln!("{}: {hindrance}", job.id);
        }
        told = hindrance;
    })?;
    if ended.status.state == State::Cancelled {
        return Err(JobError::Cancelled(job.id));
    }
    if ended.status.aside > 0 {
        let first = ended.status.reasons.into_iter().next();
        return Err(JobError::Incomplete {
            aside: ended.status.aside,
            reason: first.map(|aside| aside.reason).unwrap_or_default(),
        });
    }
    Ok(ended.result(program)?)
}

/// Returns why the server keeps the job from making progress; an empty text if it does not.
fn hindrance(progress: Result<&Progress, &LeaseError>) -> String {
    match progress {
        Err(error) => error.to_string(),
        Ok(progress) => {
            let refusal = progress.status.refusal;
            refusal.map_or_else(String::new, |refusal| refusal.to_string())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::leases::Memory;
    use crate::tangle::{self, RandomTask};

    const BUILD: Build = Build(9);

    fn ask(memory: &Memory, task: RandomTask) -> Result<tangle::Number, JobError> {
        let name = "knots".parse().expect("it is plain");
        submit_and_wait(memory, BUILD, &tangle::program(), name, [task])
    }

    fn served(memory: &Arc<Memory>) {
        let pool = Pool::builder().workers(1).build().expect("it is small");
        let catalogue = Catalogue::default().with(tangle::program());
        let (name, build) = (worker_name(), BUILD);
        let mut setup = Setup::new(WorkerId { name, build }, pool, catalogue);
        setup.linger = Some(Duration::from_millis(300));
        let leases = memory.clone();
        serve(leases, setup, &Stop::default(), |_| {}).expect("no error");
    }

    #[test]
    fn a_result_comes_once_and_what_is_missing_is_told() {
        let memory = Arc::new(Memory::default());
        let task = RandomTask::new(4, 3);
        std::thread::scope(|scope| {
            let asking = scope.spawn(|| ask(&memory, task));
            while memory.running().expect("it is in memory").is_empty() {
                std::thread::yield_now();
            }
            served(&memory);
            let found = asking.join().expect("no panic").expect("it is complete");
            assert_eq!(found.0, task.whole());
        });
        assert!(matches!(ask(&memory, task), Err(JobError::Over(_))));
        assert!(matches!(
            ask(&memory, RandomTask::new(5, 3)),
            Err(JobError::Server(_))
        ));
    }

    #[test]
    fn an_incomplete_result_is_none() {
        let memory = Arc::new(Memory::default());
        let task = RandomTask {
            panics: 1,
            ..RandomTask::new(4, 3)
        };
        std::thread::scope(|scope| {
            let asking = scope.spawn(|| ask(&memory, task));
            while memory.running().expect("it is in memory").is_empty() {
                std::thread::yield_now();
            }
            served(&memory);
            let error = asking
                .join()
                .expect("no panic")
                .expect_err("it always panics");
            assert!(error.to_string().contains("panicked at random"), "{error}");
        });
    }
}
