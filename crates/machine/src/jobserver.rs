//! The jobserver of GNU make: how many jobs the processes of a build run at a time, all together.
//!
//! `make -j8` tells the programs that it runs of a pipe, in `MAKEFLAGS`. Each byte in the pipe is a
//! job that no process runs. A process runs one job as it is; for each further one it takes a byte
//! out, and puts the same byte back when it is done. Under make, a worker of a pool works only with
//! a [`Token`]: the process's own job or a byte from the pipe. It takes one before it looks for
//! work, and gives it back before it sleeps. What is left when the program exits is given back
//! then; that of a program which is killed is lost, as the protocol has it.
//!
//! Make opened the pipe such that a read waits, for itself and all of its children. So the pipe is
//! opened once more, by its name or that of its descriptor, and only this process's reads return at
//! once. Cargo gives a build script such a pipe in `CARGO_MAKEFLAGS`.

#[cfg(target_os = "linux")]
mod pipe;

/// What a worker must hold to work. Dropped, it is given back.
pub struct Token {
    jobserver: Option<&'static Jobserver>,
    held: bool,
}

impl Token {
    /// Returns a token that is not held. Without a jobserver it costs nothing to take.
    pub fn of(jobserver: Option<&'static Jobserver>) -> Token {
        let held = jobserver.is_none();
        Token { jobserver, held }
    }

    /// Takes the token unless it is held. Returns `true` if it is.
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

/// Elsewhere than on Linux, none is looked for.
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
