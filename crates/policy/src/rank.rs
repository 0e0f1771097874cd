//! Ranks: how processes without shared memory balance their loads, and how they detect that all
//! work is done.
//!
//! A [`Rank`] is the part of one process in a protocol of messages: steal-half between processes,
//! with the choice of victims and amounts of this crate, [lifelines](Lifelines), Safra's
//! termination detection, and heartbeats. It has no clock, no thread and no connection: the caller
//! passes it the time and the messages that have arrived, and sends the messages that it returns.
//! So MPI, threads in a test and a simulation of ten thousand hosts run the same code. The
//! transport must deliver the messages from one rank to another exactly once and in order, as MPI
//! does; there is no assumption about the relative order of messages of different pairs.
//!
//! ```text
//!            requests go anywhere                        everything else goes along a tree
//!
//!     thief ---- Steal ----> victim                                  0
//!        |                     | more than its floor is there       / | \ \      child i of p is 4p + i
//!        | <---- Work ---------+ half of it                       1  2  3  4
//!        | <---- Nothing ------+ no                             / | \
//!        |                                                     5  6  7 ...
//!        | w failures later, on a lifeline:               up:   Hello, Token, Bye
//!        | ---- Steal -------> has nothing: remembers     down: Hello, Again, Done, Leave
//!        | <---- Nothing -----+                           both: Beat
//!        |        ...         | gets more than its floor
//!        | <---- Work --------+
//! ```
//!
//! # Beginning
//!
//! A rank sends Hello with its build to its parent. The parent answers once its own parent has
//! answered. So a rank that has an answer knows that its build is the root's. Before that it
//! neither requests nor gives work. Ranks of different builds end the job, on both sides.
//!
//! # Stealing
//!
//! A rank whose store is [hungry](Store::is_hungry) has one request under way at a time. The victim
//! gives the oldest half of its surplus, but keeps a floor ([`Protocol::share`]). After a failure
//! the thief waits, twice as long each time up to a limit. With lifelines it does not wait: after
//! `w` failures it asks its z lifelines, and after `w + z` failures it falls silent. So with
//! lifelines an idle rank sends a bounded number of messages until a rank has work for it.
//!
//! # Termination
//!
//! From Dijkstra, "Shmuel Safra's version of termination detection" (EWD998). A rank is *active* or
//! *passive*; only an active rank sends `Work`, and only `Work` makes a passive rank active. Each
//! rank counts `Work` messages sent minus received, its *balance* c, and turns *black* when it
//! receives one. In a wave each rank adds its balance and colour to a token exactly once, when it
//! is passive, and turns white.
//!
//! **Deviation from the paper.** There the token goes round a ring, which takes P messages one
//! after the other: ten seconds for ten thousand hosts and a latency of 1 ms. Here tokens are
//! summed up along the tree, in 2 log4 P steps; and the root starts a new wave as soon as the last
//! has failed, without being asked for it. The paper's proof needs no ring:
//!
//! **Theorem.** If the sum of all tokens of a wave is white and its balance is zero, then all ranks
//! are passive and no work is on its way.
//!
//! *Proof sketch.* Let V be the ranks that have added their token in this wave, U the others, q the
//! sum of the balances added, and B the number of `Work` messages on their way. Always B = the sum
//! of all c. At each moment one of these holds:
//!
//! | | |
//! |---|---|
//! | P1 | all ranks in V are passive, and the sum of their c is q |
//! | P2 | q + the sum of c over U is above zero |
//! | P3 | a rank in U is black |
//! | P4 | a token that was added is black |
//!
//! At the beginning V is empty, and P1 holds. P1 ends only when a rank in V receives work; then B
//! was above zero before, and B = q + the sum of c over U, which is P2. P2 ends only when a rank in
//! U receives work, which turns that rank black: P3. P3 ends only when the black rank adds its
//! token: P4, which stays. (A white, passive rank that goes from U to V changes none of them.) At
//! the end U is empty: P3 is false, P4 is false if the sum is white, P2 is false if q is zero; so
//! P1 holds, and B = q = 0.
//!
//! **Liveness.** When all work is done, no rank turns black any more, so the wave after the current
//! one is white; and all balances add up to zero.
//!
//! # End
//!
//! The root sends Done down the tree. Requests may still be under way, so every rank goes on
//! answering them, with Nothing. A rank says Bye when it waits for no answer and all its children
//! have said Bye. When the root has the Bye of all its children, it sends Leave. Bye is the last
//! message of a child to its parent, Leave the last of a parent to its child, and all requests were
//! answered: so a rank that [leaves](Next::Done) has received everything that was ever sent to it.
//!
//! # Failures
//!
//! Failures are fail-stop. A rank that dies takes its tasks with it, and they cannot be recovered,
//! so the failure must be detected and end the job. Neighbours in the tree send each other
//! heartbeats; a rank that is silent for too long, or leaves a request unanswered, is a
//! [`ProtocolError`]. A process that was itself stopped for a while does not count that time as
//! silence of others.
//!
//! ```
//! use locksley_policy::rank::{Message, Next, Protocol, Rank, Store};
//! use locksley_policy::Blind;
//!
//! /// Tasks that are done as soon as they are looked at.
//! struct Tasks(Vec<u32>);
//!
//! impl Store for Tasks {
//!     type Work = Vec<u32>;
//!     fn surplus(&self) -> usize { self.0.len() }
//!     fn is_passive(&self) -> bool { self.0.is_empty() }
//!     fn give(&mut self, at_most: usize) -> Option<Vec<u32>> {
//!         let some = at_most.min(self.0.len());
//!         (some > 0).then(|| self.0.drain(..some).collect())
//!     }
//!     fn take(&mut self, work: Vec<u32>) { self.0.extend(work) }
//!     fn size(work: &Vec<u32>) -> usize { work.len() }
//! }
//!
//! let protocol = Protocol { floor: 1, ..Protocol::default() };
//! let mut ranks = [0, 1].map(|me| Rank::new(me, protocol, Blind(2), 1, 42));
//! let mut stores = [Tasks((0..100).collect()), Tasks(vec![])];
//! let (mut now, mut run, mut left) = (0, [0, 0], [false; 2]);
//! while left != [true; 2] {
//!     now += 10_000;
//!     for me in 0..2 {
//!         run[me] += usize::from(stores[me].0.pop().is_some());
//!         let mut out = Vec::new();
//!         left[me] = ranks[me].step(now, &mut stores[me], &mut out)? == Next::Done;
//!         while !out.is_empty() {
//!             let (to, message) = out.remove(0);
//!             let from = 1 - to;
//!             ranks[to].receive(now, from, message, &mut stores[to], &mut out)?;
//!         }
//!     }
//! }
//! assert_eq!(run[0] + run[1], 100);
//! assert!(run[1] > 40, "rank 1 has run about half: {run:?}");
//! # Ok::<(), locksley_policy::rank::ProtocolError>(())
//! ```

