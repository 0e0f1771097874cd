//! Workers that sleep, workers that are blocked, and the spares that take their places. The
//! protocol is in `README.md`.

pub(crate) mod counts;
pub(crate) mod linger;
#[cfg(all(test, not(loom)))]
#[path = "../../../tests/unit/scheduler/idle/model/mod.rs"]
mod model;
pub(crate) mod shared_barrier;
pub(crate) mod sleep;
pub(crate) mod tiny_work;
pub(crate) mod yield_backoff;
