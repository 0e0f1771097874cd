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
    sum: &'t mut Sink<T>,
    operation: &'t O,
}

impl<'t, T, O: Reduce<T>> Cumulative<'t, T, O> {
    pub(crate) fn new(sum: &'t mut Sink<T>, operation: &'t O) -> Self {
        Cumulative { sum, operation }
    }

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
pub(crate) struct Parts {
    /// Set if there are parts. A task that has access to the object has seen those before it done,
    /// so it sees what they have stored here.
    any: AtomicBool,
    /// Set if the operation has panicked, so that the object is incomplete. Written before `any` is
    /// cleared.
    broken: AtomicBool,
    list: Mutex<Vec<Part>>,
}

/// A panic of the operation: the index of the task that left the part, and the payload.
pub(crate) type Broken = (usize, Payload);

impl Parts {
    pub(crate) fn new() -> Parts {
        Parts {
            any: AtomicBool::new(false),
            broken: AtomicBool::new(false),
            list: Mutex::new(Vec::new()),
        }
    }

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
        // are folded; `settle` folds or drops all of them before the frame ends.
        let fold: Box<dyn FnOnce(bool)> = unsafe { std::mem::transmute(fold) };
        let mut list = lock(&self.list);
        list.push(Part { index, fold });
        self.any.store(true, Ordering::Release);
    }

    /// Folds the parts of all tasks whose index is less than `before` into the object. If the
    /// operation panics, drops the rest of them.
    ///
    /// # Safety
    ///
    /// Those tasks are done, and every task that accesses the object calls this first.
    #[inline]
    pub(crate) unsafe fn settle(&self, before: usize) -> Result<(), Broken> {
        if self.any.load(Ordering::Acquire) {
            self.fold(before)
        } else {
            Ok(())
        }
    }

    /// Returns `true` if the operation has panicked, so that the object is incomplete.
    pub(crate) fn is_broken(&self) -> bool {
        self.broken.load(Ordering::Relaxed)
    }

    #[cold]
    fn fold(&self, before: usize) -> Result<(), Broken> {
        // Held until the parts are folded: another reader must not see the object earlier.
        let mut list = lock(&self.list);
        list.sort_by_key(|part| part.index);
        let count = list.partition_point(|part| part.index < before);
        let mut result = Ok(());
        for part in list.drain(..count) {
            let wanted = result.is_ok();
            match catch(|| (part.fold)(wanted)) {
                Ok(()) => {}
                Err(payload) if wanted => result = Err((part.index, payload)),
                Err(payload) => discard(payload),
            }
        }
        if result.is_err() {
            self.broken.store(true, Ordering::Relaxed);
        }
        self.any.store(!list.is_empty(), Ordering::Release);
        result
    }

    /// Drops the parts that were not folded.
    pub(crate) fn abandon(&self) {
        for part in lock(&self.list).drain(..) {
            if let Err(payload) = catch(|| (part.fold)(false)) {
                discard(payload);
            }
        }
    }
}
