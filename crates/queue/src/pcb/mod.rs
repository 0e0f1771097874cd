//! pcb

mod channel;
mod item;
mod matrix;
mod pool;

pub use channel::{Consumer, Producer, channel, channel_with};
pub use matrix::{NoSuchProcess, Process, matrix};
#[doc(hidden)]
pub use matrix::matrix_starting_at;

/// x
pub const GRANULARITY: usize = 64;

/// x
pub const MAX_GRANULARITY: usize = 1 << 16;
