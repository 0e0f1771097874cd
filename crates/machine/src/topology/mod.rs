//! Which CPUs there are, what they share, and which of them this process may use.
//!
//! A CPU is in a *domain* at each level: a package, a NUMA node, a cache, a core. The levels
//! that a machine has are ordered from the widest domain to the narrowest; the numbers of a CPU's
//! domains in this order are its *address*. Two CPUs are the nearer, the longer the common
//! start of their addresses: this is what victims are chosen by (`locksley_policy::Order`).
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
    /// The whole machine: nothing closer is shared, or known to be.
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

/// A level that a machine has: how its CPUs are divided into domains there.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Layer {
    level: Level,
    /// The domain of each CPU of the topology, by its place in `cpus`.
    domains: Vec<u32>,
}

impl Layer {
    /// How many domains there are.
    fn count(&self) -> usize {
        self.domains
            .iter()
            .max()
            .map_or(0, |&most| most as usize + 1)
    }

    /// The size of the largest domain.
    fn widest(&self) -> usize {
        let mut sizes = vec![0; self.count()];
        for &domain in &self.domains {
            sizes[domain as usize] += 1;
        }
        sizes.into_iter().max().unwrap_or(0)
    }
}

/// The CPUs of a machine and what they share. Printed, it is a tree.
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
    /// Those of them that this process may use.
    allowed: Vec<usize>,
    /// The levels, the widest first.
    layers: Vec<Layer>,
}

/// What the operating system says about this machine: on Linux from `/sys/devices/system`, on
/// Windows by `GetLogicalProcessorInformation`. Elsewhere, or where that is unreadable, all CPUs
/// are equally far from each other.
///
/// Read once, on the first call; the CPUs that the process may use are those of that time.
///
/// ```
/// println!("{}", locksley_machine::topology());
/// ```
pub fn topology() -> &'static Topology {
    KNOWN.get_or_init(read::machine)
}

static KNOWN: OnceLock<Topology> = OnceLock::new();

/// How many times the topology is asked for in vain before it is read. To read it takes several
/// system calls for each CPU, which a program that ends soon had better do without.
const PATIENCE: usize = 64;

/// [`topology`] unless it would have to be waited for: one caller reads, after `PATIENCE` others,
/// and those that ask meanwhile do without.
pub fn topology_at_hand() -> Option<&'static Topology> {
    static ASKED: AtomicUsize = AtomicUsize::new(0);
    if let Some(topology) = KNOWN.get() {
        return Some(topology);
    }
    let asked = ASKED.fetch_add(1, Ordering::Relaxed);
    (asked == PATIENCE).then(topology)
}

impl Topology {
    /// A topology from text: what `grep -s .` prints for the files that describe a
    /// machine, one line `path:content` each. So that a machine can be described that is not there.
    ///
    /// Paths may be cut at the front: only what is behind `cpu/` or `node/` counts. The line
    /// `affinity:0-3` says which CPUs the process may use. Lines that mean nothing here are
    /// ignored; what is missing is taken as not shared.
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

    /// A machine of which nothing is known but its CPUs.
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

    /// Adds levels, and puts them in order: the widest first, and of equally wide ones the one that
    /// is usually the wider. Levels at which every CPU is alone say nothing, and are left out.
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

    /// The CPUs that are online, in ascending order.
    ///
    /// ```
    /// assert!(!locksley_machine::topology().cpus().is_empty());
    /// ```
    pub fn cpus(&self) -> &[usize] {
        &self.cpus
    }

    /// Those that this process may use, by its affinity mask.
    ///
    /// ```
    /// let topology = locksley_machine::topology();
    /// assert!(topology.allowed().iter().all(|cpu| topology.cpus().contains(cpu)));
    /// ```
    pub fn allowed(&self) -> &[usize] {
        &self.allowed
    }

    /// The levels at which CPUs share something, the widest first. Empty where nothing is known.
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

    /// What two CPUs share, at the closest: [`Level::Core`] for a CPU and itself.
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

    /// How far two CPUs are apart: 0 for a CPU and itself, 1 for those that share the narrowest
    /// level there is, and one more for each level that they do not share. `None` if one of them is
    /// not online.
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

    /// How many levels two CPUs share, from the widest on.
    fn shared(&self, a: usize, b: usize) -> Option<usize> {
        let (a, b) = (self.place(a)?, self.place(b)?);
        let shares = |layer: &&Layer| layer.domains[a] == layer.domains[b];
        Some(self.layers.iter().take_while(shares).count())
    }

    /// Where a CPU stands in `cpus`.
    fn place(&self, cpu: usize) -> Option<usize> {
        self.cpus.binary_search(&cpu).ok()
    }

    /// The domains of a CPU, from the widest level to the narrowest; empty if it is not online or
    /// nothing is known.
    pub fn address(&self, cpu: usize) -> Vec<u32> {
        let Some(place) = self.place(cpu) else {
            return Vec::new();
        };
        let domains = self.layers.iter().map(|layer| layer.domains[place]);
        domains.collect()
    }

    /// The part of a CPU's address that a thread seldom moves across by itself: last-level caches
    /// and wider.
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

    /// How many levels make up a region.
    fn regional(&self) -> usize {
        let narrow = |layer: &Layer| match layer.level {
            Level::Cache(level) => level < 3,
            level => level == Level::Core,
        };
        let narrowest = self.layers.iter().position(narrow);
        narrowest.unwrap_or(self.layers.len())
    }

    /// These CPUs so that near ones follow each other.
    pub fn compact(&self, cpus: &[usize]) -> Vec<usize> {
        let mut order: Vec<_> = cpus.iter().map(|&cpu| (self.address(cpu), cpu)).collect();
        insertion::sort_by(&mut order, |one, other| one < other);
        order.into_iter().map(|(_, cpu)| cpu).collect()
    }

    /// These CPUs so that each is far from those before it.
    pub fn spread(&self, cpus: &[usize]) -> Vec<usize> {
        let compact = self.compact(cpus);
        self.interleave(&compact, 0)
    }

    /// Deals the CPUs of the domains of a level, which stand one domain behind another, in turns.
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