use std::collections::VecDeque;

use crate::balancer::Memory;
use crate::random::Random;
use crate::view::View;

mod heartbeat;
mod hosts;
mod lifelines;
mod message;
mod protocol;
mod receive;
mod safra;
mod sending;
mod step;
#[cfg(test)]
mod tests;

pub use hosts::Hosts;
pub use lifelines::Lifelines;
pub use message::{Counts, Message, Next, ProtocolError, Store, Token};
pub use protocol::Protocol;

use heartbeat::Heartbeat;
use safra::Safra;
use sending::Probing;

/// Number of children of a rank in the tree. Few, since the root waits for all of them; not two,
/// since each level costs a latency.
const FAN: usize = 4;

/// Messages to be sent, each with its receiver.
type Out<W> = Vec<(usize, Message<W>)>;

/// A request under way.
#[derive(Clone, Copy, Debug)]
struct Request {
    victim: usize,
    since: u64,
}

/// Phase of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    /// Neither a message has come nor a step been made.
    Fresh,
    /// The rank has said Hello, and waits for the answer.
    Greeting,
    /// The rank's build is known to be the root's.
    Working,
    /// All work is done.
    Ending,
    /// The rank has said Bye.
    Closing,
    /// The rank has left.
    Left,
}

/// One rank of the protocol. Rank 0 is the root. See the [module](self).
///
/// The caller sends what [`receive`](Rank::receive) and [`step`](Rank::step) put into `out`, in
/// that order, also after [`ProtocolError`].
///
/// ```
/// use locksley_policy::rank::{Counts, Protocol, Rank};
/// use locksley_policy::Blind;
///
/// let rank = Rank::new(3, Protocol::default(), Blind(8), 0xb0b, 42);
/// assert_eq!(rank.counts(), &Counts::default());
/// assert_eq!(rank.waiters(), 0);
/// ```
#[derive(Clone, Debug)]
pub struct Rank<V> {
    me: usize,
    view: V,
    protocol: Protocol,
    build: u64,
    random: Random,
    phase: Phase,
    /// The children that said Hello before the rank's own Hello was answered.
    unanswered: Vec<usize>,
    memory: Memory,
    lifelines: Vec<usize>,
    request: Option<Request>,
    /// The probe under way, if the rank sends work and has one.
    probing: Option<Probing>,
    /// Number of failed attempts since the rank last got work.
    failures: u32,
    /// Earliest time of the next attempt.
    next_try: u64,
    /// The ranks that wait for work from here on their lifelines, those first that have waited
    /// longest.
    waiters: VecDeque<usize>,
    safra: Safra,
    /// Number of children that have said Bye.
    byes: usize,
    heartbeat: Heartbeat,
    counts: Counts,
}

