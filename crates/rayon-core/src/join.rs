//! Fork and join.

use std::marker::PhantomData;

use crate::environment;
use crate::global::{global, with_worker};

/// Context of a closure that runs in [`join_context`].
#[derive(Debug)]
pub struct FnContext {
    migrated: bool,
    /// Makes the type `!Send`: the context is about the current thread.
    stays: PhantomData<*mut ()>,
}

impl FnContext {
    #[inline]
    fn new(context: locksley::FnContext) -> FnContext {
        FnContext {
            // Iterators that use it split differently from run to run.
            migrated: context.migrated() && environment::reproducible().is_none(),
            stays: PhantomData,
        }
    }

    /// Returns `true` if the closure runs on another thread than the one that called
    /// [`join_context`]. Always `false` if `LOCKSLEY_REPRODUCIBLE` is set.
    ///
    /// ```
    /// let (a, b) = rayon_core::join_context(|c| c.migrated(), |c| c.migrated());
    /// assert!(a && b, "this thread is outside of the pool");
    /// ```
    #[inline]
    pub fn migrated(&self) -> bool {
        self.migrated
    }
}

/// Runs two closures, if possible in parallel, and returns both results.
///
/// The first closure runs on this thread. Another thread may steal the second one meanwhile;
/// otherwise this thread runs it, too. Outside of any pool, both run in the global one. If one
/// panics, `join` panics when both are done; if both do, it resumes the panic of the first.
///
/// ```
/// let (a, b) = rayon_core::join(|| 1 + 1, || "two");
/// assert_eq!((a, b), (2, "two"));
/// ```
#[inline]
pub fn join<A, B, RA, RB>(oper_a: A, oper_b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    with_worker(|worker| match worker {
        Some(worker) => worker.join(|_| oper_a(), |_| oper_b()),
        None => global().join(oper_a, oper_b),
    })
}

/// Like [`join`], but its closures can tell whether they have moved to another thread.
///
/// ```
/// let (a, b) = rayon_core::join_context(|_| 1, |context| if context.migrated() { 2 } else { 3 });
/// assert_eq!((a, b), (1, 2), "a call from outside moves both to a thread of the pool");
/// ```
#[inline]
pub fn join_context<A, B, RA, RB>(oper_a: A, oper_b: B) -> (RA, RB)
where
    A: FnOnce(FnContext) -> RA + Send,
    B: FnOnce(FnContext) -> RB + Send,
    RA: Send,
    RB: Send,
{
    let a = |context| oper_a(FnContext::new(context));
    let b = |context| oper_b(FnContext::new(context));
    with_worker(|worker| match worker {
        Some(worker) => worker.join_context(a, b),
        None => global().inner().join_context(a, b),
    })
}
