//! The jobserver of GNU make, which limits the number of jobs that all processes of a build run at
//! a time.
//!
//! `make -j8` passes a pipe to the programs that it runs, in `MAKEFLAGS`. Each byte in the pipe is
//! a job that no process runs. A process may run one job without a byte; for each further job it
//! takes a byte out, and puts the same byte back when the job is done. Under make, a worker of a
//! pool works only with a [`Token`]: the process's own job or a byte from the pipe. It takes the
//! token before it searches for work, and gives it back before it sleeps. Remaining tokens are
//! given back when the program exits; those of a program that is killed are lost, which the
//! protocol permits.
//!
//! Make has opened the pipe in blocking mode, for itself and all of its children. So the pipe is
//! opened again, by its name or that of its descriptor, in order that only this process's reads do
//! not block. Cargo passes such a pipe to build scripts in `CARGO_MAKEFLAGS`.

#[cfg(target_os = "linux")]
mod pipe;

/// The permission that a worker must hold to work. It is given back when dropped.
pub struct Token {
    jobserver: Option<&'static Jobserver>,
    held: bool,
}

impl Token {
    /// Returns a token that is not held yet, or, without a jobserver, one that is always held.
    pub fn of(jobserver: Option<&'static Jobserver>) -> Token {
        let held = jobserver.is_none();
        Token { jobserver, held }
    }

    /// Takes the token unless it is held. Returns `true` if it is held afterwards.
    #[inline]
    pub fn take(&mut self) -> bool {
        if let (false, Some(jobserver)) = (self.held, self.jobserver) {
            self.held = jobserver.take();
        }
        self.held
    }

    /// Gives the token back, if it is held.
    pub fn put_back(&mut self) {
        if let (true, Some(jobserver)) = (self.held, self.jobserver) {
            self.held = false;
            jobserver.put_back();
        }
    }
}

impl Drop for Token {
    fn drop(&mut self) {
        self.put_back();
    }
}

#[cfg(target_os = "linux")]
pub use pipe::Jobserver;

/// A jobserver, of which there is none except on Linux.
#[cfg(not(target_os = "linux"))]
pub enum Jobserver {}

#[cfg(not(target_os = "linux"))]
impl Jobserver {
    /// Returns `None`.
    pub fn of_this_process() -> Option<&'static Jobserver> {
        None
    }

    /// Returns how many jobs this process runs.
    pub fn jobs(&self) -> usize {
        match *self {}
    }

    fn take(&self) -> bool {
        match *self {}
    }

    fn put_back(&self) {
        match *self {}
    }
}
