//! Runs a program in this process, on ranks that are threads of it, or on ranks that MPI started.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use locksley::Strategy;
use locksley_cluster::ranks::{self, Outcome, RankError};
use locksley_cluster::{Build, Local};
use locksley_measure::clock;
use locksley_policy::rank::Protocol;
use locksley_trace::Trace;

use super::programs::Job;
use super::waiting::Waiting;
use crate::error::Error;
use crate::render::units::{count, several};

/// Number of trace entries that each worker keeps.
const ENTRIES: usize = 1 << 18;

/// Where a program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Engine {
    /// A pool in this process.
    Here,
    /// Ranks that are threads of this process.
    Threads(usize),
    /// Ranks that MPI started, of which this process is one.
    Mpi(Place),
}

/// Position of this process among those that MPI started, from the environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// Number of this rank.
    pub(super) rank: usize,
    /// Number of ranks on this host.
    pub(super) neighbours: usize,
}

impl Place {
    /// Returns the position of this process if MPI started it.
    fn found(environment: impl Fn(&str) -> Option<String>) -> Option<Place> {
        let number = |names: &[&str]| {
            let mut values = names.iter().filter_map(|name| environment(name));
            values.find_map(|value| value.parse::<usize>().ok())
        };
        // Open MPI; MPICH and its derivatives; launchers with a PMIx server, such as Slurm.
        let rank = number(&["OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"])?;
        let neighbours = number(&["OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"]);
        Some(Place {
            rank,
            neighbours: neighbours.unwrap_or(1).max(1),
        })
    }
}

/// Error of a build without MPI that was started by mpirun.
const NO_MPI: &str = "this process was started by mpirun, and this build cannot use MPI: \
    build one that can (cargo build --release -p locksley-cli --features mpi; on Debian it needs \
    libopenmpi-dev, openmpi-bin, libclang-dev, clang and pkg-config), or run it without mpirun, \
    with --ranks N for ranks in one process";

impl Engine {
    /// Returns the engine that the environment and `--ranks` select.
    pub(super) fn chosen(threads: Option<usize>) -> Result<Engine, Error> {
        let place = Place::found(|name| std::env::var(name).ok());
        Engine::of(threads, place, cfg!(feature = "mpi"))
    }

    fn of(threads: Option<usize>, place: Option<Place>, mpi: bool) -> Result<Engine, Error> {
        match (threads, place) {
            (None, None) => Ok(Engine::Here),
            (Some(ranks), None) => Ok(Engine::Threads(ranks)),
            (None, Some(place)) if mpi => Ok(Engine::Mpi(place)),
            (None, Some(_)) => Err(Error::System(NO_MPI.to_owned())),
            (Some(_), Some(_)) => Err(Error::usage(
                "mpirun sets the number of ranks (mpirun -n N): omit --ranks",
            )),
        }
    }

    /// Returns `true` if this process prints the outcome.
    pub(super) fn tells(self) -> bool {
        !matches!(self, Engine::Mpi(Place { rank: 1.., .. }))
    }

    /// Returns the default number of workers of a rank, so that the ranks of a host have one for
    /// each processor together.
    pub(super) fn usual_workers(self) -> usize {
        let ranks = match self {
            Engine::Here => 1,
            Engine::Threads(ranks) => ranks,
            Engine::Mpi(place) => place.neighbours,
        };
        (locksley::available_cpus().count() / ranks).max(1)
    }

    /// Returns the engine's name in results.
    pub(super) fn name(self) -> &'static str {
        match self {
            Engine::Here => "in-process",
            Engine::Threads(_) => "threads",
            Engine::Mpi(_) => "mpi",
        }
    }
}

/// Options of a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    pub(super) engine: Engine,
    /// Number of workers of each rank.
    pub(super) workers: usize,
    pub(super) strategy: Strategy,
    pub(super) protocol: Protocol,
    pub(super) traced: bool,
}

/// Outcome of a run.
pub(super) struct Ran<R> {
    pub(super) result: R,
    /// Time from the start of the work to its end.
    pub(super) wall: Duration,
    pub(super) ranks: Vec<Row>,
    pub(super) trace: Option<Trace>,
}

/// Counters of a rank.
#[derive(Debug, Default, serde::Serialize)]
pub(super) struct Row {
    pub(super) rank: usize,
    pub(super) host: Option<String>,
    pub(super) workers: usize,
    /// Tasks that the rank ran.
    pub(super) tasks: u64,
    /// Requests for tasks that it sent.
    pub(super) requests: u64,
    /// Requests that were answered with tasks.
    pub(super) steals: u64,
    /// Tasks that it received from other ranks.
    pub(super) taken: u64,
    /// Tasks that it sent to other ranks.
    pub(super) given: u64,
    /// Messages with tasks that arrived over a lifeline, without a new request.
    pub(super) lifeline_gifts: u64,
    pub(super) messages: u64,
    pub(super) bytes: u64,
    pub(super) cpu_seconds: Option<f64>,
}

