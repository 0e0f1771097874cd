//! Every structure of the crate, described for the tests.

#![allow(
    dead_code,
    reason = "not every target that includes this file tests every structure"
)]

use crate::reference::{self, Fault, Kind, SOUND};
use crate::subject::{ChannelSubject, Ends, Room, TestItem};

use locksley_queue::steal_half::extended;
use locksley_queue::{StealBatch, abp, chase_lev, mailbox, pcb, semi_private, split};

/// A first index from which the indices pass their maximum within a few operations.
const LATE: u64 = u64::MAX - 20;

deque_subject!(
    ChaseLev = chase_lev,
    room: Room::Grows,
    new: chase_lev::Deque::new(),
    small: chase_lev::Deque::with_capacity(2),
    near_wrap: chase_lev::Deque::starting_at(2, LATE),
);

deque_subject!(
    SemiPrivate = semi_private,
    room: Room::Grows,
    new: semi_private::Deque::new(),
    small: semi_private::Deque::with_capacity(2),
    near_wrap: semi_private::Deque::starting_at(2, LATE),
    attend: |owner| _ = owner.poll(semi_private::Exposure::One),
    ask: semi_private::Stealer::request,
);

deque_subject!(
    SemiPrivateByHalves = semi_private,
    room: Room::Grows,
    new: semi_private::Deque::new(),
    small: semi_private::Deque::with_capacity(2),
    near_wrap: semi_private::Deque::starting_at(2, LATE),
    attend: |owner| _ = owner.poll(semi_private::Exposure::Half),
    ask: semi_private::Stealer::request,
);

/// A first index from which the 40 bits of `top` in the span of a split deque wrap around within a
/// few operations. The indices themselves do not.
const LATE_SPAN: u64 = ((1 << 40) - 3) * size_of::<usize>() as u64;

deque_subject!(
    Split = split,
    room: Room::Grows,
    new: split::Deque::new(),
    small: split::Deque::with_capacity(2),
    near_wrap: split::Deque::starting_at(2, LATE_SPAN),
    attend: |owner| _ = owner.poll(),
    ask: |thief| _ = thief.request(),
    steal_half: StealBatch::steal_half,
    token: split::PushToken,
    push_for_take_back: split::Deque::push_for_take_back,
    take_back: split::Deque::take_back,
);

deque_subject!(
    SplitForced = split,
    room: Room::Grows,
    new: split::Deque::new(),
    small: split::Deque::with_capacity(2),
    near_wrap: split::Deque::starting_at(2, LATE_SPAN),
    attend: |owner| _ = owner.poll(),
    ask: force,
    steal_half: StealBatch::steal_half,
    token: split::PushToken,
    push_for_take_back: split::Deque::push_for_take_back,
    take_back: split::Deque::take_back,
);

/// Forces an exposure, or requests one if the barrier is refused.
fn force<T: TestItem>(thief: &split::Stealer<T>) {
    if thief.force() == split::Forced::Refused {
        thief.request();
    }
}

deque_subject!(
    Abp = abp,
    room: Room::Drifts(8),
    new: abp::Deque::with_capacity(1024),
    small: abp::Deque::with_capacity(8),
    near_wrap: abp::Deque::starting_at(8, LATE),
);

deque_subject!(
    Extended = extended,
    room: Room::Exactly(8),
    new: extended::Deque::new(),
    small: extended::Deque::with_capacity(8),
    near_wrap: extended::Deque::starting_at(8, LATE),
    steal_half: StealBatch::steal_half,
);

pub(crate) struct Pcb;

fn pcb<T: TestItem>((producer, consumer): (pcb::Producer<T>, pcb::Consumer<T>)) -> Ends<Pcb, T> {
    (vec![producer], consumer)
}

channel_subject!(
    Pcb, producer: pcb::Producer, consumer: pcb::Consumer,
    room: Room::Grows, many: false,
    channel: |_| pcb(pcb::channel_with(3)),
);

pub(crate) struct Mailbox;

/// Clones the sender for each producer.
fn mailbox<T: TestItem>(
    producers: usize,
    (sender, receiver): (mailbox::Sender<T>, mailbox::Mailbox<T>),
) -> Ends<Mailbox, T> {
    (vec![sender; producers], receiver)
}

channel_subject!(
    Mailbox, producer: mailbox::Sender, consumer: mailbox::Mailbox,
    room: Room::Exactly(5), many: true,
    channel: |producers| mailbox(producers, mailbox::bounded(5)),
    near_wrap: |producers| mailbox(producers, mailbox::starting_at(5, LATE)),
);

deque_subject!(
    Grows = reference,
    room: Room::Grows,
    new: reference::Deque::of(SOUND),
    small: reference::Deque::of(SOUND),
    near_wrap: reference::Deque::of(SOUND),
    steal_half: reference::Stealer::steal_half,
);

const BOUNDED: Kind = Kind {
    capacity: 4,
    ..SOUND
};

deque_subject!(
    Bounded = reference,
    room: Room::Exactly(BOUNDED.capacity),
    new: reference::Deque::of(BOUNDED),
    small: reference::Deque::of(BOUNDED),
    near_wrap: reference::Deque::of(BOUNDED),
    steal_half: reference::Stealer::steal_half,
);

const PRIVATE: Kind = Kind {
    private: true,
    ..SOUND
};

deque_subject!(
    Private = reference,
    room: Room::Grows,
    new: reference::Deque::of(PRIVATE),
    small: reference::Deque::of(PRIVATE),
    near_wrap: reference::Deque::of(PRIVATE),
    attend: reference::Deque::poll,
    ask: reference::Stealer::ask,
);

macro_rules! faulty {
    ($($fault:ident),*) => {$(
        deque_subject!(
            $fault = reference,
            room: Room::Grows,
            new: reference::Deque::of(Kind { fault: Fault::$fault, ..SOUND }),
            small: reference::Deque::of(Kind { fault: Fault::$fault, ..SOUND }),
            near_wrap: reference::Deque::of(Kind { fault: Fault::$fault, ..SOUND }),
            steal_half: reference::Stealer::steal_half,
        );

        channel_subject!(
            $fault, producer: reference::Sender, consumer: reference::Receiver,
            room: Room::Grows, many: true,
            channel: |producers| {
                reference::channel(Kind { fault: Fault::$fault, ..SOUND }, producers)
            },
        );
    )*};
}

faulty!(
    Loses,
    Duplicates,
    DropsTwice,
    Leaks,
    Disorders,
    Aborting,
    FeignsEmpty,
    Starves,
    Refuses
);

channel_subject!(
    Grows, producer: reference::Sender, consumer: reference::Receiver,
    room: Room::Grows, many: true,
    channel: |producers| reference::channel(SOUND, producers),
);

channel_subject!(
    Bounded, producer: reference::Sender, consumer: reference::Receiver,
    room: Room::Exactly(BOUNDED.capacity), many: true,
    channel: |producers| reference::channel(BOUNDED, producers),
);
