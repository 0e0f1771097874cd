//! Pools of this crate behind the traits of other crates with parallel iterators.

#[cfg(feature = "orx-parallel")]
mod orx_parallel;
#[cfg(feature = "paralight")]
mod paralight;
