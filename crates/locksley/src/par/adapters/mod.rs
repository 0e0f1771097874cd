//! Implementations, for this crate's pools, of the pool traits of other crates with parallel
//! iterators.

#[cfg(feature = "orx-parallel")]
mod orx_parallel;
#[cfg(feature = "paralight")]
mod paralight;
