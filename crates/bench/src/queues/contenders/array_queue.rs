//! crossbeam-queue's bounded `ArrayQueue`.

use std::sync::Arc;

use super::{CAPACITY, Channel};

pub(crate) struct ArrayQueue;

impl Channel for ArrayQueue {
    const NAME: &'static str = "array_queue";
    type Producer = Arc<crossbeam_queue::ArrayQueue<usize>>;
    type Consumer = Arc<crossbeam_queue::ArrayQueue<usize>>;

    fn new() -> (Self::Producer, Self::Consumer) {
        let queue = Arc::new(crossbeam_queue::ArrayQueue::new(CAPACITY));
        (queue.clone(), queue)
    }

    #[inline]
    fn produce(producer: &mut Self::Producer, item: usize) -> bool {
        producer.push(item).is_ok()
    }

    #[inline]
    fn consume(consumer: &mut Self::Consumer) -> Option<usize> {
        consumer.pop()
    }
}
