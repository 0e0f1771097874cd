//! Lock-free work piles.

mod sync;

pub mod pile;
pub mod steal_half;
pub mod word;

pub use pile::{Consumer, Full, Owner, Producer, Steal, StealBatch, Thief};
pub use sync::barrier;
pub use word::Word;

#[cfg(feature = "count")]
pub use sync::counts;
