//! `locksley_queue::pcb`.

use locksley_queue::pcb;

use super::ours::{OurChannel, OursChannel};

pub(crate) type Pcb = OursChannel<Maker>;

pub(crate) struct Maker;

impl OurChannel for Maker {
    const NAME: &'static str = "pcb";
    type Producer = pcb::Producer<usize>;
    type Consumer = pcb::Consumer<usize>;

    fn new() -> (Self::Producer, Self::Consumer) {
        pcb::channel()
    }
}
