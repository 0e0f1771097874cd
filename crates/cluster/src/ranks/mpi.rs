//! Ranks that are processes, which MPI starts and connects (feature `mpi`).
//!
//! This module uses two-sided messages only, from the one thread that MPI was started on
//! (`MPI_THREAD_FUNNELED`). Sends are immediate, so that two ranks that send each other large
//! batches cannot block each other; a receive is a matched probe followed by the receipt of the
//! message that it found.
//!
//! **Buffers.** An immediate send reads its buffer until it is complete, and the types of the `mpi`
//! crate require that the buffer outlives the scope in which the send was started. So the buffers
//! of a scope live in an [`Arena`] around it, which only grows. When the arena has become large,
//! the scope and the arena end at the next moment in which no send is in progress, and new ones
//! begin. If that moment does not come by itself, large messages are held back until it does, and
//! with them all later messages to the same rank; heartbeats to other ranks go on. No call ever
//! blocks: this rank and the receivers poll for messages all the time.
//!
//! **Fail-stop.** MPI cannot continue without a rank. A rank that gives up prints why to standard
//! error and calls `MPI_Abort`; if that, or any other call, does not return, the [`Watchdog`] kills
//! the process, which ends the job. Open MPI's own processes may hang, too, when they end a job
//! (4.1 does occasionally); so [a helper](end_parent_soon) kills the process that has started this
//! rank. The ranks cannot end `mpirun` itself if the link to one of its daemons is cut: with Open
//! MPI's parameters `oob_tcp_keepalive_time`, `oob_tcp_keepalive_intvl` and
//! `oob_tcp_keepalive_probes`, which are minutes by default, it notices in seconds.

use std::cell::{Cell, OnceCell};
use std::marker::PhantomData;
use std::ops::ControlFlow;
use std::time::Duration;

use mpi::environment::{Universe, processor_name};
use mpi::point_to_point::MatchedReceiveVec;
use mpi::request::{LocalScope, Request, scope};
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, Destination, Source};
use mpi::{Rank, Threading};

use super::clock;
use super::error::RankError;
use super::peer::{Link, Peer};
use super::watchdog::{Watchdog, end_by_force, end_parent_soon};
use crate::build_id::Build;

/// Bytes from which on an arena is replaced when no send is in progress.
const LARGE: usize = 1 << 20;

/// Bytes from which on an arena takes no more large messages.
const FULL: usize = 64 << 20;

/// Bytes from which on a message is large. MPI copies smaller ones, so that their sends are soon
/// complete.
const LARGE_MESSAGE: usize = 4 << 10;

/// Time limit of any call that should return at once, in tenths of the patience. It is longer than
/// the time to notice a silent rank, whose message is more precise.
const CALL_LIMIT_TENTHS: u32 = 14;

/// Time limit of `MPI_Abort`.
const ABORT: Duration = Duration::from_secs(2);

/// Exit code of the process when a rank gives up.
const EXIT: i32 = 1;

/// A rank that MPI started. Made by [`mpi`](super::mpi()).
pub struct Mpi {
    world: SimpleCommunicator,
    host: String,
    /// Time limit of a call.
    call_limit: Duration,
    /// `Some` until the rank leaves.
    universe: Option<Universe>,
    watchdog: Watchdog,
    /// Makes the type `!Send`: all calls must come from the thread that started MPI.
    _here: PhantomData<*const ()>,
}

impl Mpi {
    /// Starts MPI.
    pub(super) fn start() -> Result<Mpi, RankError> {
        // Hash the executable first, which takes a while: ranks wait for each other in `MPI_Init`,
        // but later they lose patience.
        let _ = Build::current();
        let watchdog = Watchdog::start(|doing| {
            eprintln!(
                "error: {doing} does not return: a host, a link or a process of MPI is gone; this \
                 rank kills itself"
            );
            end_by_force();
        });
        let started = mpi::initialize_with_threading(Threading::Funneled);
        let (universe, threading) = started.ok_or(RankError::Used)?;
        if threading < Threading::Funneled {
            return Err(RankError::Threading);
        }
        Ok(Mpi {
            watchdog,
            world: universe.world(),
            host: processor_name().unwrap_or_default(),
            call_limit: Duration::MAX,
            universe: Some(universe),
            _here: PhantomData,
        })
    }

    /// Calls `turn` repeatedly in one scope. Returns `Break` when `turn` does.
    fn drive_for_a_while(
        &self,
        held: &mut Held,
        turn: &mut dyn FnMut(&mut dyn Link) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let arena = Arena::default();
        scope(|scope| {
            let mut link = Scoped {
                mpi: self,
                scope,
                arena: &arena,
                sends: Vec::new(),
                held,
            };
            for (to, message) in std::mem::take(link.held) {
                link.send(to, message);
            }
            loop {
                self.watchdog.progress();
                let flow = turn(&mut link);
                link.sweep();
                if flow.is_break() {
                    while !link.sends.is_empty() {
                        std::thread::yield_now();
                        link.sweep();
                    }
                    return ControlFlow::Break(());
                }
                if arena.bytes.get() > LARGE && link.sends.is_empty() {
                    return ControlFlow::Continue(());
                }
            }
        })
    }
}

