//! The CPUs of the machine, what they share, and which of them this process may use.
//!
//! A CPU is in a *domain* at each level: a package, a NUMA node, a cache, a core. The levels
//! that a machine has are ordered from the widest domain to the narrowest; the numbers of a CPU's
//! domains in this order are its *address*. The longer the common prefix of two addresses, the
//! nearer the two CPUs are. Victims are selected by this distance (`locksley_policy::Order`).
//!
//! ```text
//!   level      package | L3 | L2 | core
//!   CPU 0          0   |  0 |  0 |  0        0 and 1 share a core,
//!   CPU 1          0   |  0 |  0 |  0        0 and 2 a cache,
//!   CPU 2          0   |  0 |  1 |  1        0 and 8 nothing but the machine
//!   CPU 8          1   |  1 |  4 |  4
//! ```

mod available;
mod list;
mod read;
mod show;

#[cfg(test)]
#[path = "../../tests/unit/topology.rs"]
mod tests;

use std::fmt;
use std::sync::OnceLock;

use crate::insertion;
use std::sync::atomic::{AtomicUsize, Ordering};

pub use available::processors_now;
pub use available::{Available, available_cpus};
pub(crate) use list::CpuList;
pub use read::allowed_now;

/// Something that CPUs share.
///
/// ```
/// assert_eq!(locksley_machine::Level::Cache(3).to_string(), "L3");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Level {
    /// The whole machine: the CPUs share nothing closer, or nothing is known.
    Machine,
    /// A package, or socket.
    Package,
    /// A NUMA node.
    Node,
    /// A cache of this level.
    Cache(u8),
    /// A core with several hardware threads.
    Core,
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Level::Machine => f.write_str("machine"),
            Level::Package => f.write_str("package"),
            Level::Node => f.write_str("node"),
            Level::Cache(level) => write!(f, "L{level}"),
            Level::Core => f.write_str("core"),
        }
    }
}

/// A level of a machine: its CPUs divided into domains.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Layer {
    level: Level,
    /// The domain of each CPU, by its position in `Topology::cpus`.
    domains: Vec<u32>,
}

impl Layer {
    /// Returns the number of domains.
    fn count(&self) -> usize {
        self.domains
            .iter()
            .max()
            .map_or(0, |&most| most as usize + 1)
    }

    /// Returns the size of the largest domain.
    fn widest(&self) -> usize {
        let mut sizes = vec![0; self.count()];
        for &domain in &self.domains {
            sizes[domain as usize] += 1;
        }
        sizes.into_iter().max().unwrap_or(0)
    }
}

/// The CPUs of a machine and what they share. Its `Display` form is a tree.
///
/// ```
/// let topology = locksley_machine::topology();
/// println!("{topology}");
/// assert!(!topology.cpus().is_empty());
/// let first = topology.cpus()[0];
/// assert_eq!(topology.distance(first, first), Some(0));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    /// The online CPUs, in ascending order.
    cpus: Vec<usize>,
    /// The CPUs that this process may use.
    allowed: Vec<usize>,
    /// The levels, the widest first.
    layers: Vec<Layer>,
}

/// Returns the topology of this machine: on Linux from `/sys/devices/system`, on Windows from
/// `GetLogicalProcessorInformation`. Elsewhere, or if that cannot be read, all CPUs are equally far
/// from each other.
///
/// The topology is read once, on the first call, and so are the CPUs that the process may use.
///
/// ```
/// println!("{}", locksley_machine::topology());
/// ```
pub fn topology() -> &'static Topology {
    KNOWN.get_or_init(read::machine)
}

static KNOWN: OnceLock<Topology> = OnceLock::new();

/// Number of calls that return no topology before it is read. Reading it takes several system calls
/// for each CPU, which a program that ends soon should not pay for.
const PATIENCE: usize = 64;

/// Returns the [`topology`] if it is known. Otherwise the caller after `PATIENCE` others reads it,
/// and all other callers get `None` without waiting.
pub fn topology_at_hand() -> Option<&'static Topology> {
    static ASKED: AtomicUsize = AtomicUsize::new(0);
    if let Some(topology) = KNOWN.get() {
        return Some(topology);
    }
    let asked = ASKED.fetch_add(1, Ordering::Relaxed);
    (asked == PATIENCE).then(topology)
}

