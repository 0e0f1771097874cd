//! The runtimes that are compared: those of `locksley-measure`, and forte, which cannot share a
//! process with others because its threads never sleep.

pub(crate) mod forte;

pub(crate) use self::forte::Forte;
pub(crate) use locksley_measure::runtimes::{
    Chili, Locksley, LocksleyJoin, Rayon, Runtime, STACK, Serial, TakeAny, Traced,
};
