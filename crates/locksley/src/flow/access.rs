//! Accesses: what a task requests when it is forked, and what it gets when it runs.

use std::fmt;
use std::ptr::NonNull;

use super::object::{Object, Slot, Storage};
use super::queue::{AccessMode, Entry};
use super::reduce::{Cumulative, Reduce, Sink};
use super::task::{Context, LostInput};

/// The references that a task gets for its accesses while it runs.
pub trait Lend<'f, 't, Bound = &'t &'f ()> {
    /// A reference, or a tuple or vector of references.
    type Refs;
}

/// The accesses of a task: one, a tuple of up to eight, or a vector.
///
/// | requested | the task gets |
/// |---|---|
/// | [`a.read()`](Object::read) | `&T` |
/// | [`a.write()`](Object::write) | [`Write<T>`](Write) |
/// | [`a.update()`](Object::update) | `&mut T` |
/// | [`a.cumulate()`](Object::cumulate) | [`Cumulative<T, O>`](Cumulative) |
/// | [`a.write_new(value)`](Object::write_new) | `&mut T`, of a new version |
/// | `(a.read(), b.update())` | `(&T, &mut U)` |
/// | `vec![a.read(), b.read()]` | `Vec<&T>` |
///
/// No other crate implements it.
///
/// ```
/// let mut parts = vec![1, 2, 3, 4];
/// let mut sum = 0;
/// locksley::flow(|f| {
///     let sum = f.object(&mut sum);
///     let parts = f.tiles(&mut parts, 1);
///     let reads: Vec<_> = parts.iter().map(|part| part.read()).collect();
///     f.fork((reads, sum.write()), |(parts, mut sum)| sum.set(parts.iter().map(|p| p[0]).sum()));
/// });
/// assert_eq!(sum, 10);
/// ```
///
/// # Safety
///
/// Only this module implements it.
pub unsafe trait Accesses<'f>: for<'t> Lend<'f, 't> {
    #[doc(hidden)]
    type Versions;
    #[doc(hidden)]
    type Hold;
    /// Resolves the version that each access is to, one access after the other.
    #[doc(hidden)]
    fn prepare(self, storage: &Storage) -> Self::Versions;
    #[doc(hidden)]
    fn each(versions: &Self::Versions, enter: &mut impl FnMut(Entry));
    /// # Safety
    ///
    /// The task runs now.
    #[doc(hidden)]
    unsafe fn hold(versions: &Self::Versions, context: &Context<'_>) -> Self::Hold;
    /// # Safety
    ///
    /// The task runs now, until `'t` ends, and this function is called once.
    #[doc(hidden)]
    unsafe fn lend<'t>(
        versions: &Self::Versions,
        hold: &'t mut Self::Hold,
    ) -> <Self as Lend<'f, 't>>::Refs
    where
        'f: 't;
    /// # Safety
    ///
    /// The task has run, and is not marked as done yet.
    #[doc(hidden)]
    unsafe fn settle(versions: Self::Versions, hold: Self::Hold, context: &Context<'_>);
}

/// A task's reference to an object that it writes: it can set the object, but not read it.
pub struct Write<'t, T: ?Sized>(&'t mut T);

impl<T: ?Sized> fmt::Debug for Write<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Write").finish_non_exhaustive()
    }
}

impl<T> Write<'_, T> {
    /// Sets the object.
    pub fn set(&mut self, value: T) {
        *self.0 = value;
    }
}

impl<T> Write<'_, [T]> {
    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns `true` if there are no elements.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Sets each element to `value` of its index.
    pub fn fill_with(&mut self, mut value: impl FnMut(usize) -> T) {
        for (place, element) in self.0.iter_mut().enumerate() {
            *element = value(place);
        }
    }

    /// Copies a slice of the same length into the object.
    ///
    /// # Panics
    ///
    /// If the lengths differ.
    pub fn copy_from_slice(&mut self, values: &[T])
    where
        T: Copy,
    {
        self.0.copy_from_slice(values);
    }
}

/// A request to read: see [`Object::read`].
#[derive(Debug)]
#[must_use = "an access does nothing until a task is forked with it"]
pub struct Reading<'f, T: ?Sized, O>(pub(crate) Object<'f, T, O>);
/// A request to write: see [`Object::write`].
#[derive(Debug)]
#[must_use = "an access does nothing until a task is forked with it"]
pub struct Writing<'f, T: ?Sized, O>(pub(crate) Object<'f, T, O>);
/// A request to read and write: see [`Object::update`].
#[derive(Debug)]
#[must_use = "an access does nothing until a task is forked with it"]
pub struct Updating<'f, T: ?Sized, O>(pub(crate) Object<'f, T, O>);
/// A request to cumulate: see [`Object::cumulate`].
#[derive(Debug)]
#[must_use = "an access does nothing until a task is forked with it"]
pub struct Cumulating<'f, T: ?Sized, O>(pub(crate) Object<'f, T, O>);
/// A request to write a new version: see [`Object::write_new`].
#[derive(Debug)]
#[must_use = "an access does nothing until a task is forked with it"]
pub struct Renewing<'f, T, O> {
    pub(crate) object: Object<'f, T, O>,
    pub(crate) value: T,
}

