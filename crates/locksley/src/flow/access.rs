//! Accesses: what a task requests when it is forked, and what it gets when it runs.

use std::fmt;
use std::ptr::NonNull;

use super::object::{Object, Slot, Storage};
use super::queue::{Core, Mode};
use super::reduce::{Cumulative, Parts, Reduce, Sink};
use super::task::{Bereft, Context};

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
    type Raw;
    #[doc(hidden)]
    type Hold;
    /// Resolves the version that each access is to, one access after the other.
    #[doc(hidden)]
    fn prepare(self, storage: &Store) -> Self::Raw;
    #[doc(hidden)]
    fn count(raw: &Self::Raw) -> usize;
    #[doc(hidden)]
    fn each(raw: &Self::Raw, tell: &mut impl FnMut(Part));
    /// # Safety
    ///
    /// The task runs now.
    #[doc(hidden)]
    unsafe fn hold(raw: &Self::Raw, running: &Running<'_, '_>) -> Self::Hold;
    /// # Safety
    ///
    /// The task runs now, until `'t` ends, and this function is called once.
    #[doc(hidden)]
    unsafe fn lend<'t>(raw: &Self::Raw, hold: &'t mut Self::Hold) -> <Self as Lend<'f, 't>>::Refs
    where
        'f: 't;
    /// # Safety
    ///
    /// The task has run, and is not marked as done yet.
    #[doc(hidden)]
    unsafe fn settle(raw: Self::Raw, hold: Self::Hold, running: &Running<'_, '_>);
}

/// The objects of a frame.
pub struct Store(pub(crate) Storage);

/// The part of an access that the engine needs.
pub struct Part {
    pub(crate) core: NonNull<Core>,
    pub(crate) mode: Mode,
}

/// A task that runs.
pub struct Running<'a, 'b>(pub(crate) &'a Context<'b>);

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
pub struct Place<T: ?Sized, O>(NonNull<Slot<T, O>>);

impl<T: ?Sized, O> Place<T, O> {
    fn slot(&self) -> &Slot<T, O> {
        // SAFETY: slots stay valid until the frame ends, and all of its tasks are done then.
        unsafe { self.0.as_ref() }
    }
}

fn part<T: ?Sized, O>(slot: &Place<T, O>, mode: Mode) -> Part {
    // The slot begins with its head, and that with the core.
    Part {
        core: slot.0.cast(),
        mode,
    }
}

/// Folds all parts that were cumulated before this task into the object. Returns `true` if the
/// object is complete then.
///
/// # Safety
///
/// The task runs now; if it cumulates, it does so in place.
#[inline]
unsafe fn fold<T: ?Sized, O>(slot: &Place<T, O>, running: &Running<'_, '_>) -> bool {
    let core = &slot.slot().head.core;
    match core.parts {
        None => true,
        // SAFETY: parts stay valid as long as slots; the rest is guaranteed by the caller.
        Some(parts) => unsafe { fold_parts(core, parts.as_ref(), running) },
    }
}

/// [`fold`] for an object that can be cumulated into.
///
/// # Safety
///
/// As `fold`.
#[inline(never)]
unsafe fn fold_parts(core: &Core, parts: &Parts, running: &Running<'_, '_>) -> bool {
    // SAFETY: earlier tasks that cumulate are done; later ones wait, or have parts of their own.
    if let Err((index, payload)) = unsafe { parts.settle(running.0.index) } {
        core.fail();
        running.0.list.failures.note_panic(index, payload);
    }
    !parts.is_broken()
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
            type Raw = Place<T, O>;
            type Hold = ();

            fn prepare(self, $storage: &Store) -> Self::Raw {
                let $this = self;
                $prepare
            }

            fn count(_: &Self::Raw) -> usize {
                1
            }

            fn each(raw: &Self::Raw, tell: &mut impl FnMut(Part)) {
                tell(part(raw, Mode::$mode));
            }

            unsafe fn hold(raw: &Self::Raw, running: &Running<'_, '_>) {
                // SAFETY: the caller guarantees that the task runs now.
                if !unsafe { fold(raw, running) } {
                    std::panic::resume_unwind(Box::new(Bereft));
                }
            }

            unsafe fn lend<'t>(raw: &Self::Raw, _: &'t mut ()) -> <Self as Lend<'f, 't>>::Refs
            where
                'f: 't,
            {
                let $data = raw.slot().data;
                // SAFETY: the task runs now, until `'t` ends, so its access is active, and no
                // access that conflicts with it is. The object's memory outlives `'t`.
                unsafe { $lend }
            }

            unsafe fn settle(_: Self::Raw, (): (), _: &Running<'_, '_>) {}
        }
    };
}

single!(Reading, Read, &'t T,
    this _storage Place(this.0.version()), data &*data.as_ptr(), [?Sized +]);
single!(Writing, Alone, Write<'t, T>,
    this _storage Place(this.0.version()), data Write(&mut *data.as_ptr()), [?Sized +]);
single!(Updating, Alone, &'t mut T,
    this _storage Place(this.0.version()), data &mut *data.as_ptr(), [?Sized +]);
