//! Pipes: the stages between the source and the end of a loop. They are the sequential adaptors of
//! `std`, applied to one block at a time.

/// The stages between a source and an end. Made by the adaptors of [`Par`](crate::par::Par).
///
/// A pipe turns the iterator over a block into another iterator with `std`'s own adaptors, so the
/// code that runs is that of a sequential loop. One pipe serves all pieces of a loop, and every
/// piece has a state of its own.
pub trait Pipe<In>: Sync {
    /// The type of the items after the stages.
    type Out;

    /// State that a piece of the loop keeps from block to block.
    type State;

    /// `true` if the stages return exactly one item for each item of the source.
    const EXACT: bool;

    /// Creates the state of a piece.
    fn state(&self) -> Self::State;

    /// Sends a block through the stages.
    fn run<'a, I>(
        &'a self,
        state: &'a mut Self::State,
        items: I,
    ) -> impl Iterator<Item = Self::Out>
    where
        I: Iterator<Item = In> + 'a;
}

/// A pipe that replaces each item by exactly one other, independently of earlier items. Positions
/// and pairs keep their meaning across it.
pub trait OneToOne<In>: Pipe<In> {
    /// Sends one item through the stages.
    fn one(&self, item: In) -> Self::Out;
}

/// The pipe without stages.
#[derive(Clone, Copy, Debug, Default)]
pub struct Same;

impl<In> Pipe<In> for Same {
    type Out = In;
    type State = ();
    const EXACT: bool = true;

    fn state(&self) {}

    #[inline]
    fn run<'a, I>(&'a self, (): &'a mut (), items: I) -> impl Iterator<Item = In>
    where
        I: Iterator<Item = In> + 'a,
    {
        items
    }
}

impl<In> OneToOne<In> for Same {
    #[inline]
    fn one(&self, item: In) -> In {
        item
    }
}

