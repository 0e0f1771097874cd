//! The submitter of a job, which waits for its result.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::{JobId, JobInfo, LeaseError, LeasePool, Order, State, Status, Submitted};
use crate::parcel::decode;
use crate::{Malformed, Parcel, Program, Reduce, Task};

/// Submits a job with these first tasks.
///
/// ```
/// use locksley_cluster::Build;
/// use locksley_cluster::leases::{JobInfo, LeasePool, Memory, Submitted, Terms, submit};
/// use locksley_cluster::programs::uts::Search;
/// use locksley_workload::UtsTree;
///
/// let pool = Memory::default();
/// let (build, program) = (Build(1), "uts".to_owned());
/// let job = JobInfo { id: "tree".parse()?, build, program, terms: Terms::default() };
/// let root = || [Search::whole(UtsTree::published("T1").unwrap())];
/// assert_eq!(submit(&pool, &job, root())?, Submitted::New);
/// assert_eq!(submit(&pool, &job, root())?, Submitted::Attached);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Many tasks are submitted in chunks, and workers begin with the first chunk while the others are
/// sent; so a million tasks need the memory of one chunk here. After an interruption, or if the
/// answer was lost, submit the same again: chunks that the server has are compared, and the others
/// are added.
///
/// # Errors
///
/// See [`LeasePool::submit`].
pub fn submit<T: Task>(
    leases: &dyn LeasePool,
    job: &JobInfo,
    tasks: impl IntoIterator<Item = T>,
) -> Result<Submitted, LeaseError> {
    submit_chunks(job, tasks, |order| leases.submit(order))
}

/// Passes the chunks of a job to `hand_in`, one after the other.
pub(super) fn submit_chunks<T: Task>(
    job: &JobInfo,
    tasks: impl IntoIterator<Item = T>,
    hand_in: impl Fn(&Order) -> Result<Submitted, LeaseError>,
) -> Result<Submitted, LeaseError> {
    let mut tasks = tasks
        .into_iter()
        .map(|task| Parcel::of(&task).encode())
        .peekable();
    let limits = job.terms.limits;
    let (mut first, mut chunk) = (None, 0);
    loop {
        let (mut together, mut bytes) = (Vec::new(), 0);
        while let Some(task) = tasks.next_if(|task| {
            together.is_empty() || (together.len() < limits.children && bytes + task.len() <= CHUNK)
        }) {
            bytes += task.len();
            together.push(task);
        }
        let last = tasks.peek().is_none();
        let submitted = hand_in(&Order {
            job: job.clone(),
            tasks: together,
            chunk,
            last,
            urgent: T::POLICY.urgent,
        })?;
        // The job may be cancelled before it is complete.
        if matches!(submitted, Submitted::Over(_)) {
            return Ok(submitted);
        }
        let first = *first.get_or_insert(submitted);
        if last {
            return Ok(first);
        }
        chunk += 1;
    }
}

/// [Submits](submit) a job whose tasks can be iterated once. If the server is away, each request is
/// repeated for up to `patience`.
///
/// # Errors
///
/// See [`LeasePool::submit`].
pub(super) fn submit_patiently<T: Task>(
    leases: &dyn LeasePool,
    job: &JobInfo,
    tasks: impl IntoIterator<Item = T>,
    patience: Duration,
) -> Result<Submitted, LeaseError> {
    let known = || patiently(patience, || known(leases, &job.id));
    let before = known()?;
    let hand_in = |order: &Order| patiently(patience, || leases.submit(order));
    let submitted = submit_chunks(job, tasks, hand_in)?;
    // The job may already be over if the answer to its submission was lost.
    let when = |job: Option<(u64, State)>| job.map(|(submitted, _)| submitted);
    if matches!(submitted, Submitted::Over(_)) && when(known()?) != when(before) {
        return Ok(Submitted::Attached);
    }
    Ok(submitted)
}

/// Repeats a request to a server that may be away, for up to `patience`.
fn patiently<A>(
    patience: Duration,
    mut ask: impl FnMut() -> Result<A, LeaseError>,
) -> Result<A, LeaseError> {
    let (since, mut pause) = (Instant::now(), Duration::from_millis(1));
    loop {
        match ask() {
            Err(error) if error.passes() && since.elapsed() < patience => {
                std::thread::sleep(pause);
                pause = (2 * pause).min(POLL_INTERVAL);
            }
            answer => return answer,
        }
    }
}

