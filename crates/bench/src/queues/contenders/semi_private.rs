//! `locksley_queue::semi_private`: the bare deque, and with an owner that checks for requests at
//! every push.

use locksley_queue::Owner;
use locksley_queue::semi_private::{Deque, Exposure};

use super::ours::{OurDeque, Ours};

/// The deque without requests: only the owner's operations.
pub(crate) type SemiPrivate = Ours<Bare>;

/// The deque as a scheduler uses it: thieves request items, and the owner answers at its next push.
pub(crate) type SemiPrivatePolling = Ours<Polling>;

pub(crate) struct Bare;

impl OurDeque for Bare {
    const NAME: &'static str = "semi_private";
    type Deque = Deque<usize>;

    fn new() -> Self::Deque {
        Deque::new()
    }

    #[inline]
    fn expose(deque: &mut Self::Deque, count: usize) {
        for _ in 0..count {
            deque.expose(Exposure::One);
        }
    }
}

pub(crate) struct Polling;

impl OurDeque for Polling {
    const NAME: &'static str = "semi_private+poll";
    type Deque = Deque<usize>;

    fn new() -> Self::Deque {
        Deque::new()
    }

    #[inline]
    fn pushed(deque: &mut Self::Deque) {
        deque.poll(Exposure::One);
    }

    fn ask(thief: &<Self::Deque as Owner>::Thief) {
        thief.request();
    }
}
