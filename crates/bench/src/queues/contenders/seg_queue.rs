//! crossbeam-queue's unbounded `SegQueue`.

use std::sync::Arc;

use super::Channel;

pub(crate) struct SegQueue;

impl Channel for SegQueue {
    const NAME: &'static str = "seg_queue";
    type Producer = Arc<crossbeam_queue::SegQueue<usize>>;
    type Consumer = Arc<crossbeam_queue::SegQueue<usize>>;

    fn new() -> (Self::Producer, Self::Consumer) {
        let queue = Arc::new(crossbeam_queue::SegQueue::new());
        (queue.clone(), queue)
    }

    #[inline]
    fn produce(producer: &mut Self::Producer, item: usize) -> bool {
        producer.push(item);
        true
    }

    #[inline]
    fn consume(consumer: &mut Self::Consumer) -> Option<usize> {
        consumer.pop()
    }
}
