//! Programs that a pool must finish, each in a child process with a time limit.
//!
//! A pool that stands still cannot be tested in the test's own process: the test would stand still
//! too. So each test starts this binary again, for itself alone, and kills it after a while. The
//! limits only tell a standstill from slowness: none of the programs takes a second on an idle
//! machine.
//!
//! `LOCKSLEY_HANGS=all` runs the programs of [`KNOWN`] too.
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
mod unwinding;

/// Programs that the pool does not finish yet, or not every time. They are left out unless
/// `LOCKSLEY_HANGS` is `all`. A test that passes every time belongs here no longer.
const KNOWN: &[&str] = &[];
