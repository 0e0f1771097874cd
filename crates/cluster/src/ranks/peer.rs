//! The network as seen by a rank: messages of bytes between numbered ranks.

use std::ops::ControlFlow;
use std::time::Duration;

/// A rank on a network.
///
/// Messages from one rank to another arrive in the order in which they were sent, or not at all. No
/// call blocks: a message is handed over, and only an answer shows that it has arrived.
pub trait Peer {
    /// Returns the rank's number, from 0.
    fn me(&self) -> usize;

    /// Returns the number of ranks.
    fn count(&self) -> usize;

    /// Returns the name of the host on which this rank runs. Ranks of the same host are near to
    /// each other.
    fn host(&self) -> String;

    /// Calls `turn` repeatedly, until it breaks. It returns when all messages have been handed to
    /// the network.
    ///
    /// The network calls the rank, and not vice versa, because it may need the messages to stay in
    /// place until they are sent, which it can ensure only around the calls.
    fn drive(&mut self, turn: &mut dyn FnMut(&mut dyn Link) -> ControlFlow<()>);

    /// Sets how long an immediate operation may take before the network considers its own calls
    /// stuck.
    fn be_patient(&mut self, _: Duration) {}

    /// Leaves the network, when all ranks are done. A rank that is dropped without this has failed.
    fn leave(self)
    where
        Self: Sized,
    {
    }

    /// Returns the processor time that this rank has used so far, if the network can tell;
    /// otherwise the caller sums up that of its threads.
    fn processor_time(&self) -> Option<Duration> {
        None
    }
}

/// The connection to the other ranks during a call of `turn`.
pub trait Link {
    /// Sends a message to another rank.
    fn send(&mut self, to: usize, message: Vec<u8>);

    /// Returns the sender and the bytes of the next message that has arrived.
    fn receive(&mut self) -> Option<(usize, Vec<u8>)>;

    /// Ends the whole job, as far as this rank can: prints `why` (`None` if another rank has
    /// printed the reason), and ends the other ranks, or leaves that to them. It need not return.
    fn give_up(&mut self, why: Option<&str>);
}
