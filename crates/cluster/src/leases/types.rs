//! The types of the lease protocol: jobs, leases, and their outcomes.

mod job;
mod lease;
mod status;

pub use job::*;
pub use lease::*;
pub use status::*;
