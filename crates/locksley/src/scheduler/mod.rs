//! The workers: how they find and run jobs, how they wait and how they sleep.

pub(crate) mod batch;
pub(crate) mod donor;
pub(crate) mod idle;
pub(crate) mod injector;
pub(crate) mod neighbours;
mod own_policy;
pub(crate) mod registry;
pub(crate) mod task_stack;
pub(crate) mod victim_order;
pub(crate) mod wait;
pub(crate) mod worker;
