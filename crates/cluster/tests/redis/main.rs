//! Real processes and a real server, and what can happen to them.
//!
//! The workers are this very executable, in another role (see `processes`). Each test has a server
//! of its own. Where there is no `redis-server` the tests are skipped, and say so;
//! `LOCKSLEY_TEST_REDIS=1` makes that an error, and 0 leaves them out.

#![cfg(unix)]

mod clock;
mod continuations;
#[cfg(target_os = "linux")]
mod disk;
mod failover;
mod faults;
mod links;
mod policies;
mod processes;
mod refusals;
mod secrets;
mod sentinel;
mod server;
mod shapes;
mod storm;
mod submission;
