//! Build numbers, which tell different executables apart.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

/// A build number. Processes with different build numbers do not exchange tasks.
///
/// Arguments and results have no self-describing format: only the types of one build can read them.
/// There are two ways to get a build number:
///
/// - [`Build::current`], a hash of the executable: safe, but every compilation is another build.
/// - [`Build::named`], a text that the program chooses, such as its name and a version: executables
///   for different machines, or with unrelated changes, are one build. The program must change the
///   text whenever a task, a continuation or a result changes its fields or its meaning.
///
/// ```
/// use locksley_cluster::Build;
///
/// let build = Build::current()?;
/// assert_eq!(build, Build::current()?);
/// assert_eq!(build.to_string().len(), 16);
/// assert_eq!(Build::named("leaves 1"), Build::named("leaves 1"));
/// assert_ne!(Build::named("leaves 1"), Build::named("leaves 2"));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Build(pub u64);

impl Build {
    /// Returns the build number of a text.
    pub fn named(text: &str) -> Build {
        let mut hash = Fnv::default();
        hash.write(text.as_bytes());
        Build(hash.0)
    }

    /// Returns the build number of this process's executable.
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

/// FNV-1a, which tells builds apart but gives no protection against an attacker.
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
