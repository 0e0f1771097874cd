//! Reading a topology: from the files of `/sys/devices/system`, or from a listing of them.

use std::collections::HashMap;

use super::list::CpuList;
use super::{Layer, Level, Topology};

/// The most cache descriptions looked for at a CPU; Linux numbers them from 0 without gaps.
const CACHES: usize = 16;

/// Returns the contents of a file below `/sys/devices/system`.
type Read<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The machine that this process runs on.
#[cfg(all(windows, not(miri)))]
pub(super) fn machine() -> Topology {
    listing(&crate::windows::listing())
}

/// The machine that this process runs on.
#[cfg(not(all(windows, not(miri))))]
pub(super) fn machine() -> Topology {
    let read = |path: &str| std::fs::read_to_string(format!("/sys/devices/system/{path}")).ok();
    let nodes = CpuList::parse(&read("node/online").unwrap_or_default()).unwrap_or_default();
    from_files(&read, &nodes.0, allowed_now())
}

/// Returns the machine that lines `path:content` describe.
pub(super) fn listing(text: &str) -> Topology {
    let mut files = HashMap::new();
    let mut affinity = None;
    let mut nodes = Vec::new();
    for line in text.lines() {
        let Some((path, content)) = line.trim().split_once(':') else {
            continue;
        };
        if path == "affinity" {
            affinity = CpuList::parse(content).map(|list| list.0);
        }
        let start = path
            .find("cpu/")
            .into_iter()
            .chain(path.find("node/"))
            .min();
        let path = &path[start.unwrap_or(0)..];
        let node: Option<usize> = path
            .strip_prefix("node/node")
            .and_then(|rest| rest.split('/').next()?.parse().ok());
        nodes.extend(node);
        files.insert(path.to_owned(), content.to_owned());
    }
    nodes.sort_unstable();
    nodes.dedup();
    from_files(&|path| files.get(path).cloned(), &nodes, affinity)
}

fn from_files(read: Read<'_>, nodes: &[usize], affinity: Option<Vec<usize>>) -> Topology {
    let online = read("cpu/online").and_then(|text| CpuList::parse(&text));
    let cpus = match online {
        Some(CpuList(cpus)) if !cpus.is_empty() => cpus,
        _ => match &affinity {
            Some(cpus) => cpus.clone(),
            None => (0..std::thread::available_parallelism().map_or(1, usize::from)).collect(),
        },
    };
    let allowed = affinity.map(|mask| {
        let both = mask.into_iter().filter(|cpu| cpus.contains(cpu));
        both.collect()
    });
    let topology = Topology::flat(cpus, allowed);
    let mut layers = caches(&topology.cpus, read);
    layers.extend(packages(&topology.cpus, read));
    layers.extend(numa_nodes(&topology.cpus, nodes, read));
    layers.extend(cores(&topology.cpus, read));
    topology.with_layers(layers)
}

/// Numbers the domains in the order of their first CPU. A CPU without a key is a domain of its own
/// if `alone` is set, and otherwise shares one with all others that have none. Returns `None` if no
/// CPU has a key: the machine has no such level.
#[inline(never)]
fn layer(level: Level, keys: Vec<Option<usize>>, alone: bool) -> Option<Layer> {
    if keys.iter().all(Option::is_none) {
        return None;
    }
    let mut numbers: Vec<(Option<usize>, usize)> = Vec::new();
    let domains = keys
        .into_iter()
        .enumerate()
        .map(|(place, key)| {
            let key = (key, if key.is_none() && alone { place } else { 0 });
            // From the end: neighbours mostly have the same key.
            let known = numbers.iter().rposition(|one| *one == key);
            let number = known.unwrap_or_else(|| {
                numbers.push(key);
                numbers.len() - 1
            });
            number as u32
        })
        .collect();
    Some(Layer { level, domains })
}

/// Reads a file that is a list of CPUs.
#[inline(never)]
fn list_at(read: Read<'_>, path: String) -> Option<CpuList> {
    CpuList::parse(&read(&path)?)
}

/// Groups CPUs by the lists of CPUs that share something with them. Each list is read once: none is
/// read for a CPU that is in a group already.
#[inline(never)]
fn by_lists(cpus: &[usize], list: &dyn Fn(usize) -> Option<CpuList>) -> Vec<Option<usize>> {
    let mut keys = vec![None; cpus.len()];
    for place in 0..cpus.len() {
        if keys[place].is_some() {
            continue;
        }
        for mate in list(cpus[place]).unwrap_or_default().0 {
            // Offline CPUs are not in `cpus`.
            if let Ok(mate) = cpus.binary_search(&mate) {
                keys[mate].get_or_insert(place);
            }
        }
    }
    keys
}

/// As [`by_lists`], with a file of each CPU's topology, which has another name in older kernels.
#[inline(never)]
fn by_mates(cpus: &[usize], read: Read<'_>, [name, older]: [&str; 2]) -> Vec<Option<usize>> {
    by_lists(cpus, &|cpu| {
        let list = |name| list_at(read, format!("cpu/cpu{cpu}/topology/{name}"));
        list(name).or_else(|| list(older))
    })
}

