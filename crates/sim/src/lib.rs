//! A simulator of task schedulers. It predicts how a scheduler behaves on machines with up to a
//! million processors, and checks the claims of the papers.
//!
//! A [`Computation`](dag::Computation) is a graph of unit nodes that unfolds while it is executed,
//! so a graph of 10^9 nodes is never held in memory. A [`Setup`] describes the machine (number of
//! processors, their speeds and distances, the costs of operations) and names the [`Strategy`] that
//! schedules. [`simulate`] returns a [`Report`]: makespan, steals by their outcome, donations,
//! fences, loads over time, a timeline for Perfetto.
//!
//! Scheduling decisions are made by `locksley-policy`, the code that the runtime uses too. So a
//! result about a policy is a result about the code that the runtime executes.
//!
//! ```
//! use locksley_sim::dag::{Fib, Strands};
//! use locksley_sim::{Setup, Strategy, simulate};
//!
//! let mut fib = Strands::new(Fib::new(22));
//! for strategy in ["lock-free", "steal-half", "sharing:tit-for-tat", "greedy"] {
//!     let strategy: Strategy = strategy.parse()?;
//!     let report = simulate(&mut fib, &Setup::new(100, strategy))?;
//!     println!("{strategy}: {} ticks, {} steals", report.makespan, report.tally.stolen);
//!     assert!(report.makespan as f64 <= 1.5 * report.size.greedy_at_most(100));
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | what | where |
//! |---|---|
//! | computations, by formula or from a file | [`dag`] |
//! | schedulers as events | [`simulate`] |
//! | schedulers in synchronous rounds | [`rounds`] |
//! | the protocol between processes, on up to 10,000 hosts | [`hosts`] |
//! | arrivals at a rate, waiting times | [`open`] |
//! | many simulations in parallel | [`Sweep`] |
//! | the papers' theorems, checked | [`theory`] |
//! | timelines | [`Report::trace`] |
//!
//! **Time** is counted in ticks. With the [default costs](Costs), a tick is the thesis's step: a
//! node takes one, and so does an idle iteration. Within a tick, completions come first, in the
//! order of the processors' numbers; then arrivals; then the actions of idle processors, in cyclic
//! order from a number that is drawn for each tick.
//!
//! **Random numbers** are functions of the seed, the processor and the time ([`CounterRng`]). So
//! the outcome is a function of computation and setup, bit for bit, whatever the order in which the
//! simulator advances processors and the number of threads that a sweep uses.
//!
//! **Speed.** Work stealing in nested computations is simulated lazily: a busy processor is not
//! advanced until it may interact with another one, and then catches up in one loop. So most nodes
//! cost a few nanoseconds and no event.

#![forbid(unsafe_code)]

mod counter_rng;
pub mod dag;
mod engine;
pub mod hosts;
pub mod open;
mod report;
pub mod rounds;
mod setup;
mod strategy;
mod sweep;
pub mod theory;
mod trace;
mod user_policies;

pub use counter_rng::CounterRng;
pub use engine::{
    Costs, Load, Move, NOMINAL, Simulate, Speed, Speeds, Tally, TimelineEvent, Topology, simulate,
};
pub use locksley_policy::Lifelines;
pub use locksley_trace::Trace;
pub use report::{Report, Stability};
pub use setup::{MAX_DEALERS, MAX_PROCESSORS, Setup, SimError};
pub use strategy::Strategy;
pub use sweep::Sweep;
pub use user_policies::{UserBalancer, UserDonor};

/// Runs the examples of the README as doctests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
