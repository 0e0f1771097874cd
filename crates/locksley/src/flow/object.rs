//! Objects: the data that tasks share, and the modes in which they can access it.

use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::mem;
use std::ptr::{self, NonNull};

use super::access::{Cumulating, Reading, Renewing, Updating, Writing};
use super::arena::Arena;
use super::failure::Failures;
use super::queue::Core;
use super::reduce::{Parts, Reduce};
use crate::task::job::{Payload, catch, discard};

/// A handle to data that the tasks of a flow share. Made by [`Flow::object`](super::Flow::object)
/// and similar methods.
///
/// The handle is `Copy`. Only tasks that were forked with an access see the data, in the mode of
/// that access. `O` is the operation of objects that can be [cumulated](Object::cumulate) into.
///
/// The handle is invariant in its type: a value with a shorter lifetime cannot be stored through
/// it.
pub struct Object<'f, T: ?Sized, O = ()> {
    pub(crate) slot: NonNull<Slot<T, O>>,
    /// Makes the handle invariant in `'f`: it belongs to one flow. The cell in the slot makes it
    /// invariant in `T` and `O`.
    brand: PhantomData<Cell<&'f ()>>,
}

impl<T: ?Sized, O> Clone for Object<'_, T, O> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: ?Sized, O> Copy for Object<'_, T, O> {}

impl<T: ?Sized, O> fmt::Debug for Object<'_, T, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Object").finish_non_exhaustive()
    }
}

impl<'f, T: ?Sized, O> Object<'f, T, O> {
    pub(crate) fn new(slot: NonNull<Slot<T, O>>) -> Self {
        Object {
            slot,
            brand: PhantomData,
        }
    }

    /// Returns the newest version, to which accesses that are prepared next refer.
    pub(crate) fn version(self) -> NonNull<Slot<T, O>> {
        // SAFETY: an object's slot stays valid until its frame ends, and `'f` ends then.
        let slot = unsafe { self.slot.as_ref() };
        slot.newest.get().unwrap_or(self.slot)
    }

    /// Requests `&T`. Several reads may run at the same time.
    pub fn read(self) -> Reading<'f, T, O>
    where
        T: Sync,
    {
        Reading(self)
    }

    /// Requests a [`Write`](super::Write): the task sets the object, and does not see its previous
    /// value.
    pub fn write(self) -> Writing<'f, T, O> {
        Writing(self)
    }

    /// Requests `&mut T`, to read and to write.
    pub fn update(self) -> Updating<'f, T, O> {
        Updating(self)
    }

    /// Requests a [`Cumulative`](super::Cumulative), to add values at the same time as other tasks.
    /// The object was made with [`Flow::cumulative`](super::Flow::cumulative), which sets the
    /// operation that combines them.
    pub fn cumulate(self) -> Cumulating<'f, T, O>
    where
        T: Sized,
        O: Reduce<T> + Sync,
    {
        Cumulating(self)
    }

    /// Requests `&mut T` of a new *version* of the object, which starts as `value`. Tasks forked
    /// earlier keep the version that they were forked with, so the new task waits for none of them;
    /// tasks forked later see the new version. When the flow ends, the object has the value of its
    /// last version.
    ///
    /// All versions take memory until the flow or task that made the object ends.
    ///
    /// ```
    /// let mut buffer = vec![1, 2, 3];
    /// let (mut first, mut second) = (0, 0);
    /// locksley::flow(|f| {
    ///     let buffer = f.object(&mut buffer);
    ///     let (first, second) = (f.object(&mut first), f.object(&mut second));
    ///     f.fork((buffer.read(), first.write()), |(b, mut sum)| sum.set(b.iter().sum()));
    ///     // Need not wait for the sum of the old buffer.
    ///     f.fork(buffer.write_new(vec![0; 3]), |b| b.fill(7));
    ///     f.fork((buffer.read(), second.write()), |(b, mut sum)| sum.set(b.iter().sum()));
    /// });
    /// assert_eq!((first, second, buffer), (6, 21, vec![7, 7, 7]));
    /// ```
    ///
    /// A task may read the old version and write the new one.
    pub fn write_new(self, value: T) -> Renewing<'f, T, O>
    where
        T: Sized,
    {
        Renewing {
            object: self,
            value,
        }
    }
}

/// A function on a slot, instantiated for the slot's type.
type Step = unsafe fn(NonNull<Head>);

/// The header of every slot.
#[repr(C)]
pub(crate) struct Head {
    pub(crate) core: Core,
    /// The slot that was made before this one.
    before: Option<NonNull<Head>>,
    /// Drops the contents of the slot.
    drop: Step,
    /// Moves the last version into the object's own memory, if there are versions.
    restore: Cell<Option<Step>>,
}

/// A version of an object.
#[repr(C)]
pub(crate) struct Slot<T: ?Sized, O> {
    pub(crate) head: Head,
    pub(crate) data: NonNull<T>,
    /// Set if the frame owns `data`, and drops it when it ends.
    owned: bool,
    /// The newest version, if this is the first one and there are others. Only the frame's owner
    /// touches it.
    newest: Cell<Option<NonNull<Slot<T, O>>>>,
    pub(crate) operation: NonNull<O>,
    /// Set if this version drops `operation`.
    operates: bool,
}

