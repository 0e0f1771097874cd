//! Unwind safety: what a program holds of a pool stays usable after a panic, so it may be used
//! inside of `catch_unwind`.
//!
//! Tasks run behind `catch_unwind` in any case. A panic leaves the runtime's own state intact:
//! poisoned locks are taken all the same, and no user code runs while a lock is held. What a task
//! borrows is checked where its closure is passed to the caller's `catch_unwind`.

use std::panic::{RefUnwindSafe, UnwindSafe};

#[cfg(all(feature = "stats", not(loom)))]
use crate::observe::stats::Observer;
use crate::pool::Pool;
use crate::pool::builder::Builder;
use crate::pool::thread_builder::ThreadBuilder;
use crate::scheduler::worker::Worker;
use crate::task::scope::Scope;
use crate::task::scope_fifo::ScopeFifo;

impl UnwindSafe for Pool {}
impl RefUnwindSafe for Pool {}
impl UnwindSafe for Builder {}
impl RefUnwindSafe for Builder {}
impl UnwindSafe for ThreadBuilder {}
impl RefUnwindSafe for ThreadBuilder {}
impl UnwindSafe for Worker {}
impl RefUnwindSafe for Worker {}
impl UnwindSafe for Scope<'_> {}
impl RefUnwindSafe for Scope<'_> {}
impl UnwindSafe for ScopeFifo<'_> {}
impl RefUnwindSafe for ScopeFifo<'_> {}
#[cfg(all(feature = "stats", not(loom)))]
impl UnwindSafe for Observer {}
#[cfg(all(feature = "stats", not(loom)))]
impl RefUnwindSafe for Observer {}

#[cfg(all(test, not(loom)))]
#[path = "../../tests/unit/pool/unwind.rs"]
mod tests;
