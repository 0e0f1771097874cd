//! A simulator of task schedulers.

#![forbid(unsafe_code)]

pub mod dag;
mod draw;
mod engine;
mod report;
pub mod rounds;
mod setup;
mod strategy;
mod sweep;
pub mod theory;
mod trace;

pub use draw::Draw;
pub use engine::{Costs, Happening, Load, Move, NOMINAL, Speed, Speeds, Tally, Topology, simulate};
pub use report::{Report, Stability};
pub use setup::{MOST_DEALERS, MOST_PROCESSORS, Setup, SimError};
pub use strategy::{Lifelines, Strategy};
pub use sweep::Sweep;
pub use trace::{Counters, ThreadName, Trace, TraceEvent};
