//! Adapters for our own queues, all of which implement the traits of `locksley_queue::traits`.

use locksley_queue::{Consumer, Owner, Producer, Steal, StealBatch, Thief};

use super::{Channel, Deque, Halvable, Stealable};

/// Creates one of our deques.
pub(crate) trait OurDeque: 'static {
    const NAME: &'static str;
    type Deque: Owner<Item = usize, Thief: Send>;

    fn new() -> Self::Deque;

    /// Called by the owner after every push.
    #[inline]
    fn pushed(_deque: &mut Self::Deque) {}

    /// Makes items public, for deques in which a pushed item is private at first.
    #[inline]
    fn expose(_deque: &mut Self::Deque, _count: usize) {}

    /// Called by a thief that has found only private items.
    fn ask(_thief: &<Self::Deque as Owner>::Thief) {}
}

/// One of our deques, as a contender.
pub(crate) struct Ours<Q: OurDeque>(Q::Deque);

impl<Q: OurDeque> Deque for Ours<Q> {
    const NAME: &'static str = Q::NAME;

    fn new() -> Self {
        Self(Q::new())
    }

    #[inline]
    fn push(&mut self, item: usize) -> bool {
        let pushed = self.0.push(item).is_ok();
        Q::pushed(&mut self.0);
        pushed
    }

    #[inline]
    fn pop(&mut self) -> Option<usize> {
        self.0.pop()
    }
}

impl<Q: OurDeque> Stealable for Ours<Q> {
    type Thief = <Q::Deque as Owner>::Thief;

    fn thief(&self) -> Self::Thief {
        self.0.thief()
    }

    #[inline]
    fn steal(thief: &mut Self::Thief) -> Option<usize> {
        match thief.steal() {
            Steal::Success(item) => Some(item),
            Steal::Private => {
                Q::ask(thief);
                None
            }
            Steal::Empty | Steal::Retry => None,
        }
    }

    #[inline]
    fn expose(&mut self, count: usize) {
        Q::expose(&mut self.0, count);
    }
}

impl<Q: OurDeque> Halvable for Ours<Q>
where
    <Q::Deque as Owner>::Thief: StealBatch<Deque = Q::Deque>,
{
    #[inline]
    fn steal_half(thief: &mut Self::Thief, own: &mut Self) -> Option<usize> {
        thief.steal_half(&mut own.0).success()
    }
}

/// Creates one of our channels.
pub(crate) trait OurChannel {
    const NAME: &'static str;
    type Producer: Producer<Item = usize> + Send;
    type Consumer: Consumer<Item = usize> + Send;

    fn new() -> (Self::Producer, Self::Consumer);
}

/// One of our channels, as a contender.
pub(crate) struct OursChannel<Q>(Q);

impl<Q: OurChannel> Channel for OursChannel<Q> {
    const NAME: &'static str = Q::NAME;
    type Producer = Q::Producer;
    type Consumer = Q::Consumer;

    fn new() -> (Self::Producer, Self::Consumer) {
        Q::new()
    }

    #[inline]
    fn produce(producer: &mut Self::Producer, item: usize) -> bool {
        producer.produce(item).is_ok()
    }

    #[inline]
    fn consume(consumer: &mut Self::Consumer) -> Option<usize> {
        consumer.consume()
    }
}
