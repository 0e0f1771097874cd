//! `locksley_queue::steal_half::extended`.

use locksley_queue::steal_half::extended;

use super::CAPACITY;
use super::ours::{OurDeque, Ours};

pub(crate) type Extended = Ours<Maker>;

pub(crate) struct Maker;

impl OurDeque for Maker {
    const NAME: &'static str = "steal_half::extended";
    type Deque = extended::Deque<usize>;

    fn new() -> Self::Deque {
        extended::Deque::with_capacity(CAPACITY)
    }
}
