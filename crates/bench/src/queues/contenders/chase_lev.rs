//! `locksley_queue::chase_lev`.

use locksley_queue::chase_lev;

use super::ours::{OurDeque, Ours};

pub(crate) type ChaseLev = Ours<Maker>;

pub(crate) struct Maker;

impl OurDeque for Maker {
    const NAME: &'static str = "chase_lev";
    type Deque = chase_lev::Deque<usize>;

    fn new() -> Self::Deque {
        chase_lev::Deque::new()
    }
}
