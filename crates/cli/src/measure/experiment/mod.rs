//! Experiments of the papers, made again.
//!
//! The report on work-stealing deques (Agrawal and Indurkha) gives each of N threads a deque of its
//! own with K tasks in it, and measures how long everything takes, how long a task waits, and how
//! much is stolen:
//!
//! | | |
//! |---|---|
//! | even load | every task computes a Fibonacci number from fib(25) to fib(29) at random |
//! | skewed load | the first half of the threads has fib(25) only, the others fib(1) |
//! | stealing | a thread with nothing left steals from the others, or ends |
//! | deques | bounded (Arora, Blumofe and Plaxton) or unbounded (Chase and Lev) |
//!
//! Here the threads are threads of the system and the deques those of `locksley-queue`, with no
//! pool in between. What differs from the report, because it is wrong there: a thief starts at a
//! random victim and tries all others, the last one too; a task runs exactly once, which is
//! checked, as is its result; and where tasks arrive while others run, they come through a mailbox
//! of each thread, for only the owner of a deque may push.

pub(crate) mod batch;
pub(crate) mod conclusions;
mod start_gate;
mod threads;
