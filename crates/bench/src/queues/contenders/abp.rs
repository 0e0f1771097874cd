//! `locksley_queue::abp`.

use locksley_queue::abp;

use super::CAPACITY;
use super::ours::{OurDeque, Ours};

pub(crate) type Abp = Ours<Maker>;

pub(crate) struct Maker;

impl OurDeque for Maker {
    const NAME: &'static str = "abp";
    type Deque = abp::Deque<usize>;

    fn new() -> Self::Deque {
        abp::Deque::with_capacity(CAPACITY)
    }
}
