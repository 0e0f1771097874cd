//! Programs that are built in: each is one text, which runs in one process, on MPI, and on Redis.

pub mod uts;
