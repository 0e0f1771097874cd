//! Ranks: processes, or threads, that steal tasks from each other.
//!
//! ```text
//!   rank 0, 2 workers                                      rank 1, 2 workers
//!   | pool | ── thread ── Steal, Work, Nothing ── thread ── | pool | ── thread ── ...
//!        '- the pool's strategy inside a rank, the protocol between ranks
//! ```
//!
//! All ranks have the same [build number](crate::Build), and the same program and options
//! ([`run`]). Rank 0 has the first tasks. A rank that runs out of work asks another for half of its
//! surplus. When no rank has work, and no work is in transit, all ranks detect termination, and
//! rank 0 receives the results. [`locksley_policy::rank`] decides which rank is asked and detects
//! termination.
//!
//! [`threads`] makes ranks out of threads of this process; `mpi`, with the feature of that name,
//! returns this process's rank among those that `mpirun` has started.
//!
//! ```text
//! mpirun -n 4 --bind-to none --mca oob_tcp_keepalive_time 1 \
//!   --mca oob_tcp_keepalive_intvl 1 --mca oob_tcp_keepalive_probes 2 program
//! ```
//!
//! Without `--bind-to none` Open MPI binds each of two ranks to a single core, so that each has a
//! single worker. The other options are for several hosts: with them `mpirun` notices within
//! seconds that the link to a host is cut.
//!
//! **All or nothing.** If a rank dies, is stopped, loses its link or runs another build, or if a
//! task panics, the whole job ends within twice the protocol's patience, with one message that says
//! why.

mod clock;
mod engine;
mod error;
mod handshake;
mod mailbox;
#[cfg(feature = "mpi")]
mod mpi;
mod outcome;
mod peer;
mod threads;
#[cfg_attr(not(feature = "trace"), allow(dead_code))]
mod timeline;
mod tree;
#[cfg(feature = "mpi")]
mod watchdog;
mod wire;

#[cfg(feature = "trace")]
use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::thread;
use std::time::{Duration, Instant};

use locksley::{Pool, Strategy};
use locksley_policy::rank::{Hosts, Protocol, Rank};

use crate::build_id::Build;
use crate::local::Local;
use crate::reduce::Reduce;
use crate::task::{Boxed, Program, Task};

pub use error::RankError;
pub use mailbox::Traffic;
#[cfg(feature = "mpi")]
pub use mpi::Mpi;
pub use outcome::{Outcome, Report};
pub use peer::{Link, Peer};
pub use threads::{Network, Threads};

use mailbox::{Mailbox, run_phase};
use outcome::SubtreeReport;

/// Decodes a message between ranks and encodes it again. Returns `None` if `bytes` is not a
/// message. For the fuzzer, which has no access to packets.
#[doc(hidden)]
pub fn reencode(bytes: &[u8]) -> Option<Vec<u8>> {
    let packet = wire::Packet::decode(bytes).ok()?;
    Some(packet.encode())
}

/// Options of the ranks. All ranks of a job must have the same.
///
/// ```
/// use locksley_cluster::ranks::Options;
///
/// let options = Options { workers: 2, ..Options::default() };
/// assert!(options.build.is_none());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Number of workers of each rank; 0 means one for each processor.
    pub workers: usize,
    /// Strategy by which the workers of a rank balance their work.
    pub strategy: Strategy,
    /// Protocol by which ranks balance theirs.
    pub protocol: Protocol,
    /// Number of trace entries that each worker keeps; `None` for no trace.
    #[cfg(feature = "trace")]
    pub trace: Option<usize>,
    /// Most bytes of the traces of all ranks together, which end up in the memory of rank 0. A rank
    /// whose trace is larger than its share of this omits it.
    #[cfg(feature = "trace")]
    pub trace_bytes: usize,
    /// Build number, which must be that of all ranks; `None` for that of the executable.
    pub build: Option<Build>,
    /// Seed of random choices.
    pub seed: u64,
}

