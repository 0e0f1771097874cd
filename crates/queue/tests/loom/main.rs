//! Every queue under loom: all interleavings of small cases, weak memory included.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p locksley-queue --release --test loom`
#![cfg(loom)]

mod abp;
mod chase_lev;
mod mailbox;
mod offer;
mod pcb;
mod semi_private;
mod split;
mod steal_half;
mod support;
