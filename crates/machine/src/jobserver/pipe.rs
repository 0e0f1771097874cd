//! The pipe of a jobserver, and its address in make's flags.

use std::ffi::c_int;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::RawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::process::{self, PerProcess};

unsafe extern "C" {
    /// From the C standard library. Returns 0 if `handler` will be called at exit.
    fn atexit(handler: extern "C" fn()) -> c_int;
}

/// A forked process opens the jobserver again.
static JOBSERVER: PerProcess<Option<Jobserver>> = PerProcess::new();

/// The jobserver of the make that this process was started by.
pub struct Jobserver {
    pipe: File,
    tokens: Mutex<Tokens>,
    /// The generation of the process that opened the pipe.
    generation: usize,
}

/// The jobs that the process runs.
#[derive(Default)]
struct Tokens {
    /// Set if a worker has the process's own job.
    own: bool,
    /// The bytes that were taken from the pipe.
    taken: Vec<u8>,
    /// Set when the process exits: no job can be taken any more.
    closed: bool,
}

impl Jobserver {
    /// Returns the jobserver that the environment specifies, if it exists.
    pub fn of_this_process() -> Option<&'static Jobserver> {
        let found = JOBSERVER.get_or_init(|| {
            let jobserver = Jobserver::open(address(&make_flags()?)?)?;
            // SAFETY: the function does not unwind, and exists as long as the process, or is
            // unregistered when the library that contains it is unloaded.
            unsafe { atexit(give_back) };
            Some(jobserver)
        });
        found.as_ref()
    }

    fn open(address: Address<'_>) -> Option<Jobserver> {
        let path = match address {
            Address::Path(path) => path.to_owned(),
            Address::Descriptors(read, write) if are_inherited([read, write]) => named(read),
            Address::Descriptors(..) => return None,
        };
        // Opening it for reading and writing does not wait for another process.
        let mut options = OpenOptions::new();
        options.read(true).write(true);
        options.custom_flags(libc::O_NONBLOCK);
        let is_pipe = std::fs::metadata(&path).is_ok_and(|file| file.file_type().is_fifo());
        let pipe = is_pipe.then(|| options.open(&path).ok()).flatten()?;
        Some(Jobserver {
            pipe,
            tokens: Mutex::default(),
            generation: process::watched_generation(),
        })
    }

    /// Locks the tokens. Returns `None` in a forked process: the jobs belong to the parent, and the
    /// lock may be held for ever, by a thread that this process does not have.
    fn lock(&self) -> Option<MutexGuard<'_, Tokens>> {
        // No panic can leave the tokens half changed.
        let lock = || self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        (self.generation == process::generation()).then(lock)
    }

    /// Returns the number of jobs that this process runs, or may run without another byte.
    pub fn jobs(&self) -> usize {
        1 + self.lock().map_or(0, |tokens| tokens.taken.len())
    }

    /// Takes the process's own job, or else a byte. Returns `false` if neither is available.
    pub(super) fn take(&self) -> bool {
        let Some(mut tokens) = self.lock().filter(|tokens| !tokens.closed) else {
            return false;
        };
        if !tokens.own {
            tokens.own = true;
            return true;
        }
        let mut byte = [0];
        let read = (&self.pipe).read(&mut byte);
        let taken = matches!(read, Ok(1));
        if taken {
            tokens.taken.extend(byte);
        }
        taken
    }

    /// Gives a job back: bytes first, since other processes may wait for them.
    pub(super) fn put_back(&self) {
        let Some(mut tokens) = self.lock() else {
            return;
        };
        match tokens.taken.pop() {
            Some(byte) => self.write(&[byte]),
            None => tokens.own = false,
        }
    }

    /// Writes bytes to the pipe, which has room for every byte that was taken from it.
    fn write(&self, bytes: &[u8]) {
        // An error means that make has exited, and no process needs the bytes.
        let _ = (&self.pipe).write_all(bytes);
    }
}

/// Gives back the bytes that the workers hold when the process exits.
extern "C" fn give_back() {
    let Some(Some(jobserver)) = JOBSERVER.get() else {
        return;
    };
    let Some(mut tokens) = jobserver.lock() else {
        return;
    };
    tokens.closed = true;
    jobserver.write(&tokens.taken);
    tokens.taken.clear();
}

/// Returns the flags that make, or cargo, passes to the programs that it runs.
fn make_flags() -> Option<String> {
    let value = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    value("CARGO_MAKEFLAGS").or_else(|| value("MAKEFLAGS"))
}

/// The address of the pipe in make's flags: its path, or the descriptors of its ends.
#[derive(Debug, PartialEq)]
enum Address<'f> {
    Path(&'f str),
    Descriptors(RawFd, RawFd),
}

/// Returns a path to the file of a descriptor of this process.
fn named(descriptor: RawFd) -> String {
    format!("/proc/self/fd/{descriptor}")
}

/// Returns `true` if these are the two ends of one pipe, and the process was started with them. If
/// make did not pass its pipe on, the numbers are those of no file, or of a file that the program
/// itself has opened, which the standard library marks to be closed on `exec`.
fn are_inherited(descriptors: [RawFd; 2]) -> bool {
    let pipes = descriptors.map(|descriptor| {
        // SAFETY: the call takes no pointer; for a number without a file it returns an error.
        let flags = unsafe { libc::fcntl(descriptor, libc::F_GETFD) };
        let file = std::fs::metadata(named(descriptor)).ok()?;
        let inherited = flags >= 0 && flags & libc::FD_CLOEXEC == 0;
        (inherited && file.file_type().is_fifo()).then(|| (file.dev(), file.ino()))
    });
    pipes[0].is_some() && pipes[0] == pipes[1]
}

/// Finds the jobserver in make's flags. Of several the last one counts; words after `--` are
/// variables.
fn address(flags: &str) -> Option<Address<'_>> {
    let words = flags.split(' ').take_while(|word| *word != "--");
    let auth = words.filter_map(|word| {
        let older = || word.strip_prefix("--jobserver-fds=");
        word.strip_prefix("--jobserver-auth=").or_else(older)
    });
    let auth = auth.last()?;
    if let Some(path) = auth.strip_prefix("fifo:") {
        return Some(Address::Path(path));
    }
    // Negative numbers mean that the pipe exists, but was not passed to this program.
    let (read, write) = auth.split_once(',')?;
    let (read, write) = (read.parse().ok()?, write.parse().ok()?);
    (read >= 0 && write >= 0).then_some(Address::Descriptors(read, write))
}

#[cfg(test)]
#[path = "../../tests/unit/jobserver/pipe.rs"]
mod tests;
