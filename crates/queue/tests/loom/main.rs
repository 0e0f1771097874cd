//! Every structure of this crate under loom. See CONTRIBUTING for how to run these.
#![cfg(loom)]

mod steal_half;
