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

macro_rules! unwind_safe {
    ($($(#[$attribute:meta])* [$($generics:tt)*] $type:ty;)*) => {
        $(
            $(#[$attribute])*
            impl<$($generics)*> UnwindSafe for $type {}
            $(#[$attribute])*
            impl<$($generics)*> RefUnwindSafe for $type {}
        )*
    };
}

unwind_safe! {
    [] Pool;
    [] Builder;
    [] ThreadBuilder;
    [] Worker;
    #[cfg(all(feature = "stats", not(loom)))]
    [] Observer;
    ['scope] Scope<'scope>;
    ['scope] ScopeFifo<'scope>;
}

#[cfg(all(test, not(loom)))]
#[path = "../../tests/unit/pool/unwind.rs"]
mod tests;
