//! `locksley_queue::asymmetric`.

use locksley_queue::asymmetric;

use super::ours::{OurDeque, Ours};

pub(crate) type Asymmetric = Ours<Maker>;

pub(crate) struct Maker;

impl OurDeque for Maker {
    const NAME: &'static str = "asymmetric";
    type Deque = asymmetric::Deque<usize>;

    fn new() -> Self::Deque {
        asymmetric::Deque::new()
    }
}
