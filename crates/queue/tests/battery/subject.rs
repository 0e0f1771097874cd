//! What the tests need to know of a structure besides the traits: how to create it, how large it
//! gets, and the steps of owner and thief between operations.

#![allow(
    dead_code,
    unused_macros,
    reason = "not every target that includes this file has every kind"
)]

use locksley_queue::{Consumer, Owner, Producer, Steal, Thief, Word};

/// An item that the tests can put into any structure and hand to any thread.
pub(crate) trait TestItem: Word + Send + 'static {}
impl<T: Word + Send + 'static> TestItem for T {}

/// When a push may be refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    /// Never.
    Grows,
    /// When this many items are inside, and only then.
    Exactly(usize),
    /// When the indices have drifted to the end of the array; never while the deque is empty and
    /// the owner has found it so by a pop. At most this many items are inside.
    Drifts(usize),
}

/// A deque under test.
pub(crate) trait DequeSubject: 'static {
    /// The owner's side.
    type Owner<T: TestItem>: Owner<Item = T, Thief = Self::Thief<T>> + Send + Sync;
    /// The thief's side.
    type Thief<T: TestItem>: Thief<Item = T> + Send + Sync;

    /// When [`small`](Self::small) and [`near_wrap`](Self::near_wrap) may refuse a push.
    const ROOM: Room;
    /// Set if the structure has [`steal_half`](Self::steal_half).
    const BATCHES: bool = false;

    /// Creates a deque of the default size.
    fn new<T: TestItem>() -> Self::Owner<T>;
    /// Creates a small deque, which soon grows or is full.
    fn small<T: TestItem>() -> Self::Owner<T>;
    /// Creates a small deque whose indices are about to pass their maximum.
    fn near_wrap<T: TestItem>() -> Self::Owner<T>;

    /// The owner's step between operations.
    fn attend<T: TestItem>(_owner: &mut Self::Owner<T>) {}
    /// The step of a thief that was told that all work is private.
    fn ask<T: TestItem>(_thief: &Self::Thief<T>) {}
    /// Set if the structure has [`take_back`](Self::take_back).
    const TAKES_BACK: bool = false;

    /// Identifies an item that was pushed.
    type Token: Copy;
    /// Pushes an item that may be taken back, where the structure supports it.
    fn push_for_take_back<T: TestItem>(_owner: &mut Self::Owner<T>, _item: T) -> Self::Token {
        unreachable!("this structure does not take back")
    }
    /// Takes an item back, wherever it is.
    fn take_back<T: TestItem>(_owner: &mut Self::Owner<T>, _token: Self::Token) -> Option<T> {
        unreachable!("this structure does not take back")
    }

    /// Steals a batch, where the structure supports it.
    fn steal_half<T: TestItem>(_from: &Self::Thief<T>, _own: &mut Self::Owner<T>) -> Steal<T> {
        unreachable!("this structure steals one item at a time")
    }
}

/// The producers and the consumer of a channel.
pub(crate) type Ends<S, T> = (
    Vec<<S as ChannelSubject>::Producer<T>>,
    <S as ChannelSubject>::Consumer<T>,
);

/// A channel under test.
pub(crate) trait ChannelSubject: 'static {
    /// The producers' side.
    type Producer<T: TestItem>: Producer<Item = T> + Send;
    /// The consumer's side.
    type Consumer<T: TestItem>: Consumer<Item = T> + Send;

    /// When a produce may be refused.
    const ROOM: Room;
    /// Set if there may be more than one producer.
    const MANY: bool;

    /// Creates a small channel with this number of producers (one, unless [`MANY`](Self::MANY)).
    fn channel<T: TestItem>(producers: usize) -> Ends<Self, T>;
    /// Creates such a channel with indices that are about to pass their maximum.
    fn near_wrap<T: TestItem>(producers: usize) -> Ends<Self, T> {
        Self::channel(producers)
    }
}

