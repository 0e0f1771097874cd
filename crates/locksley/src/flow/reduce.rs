//! Cumulative writes: values that many tasks add to one object.
//!
//! Tasks that cumulate into the same object may run at the same time. A task that runs in order,
//! when everything before it is done, adds to the object in place. Any other one adds into a *part*
//! of its own, which it leaves with the object; the task that accesses the object next, in another
//! mode or in place, folds the parts into it first, in the order of the program. So the values are
//! combined in the order of the program, left to right, and only their grouping depends on the
//! schedule: the operation must be associative, and need not be commutative.
//!
//! If the operation panics while a part is folded, that counts as a panic of the task that left the
//! part, whichever task folds it.

use std::ptr::NonNull;

use crate::sync::{AtomicBool, Mutex, Ordering, lock};
use crate::task::job::{Payload, catch, discard};

/// An associative operation by which values are cumulated.
///
/// `combine(combine(a, b), c)` must be equivalent to `combine(a, combine(b, c))`; the order of the
/// values is that of the program. Floating-point addition is only approximately associative: the
/// last bits of its result may depend on the schedule. An operation must not wait for tasks.
///
/// ```
/// use locksley::flow::{Reduce, flow};
///
/// /// The largest value, and who had it: the first of them, if there are several.
/// struct Best;
/// impl Reduce<(u32, &'static str)> for Best {
///     fn combine(&self, into: &mut (u32, &'static str), value: (u32, &'static str)) {
///         if value.0 > into.0 {
///             *into = value;
///         }
///     }
/// }
///
/// let mut best = (0, "none");
/// flow(|f| {
///     let best = f.cumulative(&mut best, Best);
///     for (score, name) in [(3, "Ann"), (7, "Bob"), (7, "Cid")] {
///         f.fork(best.cumulate(), move |mut best| best.add((score, name)));
///     }
/// });
/// assert_eq!(best, (7, "Bob"));
/// ```
pub trait Reduce<T> {
    /// Combines `into`, on the left, with `value`, on the right, and stores the result in `into`.
    fn combine(&self, into: &mut T, value: T);
}

impl<T, F: Fn(&mut T, T)> Reduce<T> for F {
    fn combine(&self, into: &mut T, value: T) {
        self(into, value);
    }
}

/// Adds values up. See [`Reduce`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Sum;

impl<T: std::ops::AddAssign> Reduce<T> for Sum {
    fn combine(&self, into: &mut T, value: T) {
        *into += value;
    }
}

/// A task's reference to an object that it adds values to. It cannot read the object.
#[derive(Debug)]
pub struct Cumulative<'t, T, O> {
    pub(super) sum: &'t mut Sink<T>,
    pub(super) operation: &'t O,
}

impl<T, O: Reduce<T>> Cumulative<'_, T, O> {
    /// Adds a value, after those that this task has added before.
    pub fn add(&mut self, value: T) {
        match &mut *self.sum {
            // SAFETY: the task that `Sink::Object` was made for has exclusive access to the object.
            Sink::Object(object) => self.operation.combine(unsafe { object.as_mut() }, value),
            Sink::Part(Some(part)) => self.operation.combine(part, value),
            Sink::Part(empty) => *empty = Some(value),
        }
    }
}

// SAFETY: a sink stands for `&mut T` or a `T`.
unsafe impl<T: Send> Send for Sink<T> {}

/// Destination of the values of one task.
#[derive(Debug)]
pub enum Sink<T> {
    /// The object itself: the task runs in order.
    Object(NonNull<T>),
    /// A part; `None` before the first value.
    Part(Option<T>),
}

/// The part of one task: the task's index, and a closure that folds the part into the object
/// (`true`) or drops it (`false`).
struct Part {
    index: usize,
    fold: Box<dyn FnOnce(bool)>,
}

/// The parts of one object.
#[derive(Default)]
pub(crate) struct Parts {
    /// Set if there are parts. A task that has access to the object has seen those before it done,
    /// so it sees what they have stored here.
    any: AtomicBool,
    list: Mutex<Vec<Part>>,
}

impl Parts {
    /// Leaves a part.
    ///
    /// # Safety
    ///
    /// Object and operation stay valid until the parts are folded, and no other thread uses the
    /// object then; value and operation may be used by the thread that folds.
    pub(crate) unsafe fn leave<T, O: Reduce<T>>(
        &self,
        index: usize,
        value: T,
        object: NonNull<T>,
        operation: NonNull<O>,
    ) {
        let fold: Box<dyn FnOnce(bool) + '_> = Box::new(move |wanted| {
            if wanted {
                // SAFETY: guaranteed by the caller.
                unsafe { operation.as_ref().combine(&mut *object.as_ptr(), value) };
            }
        });
        // SAFETY: the caller guarantees that what the closure borrows stays valid until the parts
        // are folded; `fold_before` folds or drops all of them before the frame ends.
        let fold: Box<dyn FnOnce(bool)> = unsafe { std::mem::transmute(fold) };
        let mut list = lock(&self.list);
        list.push(Part { index, fold });
        self.any.store(true, Ordering::Release);
    }

    /// Folds the parts of all tasks whose index is less than `before` into the object. If the
    /// operation panics, calls `failed` with the index of the task that left the part and the
    /// payload, and drops the rest of them.
    ///
    /// # Safety
    ///
    /// As [`Core::fold_before`](super::queue::Core::fold_before).
    #[inline]
    pub(crate) unsafe fn fold_before(&self, before: usize, failed: impl Fn(usize, Payload)) {
        if self.any.load(Ordering::Acquire) {
            self.fold(before, &failed);
        }
    }

    #[cold]
    fn fold(&self, before: usize, failed: &dyn Fn(usize, Payload)) {
        // Held until the parts are folded: another reader must not see the object earlier.
        let mut list = lock(&self.list);
        list.sort_by_key(|part| part.index);
        let count = list.partition_point(|part| part.index < before);
        let mut wanted = true;
        for part in list.drain(..count) {
            match catch(|| (part.fold)(wanted)) {
                Ok(()) => {}
                Err(payload) if wanted => {
                    wanted = false;
                    failed(part.index, payload);
                }
                Err(payload) => discard(payload),
            }
        }
        // Last, so that a reader that finds no parts knows whether the operation has panicked.
        self.any.store(!list.is_empty(), Ordering::Release);
    }
}