impl Default for Options {
    /// A worker for each processor, and no trace; the limit for traces is a gibibyte.
    fn default() -> Options {
        Options {
            workers: 0,
            strategy: Strategy::default(),
            protocol: Protocol::default(),
            #[cfg(feature = "trace")]
            trace: None,
            #[cfg(feature = "trace")]
            trace_bytes: 1 << 30,
            build: None,
            seed: 42,
        }
    }
}

impl Options {
    /// Returns the number of trace entries that each worker keeps; `None` for no trace.
    fn entries(&self) -> Option<usize> {
        #[cfg(feature = "trace")]
        let entries = self.trace;
        #[cfg(not(feature = "trace"))]
        let entries = None;
        entries
    }

    /// Returns the most bytes of the traces of all ranks together.
    fn trace_bytes(&self) -> usize {
        #[cfg(feature = "trace")]
        let bytes = self.trace_bytes;
        #[cfg(not(feature = "trace"))]
        let bytes = 0;
        bytes
    }
}

/// Runs a rank's part of a program. Returns the outcome on rank 0, and `None` elsewhere. `first` is
/// used on rank 0 only.
///
/// The calling thread exchanges messages with the other ranks until all work is done.
///
/// # Errors
///
/// Why the job failed. On MPI most errors are printed to standard error instead, and end the
/// process.
pub fn run<R: Reduce, T: Task<Output = R>>(
    program: &Program<R>,
    first: impl IntoIterator<Item = T>,
    options: &Options,
    mut peer: impl Peer,
) -> Result<Option<Outcome<R>>, RankError> {
    let mut mailbox = Mailbox::new(&peer);
    peer.be_patient(Duration::from_nanos(options.protocol.patience));
    let (local, build) = match prepare(program, options) {
        Ok(prepared) => prepared,
        // The other ranks must not wait for this one.
        Err(error) => {
            let mut error = Some(error);
            let mut failed = || error.take().unwrap_or(RankError::Dead);
            return run_phase(&mut peer, &mut mailbox, |_, _| Err(failed()));
        }
    };
    let first = first.into_iter();
    let worked = work(&local, build, first, options, &mut peer, &mut mailbox);
    if worked.is_err() {
        local.cancel();
    }
    let worked = worked?;
    let rank = mailbox.me;
    // All ranks leave at the same time; no rank waits for the rest of this one's work.
    peer.leave();
    match rank {
        0 => combine(worked, options.entries().is_some()).map(Some),
        _ => Ok(None),
    }
}

/// Builds the pool with the program, and determines the build number.
fn prepare<R: Reduce>(
    program: &Program<R>,
    options: &Options,
) -> Result<(Local<R>, Build), RankError> {
    let build = options.build.map_or_else(Build::current, Ok);
    let build = build.map_err(RankError::Executable)?;
    let pool = Pool::builder()
        .workers(options.workers)
        .strategy(options.strategy)
        .seed(options.seed)
        .trace(options.entries().unwrap_or(0));
    let pool = pool.build().map_err(RankError::Pool)?;
    Ok((Local::new(pool, program), build))
}

/// The outcome of all phases.
struct Gathered<R> {
    /// The parts of this rank and all ranks below it.
    parts: SubtreeReport<R>,
    wall: Duration,
}

fn work<R: Reduce, T: Task<Output = R>>(
    local: &Local<R>,
    build: Build,
    first: impl Iterator<Item = T>,
    options: &Options,
    peer: &mut dyn Peer,
    mailbox: &mut Mailbox,
) -> Result<Gathered<R>, RankError> {
    let patience = Duration::from_nanos(options.protocol.patience);
    let directory =
        handshake::handshake(peer, mailbox, build, options.entries().is_some(), patience)?;
    let (start, used) = (Instant::now(), processor_time(local, peer));
    let hosts = Hosts::new(directory.numbers.iter());
    let protocol = adapted(options.protocol, local.pool().workers());
    let rank = Rank::new(mailbox.me, protocol, hosts, build.0, options.seed);
    local.set_home(mailbox.me as u64);
    if mailbox.count > 1 {
        local.set_appetite(APPETITE * local.pool().workers());
    }
    let first = first.take(if mailbox.me == 0 { usize::MAX } else { 0 });
    let mut first = first.map(|task| Box::new(task) as Boxed<R>);
    let done = engine::work(peer, mailbox, (local, &mut first), rank, &directory.names)?;
    let wall = start.elapsed();
    let now = processor_time(local, peer);
    let processor_time = now.zip(used).map(|(now, used)| now.saturating_sub(used));
    let most = options.trace_bytes() / mailbox.count;
    let parts = report(
        local,
        peer,
        mailbox,
        (&directory, processor_time),
        done,
        most,
    )?;
    let parts = outcome::gather(peer, mailbox, parts, patience)?;
    Ok(Gathered { parts, wall })
}

