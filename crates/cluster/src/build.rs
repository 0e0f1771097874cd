//! Which build a process runs.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

/// A number that tells builds apart: a hash of the executable.
///
/// Arguments and results have no format of their own beyond what the types of one build say. So processes of
/// different builds don't exchange tasks.
///
/// ```
/// use locksley_cluster::Build;
///
/// let build = Build::current()?;
/// assert_eq!(build, Build::current()?);
/// assert_eq!(build.to_string().len(), 16);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Build(pub u64);

impl Build {
    /// The build of this process.
    ///
    /// # Errors
    ///
    /// If the executable cannot be read.
    pub fn current() -> io::Result<Build> {
        static KNOWN: OnceLock<Build> = OnceLock::new();
        if let Some(&build) = KNOWN.get() {
            return Ok(build);
        }
        let mut hash = Fnv::default();
        let mut file = File::open(std::env::current_exe()?)?;
        let mut buffer = vec![0; 1 << 16];
        loop {
            match file.read(&mut buffer)? {
                0 => break,
                read => hash.write(&buffer[..read]),
            }
        }
        Ok(*KNOWN.get_or_init(|| Build(hash.0)))
    }
}

impl fmt::Display for Build {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// FNV-1a: it tells builds apart, and is no protection against anybody.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Fnv {
        Fnv(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_fnv_1a() {
        let mut hash = Fnv::default();
        hash.write(b"foobar");
        assert_eq!(hash.0, 0x8594_4171_f739_67e8);
    }
}
