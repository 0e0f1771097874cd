//! Loops that split on request, compared with sequential iterators and rayon's.
//!
//! | module | measurement | compared with |
//! |---|---|---|
//! | [`alone`] | loops on one worker | the sequential iterator |
//! | [`uniform`] | loops on two workers, large and small | rayon, the sequential iterator |
//! | [`irregular`] | items with very different costs | rayon with its best `min_len` |
//! | [`early`] | the first hit, and items visited in vain | rayon |
//! | [`order`] | prefix sums and sorts | the sequential scan, rayon's sorts |
//! | [`simulated`] | irregular loops on 4 to 64 processors, from recorded costs | - |
//!
//! All contenders run inside of their pools, so no job is injected from outside. An operation is a
//! loop.

mod alone;
mod case;
mod early;
mod inputs;
mod irregular;
mod order;
mod simulated;
mod uniform;

use crate::harness::report::Outcome;
use crate::harness::{Plan, WrongResult};

/// Measures everything.
pub(crate) fn run(plan: &Plan) -> Result<Outcome, WrongResult> {
    let mut outcome = Outcome::default();
    alone::measure(plan, &mut outcome)?;
    uniform::measure(plan, &mut outcome)?;
    irregular::measure(plan, &mut outcome)?;
    early::measure(plan, &mut outcome)?;
    order::measure(plan, &mut outcome)?;
    simulated::measure(plan, &mut outcome);
    Ok(outcome)
}
