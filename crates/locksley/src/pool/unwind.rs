//! What a program holds of a pool stays usable after a panic, so it may be used inside of
//! `catch_unwind`.
//!
//! Tasks run behind `catch_unwind` in any case. A panic leaves the runtime's own state whole: locks
//! are taken whether they are poisoned or not, and no user's code runs while one is held. What a
//! task shares with others by references of its own is checked where the closure is given to the
//! caller's `catch_unwind`.

use std::panic::{RefUnwindSafe, UnwindSafe};

use crate::observe::record::Recording;
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
    [] Recording;
    #[cfg(all(feature = "stats", not(loom)))]
    [] Observer;
    ['scope] Scope<'scope>;
    ['scope] ScopeFifo<'scope>;
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::panic::catch_unwind;

    use crate::{CancelToken, Pool};

    #[test]
    fn what_a_program_holds_goes_through_catch_unwind() {
        let pool = Pool::builder().workers(2).build().unwrap();
        let token = CancelToken::new();
        let caught = catch_unwind(|| {
            pool.scope(|s| s.spawn(|_| token.cancel()));
            pool.install(|| panic!("on purpose"))
        });
        assert!(caught.is_err() && token.is_cancelled());
        let sum = pool.run(|worker| catch_unwind(|| worker.join(|_| 1, |_| 2)).ok());
        assert_eq!(sum, Some((1, 2)), "the pool goes on");
    }
}