impl Topology {
    /// Returns the topology that a text describes: the output of `grep -s .` for the files that
    /// describe a machine, one line `path:content` each. So another machine can be described.
    ///
    /// Paths may be cut at the front: only the part from `cpu/` or `node/` on counts. The line
    /// `affinity:0-3` specifies the CPUs that the process may use. Other lines are ignored; CPUs
    /// are taken to share nothing that is not listed.
    ///
    /// ```
    /// use locksley_machine::{Level, Topology};
    ///
    /// let topology = Topology::from_listing(
    ///     "cpu/online:0-3\n\
    ///      cpu/cpu0/cache/index2/level:2\n\
    ///      cpu/cpu0/cache/index2/shared_cpu_list:0-1\n\
    ///      cpu/cpu2/cache/index2/level:2\n\
    ///      cpu/cpu2/cache/index2/shared_cpu_list:2-3\n",
    /// );
    /// assert_eq!(topology.closest(0, 1), Some(Level::Cache(2)));
    /// assert_eq!(topology.closest(1, 2), Some(Level::Machine));
    /// ```
    pub fn from_listing(text: &str) -> Topology {
        read::listing(text)
    }

    /// Returns the topology of a machine of which only the CPUs are known.
    pub(crate) fn flat(mut cpus: Vec<usize>, allowed: Option<Vec<usize>>) -> Topology {
        if cpus.is_empty() {
            cpus.push(0);
        }
        let allowed = allowed.unwrap_or_else(|| cpus.clone());
        Topology {
            cpus,
            allowed,
            layers: Vec::new(),
        }
    }

    /// Adds levels in order: the widest first, and of equally wide ones the one that is usually
    /// wider. Levels at which every CPU is alone are omitted.
    fn with_layers(mut self, mut layers: Vec<Layer>) -> Topology {
        layers.retain(|layer| layer.widest() > 1);
        let rank = |level| match level {
            Level::Machine => 0,
            Level::Package => 1,
            Level::Node => 2,
            Level::Cache(level) => 258 - usize::from(level),
            Level::Core => 258,
        };
        let key = |layer: &Layer| (usize::MAX - layer.widest(), rank(layer.level));
        insertion::sort_by(&mut layers, |one, other| key(one) < key(other));
        self.layers = layers;
        self
    }

    /// Returns the CPUs that are online, in ascending order.
    ///
    /// ```
    /// assert!(!locksley_machine::topology().cpus().is_empty());
    /// ```
    pub fn cpus(&self) -> &[usize] {
        &self.cpus
    }

    /// Returns the CPUs that this process may use, according to its affinity mask.
    ///
    /// ```
    /// let topology = locksley_machine::topology();
    /// assert!(topology.allowed().iter().all(|cpu| topology.cpus().contains(cpu)));
    /// ```
    pub fn allowed(&self) -> &[usize] {
        &self.allowed
    }

