//! The workloads that the queues are measured with.

pub(crate) mod busy_owner;
pub(crate) mod owner_pair;
pub(crate) mod producer_consumer;
pub(crate) mod push_all_pop_all;
pub(crate) mod steal_half;
pub(crate) mod steal_one;

use std::thread;

use super::contenders::Deque;

/// Number of items that are pushed before any is taken, in workloads that push several at once.
const BATCH: usize = 64;

/// Returns one contender for each queue; each runs the function `$turn`.
macro_rules! contenders {
    ($turn:ident; $($queue:ident),* $(,)?) => {
        vec![$($crate::harness::Contender::new(
            $crate::queues::contenders::$queue::NAME,
            $turn::<$crate::queues::contenders::$queue>,
        )),*]
    };
}
use contenders;

/// Pushes an item into a deque that has room for it, as it always has in a workload of one thread.
#[inline(always)]
fn push<D: Deque>(deque: &mut D, item: usize) {
    if !deque.push(item) {
        refused(D::NAME);
    }
}

#[cold]
#[inline(never)]
fn refused(name: &str) -> ! {
    eprintln!("error: {name} gave a wrong result: it refused an item although it had room");
    std::process::exit(crate::exit::WRONG.into());
}

/// Spins once while waiting for another thread, and yields the processor now and then, since there
/// may be fewer processors than threads.
#[derive(Default)]
struct Patience(u32);

impl Patience {
    const SPINS: u32 = 64;

    #[inline]
    fn wait(&mut self) {
        self.0 += 1;
        if self.0.is_multiple_of(Self::SPINS) {
            thread::yield_now();
        } else {
            std::hint::spin_loop();
        }
    }
}
