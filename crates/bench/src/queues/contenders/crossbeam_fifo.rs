//! crossbeam-deque's `Worker`, FIFO.

use crossbeam_deque::{Stealer, Worker};

use super::{Deque, Halvable, Stealable};

pub(crate) struct CrossbeamFifo(Worker<usize>);

impl Deque for CrossbeamFifo {
    const NAME: &'static str = "crossbeam_fifo";

    fn new() -> Self {
        Self(Worker::new_fifo())
    }

    #[inline]
    fn push(&mut self, item: usize) -> bool {
        self.0.push(item);
        true
    }

    #[inline]
    fn pop(&mut self) -> Option<usize> {
        self.0.pop()
    }
}

impl Stealable for CrossbeamFifo {
    type Thief = Stealer<usize>;

    fn thief(&self) -> Stealer<usize> {
        self.0.stealer()
    }

    #[inline]
    fn steal(thief: &mut Stealer<usize>) -> Option<usize> {
        thief.steal().success()
    }
}

impl Halvable for CrossbeamFifo {
    #[inline]
    fn steal_half(thief: &mut Stealer<usize>, own: &mut Self) -> Option<usize> {
        // After a failed steal `own` is empty, which the workload notices.
        let _ = thief.steal_batch(&own.0);
        None
    }
}