/// Number of tasks per worker that should wait: one to keep, one to give, and as many again for the
/// next thief. Where tasks are repeatedly halved, as in a tree search, there are hardly ever more:
/// with 16 instead of 4, UTS T1L spawns as many tasks and moves as many.
const APPETITE: usize = 4;

/// Returns the protocol with a floor that suits these tasks. Workers share what waits, and a
/// waiting task is a chunk of work rather than a node of a tree, so one for each worker is enough
/// to heartbeat_until the time until a task spawns or another rank sends more.
fn adapted(protocol: Protocol, workers: usize) -> Protocol {
    Protocol {
        floor: protocol.floor.min(workers),
        ..protocol
    }
}

/// Returns the processor time that this rank has used so far: as reported by its network, or that
/// of its workers and of this thread.
fn processor_time<R: Reduce>(local: &Local<R>, peer: &dyn Peer) -> Option<Duration> {
    peer.processor_time().or_else(|| {
        let workers = local.pool().broadcast(|_| clock::thread());
        workers.into_iter().chain([clock::thread()]).sum()
    })
}

/// Writes this rank's report, with a trace of at most `most` bytes. Meanwhile this rank continues
/// to send heartbeats.
fn report<R: Reduce>(
    local: &Local<R>,
    peer: &mut dyn Peer,
    mailbox: &mut Mailbox,
    (directory, processor_time): (&handshake::HostDirectory, Option<Duration>),
    done: engine::Done,
    most: usize,
) -> Result<SubtreeReport<R>, RankError> {
    let report = Report {
        rank: mailbox.me,
        host: directory
            .names
            .get(&mailbox.me)
            .cloned()
            .unwrap_or_default(),
        workers: local.pool().workers(),
        usage: local.usage(),
        counts: done.counts,
        traffic: mailbox.traffic,
        processor_time,
    };
    thread::scope(|scope| {
        let writing =
            scope.spawn(|| write_down(local, report, done.moves, directory.clock_offset, most));
        outcome::heartbeat_until(peer, mailbox, || writing.is_finished())?;
        Ok(writing.join().unwrap_or_else(|panic| resume_unwind(panic)))
    })
}

fn write_down<R: Reduce>(
    local: &Local<R>,
    report: Report,
    mut moves: Vec<engine::Move>,
    ahead: i64,
    most: usize,
) -> SubtreeReport<R> {
    let (mut traces, mut left_out) = (Vec::new(), 0);
    let trace = local.pool().take_trace();
    if trace.is_empty() {
        moves.clear();
    } else {
        let (trace, messaging_thread) = timeline::of_rank(trace, &report, &mut moves, ahead);
        let text = trace.to_json();
        if text.len() <= most {
            traces.push((report.rank as u32, messaging_thread, text));
        } else {
            moves.clear();
            left_out = 1;
        }
    }
    SubtreeReport {
        result: local.take_result(),
        traces,
        reports: vec![report],
        moves,
        left_out,
    }
}