impl Plan {
    /// Runs a job. Returns `None` on ranks that do not print the outcome.
    pub(super) fn run<J: Job>(&self, job: &J) -> Result<Option<Ran<J::Output>>, Error> {
        if self.engine != Engine::Here {
            // Reads the executable once, before the ranks start: it must not count as their work.
            Build::current().map_err(RankError::Executable)?;
        }
        match self.engine {
            Engine::Here => self.here(job).map(Some),
            Engine::Threads(ranks) => {
                let _waiting = self.waiting(job);
                let (program, options) = (job.program(), self.options());
                let (peers, first) = (ranks::threads(ranks), job.first());
                // On a new thread: the processor time of a rank is that of its threads since they
                // started.
                let outcome = thread::scope(|scope| {
                    let run = || ranks::run_threads(&program, first, &options, peers);
                    scope.spawn(run).join()
                });
                let outcome = outcome.unwrap_or(Err(RankError::Dead))?;
                Ok(Some(outcome.into()))
            }
            #[cfg(feature = "mpi")]
            Engine::Mpi(_) => {
                let peer = ranks::mpi()?;
                let _waiting = self.waiting(job);
                let (program, options) = (job.program(), self.options());
                let outcome = ranks::run(&program, job.first(), &options, peer)?;
                Ok(outcome.map(Ran::from))
            }
            #[cfg(not(feature = "mpi"))]
            Engine::Mpi(_) => Err(Error::System(NO_MPI.to_owned())),
        }
    }

    fn options(&self) -> ranks::Options {
        ranks::Options {
            workers: self.workers,
            strategy: self.strategy,
            protocol: self.protocol,
            trace: self.traced.then_some(ENTRIES),
            ..ranks::Options::default()
        }
    }

    fn waiting<J: Job>(&self, job: &J) -> Waiting {
        if self.engine.tells() {
            Waiting::while_running(format!("running {}", job.title()), String::new)
        } else {
            Waiting::quietly()
        }
    }

    /// Runs a job in this process alone.
    fn here<J: Job>(&self, job: &J) -> Result<Ran<J::Output>, Error> {
        let entries = if self.traced { ENTRIES } else { 0 };
        let builder = locksley::Pool::builder().workers(self.workers);
        let pool = builder.strategy(self.strategy).trace(entries).build()?;
        let local = Arc::new(Local::new(pool, &job.program()));
        let (start, before) = (Instant::now(), clock::process());
        for task in job.first() {
            local.submit(Box::new(task));
        }
        let seen = local.clone();
        let state = move || {
            let (tasks, waiting) = (seen.usage().tasks, seen.surplus() as u64);
            let done = several(tasks as usize, "task");
            format!(", {done} done, {} wait", count(waiting))
        };
        let waiting = Waiting::while_running(format!("running {}", job.title()), state);
        while !local.wait(Duration::MAX) {}
        let wall = start.elapsed();
        let cpu = before.and_then(|before| Some(clock::process()?.saturating_sub(before)));
        drop(waiting);
        if let Some(fault) = local.fault() {
            return Err(Error::Check(fault.to_string()));
        }
        let row = Row {
            workers: self.workers,
            tasks: local.usage().tasks,
            cpu_seconds: cpu.map(|cpu| cpu.as_secs_f64()),
            ..Row::default()
        };
        Ok(Ran {
            result: local.take_result(),
            wall,
            ranks: vec![row],
            trace: self.traced.then(|| local.pool().take_trace()),
        })
    }
}

impl<R> From<Outcome<R>> for Ran<R> {
    fn from(outcome: Outcome<R>) -> Ran<R> {
        let row = |report: &ranks::Report| Row {
            rank: report.rank,
            host: Some(report.host.clone()),
            workers: report.workers,
            tasks: report.usage.tasks,
            requests: report.counts.requests,
            steals: report.counts.successes,
            taken: report.counts.taken,
            given: report.counts.given,
            lifeline_gifts: report.counts.lifeline_gifts,
            messages: report.traffic.sent,
            bytes: report.traffic.bytes_sent,
            cpu_seconds: report.processor_time.map(|time| time.as_secs_f64()),
        };
        if outcome.traces_left_out > 0 {
            eprintln!(
                "the traces of {} were too large and are left out",
                crate::render::units::several(outcome.traces_left_out, "rank")
            );
        }
        Ran {
            ranks: outcome.ranks.iter().map(row).collect(),
            result: outcome.result,
            wall: outcome.wall,
            trace: outcome.trace,
        }
    }
}

impl From<RankError> for Error {
    fn from(error: RankError) -> Error {
        match error {
            RankError::Panicked { .. } => Error::Check(error.to_string()),
            RankError::Pool(error) => error.into(),
            _ => Error::System(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(variables: &[(&str, &str)]) -> Option<Place> {
        Place::found(|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn mpi_is_found_in_the_environment() {
        let place = |rank, neighbours| Some(Place { rank, neighbours });
        assert_eq!(found(&[("HOME", "/root")]), None);
        let open = [
            ("OMPI_COMM_WORLD_RANK", "3"),
            ("OMPI_COMM_WORLD_LOCAL_SIZE", "2"),
        ];
        assert_eq!(found(&open), place(3, 2));
        assert_eq!(found(&[("PMI_RANK", "0")]), place(0, 1));
        assert_eq!(found(&[("PMIX_RANK", "1")]), place(1, 1));
        assert_eq!(found(&[("PMI_RANK", "none")]), None);
    }

    #[test]
    fn the_engine_is_chosen_or_the_reason_told() {
        let place = Place {
            rank: 1,
            neighbours: 2,
        };
        assert_eq!(Engine::of(None, None, false).unwrap(), Engine::Here);
        let threads = Engine::of(Some(3), None, true).unwrap();
        assert_eq!(threads, Engine::Threads(3));
        let mpi = Engine::of(None, Some(place), true).unwrap();
        assert_eq!(mpi, Engine::Mpi(place));
        assert!(!mpi.tells() && threads.tells());
        let error = |threads, mpi| Engine::of(threads, Some(place), mpi).unwrap_err();
        assert!(error(None, false).to_string().contains("--features mpi"));
        assert!(error(Some(2), true).to_string().contains("--ranks"));
    }
}