single!(Renewing, Alone, &'t mut T,
    this storage Place(storage.0.renew(this.object.slot, this.value)),
    data &mut *data.as_ptr(), []);

impl<'t, 'f, T: 'f, O: Reduce<T> + 'f> Lend<'f, 't> for Cumulating<'f, T, O> {
    type Refs = Cumulative<'t, T, O>;
}

// SAFETY: the engine runs the task when every active access cumulates. Only a task that runs in
// order adds in place.
unsafe impl<'f, T: Send + 'f, O: Reduce<T> + Sync + 'f> Accesses<'f> for Cumulating<'f, T, O> {
    type Raw = Place<T, O>;
    type Hold = (Sink<T>, NonNull<O>);

    fn prepare(self, _: &Store) -> Self::Raw {
        Place(self.0.version())
    }

    fn count(_: &Self::Raw) -> usize {
        1
    }

    fn each(raw: &Self::Raw, tell: &mut impl FnMut(Part)) {
        tell(part(raw, Mode::Cumulate));
    }

    unsafe fn hold(raw: &Self::Raw, running: &Running<'_, '_>) -> Self::Hold {
        let slot = raw.slot();
        if !running.0.in_order {
            return (Sink::Part(None), slot.operation);
        }
        // SAFETY: all tasks before it are done. Later ones that cumulate too have parts of their
        // own.
        unsafe { fold(raw, running) };
        (Sink::Object(slot.data), slot.operation)
    }

    unsafe fn lend<'t>(_: &Self::Raw, hold: &'t mut Self::Hold) -> <Self as Lend<'f, 't>>::Refs
    where
        'f: 't,
    {
        // SAFETY: the operation stays valid until the frame ends.
        Cumulative::new(&mut hold.0, unsafe { hold.1.as_ref() })
    }

    unsafe fn settle(raw: Self::Raw, hold: Self::Hold, running: &Running<'_, '_>) {
        if let (Sink::Part(Some(value)), operation) = hold {
            // SAFETY: slots stay valid until the frame ends, when all parts are folded. The task
            // that folds this part has seen this task done, and no other accesses the object then.
            // `T` is `Send`, `O` is `Sync`.
            unsafe {
                let slot = raw.slot();
                let parts = slot.head.core.parts.expect("made with an operation");
                let index = running.0.index;
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
    type Raw = Vec<A::Raw>;
    type Hold = Vec<A::Hold>;

    fn prepare(self, storage: &Store) -> Self::Raw {
        self.into_iter().map(|one| one.prepare(storage)).collect()
    }

    fn count(raw: &Self::Raw) -> usize {
        raw.iter().map(A::count).sum()
    }

    fn each(raw: &Self::Raw, tell: &mut impl FnMut(Part)) {
        raw.iter().for_each(|one| A::each(one, tell));
    }

    unsafe fn hold(raw: &Self::Raw, running: &Running<'_, '_>) -> Self::Hold {
        // SAFETY: guaranteed by the caller.
        let hold = |one| unsafe { A::hold(one, running) };
        raw.iter().map(hold).collect()
    }

    unsafe fn lend<'t>(raw: &Self::Raw, hold: &'t mut Self::Hold) -> <Self as Lend<'f, 't>>::Refs
    where
        'f: 't,
    {
        let each = raw.iter().zip(hold);
        // SAFETY: guaranteed by the caller.
        each.map(|(one, hold)| unsafe { A::lend(one, hold) })
            .collect()
    }

    unsafe fn settle(raw: Self::Raw, hold: Self::Hold, running: &Running<'_, '_>) {
        for (one, hold) in raw.into_iter().zip(hold) {
            // SAFETY: guaranteed by the caller.
            unsafe { A::settle(one, hold, running) };
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
            type Raw = ($($name::Raw,)*);
            type Hold = ($($name::Hold,)*);

            fn prepare(self, storage: &Store) -> Self::Raw {
                let ($($name,)*) = self;
                ($($name.prepare(storage),)*)
            }

            fn count(($($name,)*): &Self::Raw) -> usize {
                0 $(+ $name::count($name))*
            }

            fn each(($($name,)*): &Self::Raw, tell: &mut impl FnMut(Part)) {
                $($name::each($name, tell);)*
            }

            unsafe fn hold(($($name,)*): &Self::Raw, running: &Running<'_, '_>) -> Self::Hold {
                // SAFETY: guaranteed by the caller.
                unsafe { ($($name::hold($name, running),)*) }
            }

            unsafe fn lend<'t>(
                ($($name,)*): &Self::Raw,
                ($($hold,)*): &'t mut Self::Hold,
            ) -> <Self as Lend<'f, 't>>::Refs
            where
                'f: 't,
            {
                // SAFETY: guaranteed by the caller.
                unsafe { ($($name::lend($name, $hold),)*) }
            }

            unsafe fn settle(
                ($($name,)*): Self::Raw,
                ($($hold,)*): Self::Hold,
                running: &Running<'_, '_>,
            ) {
                // SAFETY: guaranteed by the caller.
                unsafe { $($name::settle($name, $hold, running);)* }
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