impl std::fmt::Debug for Mpi {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mpi")
            .field("me", &self.me())
            .field("count", &self.count())
            .field("host", &self.host)
            .finish_non_exhaustive()
    }
}

impl Drop for Mpi {
    fn drop(&mut self) {
        // Skip `MPI_Finalize`, which would wait for the other ranks: the process ends, and `mpirun`
        // sees that it has failed.
        std::mem::forget(self.universe.take());
    }
}

impl Peer for Mpi {
    fn me(&self) -> usize {
        self.world.rank() as usize
    }

    fn count(&self) -> usize {
        self.world.size() as usize
    }

    fn host(&self) -> String {
        self.host.clone()
    }

    fn drive(&mut self, turn: &mut dyn FnMut(&mut dyn Link) -> ControlFlow<()>) {
        self.watchdog.expect("a call of MPI", self.call_limit);
        let mut held = Held::new();
        while self.drive_for_a_while(&mut held, turn).is_continue() {}
        while !held.is_empty() {
            let _ = self.drive_for_a_while(&mut held, &mut |_| ControlFlow::Break(()));
        }
        self.watchdog.suspend();
    }

    fn be_patient(&mut self, patience: Duration) {
        self.call_limit = patience.saturating_mul(CALL_LIMIT_TENTHS) / 10;
    }

    fn leave(mut self) {
        self.watchdog.expect("MPI_Finalize", self.call_limit);
        drop(self.universe.take());
    }

    fn processor_time(&self) -> Option<Duration> {
        clock::process()
    }
}

/// Receivers and messages that are sent later, in this order.
type Held = Vec<(usize, Vec<u8>)>;

/// The link of one scope `'s`, whose buffers live for `'a`.
struct Scoped<'a, 's> {
    mpi: &'s Mpi,
    scope: &'s LocalScope<'a>,
    arena: &'a Arena,
    /// Sends in progress.
    sends: Vec<Request<'a, [u8], &'s LocalScope<'a>>>,
    /// Messages that must wait for the next scope.
    held: &'s mut Held,
}

impl Scoped<'_, '_> {
    /// Removes completed sends.
    fn sweep(&mut self) {
        for send in std::mem::take(&mut self.sends) {
            if let Err(send) = send.test() {
                self.sends.push(send);
            }
        }
    }
}

impl Link for Scoped<'_, '_> {
    fn send(&mut self, to: usize, message: Vec<u8>) {
        let full = self.arena.bytes.get() > FULL && message.len() >= LARGE_MESSAGE;
        if full || self.held.iter().any(|&(rank, _)| rank == to) {
            return self.held.push((to, message));
        }
        let to = self.mpi.world.process_at_rank(to as Rank);
        let message = self.arena.keep(message);
        self.sends.push(to.immediate_send(self.scope, message));
    }

    fn receive(&mut self) -> Option<(usize, Vec<u8>)> {
        let found = self.mpi.world.any_process().immediate_matched_probe()?;
        let (message, status) = found.matched_receive_vec();
        Some((status.source_rank() as usize, message))
    }

    fn give_up(&mut self, why: Option<&str>) {
        match why {
            Some(why) => eprintln!("error: {why}"),
            // The rank that has printed the reason ends this process, too.
            None => std::thread::sleep(ABORT),
        }
        end_parent_soon();
        self.mpi.watchdog.expect("MPI_Abort", ABORT);
        self.mpi.world.abort(EXIT);
    }
}

/// Space for a fixed number of byte strings.
type Block = Box<[OnceCell<Vec<u8>>]>;

/// Byte strings that do not move until all of them are dropped.
#[derive(Default)]
struct Arena {
    /// Block `k` has space for `2^k` byte strings.
    blocks: [OnceCell<Block>; 32],
    count: Cell<usize>,
    bytes: Cell<usize>,
}

impl Arena {
    fn keep(&self, bytes: Vec<u8>) -> &[u8] {
        let number = self.count.replace(self.count.get() + 1) + 1;
        self.bytes.set(self.bytes.get() + bytes.len());
        // Number 1 is in block 0, 2 and 3 in block 1, and so on.
        let block = number.ilog2();
        let room = || (0..1_usize << block).map(|_| OnceCell::new()).collect();
        let place = number - (1 << block);
        self.blocks[block as usize].get_or_init(room)[place].get_or_init(|| bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arena_keeps_everything_where_it_is() {
        let arena = Arena::default();
        let kept: Vec<&[u8]> = (0..1000_u32)
            .map(|number| arena.keep(number.to_le_bytes().to_vec()))
            .collect();
        for (number, bytes) in (0..1000_u32).zip(kept) {
            assert_eq!(bytes, number.to_le_bytes());
        }
        assert_eq!(arena.bytes.get(), 4000);
    }
}
