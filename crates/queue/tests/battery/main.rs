//! The same battery of tests for every structure.
//!
//! A structure is described once, in `subjects.rs`, and gets its tests by one line here. Set
//! `LOCKSLEY_SCALE` to a whole number to multiply the lengths of the tests.

#![cfg(not(loom))]

mod items;
mod noise;
mod offers;
mod reference;
mod rng;
#[macro_use]
mod subject;
#[macro_use]
mod deque;
#[macro_use]
mod channel;
mod dealing;
mod model;
mod self_test;
mod subjects;

/// Factor for the lengths of the tests.
fn scale() -> usize {
    std::env::var("LOCKSLEY_SCALE").map_or(1, |s| s.parse().expect("LOCKSLEY_SCALE is a number"))
}

deque_battery!(reference_grows: Grows);
deque_battery!(reference_bounded: Bounded);
deque_battery!(reference_private: Private);
channel_battery!(reference_channel: Grows);
channel_battery!(reference_bounded_channel: Bounded);

deque_battery!(chase_lev: ChaseLev);
deque_battery!(semi_private: SemiPrivate);
deque_battery!(semi_private_by_halves: SemiPrivateByHalves);
deque_battery!(split: Split);
deque_battery!(split_forced: SplitForced);
deque_battery!(abp: Abp);
deque_battery!(steal_half_extended: Extended);
channel_battery!(pcb: Pcb);
channel_battery!(mailbox: Mailbox);
