//! What a [`Strategy`](crate::Strategy) can be told: whom to steal from, when and how much; when to
//! give work away, and to whom; to whom to deal.
//!
//! | for | types |
//! |---|---|
//! | whom to steal from | [`Victims`], with any strategy; [`Flexible`] |
//! | a choice of one's own | [`Balancer`], from [`View`], [`Seeker`], [`Memory`], [`Source`] |
//! | when and to whom to give, by one's own choice | [`Donor`], from [`Opportunity`] |
//! | when to balance, and how much to take | [`StealHalf`]: [`When`], [`Amount`] |
//! | when to give work away, and to whom | [`Sharing`]: [`Heuristic`], [`Target`] |
//! | to whom to deal | [`Dealing`]: [`Oracle`] |
//! | parameters that check themselves | [`Theta`], [`Mu`], [`Factor`] |

#[doc(inline)]
pub use locksley_policy::{
    Amount, Balancer, DealMode, Dealing, Donor, Factor, Flexible, Heuristic, Memory, Mu,
    Opportunity, Oracle, OutOfRange, Outcome, Seeker, Sharing, Source, StealHalf, Target, Theta,
    Update, Victims, View, When,
};
