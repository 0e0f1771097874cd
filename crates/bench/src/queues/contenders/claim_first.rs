//! `locksley_queue::steal_half::claim_first`.

use locksley_queue::steal_half::claim_first;

use super::CAPACITY;
use super::ours::{OurDeque, Ours};

pub(crate) type ClaimFirst = Ours<Maker>;

pub(crate) struct Maker;

impl OurDeque for Maker {
    const NAME: &'static str = "steal_half::claim_first";
    type Deque = claim_first::Deque<usize>;

    fn new() -> Self::Deque {
        claim_first::Deque::with_capacity(CAPACITY)
    }
}
