//! crossbeam-deque's unbounded `Injector`.

use std::sync::Arc;

use super::Channel;

pub(crate) struct Injector;

impl Channel for Injector {
    const NAME: &'static str = "injector";
    type Producer = Arc<crossbeam_deque::Injector<usize>>;
    type Consumer = Arc<crossbeam_deque::Injector<usize>>;

    fn new() -> (Self::Producer, Self::Consumer) {
        let queue = Arc::new(crossbeam_deque::Injector::new());
        (queue.clone(), queue)
    }

    #[inline]
    fn produce(producer: &mut Self::Producer, item: usize) -> bool {
        producer.push(item);
        true
    }

    #[inline]
    fn consume(consumer: &mut Self::Consumer) -> Option<usize> {
        consumer.steal().success()
    }
}