impl<V: View> Rank<V> {
    /// Creates rank `me` of as many ranks as the view has. `build` identifies the build. The choice
    /// of victims is a function of `seed`, the rank and the messages that arrive.
    pub fn new(me: usize, protocol: Protocol, view: V, build: u64, seed: u64) -> Rank<V> {
        let protocol = protocol.normalized();
        let count = view.count().max(me + 1);
        let children = children(me, count);
        let neighbours = parent(me).into_iter().chain(children.clone());
        let lifelines = protocol.lifelines.map(|lifelines| lifelines.of(me, count));
        Rank {
            me,
            protocol,
            build,
            random: Random::new(seed, me as u64),
            phase: Phase::Fresh,
            unanswered: Vec::new(),
            memory: Memory::default(),
            lifelines: lifelines.unwrap_or_default(),
            request: None,
            probing: None,
            failures: 0,
            next_try: 0,
            waiters: VecDeque::new(),
            safra: Safra::new(children.len()),
            byes: 0,
            heartbeat: Heartbeat::new(neighbours, protocol.beat, protocol.patience),
            counts: Counts::default(),
            view,
        }
    }

    /// Returns what the rank has done so far.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Returns the number of ranks that wait on their lifelines for work from here. If there are
    /// any, a [`step`](Rank::step) is due as soon as there is surplus.
    pub fn waiters(&self) -> usize {
        self.waiters.len()
    }

    /// Returns `true` if this rank knows that all work is done.
    ///
    /// ```
    /// # use locksley_policy::{Blind, rank::{Protocol, Rank}};
    /// assert!(!Rank::new(0, Protocol::default(), Blind(2), 1, 42).is_done());
    /// ```
    pub fn is_done(&self) -> bool {
        self.phase >= Phase::Ending
    }

    fn children(&self) -> std::ops::Range<usize> {
        children(self.me, self.view.count())
    }

    fn to_children<W>(&self, out: &mut Out<W>, message: impl Fn() -> Message<W>) {
        out.extend(self.children().map(|child| (child, message())));
    }
}

/// Returns the parent of a rank in the tree.
fn parent(me: usize) -> Option<usize> {
    Some(me.checked_sub(1)? / FAN)
}

/// Returns the children of a rank in the tree.
fn children(me: usize, count: usize) -> std::ops::Range<usize> {
    let child = |number| me.saturating_mul(FAN).saturating_add(number).min(count);
    child(1)..child(FAN + 1)
}
