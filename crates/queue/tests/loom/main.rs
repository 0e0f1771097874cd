//! Models of every structure, run by loom over all interleavings up to a bound.
#![cfg(loom)]

mod abp;
mod mailbox;
mod offer;
