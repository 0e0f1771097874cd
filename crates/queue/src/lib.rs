//! Lock-free work piles.

mod ring;
mod sync;

pub mod abp;
pub mod asymmetric;
pub mod chase_lev;
pub mod mailbox;
pub mod pcb;
pub mod pile;
pub mod semi_private;
pub mod steal_half;
pub mod word;

pub use pile::{Consumer, Full, Owner, Producer, Steal, StealBatch, Thief};
pub use sync::barrier;
pub use word::Word;

#[cfg(feature = "count")]
pub use sync::counts;
