//! Every queue behind one of three small traits, so that a workload is written once.
//!
//! Items are `usize` everywhere. An adapter adds nothing to the call it stands for.

mod abp;
mod array_queue;
mod chase_lev;
mod crossbeam_fifo;
mod crossbeam_lifo;
mod extended;
mod injector;
mod mailbox;
mod ours;
mod pcb;
mod rtrb;
mod seg_queue;
mod semi_private;
mod split;
mod st3_fifo;
mod st3_lifo;

pub(crate) use abp::Abp;
pub(crate) use array_queue::ArrayQueue;
pub(crate) use chase_lev::ChaseLev;
pub(crate) use crossbeam_fifo::CrossbeamFifo;
pub(crate) use crossbeam_lifo::CrossbeamLifo;
pub(crate) use extended::Extended;
pub(crate) use injector::Injector;
pub(crate) use mailbox::Mailbox;
pub(crate) use pcb::Pcb;
pub(crate) use rtrb::Rtrb;
pub(crate) use seg_queue::SegQueue;
pub(crate) use semi_private::{SemiPrivate, SemiPrivatePolling};
pub(crate) use split::Split;
pub(crate) use st3_fifo::St3Fifo;
pub(crate) use st3_lifo::St3Lifo;

/// Room in every bounded queue: more than any workload has outstanding in a deque.
pub(crate) const CAPACITY: usize = 1024;

/// The owner's side of a deque.
pub(crate) trait Deque: 'static {
    /// Its name in tables, bars and JSON.
    const NAME: &'static str;

    fn new() -> Self;

    /// Pushes an item; `false` if there was no room, which never happens to a deque that grows.
    fn push(&mut self, item: usize) -> bool;

    fn pop(&mut self) -> Option<usize>;
}

/// A deque with thieves.
pub(crate) trait Stealable: Deque {
    type Thief: Send;

    fn thief(&self) -> Self::Thief;

    /// Makes up to `count` items public, if a push alone does not.
    #[inline]
    fn expose(&mut self, _count: usize) {}

    /// Takes one item. A lost race is no item.
    fn steal(thief: &mut Self::Thief) -> Option<usize>;
}

/// A deque whose thieves may take half.
pub(crate) trait Halvable: Stealable {
    /// Moves half of the items into `own`, except for the one that is returned, if any is.
    fn steal_half(thief: &mut Self::Thief, own: &mut Self) -> Option<usize>;
}

/// A queue between a producer and a consumer.
pub(crate) trait Channel {
    /// Its name in tables, bars and JSON.
    const NAME: &'static str;
    type Producer: Send;
    type Consumer: Send;

    fn new() -> (Self::Producer, Self::Consumer);

    /// Puts an item in; `false` if there was no room.
    fn produce(producer: &mut Self::Producer, item: usize) -> bool;

    fn consume(consumer: &mut Self::Consumer) -> Option<usize>;
}
