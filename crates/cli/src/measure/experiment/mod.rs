//! Repeats experiments of the papers.
//!
//! The report on work-stealing deques (Agrawal and Indurkha) gives each of N threads a deque with K
//! tasks, and measures the total time, the time that a task waits, and the number of steals:
//!
//! | | |
//! |---|---|
//! | even load | every task computes a Fibonacci number from fib(25) to fib(29) at random |
//! | skewed load | the first half of the threads has fib(25) only, the others fib(1) |
//! | stealing | a thread with nothing left steals from the others, or ends |
//! | deques | bounded (Arora, Blumofe and Plaxton) or unbounded (Chase and Lev) |
//!
//! Here the threads are threads of the system and the deques those of `locksley-queue`, with no
//! pool in between. Three things differ from the report, which has them wrong: a thief starts at a
//! random victim and tries all others, including the last one; every task runs exactly once, which
//! is checked, as is its result; and tasks that arrive while others run come through a mailbox of
//! each thread, since only the owner of a deque may push.

pub(crate) mod batch;
pub(crate) mod conclusions;
mod start_gate;
mod threads;
