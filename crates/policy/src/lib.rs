//! The decisions of a work-stealing scheduler, as pure state machines.
//!
//! The crate has no threads, clocks, atomics or I/O. A policy gets what it may know ([`View`],
//! [`Memory`]) and a [`Source`] of random numbers, and returns a decision. So the runtime and a
//! simulator run the same code, and the same seed gives the same decisions. A policy is a small
//! `Copy` value that a whole pool shares; its state per worker is smaller still, and a decision
//! allocates nothing.
//!
//! | decision | policy | state per worker | from |
//! |---|---|---|---|
//! | whom a thief tries | [`Victims`], or your own [`Balancer`] | [`Memory`] | thesis, Alg. 1, 2, 10, 11 |
//! | in which order, if it tries every victim | [`Order`] | | thesis, Alg. 11 |
//! | when it tries | [`When`] | [`LastLoad`] | steal-half, 2.2.1 |
//! | how much it takes | [`Amount`] | | steal-half, Fig. 7 |
//! | when a busy worker gives | [`Heuristic`], [`Sharing`], or your own [`Donor`] | a flag | thesis, 5.2, 5.3 |
//! | to whom | [`Target`] | [`Memory`] | thesis, 2.4.4, Alg. 12 |
//! | to whom an item is dealt | [`Dealing`] | [`Dealer`] | work dealing, 2.3, Fig. 5 |
//! | which of these strategies | [`Auto`] | | thesis, 5.3 |
//! | stealing between processes, and termination | [`rank::Protocol`] | [`rank::Rank`] | EWD998; Saraswat et al. |
//!
//! Each module names the part of the paper that it implements, what the paper proves about it, and
//! where the code differs. The papers: Rito, "Scheduling computations" (the thesis); Hendler and
//! Shavit, "Non-Blocking Steal-Half Work Queues" (PODC 2002) and "Work Dealing" (SPAA 2002).
//!
//! Policies can be parsed from a text and print themselves as one ([`TextForm`]):
//!
//! | strategy | type | examples |
//! |---|---|---|
//! | `flexible` | [`Flexible`] | `flexible:steal-back,theta_r=0.25`, `flexible:longest,probes=3` |
//! | `steal-half` | [`StealHalf`] | `steal-half:probabilistic,mu=0.5`, `steal-half:factor,amount=half` |
//! | `sharing` | [`Sharing`] | `sharing:tit-for-tat,theta_s=0.25`, `sharing:greedy,target=shortest,l_p=3` |
//! | `dealing` | [`Dealing`] | `dealing:locality,l=4`, `dealing:adaptive` |
//! | `auto` | [`Tuning`] | `auto`, `auto:patience=5` |
//! | between processes | [`rank::Protocol`] | `nearest`, `lifelines:w=4`, `uniform:floor=8,backoff=50us..2ms` |
//!
//! ```
//! use locksley_policy::{Memory, Outcome, Random, Actor, Victims};
//!
//! let victims: Victims = "sticky:theta_r=0.9".parse().unwrap();
//! let loads: &[u32] = &[0, 5, 2, 0];
//! let mut memory = Memory::default();
//! let mut random = Random::new(7, 0);
//! for _ in 0..100 {
//!     let actor = Actor { me: 0, memory };
//!     if let Some(victim) = victims.choose(actor, loads, &mut random) {
//!         let outcome = if loads[victim] > 0 { Outcome::Success } else { Outcome::Empty };
//!         memory.tried(victim, outcome);
//!     }
//! }
//! ```

#![forbid(unsafe_code)]

pub mod amount;
pub mod auto;
pub mod balancer;
pub mod dealing;
pub mod donor;
pub mod heuristic;
pub mod order;
pub mod params;
pub mod random;
pub mod rank;
pub mod sharing;
#[cfg(test)]
mod statistics;
pub mod text;
pub mod theory;
pub mod victims;
pub mod view;
pub mod when;

pub use amount::{Amount, StealHalf};
pub use auto::{Auto, Mode, Period, Tuning};
pub use balancer::{Actor, Balancer, Memory, Mixed, Outcome};
pub use dealing::{Collector, DealMode, DealRule, Dealer, Dealing};
pub use donor::{Donor, Opportunity};
pub use heuristic::{Heuristic, Spread, Update};
pub use order::{Order, Sweep};
pub use params::{Factor, Mu, OutOfRange, Theta};
pub use random::{GOLDEN, Random, Source, SplitMix64, mix};
pub use rank::Lifelines;
pub use sharing::{Offer, Sharing, Target};
pub use text::{ParseError, Part, Reader, TextForm, Writer};
pub use theory::{
    GREEDY_STABLE, TIT_FOR_TAT_STABLE, gain_of_greedy, gain_of_tit_for_tat, leaving_greedy,
    leaving_tit_for_tat,
};
pub use victims::{Flexible, Victims};
pub use view::{Blind, MOST_PROBES, NestedGroups, View, other};
pub use when::{LastLoad, When};