/// Returns the time of submission and the state of the job that has this name.
fn known(leases: &dyn LeasePool, id: &JobId) -> Result<Option<(u64, State)>, LeaseError> {
    match leases.status(id) {
        Ok(status) => Ok(status.map(|status| (status.submitted, status.state))),
        // Its tasks are lost, so its name is free.
        Err(LeaseError::Vanished(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The submission of a job to a server that may be away, in several attempts.
///
/// After a failed attempt it is unknown whether the job was submitted. It may even be over before
/// the next attempt. A `Submission` distinguishes it from a job that was over before.
///
/// ```
/// use locksley_cluster::Build;
/// use locksley_cluster::leases::{JobInfo, Memory, Submission, Submitted, Terms};
/// use locksley_cluster::programs::uts::Search;
/// use locksley_workload::UtsTree;
///
/// let pool = Memory::default();
/// let (build, program) = (Build(1), "uts".to_owned());
/// let job = JobInfo { id: "tree".parse()?, build, program, terms: Terms::default() };
/// let root = || [Search::whole(UtsTree::published("T1").unwrap())];
/// let mut submission = Submission::new(&pool, &job, false);
/// let submitted = loop {
///     match submission.attempt(root) {
///         Err(error) if error.passes() => eprintln!("{error}; trying again"),
///         submitted => break submitted?,
///     }
/// };
/// assert_eq!(submitted, Submitted::New);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Submission<'a> {
    leases: &'a dyn LeasePool,
    job: &'a JobInfo,
    again: bool,
    /// Time of submission of the job that had the name before the first attempt: `None` while that
    /// is unknown, `Some(None)` if there was no such job.
    before: Option<Option<u64>>,
    /// Answers to the chunks that the server has acknowledged, in order.
    heard: RefCell<Vec<Submitted>>,
}

impl<'a> Submission<'a> {
    /// Creates a submission of a job; if `again`, it replaces a job of the same name that was over
    /// before.
    pub fn new(leases: &'a dyn LeasePool, job: &'a JobInfo, again: bool) -> Submission<'a> {
        Submission {
            leases,
            job,
            again,
            before: None,
            heard: RefCell::default(),
        }
    }

    /// [Submits](submit) the job, unless an earlier attempt did. The tasks must be the same at each
    /// attempt. Chunks that the server has acknowledged are not sent again, so attempts make
    /// progress even if each of them fails.
    ///
    /// # Errors
    ///
    /// See [`LeasePool::submit`].
    pub fn attempt<T: Task, I: IntoIterator<Item = T>>(
        &mut self,
        tasks: impl Fn() -> I,
    ) -> Result<Submitted, LeaseError> {
        let before = match self.before {
            Some(before) => before,
            None => *self
                .before
                .insert(self.known()?.map(|(submitted, _)| submitted)),
        };
        let outcome = match self.hand_in(tasks()) {
            // The server has lost what it had acknowledged: start again.
            Err(LeaseError::Vanished(_)) if !self.heard.take().is_empty() => self.hand_in(tasks()),
            outcome => outcome,
        };
        let ours = match outcome {
            Ok(Submitted::Over(_)) => true,
            Err(LeaseError::Taken(_)) => false,
            _ => return outcome,
        };
        let Some((submitted, state)) = self.known()? else {
            // The job was forgotten in between.
            self.heard.take();
            return self.hand_in(tasks());
        };
        if ours && Some(submitted) != before {
            return Ok(Submitted::Attached);
        }
        if self.again && state != State::Running {
            self.leases.cancel(&self.job.id, true)?;
            self.heard.take();
            return self.hand_in(tasks());
        }
        outcome
    }

    /// Submits the chunks that were not acknowledged.
    fn hand_in<T: Task>(
        &self,
        tasks: impl IntoIterator<Item = T>,
    ) -> Result<Submitted, LeaseError> {
        submit_chunks(self.job, tasks, |order| {
            let known = self.heard.borrow().get(order.chunk as usize).copied();
            if let Some(known) = known {
                return Ok(known);
            }
            // A connection may be broken though the server is back. Retry at once, so that the work
            // to reach this chunk is not lost.
            let submitted = patiently(POLL_INTERVAL, || self.leases.submit(order))?;
            if !matches!(submitted, Submitted::Over(_)) {
                self.heard.borrow_mut().push(submitted);
            }
            Ok(submitted)
        })
    }

    fn known(&self) -> Result<Option<(u64, State)>, LeaseError> {
        known(self.leases, &self.job.id)
    }
}

/// Most bytes of first tasks that are sent at once: a server is busy with them for milliseconds.
const CHUNK: usize = 4 << 20;

/// The progress of a job.
#[derive(Clone, Debug)]
pub struct Progress {
    /// Status of the job.
    pub status: Status,
    /// Leases completed per second, over the last few seconds.
    pub rate: f64,
}

/// Partial results, encoded.
type Results = Vec<Vec<u8>>;

/// A job that is over.
#[derive(Clone, Debug)]
pub struct Ended {
    /// Status of the job at its end.
    pub status: Status,
    /// Its partial results.
    pub results: Results,
}

impl Ended {
    /// Returns the combined result, without tasks that were set aside.
    ///
    /// # Errors
    ///
    /// If the data on the server is not a result of the program.
    pub fn result<R: Reduce>(&self, _: &Program<R>) -> Result<R, Malformed> {
        let mut all = R::identity();
        for part in &self.results {
            all.combine(decode(part)?);
        }
        Ok(all)
    }
}

/// Interval between two looks at the progress of a job.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// Time over which the rate is averaged.
const WINDOW: Duration = Duration::from_secs(3);

/// Waits for the end of a job, and reports its progress from time to time. If the server is away,
/// this waits for up to `patience`.
///
/// # Errors
///
/// Errors that do not pass, or not in time.
pub fn follow(
    leases: &dyn LeasePool,
    job: &JobId,
    patience: Duration,
    mut tell: impl FnMut(Result<&Progress, &LeaseError>),
) -> Result<Ended, LeaseError> {
    let mut seen = VecDeque::new();
    // Time of the first failure since the last answer. A process that was suspended got no answers
    // in that time, so it must not count.
    let mut away: Option<Instant> = None;
    let mut submitted = None;
    loop {
        match look(leases, job, &mut seen) {
            Ok((progress, results)) => {
                away = None;
                if *submitted.get_or_insert(progress.status.submitted) != progress.status.submitted
                {
                    // This job was forgotten, and another one has its name.
                    return Err(LeaseError::Vanished(job.clone()));
                }
                tell(Ok(&progress));
                if let Some(results) = results {
                    let status = progress.status;
                    return Ok(Ended { status, results });
                }
            }
            Err(error) if error.passes() => {
                let since = *away.get_or_insert_with(Instant::now);
                if since.elapsed() >= patience {
                    return Err(error);
                }
                tell(Err(&error));
                std::thread::sleep(POLL_INTERVAL);
            }
            Err(error) => return Err(error),
        }
    }
}

/// Returns the progress of a job; with its results if it is over, otherwise after a short wait for
/// its end.
fn look(
    leases: &dyn LeasePool,
    job: &JobId,
    seen: &mut VecDeque<(Instant, u64)>,
) -> Result<(Progress, Option<Results>), LeaseError> {
    let vanished = || LeaseError::Vanished(job.clone());
    let status = leases.status(job)?.ok_or_else(vanished)?;
    let now = Instant::now();
    seen.push_back((now, status.done));
    while seen.len() > 2 && now - seen[0].0 > WINDOW {
        seen.pop_front();
    }
    let (since, before) = seen[0];
    let seconds = (now - since).as_secs_f64().max(1e-3);
    let rate = status.done.saturating_sub(before) as f64 / seconds;
    let results = match status.state {
        // The last task ends its job in the same step. So the tasks were not run: they are lost.
        State::Running if status.outstanding == 0 && status.sealed => return Err(vanished()),
        State::Running => {
            leases.await_end(job, POLL_INTERVAL)?;
            None
        }
        State::Done | State::Cancelled => {
            let results = leases.results(job, usize::MAX)?;
            // They are its results only if the job was not forgotten just before.
            let after = leases.status(job)?.ok_or_else(vanished)?;
            if after.submitted != status.submitted {
                return Err(vanished());
            }
            Some(results)
        }
    };
    Ok((Progress { status, rate }, results))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    use super::*;
    use crate::Build;
    use crate::leases::flaky::Flaky;
    use crate::leases::{Completion, Memory, Terms, WorkerId};
    use crate::tangle::RandomTask;

    fn job() -> JobInfo {
        JobInfo {
            id: "job".parse().expect("it is plain"),
            build: Build(1),
            program: "tangle".to_owned(),
            terms: Terms::default(),
        }
    }

    /// Ends the job, if it exists. Returns `true` if it did.
    fn finish(memory: &Memory) -> bool {
        let (name, build) = ("w".to_owned(), Build(1));
        let leases = memory.lease(&WorkerId { name, build }, 9, true, Duration::ZERO);
        let leases = leases.expect("it is in memory");
        for lease in &leases {
            let completed = memory.complete(&lease.ticket, &Completion::default());
            completed.expect("it is in memory");
        }
        !leases.is_empty()
    }

    /// One request in three is lost, and one reply in three.
    fn flaky(seed: u64) -> Flaky<Memory> {
        Flaky::new(3, seed)
    }

    /// Replies are lost, and the job is over as soon as it was submitted.
    #[test]
    fn a_submitter_that_is_not_heard_knows_its_own_job() {
        for seed in 1..60 {
            let (flaky, job, submitted) = (flaky(seed), job(), AtomicBool::new(false));
            let mut runs = 0;
            thread::scope(|scope| {
                let worker = scope.spawn(|| {
                    let mut runs = 0;
                    while !submitted.load(Ordering::Relaxed) {
                        runs += u64::from(finish(&flaky.pool));
                    }
                    runs
                });
                let patience = Duration::from_secs(60);
                let outcome = submit_patiently(&flaky, &job, [RandomTask::new(1, 1)], patience);
                submitted.store(true, Ordering::Relaxed);
                let ours = matches!(outcome, Ok(Submitted::New | Submitted::Attached));
                assert!(ours, "{outcome:?} with seed {seed}");
                runs += worker.join().expect("no panic");
            });
            runs += u64::from(finish(&flaky.pool));
            assert_eq!(runs, 1, "seed {seed}");
            let over = submit_patiently(&flaky.pool, &job, [RandomTask::new(1, 1)], Duration::ZERO);
            assert_eq!(over, Ok(Submitted::Over(State::Done)));
        }
    }

    /// Replies are lost, and the job is over before each further attempt.
    #[test]
    fn a_submission_knows_its_own_job() {
        for again in [false, true] {
            let (mut unheard, mut anew) = (0, 0);
            for seed in 1..200 {
                let (flaky, job) = (flaky(seed), job());
                let root = || [RandomTask::new(1, 1)];
                if again {
                    submit(&flaky.pool, &job, root()).expect("it is new");
                    assert!(finish(&flaky.pool));
                }
                let mut submission = Submission::new(&flaky, &job, again);
                let mut runs = 0;
                let submitted = loop {
                    let submitted = submission.attempt(root);
                    runs += u64::from(finish(&flaky.pool));
                    match submitted {
                        Err(error) => assert!(error.passes(), "{error}"),
                        Ok(submitted) => break submitted,
                    }
                };
                assert_eq!(runs, 1, "it is run once, seed {seed}");
                match submitted {
                    Submitted::New => anew += 1,
                    Submitted::Attached => unheard += 1,
                    over => panic!("{over:?} with seed {seed}"),
                }
            }
            assert!(unheard > 10 && anew > 10, "{unheard}, {anew}");
        }
    }

    #[test]
    fn a_job_that_was_over_before_is_told() {
        let (memory, job) = (Memory::default(), job());
        let root = || [RandomTask::new(1, 1)];
        submit(&memory, &job, root()).expect("it is new");
        finish(&memory);
        let over = Ok(Submitted::Over(State::Done));
        assert_eq!(Submission::new(&memory, &job, false).attempt(root), over);
        // A job with other tasks takes its place if that is requested.
        let other = || [RandomTask::new(2, 1)];
        let taken = Submission::new(&memory, &job, false).attempt(other);
        assert_eq!(taken, Err(LeaseError::Taken(job.id.clone())));
        let anew = Submission::new(&memory, &job, true).attempt(other);
        assert_eq!(anew, Ok(Submitted::New));
    }
}