/// Combines all reports into one outcome.
fn combine<R: Reduce>(worked: Gathered<R>, traced: bool) -> Result<Outcome<R>, RankError> {
    let mut parts = worked.parts;
    parts.reports.sort_by_key(|report| report.rank);
    let numbers = parts.reports.iter().map(|report| report.rank);
    if let Some((rank, other)) = numbers.enumerate().find(|(place, rank)| place != rank) {
        let why = format!("the report of rank {other} came instead of that of rank {rank}");
        return Err(RankError::Malformed { rank, why });
    }
    Ok(Outcome {
        #[cfg(feature = "trace")]
        trace: if traced {
            Some(merged(&mut parts)?)
        } else {
            None
        },
        result: parts.result,
        ranks: parts.reports,
        wall: worked.wall,
        traces_left_out: if traced { parts.left_out } else { 0 },
    })
}

/// Merges the traces of all ranks.
#[cfg(feature = "trace")]
fn merged<R>(parts: &mut SubtreeReport<R>) -> Result<locksley_trace::Trace, RankError> {
    parts.traces.sort_by_key(|(rank, _, _)| *rank);
    let (mut messaging_threads, mut traces) = (BTreeMap::new(), Vec::new());
    for (rank, messaging_thread, text) in &parts.traces {
        let trace = locksley_trace::Trace::from_json(text);
        traces.push(trace.map_err(|error| RankError::Malformed {
            rank: *rank as usize,
            why: error.to_string(),
        })?);
        messaging_threads.insert(*rank as usize, *messaging_thread);
    }
    Ok(timeline::merge(traces, &messaging_threads, &parts.moves))
}

/// Creates ranks that are threads of this process, for [`run`] on `count` threads.
///
/// ```
/// use locksley_cluster::ranks::{Peer, threads};
///
/// let peers = threads(3);
/// assert_eq!(peers.iter().map(Peer::me).collect::<Vec<_>>(), [0, 1, 2]);
/// ```
pub fn threads(count: usize) -> Vec<Threads> {
    Network::default().connect(&vec!["localhost"; count])
}

/// Returns this process's rank among those that `mpirun` has started, or a single rank without
/// `mpirun`. Call it once in a process, on its main thread.
///
/// # Errors
///
/// If MPI cannot be used.
#[cfg(feature = "mpi")]
pub fn mpi() -> Result<Mpi, RankError> {
    Mpi::start()
}

/// Runs a program on ranks that are threads of this process.
///
/// ```
/// use locksley_cluster::programs::uts::{self, Search};
/// use locksley_cluster::ranks::{self, Options};
/// use locksley_workload::{Uts, UtsTree};
///
/// let tree = UtsTree::binomial(100.0, 0.2, 4, 42);
/// let options = Options { workers: 1, ..Options::default() };
/// let outcome = ranks::run_threads(&uts::program(), [Search::whole(tree)], &options,
/// ranks::threads(2))?; assert_eq!(outcome.result.0, Uts::new(tree).size());
/// assert_eq!(outcome.ranks.len(), 2);
/// # Ok::<(), locksley_cluster::ranks::RankError>(())
/// ```
///
/// # Errors
///
/// Why the job failed, from the rank that noticed it first.
pub fn run_threads<R, T>(
    program: &Program<R>,
    first: impl IntoIterator<Item = T>,
    options: &Options,
    peers: Vec<Threads>,
) -> Result<Outcome<R>, RankError>
where
    R: Reduce,
    T: Task<Output = R>,
{
    let mut peers = peers.into_iter();
    let Some(zero) = peers.next() else {
        return Err(RankError::Dead);
    };
    thread::scope(|scope| {
        let part = |peer| scope.spawn(move || run(program, None::<T>, options, peer));
        let others: Vec<_> = peers.map(part).collect();
        let mut outcome = run(program, first, options, zero);
        for other in others {
            let other = other.join();
            let error = other.ok().and_then(Result::err);
            // Prefer the error of a rank that knows the cause to `Told` and `Dead`.
            if let Some(error) = error
                && !matches!(error, RankError::Told { .. } | RankError::Dead)
                && !matches!(&outcome, Err(cause) if !matches!(cause, RankError::Told { .. } | RankError::Dead))
            {
                outcome = Err(error);
            }
        }
        outcome.and_then(|outcome| outcome.ok_or(RankError::Dead))
    })
}