fn packages(cpus: &[usize], read: Read<'_>) -> Option<Layer> {
    let mut keys = by_mates(cpus, read, ["package_cpus_list", "core_siblings_list"]);
    for (cpu, key) in cpus.iter().zip(&mut keys) {
        // Older descriptions have the number only. The key differs from any position in `cpus`.
        if key.is_none() {
            let text = read(&format!("cpu/cpu{cpu}/topology/physical_package_id"));
            let number = text.and_then(|text| text.trim().parse::<usize>().ok());
            *key = number.map(|number| cpus.len() + number);
        }
    }
    layer(Level::Package, keys, false)
}

fn numa_nodes(cpus: &[usize], nodes: &[usize], read: Read<'_>) -> Option<Layer> {
    let mut keys = vec![None; cpus.len()];
    for &node in nodes {
        let list = list_at(read, format!("node/node{node}/cpulist"));
        for cpu in list.unwrap_or_default().0 {
            if let Ok(place) = cpus.binary_search(&cpu) {
                keys[place] = Some(node);
            }
        }
    }
    layer(Level::Node, keys, false)
}

fn cores(cpus: &[usize], read: Read<'_>) -> Option<Layer> {
    let keys = by_mates(cpus, read, ["core_cpus_list", "thread_siblings_list"]);
    layer(Level::Core, keys, true)
}

/// Returns a layer for each level of data or unified caches.
fn caches(cpus: &[usize], read: Read<'_>) -> Vec<Layer> {
    // The caches that hold data: CPU, level, number.
    let mut described: Vec<(usize, u8, usize)> = Vec::new();
    for &cpu in cpus {
        for index in 0..CACHES {
            let text = |name| read(&format!("cpu/cpu{cpu}/cache/index{index}/{name}"));
            let level = text("level").and_then(|level| level.trim().parse::<u8>().ok());
            let Some(level) = level else { continue };
            if text("type").is_none_or(|kind| kind.trim() != "Instruction") {
                described.push((cpu, level, index));
            }
        }
    }
    let mut layers = Vec::new();
    for level in 0..=u8::MAX {
        if described.iter().all(|cache| cache.1 != level) {
            continue;
        }
        let keys = by_lists(cpus, &|cpu| {
            let mut caches = described.iter();
            let (.., index) = caches.find(|cache| (cache.0, cache.1) == (cpu, level))?;
            list_at(
                read,
                format!("cpu/cpu{cpu}/cache/index{index}/shared_cpu_list"),
            )
        });
        layers.extend(layer(Level::Cache(level), keys, true));
    }
    layers
}

/// Returns the CPUs on which the calling thread may run, if they are known.
#[cfg(all(target_os = "linux", not(miri)))]
pub fn allowed_now() -> Option<Vec<usize>> {
    allowed_for(0)
}

/// Returns the number of CPUs on which the calling thread or the process's first one may run,
/// whichever is larger, if it is known. The program may have bound one of the two threads to a CPU.
#[cfg(all(target_os = "linux", not(miri)))]
pub(super) fn max_allowed() -> Option<usize> {
    // SAFETY: the call takes no arguments and touches no memory of this process.
    let first = unsafe { libc::getpid() };
    let counts = [0, first].map(|thread| allowed_for(thread).map_or(0, |cpus| cpus.len()));
    counts.into_iter().max().filter(|&count| count > 0)
}

/// Returns the number of CPUs that may be used, where threads have no masks of their own, or none
/// are known.
#[cfg(not(all(target_os = "linux", not(miri))))]
pub(super) fn max_allowed() -> Option<usize> {
    allowed_now().map(|cpus| cpus.len())
}

/// Returns the CPUs on which a thread of this process may run; 0 is the calling one.
#[cfg(all(target_os = "linux", not(miri)))]
fn allowed_for(thread: libc::pid_t) -> Option<Vec<usize>> {
    /// The kernel refuses a mask that is too short for it.
    const WORDS: [usize; 3] = [16, 128, 1024];
    for words in WORDS {
        let mut mask = vec![0_u64; words];
        // SAFETY: the mask has as many bytes as the call is told, and the kernel writes no more.
        let answer = unsafe {
            libc::sched_getaffinity(thread, size_of_val(&mask[..]), mask.as_mut_ptr().cast())
        };
        if answer == 0 {
            let bits = mask.len() * 64;
            return Some(
                (0..bits)
                    .filter(|bit| mask[bit / 64] >> (bit % 64) & 1 == 1)
                    .collect(),
            );
        }
    }
    None
}

/// Returns the CPUs on which this process may run, if they are known.
#[cfg(all(windows, not(miri)))]
pub fn allowed_now() -> Option<Vec<usize>> {
    crate::windows::allowed()
}

/// Returns the CPUs on which the calling thread may run, if they are known.
#[cfg(not(all(any(target_os = "linux", windows), not(miri))))]
pub fn allowed_now() -> Option<Vec<usize>> {
    None
}