/// The version of an object that an access is to.
pub struct Version<T: ?Sized, O>(NonNull<Slot<T, O>>);

impl<T: ?Sized, O> Version<T, O> {
    fn slot(&self) -> &Slot<T, O> {
        // SAFETY: slots stay valid until the frame ends, and all of its tasks are done then.
        unsafe { self.0.as_ref() }
    }

    fn entry(&self, mode: AccessMode) -> Entry {
        // The slot begins with its head, and that with the core.
        Entry::new(self.0.cast(), mode)
    }

    /// Folds all parts that were cumulated before this task into the object. Returns `true` if the
    /// object is complete then.
    ///
    /// # Safety
    ///
    /// The task runs now; if it cumulates, it does so in place.
    #[inline]
    unsafe fn fold(&self, context: &Context<'_>) -> bool {
        let core = &self.slot().head.core;
        // SAFETY: earlier tasks that cumulate are done; later ones wait, or have parts of their
        // own.
        core.parts.is_none() || unsafe { core.fold_before(context.index, &context.list.failures) }
    }
}

macro_rules! single {
    ($request:ident, $mode:ident, $refs:ty,
        $this:ident $storage:ident $prepare:expr, $data:ident $lend:expr,
     [$($sized:tt)*]) => {
        impl<'t, 'f, T: $($sized)* 'f, O> Lend<'f, 't> for $request<'f, T, O> {
            type Refs = $refs;
        }

        // SAFETY: the engine runs the task when the access, of this mode, is active, and not again.
        unsafe impl<'f, T: $($sized)* 'f, O: 'f> Accesses<'f> for $request<'f, T, O> {
            type Versions = Version<T, O>;
            type Hold = ();

            fn prepare(self, $storage: &Storage) -> Self::Versions {
                let $this = self;
                $prepare
            }

            fn each(version: &Self::Versions, enter: &mut impl FnMut(Entry)) {
                enter(version.entry(AccessMode::$mode));
            }

            unsafe fn hold(version: &Self::Versions, context: &Context<'_>) {
                // SAFETY: the caller guarantees that the task runs now.
                if !unsafe { version.fold(context) } {
                    std::panic::resume_unwind(Box::new(LostInput));
                }
            }

            unsafe fn lend<'t>(
                version: &Self::Versions,
                (): &'t mut (),
            ) -> <Self as Lend<'f, 't>>::Refs
            where
                'f: 't,
            {
                let $data = version.slot().data;
                // SAFETY: the task runs now, until `'t` ends, so its access is active, and no
                // access that conflicts with it is. The object's memory outlives `'t`.
                unsafe { $lend }
            }

            unsafe fn settle(_: Self::Versions, (): (), _: &Context<'_>) {}
        }
    };
}

single!(Reading, Read, &'t T,
    this _storage Version(this.0.version()), data &*data.as_ptr(), [?Sized +]);
single!(Writing, Exclusive, Write<'t, T>,
    this _storage Version(this.0.version()), data Write(&mut *data.as_ptr()), [?Sized +]);
single!(Updating, Exclusive, &'t mut T,
    this _storage Version(this.0.version()), data &mut *data.as_ptr(), [?Sized +]);
single!(Renewing, Exclusive, &'t mut T,
    this storage Version(storage.new_version(this.object.slot, this.value)),
    data &mut *data.as_ptr(), []);

impl<'t, 'f, T: 'f, O: Reduce<T> + 'f> Lend<'f, 't> for Cumulating<'f, T, O> {
    type Refs = Cumulative<'t, T, O>;
}

// SAFETY: the engine runs the task when every active access cumulates. Only a task that runs in
// order adds in place.
unsafe impl<'f, T: Send + 'f, O: Reduce<T> + Sync + 'f> Accesses<'f> for Cumulating<'f, T, O> {
    type Versions = Version<T, O>;
    type Hold = (Sink<T>, NonNull<O>);

    fn prepare(self, _: &Storage) -> Self::Versions {
        Version(self.0.version())
    }

    fn each(version: &Self::Versions, enter: &mut impl FnMut(Entry)) {
        enter(version.entry(AccessMode::Cumulate));
    }

    unsafe fn hold(version: &Self::Versions, context: &Context<'_>) -> Self::Hold {
        let slot = version.slot();
        if !context.in_order {
            return (Sink::Part(None), slot.operation);
        }
        // SAFETY: all tasks before it are done. Later ones that cumulate too have parts of their
        // own.
        unsafe { version.fold(context) };
        (Sink::Object(slot.data), slot.operation)
    }

    unsafe fn lend<'t>(_: &Self::Versions, hold: &'t mut Self::Hold) -> <Self as Lend<'f, 't>>::Refs
    where
        'f: 't,
    {
        Cumulative {
            sum: &mut hold.0,
            // SAFETY: the operation stays valid until the frame ends.
            operation: unsafe { hold.1.as_ref() },
        }
    }

    unsafe fn settle(version: Self::Versions, hold: Self::Hold, context: &Context<'_>) {
        if let (Sink::Part(Some(value)), operation) = hold {
            // SAFETY: slots stay valid until the frame ends, when all parts are folded. The task
            // that folds this part has seen this task done, and no other accesses the object then.
            // `T` is `Send`, `O` is `Sync`.
            unsafe {
                let slot = version.slot();
                let parts = slot.head.core.parts.expect("made with an operation");
                let index = context.index;
                parts.as_ref().leave(index, value, slot.data, operation);
            }
        }
    }
}

