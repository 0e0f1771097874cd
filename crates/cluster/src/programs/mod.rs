//! Programs that are built in: each is one text, which runs in one process, on MPI, and on Redis.

#[cfg(feature = "thumbnails")]
pub mod thumbnails;
pub mod uts;