    /// Returns the levels at which CPUs share something, the widest first. Empty if nothing is
    /// known.
    ///
    /// ```
    /// for level in locksley_machine::topology().levels() {
    ///     println!("{level:?}");
    /// }
    /// ```
    pub fn levels(&self) -> impl ExactSizeIterator<Item = Level> + '_ {
        self.layers.iter().map(|layer| layer.level)
    }

    /// Returns `true` if no CPUs are known to be nearer to each other than to others.
    ///
    /// ```
    /// use locksley_machine::Topology;
    ///
    /// assert!(Topology::from_listing("cpu/online:0-7").is_flat());
    /// ```
    pub fn is_flat(&self) -> bool {
        self.layers.iter().all(|layer| layer.count() == 1)
    }

    /// Returns the narrowest level that two CPUs share: [`Level::Core`] for a CPU and itself.
    /// `None` if one of them is not online.
    ///
    /// ```
    /// let topology = locksley_machine::topology();
    /// if let [a, b, ..] = topology.cpus() {
    ///     println!("CPUs {a} and {b} share {:?}", topology.closest(*a, *b));
    /// }
    /// ```
    pub fn closest(&self, a: usize, b: usize) -> Option<Level> {
        let shared = self.shared(a, b)?;
        Some(match shared {
            _ if a == b => Level::Core,
            0 => Level::Machine,
            _ => self.layers[shared - 1].level,
        })
    }

    /// Returns the distance of two CPUs: 0 for a CPU and itself, 1 for CPUs that share the
    /// narrowest level, and one more for each level that they do not share. `None` if one of them
    /// is not online.
    ///
    /// ```
    /// use locksley_machine::Topology;
    ///
    /// let topology = Topology::from_listing(
    ///     "cpu/online:0-3\n\
    ///      cpu/cpu0/topology/package_cpus_list:0-1\n\
    ///      cpu/cpu2/topology/package_cpus_list:2-3\n",
    /// );
    /// let distances = [0, 1, 2, 7].map(|cpu| topology.distance(0, cpu));
    /// assert_eq!(distances, [Some(0), Some(1), Some(2), None]);
    /// ```
    pub fn distance(&self, a: usize, b: usize) -> Option<usize> {
        let shared = self.shared(a, b)?;
        Some(if a == b {
            0
        } else {
            1 + self.layers.len() - shared
        })
    }

    /// Returns the number of levels that two CPUs share, from the widest on.
    fn shared(&self, a: usize, b: usize) -> Option<usize> {
        let (a, b) = (self.place(a)?, self.place(b)?);
        let shares = |layer: &&Layer| layer.domains[a] == layer.domains[b];
        Some(self.layers.iter().take_while(shares).count())
    }

    /// Returns the position of a CPU in `cpus`.
    fn place(&self, cpu: usize) -> Option<usize> {
        self.cpus.binary_search(&cpu).ok()
    }

    /// Returns the domains of a CPU, from the widest level to the narrowest; empty if it is not
    /// online or nothing is known.
    pub fn address(&self, cpu: usize) -> Vec<u32> {
        let Some(place) = self.place(cpu) else {
            return Vec::new();
        };
        let domains = self.layers.iter().map(|layer| layer.domains[place]);
        domains.collect()
    }

    /// Returns the part of a CPU's address that consists of last-level caches and wider levels. The
    /// operating system seldom moves a thread from one such region to another.
    pub fn region(&self, cpu: usize) -> Vec<u32> {
        let mut address = self.address(cpu);
        address.truncate(self.regional());
        address
    }

    /// Returns `true` if there is more than one region.
    pub fn has_regions(&self) -> bool {
        let mut wide = self.layers[..self.regional()].iter();
        wide.any(|layer| layer.count() > 1)
    }

    /// Returns the number of levels that make up a region.
    fn regional(&self) -> usize {
        let narrow = |layer: &Layer| match layer.level {
            Level::Cache(level) => level < 3,
            level => level == Level::Core,
        };
        let narrowest = self.layers.iter().position(narrow);
        narrowest.unwrap_or(self.layers.len())
    }

    /// Returns these CPUs in an order in which near ones follow each other.
    pub fn compact(&self, cpus: &[usize]) -> Vec<usize> {
        let mut order: Vec<_> = cpus.iter().map(|&cpu| (self.address(cpu), cpu)).collect();
        insertion::sort_by(&mut order, |one, other| one < other);
        order.into_iter().map(|(_, cpu)| cpu).collect()
    }

    /// Returns these CPUs in an order in which each is far from those before it.
    pub fn spread(&self, cpus: &[usize]) -> Vec<usize> {
        let compact = self.compact(cpus);
        self.interleave(&compact, 0)
    }

    /// Interleaves the domains of a level, given the CPUs domain by domain: one CPU of each in
    /// turn.
    fn interleave(&self, compact: &[usize], level: usize) -> Vec<usize> {
        if level == self.layers.len() {
            return compact.to_vec();
        }
        let domain = |cpu: &usize| self.address(*cpu).get(level).copied();
        let groups: Vec<Vec<usize>> = compact
            .chunk_by(|a, b| domain(a) == domain(b))
            .map(|group| self.interleave(group, level + 1))
            .collect();
        let longest = groups.iter().map(Vec::len).max().unwrap_or(0);
        (0..longest)
            .flat_map(|turn| groups.iter().filter_map(move |group| group.get(turn)))
            .copied()
            .collect()
    }
}
