//! Ranks: processes, or threads, that steal tasks from each other.
//!
//! ```text
//!   rank 0, 2 workers          rank 1, 2 workers            rank 2, 2 workers
//!   | pool | ── talks ── Steal, Work, Nothing ── talks ── | pool | ── talks ── ...
//!        '- the pool's strategy inside of a rank, the protocol between ranks
//! ```
//!
//! All ranks have the same [build number](crate::Build), and the same program and options
//! ([`run`]). Rank 0 has the first tasks; a rank that runs out of work asks another for half of its
//! surplus; when no rank has any, and nothing is on its way, all of them notice, and rank 0 gets
//! the results. How ranks choose and when they stop is [`locksley_policy::rank`].
//!
//! [`threads`] makes ranks out of threads of this process; `mpi`, with the feature of that name, is
//! this process's place among those that `mpirun` has started.
//!
//! ```text
//! mpirun -n 4 --bind-to none \
//!   --mca oob_tcp_keepalive_time 1 --mca oob_tcp_keepalive_intvl 1 --mca oob_tcp_keepalive_probes 2 program
//! ```
//!
//! Without `--bind-to none` Open MPI gives each of two ranks a single core, and with it a single
//! worker. The other options are for several hosts: with them `mpirun` notices within seconds that
//! the link to one is cut.
//!
//! **All or nothing.** A rank that dies, is stopped, loses its link, runs another build, or whose
//! task panics ends the whole job, within twice the protocol's patience, with one message that says
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

use mailbox::{Mailbox, converse};
use outcome::Parts;

/// Reads a message between ranks and writes it again. `None` if the bytes are no message. For the
/// fuzzer, which knows no packets.
#[doc(hidden)]
pub fn reencode(bytes: &[u8]) -> Option<Vec<u8>> {
    let packet = wire::Packet::decode(bytes).ok()?;
    Some(packet.encode())
}

/// How ranks run. All ranks of a job have the same.
///
/// ```
/// use locksley_cluster::ranks::Options;
///
/// let options = Options { workers: 2, ..Options::default() };
/// assert!(options.build.is_none());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How many workers each rank has; 0 means one for each processor.
    pub workers: usize,
    /// How the workers of a rank share their work.
    pub strategy: Strategy,
    /// How ranks do.
    pub protocol: Protocol,
    /// Trace everything, and keep so many entries of each worker.
    #[cfg(feature = "trace")]
    pub trace: Option<usize>,
    /// The most bytes of the traces of all ranks together, which are in the memory of rank 0 in the
    /// end. A rank whose trace is larger than its share of this leaves it out.
    #[cfg(feature = "trace")]
    pub trace_bytes: usize,
    /// The build number, which must be that of all ranks; if nothing, that of the executable.
    pub build: Option<Build>,
    /// Where random choices start from.
    pub seed: u64,
}

impl Default for Options {
    /// A worker for each processor, and nothing traced; at most a gibibyte if it is.
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
    /// How many entries of a trace each worker keeps, if there is to be one.
    fn entries(&self) -> Option<usize> {
        #[cfg(feature = "trace")]
        let entries = self.trace;
        #[cfg(not(feature = "trace"))]
        let entries = None;
        entries
    }

    /// The most bytes of the traces of all ranks together.
    fn trace_bytes(&self) -> usize {
        #[cfg(feature = "trace")]
        let bytes = self.trace_bytes;
        #[cfg(not(feature = "trace"))]
        let bytes = 0;
        bytes
    }
}

/// Runs a rank's part of a program. On rank 0 this gives the outcome; `first` is looked at only
/// there.
///
/// The calling thread talks to the other ranks until all is done.
///
/// # Errors
///
/// Why the job failed. On MPI most of these are said on standard error instead, and end the
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
        // The others must not wait for it.
        Err(error) => {
            let mut error = Some(error);
            let mut failed = || error.take().unwrap_or(RankError::Dead);
            return converse(&mut peer, &mut mailbox, |_, _| Err(failed()));
        }
    };
    let first = first.into_iter();
    let worked = work(&local, build, first, options, &mut peer, &mut mailbox);
    if worked.is_err() {
        local.cancel();
    }
    let worked = worked?;
    let rank = mailbox.me;
    // All ranks leave at the same time; no rank waits for what is left to do.
    peer.leave();
    match rank {
        0 => combine(worked, options.entries().is_some()).map(Some),
        _ => Ok(None),
    }
}

/// A pool with the program, and which build this is.
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

/// What is known when all has been said.
struct Worked<R> {
    /// Of this rank and all below it.
    parts: Parts<R>,
    wall: Duration,
}

