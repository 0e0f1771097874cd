//! Built-in programs. Each runs unchanged in one process, on MPI, and on Redis.

pub mod cholesky;
pub mod merge_sort;
#[cfg(feature = "uts")]
pub mod uts;
