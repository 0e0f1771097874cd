//! Ranks: how processes without a common memory balance their loads, and how they find out that all
//! work is done.
//!
//! A [`Rank`] is the part of one process in a protocol of messages: steal-half between processes,
//! with the choice of victims and amounts of this crate, [lifelines](Lifelines), Safra's detection
//! of termination, and a watch over the others' life. It has no clock, no thread and no connection:
//! it is told the time and what came, and says what is to be sent. So MPI, threads in a test and a
//! simulation of ten thousand hosts run the same code. The transport delivers what one rank sends
//! another once and in order, as MPI does; different pairs may be as much out of step as they like.
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
//! A rank says Hello with its build to its parent, which answers as soon as it has been answered
//! itself. So a rank that has an answer knows that its build is the root's. Before that it asks for
//! nothing and gives nothing; another build ends the job, on both sides.
//!
//! # Stealing
//!
//! A rank whose store is [hungry](Store::is_hungry) has one request under way at a time. The victim
//! gives the oldest half of its surplus, but keeps a floor ([`Protocol::share`]). After a failure
//! the thief waits, each time twice as long up to a limit; or it has lifelines, and falls silent
//! after `w + z` failures for z lifelines. So with lifelines an idle rank costs a bounded number of
//! messages until a rank has work for it.
//!
//! # Termination
//!
//! From Dijkstra, "Shmuel Safra's version of termination detection" (EWD998). A rank is *active* or
//! *passive*; only an active one sends `Work`, and only `Work` makes a passive one active. Each
//! rank counts `Work` messages sent minus received, its *balance* c, and turns *black* when it
//! receives one. In a wave every rank once, and only when passive, adds its balance and colour to a
//! token, and turns white.
//!
//! **Deviation from the paper.** There the token goes round a ring, which takes P messages one
//! after the other: ten seconds for ten thousand hosts and a latency of 1 ms. Here tokens are
//! summed up along the tree, in 2 log4 P steps; and a wave begins when the last has failed, not
//! when it is sent for. The paper's proof needs no ring:
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
//! U receives work, and that turns black: P3. P3 ends only when the black rank adds its token: P4,
//! which stays. (A white, passive rank that goes from U to V changes none of them.) At the end U is
//! empty: P3 is false, P4 is false if the sum is white, P2 is false if q is zero; so P1 holds, and
//! B = q = 0.
//!
//! **Liveness.** When all work is done, no rank turns black any more, so the wave after the one
//! that is under way is white; and all balances add up to zero.
//!
//! # End
//!
//! The root sends Done down the tree. Requests may still be under way, so every rank goes on
//! answering them, with Nothing; a rank that waits for no answer, and whose children have said Bye,
//! says Bye. When the root has all of them, it sends Leave. Bye is the last message of a child to
//! its parent, Leave the last of a parent to its child, and all requests were answered: so a rank
//! that [leaves](Next::Done) has received everything that was ever sent to it.
//!
//! # Failures
//!
//! Everything is fail-stop: a rank that dies takes tasks with it, which cannot be brought back. It
//! must be noticed, and end the job. Ranks that are neighbours in the tree send each other signs of
//! life; a rank that is silent for too long, or leaves a request unanswered, is [`Trouble`]. A
//! process that was itself stopped for a while accuses no other because of that time.
//!
//! ```
//! use locksley_policy::rank::{Message, Next, Protocol, Rank, Store};
//! use locksley_policy::Blind;
//!
//! /// Tasks that are done as soon as they are looked at.
//! struct Pile(Vec<u32>);
//!
//! impl Store for Pile {
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
//! let mut piles = [Pile((0..100).collect()), Pile(vec![])];
//! let (mut now, mut run, mut left) = (0, [0, 0], [false; 2]);
//! while left != [true; 2] {
//!     now += 10_000;
//!     for me in 0..2 {
//!         run[me] += usize::from(piles[me].0.pop().is_some());
//!         let mut out = Vec::new();
//!         left[me] = ranks[me].step(now, &mut piles[me], &mut out)? == Next::Done;
//!         while !out.is_empty() {
//!             let (to, message) = out.remove(0);
//!             let from = 1 - to;
//!             ranks[to].receive(now, from, message, &mut piles[to], &mut out)?;
//!         }
//!     }
//! }
//! assert_eq!(run[0] + run[1], 100);
//! assert!(run[1] > 40, "rank 1 has run about half: {run:?}");
//! # Ok::<(), locksley_policy::rank::Trouble>(())
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
pub use message::{Counts, Message, Next, Store, Token, Trouble};
pub use protocol::Protocol;

