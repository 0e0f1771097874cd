//! st3's bounded `Worker`, FIFO.

use st3::fifo::{Stealer, Worker};

use super::{CAPACITY, Deque, Halvable, Stealable};

pub(crate) struct St3Fifo(Worker<usize>);

/// st3 steals only into a deque, so a thief of single items needs a deque of its own.
pub(crate) struct Thief {
    stealer: Stealer<usize>,
    own: Worker<usize>,
}

impl Deque for St3Fifo {
    const NAME: &'static str = "st3_fifo";

    fn new() -> Self {
        Self(Worker::new(CAPACITY))
    }

    #[inline]
    fn push(&mut self, item: usize) -> bool {
        self.0.push(item).is_ok()
    }

    #[inline]
    fn pop(&mut self) -> Option<usize> {
        self.0.pop()
    }
}

impl Stealable for St3Fifo {
    type Thief = Thief;

    fn thief(&self) -> Thief {
        Thief {
            stealer: self.0.stealer(),
            own: Worker::new(1),
        }
    }

    #[inline]
    fn steal(thief: &mut Thief) -> Option<usize> {
        let (item, _) = thief.stealer.steal_and_pop(&thief.own, |_| 1).ok()?;
        Some(item)
    }
}

impl Halvable for St3Fifo {
    #[inline]
    fn steal_half(thief: &mut Thief, own: &mut Self) -> Option<usize> {
        // After a failed steal `own` is empty, which the workload notices.
        let _ = thief.stealer.steal(&own.0, |length| length.div_ceil(2));
        None
    }
}
