//! Tests with real processes and a real server, and faults in them.
//!
//! The workers are this executable, in another role (see `processes`). Each test has a server of
//! its own. If there is no `redis-server` the tests are skipped with a message;
//! `LOCKSLEY_TEST_REDIS=1` makes that an error, and `LOCKSLEY_TEST_REDIS=0` skips them always.

#![cfg(unix)]

mod clock;
mod continuations;
#[cfg(target_os = "linux")]
mod disk;
mod failover;
mod faults;
mod links;
mod policies;
#[path = "../support/poll.rs"]
mod poll;
mod prerequisites;
mod processes;
mod refusals;
mod secrets;
mod sentinel;
mod server;
mod shapes;
mod storm;
mod submission;
