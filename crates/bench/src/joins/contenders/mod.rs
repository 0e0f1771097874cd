//! Every runtime behind one small trait, so that a program is written once.
//!
//! An adapter adds nothing to the call it stands for: `Fork` is implemented for a newtype of
//! what the runtime passes along, by value, or for a type of size zero.

pub(crate) mod chili;
pub(crate) mod forte;
pub(crate) mod locksley;
pub(crate) mod rayon;
mod serial;

use std::cell::{RefCell, RefMut};
use std::rc::Rc;

use locksley_workload::Task;

pub(crate) use self::chili::Chili;
pub(crate) use self::forte::Forte;
pub(crate) use self::locksley::{Free, TakeAny, Worker};
pub(crate) use self::rayon::Rayon;
pub(crate) use self::serial::Serial;

/// The stack of every worker for which a runtime lets us choose: UTS T3 is 1572 levels deep, and a
/// worker that steals while it waits piles one search upon another.
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

/// A runtime that is started when it is needed, and then kept: its workers sleep while others have
/// their turn.
pub(crate) struct Kept<R>(Rc<RefCell<Option<R>>>, usize);

impl<R: Runtime> Kept<R> {
    pub(crate) fn new(workers: usize) -> Kept<R> {
        Kept(Rc::default(), workers)
    }

    pub(crate) fn get(&self) -> RefMut<'_, R> {
        RefMut::map(self.0.borrow_mut(), |kept| {
            kept.get_or_insert_with(|| R::start(self.1))
        })
    }
}

impl<R> Clone for Kept<R> {
    fn clone(&self) -> Self {
        Kept(self.0.clone(), self.1)
    }
}