/// The objects that a frame has made, and their memory.
#[derive(Default)]
pub struct Storage {
    arena: Arena,
    newest: Cell<Option<NonNull<Head>>>,
    /// Set if an object has to be folded, restored or dropped at the end.
    busy: Cell<bool>,
}

impl Storage {
    /// Returns the arena of the objects, which is kept until the frame ends.
    pub(crate) fn arena(&self) -> &Arena {
        &self.arena
    }

    /// Makes an object of borrowed data.
    pub(crate) fn borrow<T: ?Sized, O>(
        &self,
        data: NonNull<T>,
        operation: Option<O>,
    ) -> NonNull<Slot<T, O>> {
        let operation = operation.map(|operation| self.arena.put(operation));
        self.add(data, false, operation, operation.is_some())
    }

    /// Makes an object that the frame owns.
    #[inline]
    pub(crate) fn own<T, O>(&self, value: T, operation: Option<O>) -> NonNull<Slot<T, O>> {
        let operation = operation.map(|operation| self.arena.put(operation));
        self.add(self.arena.put(value), true, operation, operation.is_some())
    }

    /// Makes a new version of an object.
    pub(crate) fn new_version<T, O>(
        &self,
        first: NonNull<Slot<T, O>>,
        value: T,
    ) -> NonNull<Slot<T, O>> {
        // SAFETY: an object's slot stays valid until its frame ends.
        let slot = unsafe { first.as_ref() };
        let operation = slot.head.core.parts.map(|_| slot.operation);
        let new = self.add(self.arena.put(value), true, operation, false);
        slot.newest.set(Some(new));
        slot.head.restore.set(Some(Slot::<T, O>::restore));
        self.busy.set(true);
        new
    }

    #[inline]
    fn add<T: ?Sized, O>(
        &self,
        data: NonNull<T>,
        owned: bool,
        operation: Option<NonNull<O>>,
        operates: bool,
    ) -> NonNull<Slot<T, O>> {
        let parts = operation.map(|_| self.arena.put(Parts::default()));
        if parts.is_some() || owned && mem::needs_drop::<T>() {
            self.busy.set(true);
        }
        let slot = self.arena.put(Slot {
            head: Head {
                core: Core::new(parts),
                before: self.newest.get(),
                drop: Slot::<T, O>::drop,
                restore: Cell::new(None),
            },
            data,
            owned,
            newest: Cell::new(None),
            operation: operation.unwrap_or(NonNull::dangling()),
            operates,
        });
        self.newest.set(Some(slot.cast()));
        slot
    }

    /// Folds, restores and drops the objects. Returns the first panic of a destructor.
    ///
    /// # Safety
    ///
    /// All tasks are done, and the objects are not used again.
    pub(crate) unsafe fn end(&self, failures: &Failures) -> Option<Payload> {
        if !self.busy.get() {
            return None;
        }
        let mut panic = None;
        let mut attempt = |step: &dyn Fn(NonNull<Head>)| {
            let mut next = self.newest.get();
            while let Some(head) = next {
                // SAFETY: slots stay valid until the arena is cleared.
                next = unsafe { head.as_ref() }.before;
                if let Err(payload) = catch(|| step(head)) {
                    match panic {
                        None => panic = Some(payload),
                        Some(_) => discard(payload),
                    }
                }
            }
        };
        attempt(&|head| {
            // SAFETY: all tasks are done, so no references to the objects are left.
            unsafe { head.as_ref().core.fold_before(usize::MAX, failures) };
        });
        attempt(&|head| {
            // SAFETY: as above; the function was instantiated for this slot's type.
            unsafe {
                if let Some(restore) = head.as_ref().restore.get() {
                    restore(head);
                }
            }
        });
        // SAFETY: as above, and the slot is not used afterwards.
        attempt(&|head| unsafe { (head.as_ref().drop)(head) });
        self.newest.set(None);
        panic
    }
}

impl<T: ?Sized, O> Slot<T, O> {
    /// # Safety
    ///
    /// The slot is of this type, all tasks are done, and this function is called once.
    unsafe fn drop(head: NonNull<Head>) {
        let slot = head.cast::<Slot<T, O>>();
        // SAFETY: guaranteed by the caller.
        unsafe {
            let slot = slot.as_ref();
            if let Some(parts) = slot.head.core.parts {
                ptr::drop_in_place(parts.as_ptr());
            }
            // A panic here leaves the rest undropped, which only leaks.
            if slot.operates {
                ptr::drop_in_place(slot.operation.as_ptr());
            }
            if slot.owned {
                ptr::drop_in_place(slot.data.as_ptr());
            }
        }
    }
}

impl<T, O> Slot<T, O> {
    /// # Safety
    ///
    /// The slot is of this type, and all tasks are done.
    unsafe fn restore(head: NonNull<Head>) {
        // SAFETY: guaranteed by the caller. Each version has memory of its own.
        unsafe {
            let slot = head.cast::<Slot<T, O>>().as_ref();
            if let Some(newest) = slot.newest.get() {
                ptr::swap(slot.data.as_ptr(), newest.as_ref().data.as_ptr());
            }
        }
    }
}
