//! Policies of a [`Strategy`](crate::Strategy): from which worker to steal, when and how much; when
//! to give work away, and to which worker; to which worker to deal.
//!
//! | for | types |
//! |---|---|
//! | choice of victims | [`Victims`], with any strategy; [`Flexible`] |
//! | user-defined choice of victims | [`Balancer`], from [`View`], [`Actor`], [`Memory`], [`Source`] |
//! | user-defined choice of when and to whom to give | [`Donor`], from [`Opportunity`] |
//! | when to balance, and how much to take | [`StealHalf`]: [`When`], [`Amount`] |
//! | when to give work away, and to whom | [`Sharing`]: [`Heuristic`], [`Target`] |
//! | to whom to deal | [`Dealing`]: [`DealRule`] |
//! | parameters that are checked on construction | [`Theta`], [`Mu`], [`Factor`] |

#[doc(inline)]
pub use locksley_policy::{
    Actor, Amount, Balancer, DealMode, DealRule, Dealing, Donor, Factor, Flexible, Heuristic,
    Memory, Mu, Opportunity, OutOfRange, Outcome, Sharing, Source, StealHalf, Target, Theta,
    Update, Victims, View, When,
};
