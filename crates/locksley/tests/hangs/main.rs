//! Programs that a pool must finish, each in a child process with a time limit.
//!
//! A pool that hangs cannot be tested in the test's own process: the test would hang too. So each
//! test starts this binary again, for itself alone, and kills it after a time limit. The limits
//! only tell a hang from slowness: none of the programs takes a second on an idle machine.
#![cfg(all(target_os = "linux", not(loom)))]

mod adopted;
mod blocking;
mod broadcasts;
mod child;
mod growth;
mod limits;
mod locks;
mod pools;
mod starting;
#[path = "../support/mod.rs"]
mod support;
mod unwinding;
