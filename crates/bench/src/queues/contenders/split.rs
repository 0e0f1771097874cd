//! `locksley_queue::split`, the deque that the pool uses for forked jobs.

use locksley_queue::{Owner, split};

use super::ours::{OurDeque, Ours};

pub(crate) type Split = Ours<Maker>;

pub(crate) struct Maker;

impl OurDeque for Maker {
    const NAME: &'static str = "split";
    type Deque = split::Deque<usize>;

    fn new() -> Self::Deque {
        split::Deque::new()
    }

    #[inline]
    fn expose(deque: &mut Self::Deque, count: usize) {
        deque.expose(count);
    }

    fn ask(thief: &<Self::Deque as Owner>::Thief) {
        thief.request();
    }
}
