//! The functions with which a program forks work and waits for it, and the jobs and latches behind
//! them.

pub(crate) mod affinity;
pub(crate) mod block_on;
pub(crate) mod blocking;
pub(crate) mod blocks;
pub(crate) mod broadcast;
pub(crate) mod cancel;
pub(crate) mod claim;
pub(crate) mod count_latch;
pub(crate) mod fifo;
pub(crate) mod ghosts;
pub(crate) mod job;
pub(crate) mod join;
pub(crate) mod latch;
pub(crate) mod outstanding;
pub(crate) mod packet;
pub(crate) mod panics;
pub(crate) mod scope;
pub(crate) mod scope_fifo;
pub(crate) mod spawn;
pub(crate) mod yield_now;