use heartbeat::Heartbeat;
use safra::Safra;
use sending::Probing;

/// How many children a rank has in the tree. Few, since the root waits for all of them; not two,
/// since each level costs a latency.
const FAN: usize = 4;

/// What is to be sent: to whom, and what.
type Out<W> = Vec<(usize, Message<W>)>;

/// A request under way.
#[derive(Clone, Copy, Debug)]
struct Request {
    victim: usize,
    since: u64,
}

/// How far a rank is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    /// Nothing has happened yet.
    Fresh,
    /// It has said Hello, and waits for the answer.
    Greeting,
    /// It has the same build as the root.
    Working,
    /// All work is done.
    Ending,
    /// It has said Bye.
    Closing,
    /// It has left.
    Left,
}

/// One rank of the protocol: the root is rank 0. See the [module](self).
///
/// What [`receive`](Rank::receive) and [`step`](Rank::step) put into `out` is to be sent, in that
/// order, also after
/// [`Trouble`].
///
/// ```
/// use locksley_policy::rank::{Counts, Protocol, Rank};
/// use locksley_policy::Blind;
///
/// let rank = Rank::new(3, Protocol::default(), Blind(8), 0xb0b, 42);
/// assert_eq!(rank.counts(), &Counts::default());
/// assert_eq!(rank.remembered(), 0);
/// ```
#[derive(Clone, Debug)]
pub struct Rank<V> {
    me: usize,
    view: V,
    protocol: Protocol,
    build: u64,
    random: Random,
    phase: Phase,
    /// Its children that have said Hello before it was answered itself.
    unanswered: Vec<usize>,
    memory: Memory,
    lines: Vec<usize>,
    request: Option<Request>,
    /// Whom it probes, if it sends.
    probing: Option<Probing>,
    /// Failed attempts since it last got work.
    failures: u32,
    /// When the next attempt may be made.
    next_try: u64,
    /// Who has left a request here, those first that have waited longest.
    remembered: VecDeque<usize>,
    safra: Safra,
    /// How many children have said Bye.
    byes: usize,
    heartbeat: Heartbeat,
    counts: Counts,
}

impl<V: View> Rank<V> {
    /// One of as many ranks as the view shows. `build` tells builds apart, and the choice of
    /// victims is a function of `seed`, the rank, and what comes.
    pub fn new(me: usize, protocol: Protocol, view: V, build: u64, seed: u64) -> Rank<V> {
        let count = view.count().max(me + 1);
        let children = children(me, count);
        let neighbours = parent(me).into_iter().chain(children.clone());
        let lines = protocol.lifelines.map(|lines| lines.of(me, count));
        Rank {
            me,
            protocol,
            build,
            random: Random::new(seed, me as u64),
            phase: Phase::Fresh,
            unanswered: Vec::new(),
            memory: Memory::default(),
            lines: lines.unwrap_or_default(),
            request: None,
            probing: None,
            failures: 0,
            next_try: 0,
            remembered: VecDeque::new(),
            safra: Safra::new(children.len()),
            byes: 0,
            heartbeat: Heartbeat::new(neighbours, protocol.beat, protocol.patience),
            counts: Counts::default(),
            view,
        }
    }

    /// What it has done so far.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// How many ranks wait on their lifelines for work from here. If there are any, a
    /// [`step`](Rank::step) is due as soon as there is surplus.
    pub fn remembered(&self) -> usize {
        self.remembered.len()
    }

    /// Returns `true` if this rank has heard that all work is done.
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

/// The parent of a rank in the tree.
fn parent(me: usize) -> Option<usize> {
    Some(me.checked_sub(1)? / FAN)
}

/// The children of a rank in the tree.
fn children(me: usize, count: usize) -> std::ops::Range<usize> {
    let child = |number| me.saturating_mul(FAN).saturating_add(number).min(count);
    child(1)..child(FAN + 1)
}
