//! What tasks on a server are about: jobs, leases, and what comes of them.

mod job;
mod lease;
mod status;

pub use job::*;
pub use lease::*;
pub use status::*;
