//! rtrb's bounded ring.

use super::{CAPACITY, Channel};

pub(crate) struct Rtrb;

impl Channel for Rtrb {
    const NAME: &'static str = "rtrb";
    type Producer = rtrb::Producer<usize>;
    type Consumer = rtrb::Consumer<usize>;

    fn new() -> (Self::Producer, Self::Consumer) {
        rtrb::RingBuffer::new(CAPACITY)
    }

    #[inline]
    fn produce(producer: &mut Self::Producer, item: usize) -> bool {
        producer.push(item).is_ok()
    }

    #[inline]
    fn consume(consumer: &mut Self::Consumer) -> Option<usize> {
        consumer.pop().ok()
    }
}