/// The type of a subject's tokens; `()` where there are none.
macro_rules! token_type {
    () => {
        type Token = ();
    };
    ($token:ty) => {
        type Token = $token;
    };
}

/// Declares the [`DequeSubject`] of a module that has a `Deque` and a `Stealer`.
///
/// The hooks may be left out.
macro_rules! deque_subject {
    (
        $name:ident = $($module:ident)::+, room: $room:expr,
        new: $new:expr, small: $small:expr, near_wrap: $near_wrap:expr
        $(, attend: $attend:expr, ask: $ask:expr)?
        $(, steal_half: $steal_half:expr)?
        $(, token: $token:ty, push_for_take_back: $push:expr, take_back: $take_back:expr)? $(,)?
    ) => {
        #[doc = concat!("The subject [`", stringify!($($module)::+), "`].")]
        pub(crate) struct $name;

        impl $crate::subject::DequeSubject for $name {
            type Owner<T: $crate::subject::TestItem> = $($module)::+::Deque<T>;
            type Thief<T: $crate::subject::TestItem> = $($module)::+::Stealer<T>;

            const ROOM: $crate::subject::Room = $room;

            token_type!($($token)?);

            fn new<T: $crate::subject::TestItem>() -> Self::Owner<T> {
                $new
            }

            fn small<T: $crate::subject::TestItem>() -> Self::Owner<T> {
                $small
            }

            fn near_wrap<T: $crate::subject::TestItem>() -> Self::Owner<T> {
                $near_wrap
            }

            $(
                fn attend<T: $crate::subject::TestItem>(owner: &mut Self::Owner<T>) {
                    let attend: fn(&mut Self::Owner<T>) = $attend;
                    attend(owner);
                }

                fn ask<T: $crate::subject::TestItem>(thief: &Self::Thief<T>) {
                    let ask: fn(&Self::Thief<T>) = $ask;
                    ask(thief);
                }
            )?

            $(
                const BATCHES: bool = true;

                fn steal_half<T: $crate::subject::TestItem>(
                    from: &Self::Thief<T>,
                    own: &mut Self::Owner<T>,
                ) -> locksley_queue::Steal<T> {
                    let steal_half: fn(&Self::Thief<T>, &mut Self::Owner<T>) -> _ = $steal_half;
                    steal_half(from, own)
                }
            )?

            $(
                const TAKES_BACK: bool = true;

                fn push_for_take_back<T: $crate::subject::TestItem>(
                    owner: &mut Self::Owner<T>,
                    item: T,
                ) -> $token {
                    let push: fn(&mut Self::Owner<T>, T) -> $token = $push;
                    push(owner, item)
                }

                fn take_back<T: $crate::subject::TestItem>(
                    owner: &mut Self::Owner<T>,
                    token: $token,
                ) -> Option<T> {
                    let take_back: fn(&mut Self::Owner<T>, $token) -> Option<T> = $take_back;
                    take_back(owner, token)
                }
            )?
        }
    };
}

/// Implements [`ChannelSubject`] for a type, given the names of the two sides.
///
/// `near_wrap` may be left out where there are no indices.
macro_rules! channel_subject {
    (
        $name:ident, producer: $($producer:ident)::+, consumer: $($consumer:ident)::+,
        room: $room:expr, many: $many:expr, channel: $channel:expr
        $(, near_wrap: $near_wrap:expr)? $(,)?
    ) => {
        impl ChannelSubject for $name {
            type Producer<T: TestItem> = $($producer)::+<T>;
            type Consumer<T: TestItem> = $($consumer)::+<T>;

            const ROOM: Room = $room;
            const MANY: bool = $many;

            fn channel<T: TestItem>(producers: usize) -> Ends<Self, T> {
                let make: fn(usize) -> _ = $channel;
                make(producers)
            }

            $(
                fn near_wrap<T: TestItem>(producers: usize) -> Ends<Self, T> {
                    let make: fn(usize) -> _ = $near_wrap;
                    make(producers)
                }
            )?
        }
    };
}
