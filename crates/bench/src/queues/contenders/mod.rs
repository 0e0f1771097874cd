//! Adapters that implement one of three small traits for every queue, so that each workload is
//! written only once.
//!
//! Items are `usize` everywhere. An adapter adds no work to the call that it forwards.

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

/// Capacity of every bounded queue: more items than any workload has in a deque at a time.
pub(crate) const CAPACITY: usize = 1024;

/// The operations of a deque's owner.
pub(crate) trait Deque: 'static {
    /// Its name in tables, bars and JSON.
    const NAME: &'static str;

    fn new() -> Self;

    /// Pushes an item. Returns `false` if the deque is full, which never happens if it can grow.
    fn push(&mut self, item: usize) -> bool;

    fn pop(&mut self) -> Option<usize>;
}

/// A deque from which thieves take single items.
pub(crate) trait Stealable: Deque {
    type Thief: Send;

    fn thief(&self) -> Self::Thief;

    /// Makes up to `count` items public, for deques in which a pushed item is private at first.
    #[inline]
    fn expose(&mut self, _count: usize) {}

    /// Steals one item. Returns `None` also after a lost race.
    fn steal(thief: &mut Self::Thief) -> Option<usize>;
}

/// A deque from which thieves can take half of the items at once.
pub(crate) trait Halvable: Stealable {
    /// Steals half of the items: may return one of them, and moves the others into `own`.
    fn steal_half(thief: &mut Self::Thief, own: &mut Self) -> Option<usize>;
}

/// A queue from a producer to a consumer.
pub(crate) trait Channel {
    /// Its name in tables, bars and JSON.
    const NAME: &'static str;
    type Producer: Send;
    type Consumer: Send;

    fn new() -> (Self::Producer, Self::Consumer);

    /// Sends an item. Returns `false` if the queue is full.
    fn produce(producer: &mut Self::Producer, item: usize) -> bool;

    fn consume(consumer: &mut Self::Consumer) -> Option<usize>;
}