/// Declares a stage that is an adaptor of `std` with a closure.
macro_rules! stage {
    (
        $(#[doc = $doc:literal])*
        $name:ident, exact: $exact:expr,
        [$($param:ident $(: $bound:path)?)*] ($($closure:tt)*) => $out:ty,
        |$stage:ident, $items:ident| $adaptor:expr
    ) => {
        $(#[doc = $doc])*
        #[derive(Clone, Debug)]
        pub struct $name<P, F> {
            pipe: P,
            f: F,
        }

        impl<P, F> $name<P, F> {
            pub(super) fn new(pipe: P, f: F) -> Self {
                $name { pipe, f }
            }
        }

        impl<In, P, F, $($param $(: $bound)?),*> Pipe<In> for $name<P, F>
        where
            P: Pipe<In>,
            F: $($closure)*,
        {
            type Out = $out;
            type State = P::State;
            const EXACT: bool = $exact;

            fn state(&self) -> P::State {
                self.pipe.state()
            }

            #[inline]
            fn run<'a, I>(
                &'a self,
                state: &'a mut P::State,
                items: I,
            ) -> impl Iterator<Item = $out>
            where
                I: Iterator<Item = In> + 'a,
            {
                let ($stage, $items) = (&self.f, self.pipe.run(state, items));
                $adaptor
            }
        }
    };
}

stage! {
    /// See [`Par::map`](crate::par::Par::map).
    Map, exact: P::EXACT,
    [R] (Fn(P::Out) -> R + Sync) => R,
    |f, items| items.map(f)
}

stage! {
    /// See [`Par::filter`](crate::par::Par::filter).
    Filter, exact: false,
    [] (Fn(&P::Out) -> bool + Sync) => P::Out,
    |f, items| items.filter(f)
}

stage! {
    /// See [`Par::filter_map`](crate::par::Par::filter_map).
    FilterMap, exact: false,
    [R] (Fn(P::Out) -> Option<R> + Sync) => R,
    |f, items| items.filter_map(f)
}

stage! {
    /// See [`Par::flat_map`](crate::par::Par::flat_map).
    FlatMap, exact: false,
    [R: IntoIterator] (Fn(P::Out) -> R + Sync) => R::Item,
    |f, items| items.flat_map(f)
}

stage! {
    /// See [`Par::inspect`](crate::par::Par::inspect).
    Inspect, exact: P::EXACT,
    [] (Fn(&P::Out) + Sync) => P::Out,
    |f, items| items.inspect(f)
}

impl<In, P, F, R> OneToOne<In> for Map<P, F>
where
    P: OneToOne<In>,
    F: Fn(P::Out) -> R + Sync,
{
    #[inline]
    fn one(&self, item: In) -> R {
        (self.f)(self.pipe.one(item))
    }
}

impl<In, P, F> OneToOne<In> for Inspect<P, F>
where
    P: OneToOne<In>,
    F: Fn(&P::Out) + Sync,
{
    #[inline]
    fn one(&self, item: In) -> P::Out {
        let item = self.pipe.one(item);
        (self.f)(&item);
        item
    }
}

/// Declares a stage that turns references into values.
macro_rules! values {
    ($(#[doc = $doc:literal])* $name:ident, $bound:ident, $adaptor:ident, $one:expr) => {
        $(#[doc = $doc])*
        #[derive(Clone, Debug)]
        pub struct $name<P> {
            pipe: P,
        }

        impl<P> $name<P> {
            pub(super) fn new(pipe: P) -> Self {
                $name { pipe }
            }
        }

        impl<'t, In, P, T> Pipe<In> for $name<P>
        where
            P: Pipe<In, Out = &'t T>,
            T: $bound + 't,
        {
            type Out = T;
            type State = P::State;
            const EXACT: bool = P::EXACT;

            fn state(&self) -> P::State {
                self.pipe.state()
            }

            #[inline]
            fn run<'a, I>(
                &'a self,
                state: &'a mut P::State,
                items: I,
            ) -> impl Iterator<Item = T>
            where
                I: Iterator<Item = In> + 'a,
            {
                self.pipe.run(state, items).$adaptor()
            }
        }

        impl<'t, In, P, T> OneToOne<In> for $name<P>
        where
            P: OneToOne<In, Out = &'t T>,
            T: $bound + 't,
        {
            #[inline]
            fn one(&self, item: In) -> T {
                $one(self.pipe.one(item))
            }
        }
    };
}

values! {
    /// See [`Par::copied`](crate::par::Par::copied).
    Copied, Copy, copied, |item: &T| *item
}

values! {
    /// See [`Par::cloned`](crate::par::Par::cloned).
    Cloned, Clone, cloned, |item: &T| item.clone()
}

/// See [`Par::map_init`](crate::par::Par::map_init).
#[derive(Clone, Debug)]
pub struct MapInit<P, I, F> {
    pipe: P,
    init: I,
    f: F,
}

impl<P, I, F> MapInit<P, I, F> {
    pub(super) fn new(pipe: P, init: I, f: F) -> Self {
        MapInit { pipe, init, f }
    }
}

impl<In, P, Init, F, T, R> Pipe<In> for MapInit<P, Init, F>
where
    P: Pipe<In>,
    Init: Fn() -> T + Sync,
    F: Fn(&mut T, P::Out) -> R + Sync,
{
    type Out = R;
    type State = (P::State, T);
    const EXACT: bool = P::EXACT;

    fn state(&self) -> Self::State {
        (self.pipe.state(), (self.init)())
    }

    #[inline]
    fn run<'a, I>(&'a self, (state, own): &'a mut Self::State, items: I) -> impl Iterator<Item = R>
    where
        I: Iterator<Item = In> + 'a,
    {
        let items = self.pipe.run(state, items);
        items.map(move |item| (self.f)(own, item))
    }
}

/// The pipes of the two sides of a [`Par::zip`](crate::par::Par::zip).
#[derive(Clone, Debug)]
pub struct ZipPipe<P, Q> {
    left: P,
    right: Q,
}

impl<P, Q> ZipPipe<P, Q> {
    pub(super) fn new(left: P, right: Q) -> Self {
        ZipPipe { left, right }
    }
}

impl<A, B, P: OneToOne<A>, Q: OneToOne<B>> Pipe<(A, B)> for ZipPipe<P, Q> {
    type Out = (P::Out, Q::Out);
    type State = ();
    const EXACT: bool = true;

    fn state(&self) {}

    #[inline]
    fn run<'a, I>(&'a self, (): &'a mut (), items: I) -> impl Iterator<Item = Self::Out>
    where
        I: Iterator<Item = (A, B)> + 'a,
    {
        items.map(|pair| self.one(pair))
    }
}

impl<A, B, P: OneToOne<A>, Q: OneToOne<B>> OneToOne<(A, B)> for ZipPipe<P, Q> {
    #[inline]
    fn one(&self, (a, b): (A, B)) -> Self::Out {
        (self.left.one(a), self.right.one(b))
    }
}
