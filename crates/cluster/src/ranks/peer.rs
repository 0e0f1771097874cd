//! What a rank needs of a network: messages of bytes between numbered ranks.

use std::ops::ControlFlow;
use std::time::Duration;

/// A rank's place among the others, and its way to reach them.
///
/// Messages from one rank to another arrive in the order in which they were sent, or not at all.
/// Nothing blocks: a message is handed over, and whether it has arrived is seen from answers.
pub trait Peer {
    /// The rank's number, from 0.
    fn me(&self) -> usize;

    /// How many ranks there are.
    fn count(&self) -> usize;

    /// The host on which this rank runs. Ranks of the same host are near to each other.
    fn host(&self) -> String;

    /// Calls `turn` again and again, until it breaks. What was sent is on its way by then, or this
    /// goes on a bit longer.
    ///
    /// It is this way round because a network may need the messages to stay where they are until
    /// they are gone, which it can see to while it is the caller.
    fn drive(&mut self, turn: &mut dyn FnMut(&mut dyn Link) -> ControlFlow<()>);

    /// From now on the network may take this long for what should be done at once, before it takes
    /// its own calls for stuck.
    fn be_patient(&mut self, _: Duration) {}

    /// All ranks are done, and leave. A rank that is dropped without this has failed.
    fn leave(self)
    where
        Self: Sized,
    {
    }

    /// The processor time that this rank has used so far, if the network knows better than to ask
    /// its threads.
    fn processor_time(&self) -> Option<Duration> {
        None
    }
}

/// Both directions of a rank's messages, for a while.
pub trait Link {
    /// Sends a message to another rank.
    fn send(&mut self, to: usize, message: Vec<u8>);

    /// The next message that has arrived, and who sent it.
    fn receive(&mut self) -> Option<(usize, Vec<u8>)>;

    /// Ends the whole job, as far as that can be done from here: says why, unless another rank has
    /// said it, and ends the other ranks, or leaves that to them. It need not return.
    fn give_up(&mut self, why: Option<&str>);
}