fn work<R: Reduce, T: Task<Output = R>>(
    local: &Local<R>,
    build: Build,
    first: impl Iterator<Item = T>,
    options: &Options,
    peer: &mut dyn Peer,
    mailbox: &mut Mailbox,
) -> Result<Worked<R>, RankError> {
    let patience = Duration::from_nanos(options.protocol.patience);
    let roll = handshake::handshake(peer, mailbox, build, options.entries().is_some(), patience)?;
    let (start, used) = (Instant::now(), processor_time(local, peer));
    let hosts = Hosts::new(roll.numbers.iter());
    let protocol = adapted(options.protocol, local.pool().workers());
    let rank = Rank::new(mailbox.me, protocol, hosts, build.0, options.seed);
    local.set_home(mailbox.me as u64);
    if mailbox.count > 1 {
        local.set_appetite(APPETITE * local.pool().workers());
    }
    let first = first.take(if mailbox.me == 0 { usize::MAX } else { 0 });
    let mut first = first.map(|task| Box::new(task) as Boxed<R>);
    let done = engine::work(peer, mailbox, (local, &mut first), rank, &roll.names)?;
    let wall = start.elapsed();
    let now = processor_time(local, peer);
    let processor_time = now.zip(used).map(|(now, used)| now.saturating_sub(used));
    let most = options.trace_bytes() / mailbox.count;
    let parts = report(local, peer, mailbox, (&roll, processor_time), done, most)?;
    let parts = outcome::gather(peer, mailbox, parts, patience)?;
    Ok(Worked { parts, wall })
}

/// How many tasks for each worker had better wait: one to keep, one to give, and as many again for
/// the next thief. Where tasks are halves of halves, as in a tree search, there are hardly ever
/// more: with 16 instead of 4, UTS T1L spawns as many and moves as many.
const APPETITE: usize = 4;

/// The protocol with a floor for tasks like these. Workers share what waits, and a waiting task is
/// a chunk of work rather than a node of a tree, so that one for each worker is enough to bridge
/// the time until a task spawns or a rank sends more.
fn adapted(protocol: Protocol, workers: usize) -> Protocol {
    Protocol {
        floor: protocol.floor.min(workers),
        ..protocol
    }
}

/// The processor time that this rank has used so far: as its network knows it, or that of its
/// workers and of this thread.
fn processor_time<R: Reduce>(local: &Local<R>, peer: &dyn Peer) -> Option<Duration> {
    peer.processor_time().or_else(|| {
        let workers = local.pool().broadcast(|_| clock::thread());
        workers.into_iter().chain([clock::thread()]).sum()
    })
}

/// What this rank has to tell, with a trace of at most so many bytes. Others are not kept waiting
/// for a sign of life.
fn report<R: Reduce>(
    local: &Local<R>,
    peer: &mut dyn Peer,
    mailbox: &mut Mailbox,
    (roll, processor_time): (&handshake::Roll, Option<Duration>),
    done: engine::Done,
    most: usize,
) -> Result<Parts<R>, RankError> {
    let report = Report {
        rank: mailbox.me,
        host: roll.names.get(&mailbox.me).cloned().unwrap_or_default(),
        workers: local.pool().workers(),
        usage: local.usage(),
        counts: done.counts,
        traffic: mailbox.traffic,
        processor_time,
    };
    thread::scope(|scope| {
        let writing = scope.spawn(|| write_down(local, report, done.moves, roll.ahead, most));
        outcome::bridge(peer, mailbox, || writing.is_finished())?;
        Ok(writing.join().unwrap_or_else(|panic| resume_unwind(panic)))
    })
}

fn write_down<R: Reduce>(
    local: &Local<R>,
    report: Report,
    mut moves: Vec<engine::Move>,
    ahead: i64,
    most: usize,
) -> Parts<R> {
    let (mut traces, mut left_out) = (Vec::new(), 0);
    let trace = local.pool().take_trace();
    if trace.is_empty() {
        moves.clear();
    } else {
        let (trace, talker) = timeline::of_rank(trace, &report, &mut moves, ahead);
        let text = trace.to_json();
        if text.len() <= most {
            traces.push((report.rank as u32, talker, text));
        } else {
            moves.clear();
            left_out = 1;
        }
    }
    Parts {
        result: local.take_result(),
        traces,
        reports: vec![report],
        moves,
        left_out,
    }
}

/// Makes one outcome of all reports.
fn combine<R: Reduce>(worked: Worked<R>, traced: bool) -> Result<Outcome<R>, RankError> {
    let mut parts = worked.parts;
    parts.reports.sort_by_key(|report| report.rank);
    let numbers = parts.reports.iter().map(|report| report.rank);
    if let Some((rank, other)) = numbers.enumerate().find(|(place, rank)| place != rank) {
        let why = format!("a report of rank {other} in the place of that of rank {rank}");
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

/// One trace of those of all ranks.
#[cfg(feature = "trace")]
fn merged<R>(parts: &mut Parts<R>) -> Result<locksley_trace::Trace, RankError> {
    parts.traces.sort_by_key(|(rank, _, _)| *rank);
    let (mut talkers, mut traces) = (BTreeMap::new(), Vec::new());
    for (rank, talker, text) in &parts.traces {
        let trace = locksley_trace::Trace::from_json(text);
        traces.push(trace.map_err(|error| RankError::Malformed {
            rank: *rank as usize,
            why: error.to_string(),
        })?);
        talkers.insert(*rank as usize, *talker);
    }
    Ok(timeline::merge(traces, &talkers, &parts.moves))
}

/// Ranks that are threads of this process, for [`run`] on as many threads.
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

/// This process's place among those that `mpirun` has started, or alone without it. Once in a
/// process, on its main thread.
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
/// let outcome = ranks::run_threads(&uts::program(), [Search::whole(tree)], &options, ranks::threads(2))?;
/// assert_eq!(outcome.result.0, Uts::new(tree).size());
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
            // Rather the one who knows why than the one who was told, or who died.
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