impl<'f, 't, A: Lend<'f, 't>> Lend<'f, 't> for Vec<A> {
    type Refs = Vec<<A as Lend<'f, 't>>::Refs>;
}

// SAFETY: as its elements.
unsafe impl<'f, A: Accesses<'f>> Accesses<'f> for Vec<A> {
    type Versions = Vec<A::Versions>;
    type Hold = Vec<A::Hold>;

    fn prepare(self, storage: &Storage) -> Self::Versions {
        self.into_iter().map(|one| one.prepare(storage)).collect()
    }

    fn each(versions: &Self::Versions, enter: &mut impl FnMut(Entry)) {
        versions.iter().for_each(|one| A::each(one, enter));
    }

    unsafe fn hold(versions: &Self::Versions, context: &Context<'_>) -> Self::Hold {
        // SAFETY: guaranteed by the caller.
        let hold = |one| unsafe { A::hold(one, context) };
        versions.iter().map(hold).collect()
    }

    unsafe fn lend<'t>(
        versions: &Self::Versions,
        hold: &'t mut Self::Hold,
    ) -> <Self as Lend<'f, 't>>::Refs
    where
        'f: 't,
    {
        let each = versions.iter().zip(hold);
        // SAFETY: guaranteed by the caller.
        each.map(|(one, hold)| unsafe { A::lend(one, hold) })
            .collect()
    }

    unsafe fn settle(versions: Self::Versions, hold: Self::Hold, context: &Context<'_>) {
        for (one, hold) in versions.into_iter().zip(hold) {
            // SAFETY: guaranteed by the caller.
            unsafe { A::settle(one, hold, context) };
        }
    }
}

macro_rules! tuple {
    ($($name:ident $hold:ident),*) => {
        impl<'f, 't, $($name: Lend<'f, 't>),*> Lend<'f, 't> for ($($name,)*) {
            type Refs = ($(<$name as Lend<'f, 't>>::Refs,)*);
        }

        #[allow(
            non_snake_case,
            unused_variables,
            unused_unsafe,
            clippy::unused_unit,
            reason = "types name values, and there may be none"
        )]
        // SAFETY: as its elements.
        unsafe impl<'f, $($name: Accesses<'f>),*> Accesses<'f> for ($($name,)*) {
            type Versions = ($($name::Versions,)*);
            type Hold = ($($name::Hold,)*);

            fn prepare(self, storage: &Storage) -> Self::Versions {
                let ($($name,)*) = self;
                ($($name.prepare(storage),)*)
            }

            fn each(($($name,)*): &Self::Versions, enter: &mut impl FnMut(Entry)) {
                $($name::each($name, enter);)*
            }

            unsafe fn hold(($($name,)*): &Self::Versions, context: &Context<'_>) -> Self::Hold {
                // SAFETY: guaranteed by the caller.
                unsafe { ($($name::hold($name, context),)*) }
            }

            unsafe fn lend<'t>(
                ($($name,)*): &Self::Versions,
                ($($hold,)*): &'t mut Self::Hold,
            ) -> <Self as Lend<'f, 't>>::Refs
            where
                'f: 't,
            {
                // SAFETY: guaranteed by the caller.
                unsafe { ($($name::lend($name, $hold),)*) }
            }

            unsafe fn settle(
                ($($name,)*): Self::Versions,
                ($($hold,)*): Self::Hold,
                context: &Context<'_>,
            ) {
                // SAFETY: guaranteed by the caller.
                unsafe { $($name::settle($name, $hold, context);)* }
            }
        }
    };
}

tuple!();
tuple!(A a);
tuple!(A a, B b);
tuple!(A a, B b, C c);
tuple!(A a, B b, C c, D d);
tuple!(A a, B b, C c, D d, E e);
tuple!(A a, B b, C c, D d, E e, F g);
tuple!(A a, B b, C c, D d, E e, F g, G h);
tuple!(A a, B b, C c, D d, E e, F g, G h, H i);
