//! Binding workers to CPUs.

use std::fmt;
use std::io;
use std::str::FromStr;

use crate::topology::{CpuList, Topology, allowed_now, topology};

/// The rule by which workers are bound to CPUs.
///
/// A pinned worker stays where its cache is warm, and its neighbours are known: it steals from them
/// first. But it cannot move away from other programs, so pin workers only if no other program uses
/// the machine. Available on Linux and Windows only. If there are more workers than CPUs, the CPUs
/// are assigned again from the first. Spare workers, which replace waiting ones, may run on any of
/// the pool's CPUs.
///
/// | text | meaning |
/// |---|---|
/// | `none` | the operating system decides |
/// | `compact` | near CPUs first: the threads of a core, the cores of a cache, ... |
/// | `spread` | far CPUs first: packages, nodes, caches, cores, and second threads of cores last |
/// | `0-3,8` | these CPUs, in this order |
///
/// ```
/// use locksley_machine::Pinning;
///
/// let pinning: Pinning = "4,0-2".parse().unwrap();
/// assert_eq!(pinning, Pinning::List(vec![4, 0, 1, 2]));
/// assert_eq!(pinning.to_string(), "4,0-2");
/// assert!("tight".parse::<Pinning>().unwrap_err().to_string().contains("compact"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Pinning {
    /// The operating system decides. The default.
    #[default]
    None,
    /// Near CPUs first.
    Compact,
    /// Far CPUs first.
    Spread,
    /// These CPUs: that of the first worker, of the second, ...
    List(Vec<usize>),
}

impl fmt::Display for Pinning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Pinning::None => f.write_str("none"),
            Pinning::Compact => f.write_str("compact"),
            Pinning::Spread => f.write_str("spread"),
            Pinning::List(cpus) => CpuList(cpus.clone()).fmt(f),
        }
    }
}

/// Error for a text that is not a [`Pinning`].
///
/// ```
/// let error = "everywhere".parse::<locksley_machine::Pinning>().unwrap_err();
/// assert!(error.to_string().contains("everywhere"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownPinning(String);

impl fmt::Display for UnknownPinning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "no pinning is called `{}`: possible are none, compact, spread, and a list of CPUs \
             like 0-3,8",
            self.0
        )
    }
}

impl std::error::Error for UnknownPinning {}

impl FromStr for Pinning {
    type Err = UnknownPinning;

    fn from_str(text: &str) -> Result<Pinning, UnknownPinning> {
        match text.trim() {
            "none" => Ok(Pinning::None),
            "compact" => Ok(Pinning::Compact),
            "spread" => Ok(Pinning::Spread),
            list => {
                // Parsed part by part, because the order matters here.
                let parts: Option<Vec<CpuList>> = list.split(',').map(CpuList::parse).collect();
                let cpus: Vec<usize> = parts
                    .into_iter()
                    .flatten()
                    .flat_map(|part| part.0)
                    .collect();
                if cpus.is_empty() {
                    Err(UnknownPinning(text.to_owned()))
                } else {
                    Ok(Pinning::List(cpus))
                }
            }
        }
    }
}

/// Reason why threads cannot be bound to CPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PinningError {
    /// The platform does not support it.
    Unsupported,
    /// A CPU is listed that this process may not use, or none is listed.
    NotAllowed {
        /// The CPU, if one is listed.
        cpu: Option<usize>,
        /// The CPUs that the process may use.
        allowed: Vec<usize>,
    },
}

impl fmt::Display for PinningError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (cpu, allowed) = match self {
            PinningError::Unsupported => {
                return f.write_str(
                    "workers cannot be pinned on this platform: leave it to the operating system \
                     (`Pinning::None`)",
                );
            }
            PinningError::NotAllowed { cpu, allowed } => (cpu, CpuList(allowed.clone())),
        };
        match cpu {
            Some(cpu) => write!(
                f,
                "a worker cannot be pinned to CPU {cpu}, which this process may not use: \
                 choose from {allowed}, or widen its affinity mask"
            ),
            None => write!(
                f,
                "workers cannot be pinned to no CPU: list at least one of {allowed}"
            ),
        }
    }
}

impl std::error::Error for PinningError {}

/// Returns the CPU of each worker; an empty list if the operating system decides.
///
/// # Errors
///
/// If threads cannot be bound here, or not to these CPUs.
pub fn pinned_cpus(pinning: &Pinning, workers: usize) -> Result<Vec<usize>, PinningError> {
    if *pinning == Pinning::None {
        return Ok(Vec::new());
    }
    match allowed_now() {
        Some(allowed) => deal(pinning, workers, &allowed, topology()),
        None => Err(PinningError::Unsupported),
    }
}

fn deal(
    pinning: &Pinning,
    workers: usize,
    allowed: &[usize],
    topology: &Topology,
) -> Result<Vec<usize>, PinningError> {
    let cpus = match pinning {
        Pinning::None => return Ok(Vec::new()),
        Pinning::Compact => topology.compact(allowed),
        Pinning::Spread => topology.spread(allowed),
        Pinning::List(cpus) => cpus.clone(),
    };
    let stranger = cpus.iter().find(|cpu| !allowed.contains(cpu)).copied();
    if cpus.is_empty() || stranger.is_some() {
        return Err(PinningError::NotAllowed {
            cpu: stranger,
            allowed: allowed.to_vec(),
        });
    }
    Ok(cpus.into_iter().cycle().take(workers).collect())
}

/// Binds the calling thread to some CPUs.
#[cfg(all(target_os = "linux", not(miri)))]
pub fn pin_to(cpus: &[usize]) -> io::Result<()> {
    let most = cpus.iter().max().map_or(0, |&cpu| cpu);
    let mut mask = vec![0_u64; most / 64 + 1];
    for cpu in cpus {
        mask[cpu / 64] |= 1 << (cpu % 64);
    }
    // SAFETY: the mask has as many bytes as the call is told, and the kernel only reads it.
    let answer =
        unsafe { libc::sched_setaffinity(0, size_of_val(&mask[..]), mask.as_ptr().cast()) };
    if answer == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Binds the calling thread to some CPUs.
#[cfg(all(windows, not(miri)))]
pub fn pin_to(cpus: &[usize]) -> io::Result<()> {
    super::windows::pin_to(cpus)
}

/// Binds the calling thread to some CPUs.
#[cfg(not(all(any(target_os = "linux", windows), not(miri))))]
pub fn pin_to(_: &[usize]) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Returns the CPU on which the calling thread runs at the moment, if it is known.
#[cfg(all(target_os = "linux", not(miri)))]
pub fn current_cpu() -> Option<usize> {
    // SAFETY: the call takes no arguments and touches no memory of this process.
    usize::try_from(unsafe { libc::sched_getcpu() }).ok()
}

/// Returns the CPU on which the calling thread runs at the moment, if it is known.
#[cfg(all(windows, not(miri)))]
pub fn current_cpu() -> Option<usize> {
    Some(super::windows::current_cpu())
}

/// Returns the CPU on which the calling thread runs at the moment, if it is known.
#[cfg(not(all(any(target_os = "linux", windows), not(miri))))]
pub fn current_cpu() -> Option<usize> {
    None
}

#[cfg(test)]
#[path = "../tests/unit/pinning.rs"]
mod tests;
