//! Programs that are built in: each is one text, which runs in one process, on MPI, and on Redis.

pub mod cholesky;
pub mod merge_sort;
#[cfg(feature = "uts")]
pub mod uts;
