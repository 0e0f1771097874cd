//! Every runtime behind one small trait, so that a program is written once.
//!
//! An adapter adds nothing to the call it stands for: `Fork` is implemented for a newtype of
//! what the runtime passes along, by value, or for a type of size zero.

pub(crate) mod chili;
pub(crate) mod forte;
pub(crate) mod locksley;
pub(crate) mod rayon;
mod serial;

use locksley_workload::Task;

pub(crate) use self::chili::Chili;
pub(crate) use self::forte::Forte;
pub(crate) use self::locksley::{Free, TakeAny, Traced, Worker};
pub(crate) use self::rayon::Rayon;
pub(crate) use self::serial::Serial;

/// The stack of every worker: UTS T3 is 1572 levels deep, and a worker that steals while it
/// waits piles one search upon another. Where a runtime lets nobody choose, the environment says it.
pub(crate) const STACK: usize = 64 << 20;

/// A runtime with its workers.
pub(crate) trait Runtime: 'static {
    /// Its name in tables, bars and JSON.
    const NAME: &'static str;

    /// Starts so many workers.
    fn start(workers: usize) -> Self;

    /// Runs a task.
    fn run<T: Task>(&mut self, task: T) -> T::Output;
}
