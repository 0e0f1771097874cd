//! `locksley_queue::mailbox`.

use locksley_queue::mailbox;

use super::CAPACITY;
use super::ours::{OurChannel, OursChannel};

pub(crate) type Mailbox = OursChannel<Maker>;

pub(crate) struct Maker;

impl OurChannel for Maker {
    const NAME: &'static str = "mailbox";
    type Producer = mailbox::Sender<usize>;
    type Consumer = mailbox::Mailbox<usize>;

    fn new() -> (Self::Producer, Self::Consumer) {
        mailbox::bounded(CAPACITY)
    }
}
