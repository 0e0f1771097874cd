//! The number of CPUs that this process may use, and the reasons for it.

use std::fmt;
use std::path::{Path, PathBuf};

use super::list::CpuList;
use super::read::{allowed_now, max_allowed};

/// The number of CPUs that this process may use, and the reasons for it. Returned by
/// [`available_cpus`].
///
/// ```
/// let available = locksley_machine::available_cpus();
/// if let Some(quota) = available.quota() {
///     println!("the container leaves us the time of {quota} CPUs");
/// }
/// if let Some(cpus) = available.affinity() {
///     assert!(available.count() <= cpus.len());
/// }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Available {
    count: usize,
    affinity: Option<Vec<usize>>,
    quota: Option<f64>,
}

impl Available {
    /// Returns the number of workers that can have a CPU of their own.
    ///
    /// ```
    /// assert!(locksley_machine::available_cpus().count() >= 1);
    /// ```
    pub fn count(&self) -> usize {
        self.count
    }

    /// Returns the CPUs of the calling thread's affinity mask, if the operating system provides it.
    ///
    /// ```
    /// if let Some(cpus) = locksley_machine::available_cpus().affinity() {
    ///     println!("may run on {cpus:?}");
    ///     assert!(!cpus.is_empty());
    /// }
    /// ```
    pub fn affinity(&self) -> Option<&[usize]> {
        self.affinity.as_deref()
    }

    /// Returns the CPU time that the process's control groups (cgroups) grant it, in CPUs, if they
    /// limit it.
    ///
    /// ```
    /// if let Some(cpus) = locksley_machine::available_cpus().quota() {
    ///     println!("may use the time of {cpus} CPUs");
    ///     assert!(cpus > 0.0);
    /// }
    /// ```
    pub fn quota(&self) -> Option<f64> {
        self.quota
    }
}

impl fmt::Display for Available {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.count == 1 { "" } else { "s" };
        write!(f, "{} CPU{plural}: ", self.count)?;
        match &self.affinity {
            Some(cpus) => write!(
                f,
                "the affinity mask allows {} ({})",
                cpus.len(),
                CpuList(cpus.clone())
            )?,
            None => f.write_str("the affinity mask is not known")?,
        }
        match self.quota {
            Some(quota) => write!(f, ", the cgroup quota is the time of {quota}"),
            None => f.write_str(", no cgroup quota"),
        }
    }
}

/// Returns the number of CPUs that this process may use, which is a pool's default number of
/// workers. It takes into account the affinity mask and, on Linux, the quota of the control group
/// (containers).
///
/// The number is that of [`std::thread::available_parallelism`], on Windows that of the affinity
/// mask; the other fields explain it.
///
/// ```
/// let available = locksley_machine::available_cpus();
/// // For example: 2 CPUs: the affinity mask allows 8 (0-7), the cgroup quota is the time of 2.5
/// println!("{available}");
/// assert!(available.count() >= 1);
/// ```
pub fn available_cpus() -> Available {
    let affinity = allowed_now();
    let all = std::thread::available_parallelism().map_or(1, usize::from);
    Available {
        // On Windows `available_parallelism` ignores the mask.
        count: match &affinity {
            Some(cpus) if cfg!(windows) => cpus.len(),
            _ => all,
        },
        affinity,
        quota: if cfg!(target_os = "linux") {
            quota(&|path| std::fs::read_to_string(path).ok())
        } else {
            None
        },
    }
}

/// Returns the number of processors that the workers of a pool have now.
pub fn processors_now() -> usize {
    let available = || std::thread::available_parallelism().map_or(1, usize::from);
    let allowed = max_allowed().unwrap_or_else(available);
    let quota = if cfg!(target_os = "linux") {
        quota(&|path| std::fs::read_to_string(path).ok())
    } else {
        None
    };
    quota.map_or(allowed, |quota| allowed.min(quota as usize).max(1))
}

type Read<'a> = &'a dyn Fn(&Path) -> Option<String>;

/// Returns the tightest quota of the control groups that this process is in, in CPUs.
fn quota(read: Read<'_>) -> Option<f64> {
    let groups = read(Path::new("/proc/self/cgroup"))?;
    let mounts = read(Path::new("/proc/self/mountinfo"))?;
    groups
        .lines()
        .filter_map(|line| group_quota(line, &mounts, read))
        .reduce(f64::min)
}

/// Returns the tightest quota from one group of `/proc/self/cgroup` up to the root of its
/// hierarchy.
fn group_quota(line: &str, mounts: &str, read: Read<'_>) -> Option<f64> {
    // hierarchy:controllers:path; version 2 has no controllers.
    let mut parts = line.splitn(3, ':');
    let (_, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
    let second = controllers.is_empty();
    if !second && !controllers.split(',').any(|name| name == "cpu") {
        return None;
    }
    let (root, mount) = mounts.lines().find_map(|line| mounted(line, second))?;
    // In a container the hierarchy may be mounted from the container's group on.
    let inside = path.strip_prefix(root).unwrap_or(path);
    let mut group = PathBuf::from(mount);
    let mut tightest = own_quota(&group, second, read);
    for name in inside.split('/').filter(|name| !name.is_empty()) {
        if name == ".." {
            break;
        }
        group.push(name);
        let own = own_quota(&group, second, read);
        tightest = own.into_iter().chain(tightest).reduce(f64::min);
    }
    tightest
}

/// If this line of `/proc/self/mountinfo` is the mount of the hierarchy that limits CPUs, returns
/// its root and its mount point.
fn mounted(line: &str, second: bool) -> Option<(&str, &str)> {
    let (front, back) = line.split_once(" - ")?;
    let mut front = front.split(' ').skip(3);
    let (root, mount) = (front.next()?, front.next()?);
    let mut back = back.split(' ');
    let (kind, _, options) = (back.next()?, back.next()?, back.next()?);
    let fits = if second {
        kind == "cgroup2"
    } else {
        kind == "cgroup" && options.split(',').any(|option| option == "cpu")
    };
    fits.then_some((root, mount))
}

/// Returns the quota that a group itself sets.
fn own_quota(group: &Path, second: bool, read: Read<'_>) -> Option<f64> {
    let (quota, period) = if second {
        let text = read(&group.join("cpu.max"))?;
        let (quota, period) = text.trim().split_once(' ')?;
        (quota.to_owned(), period.to_owned())
    } else {
        (
            read(&group.join("cpu.cfs_quota_us"))?,
            read(&group.join("cpu.cfs_period_us"))?,
        )
    };
    // No quota is `max`, or -1.
    let quota: f64 = quota.trim().parse::<i64>().ok().filter(|&q| q > 0)? as f64;
    let period: f64 = period.trim().parse::<i64>().ok().filter(|&p| p > 0)? as f64;
    Some(quota / period)
}

#[cfg(test)]
#[path = "../../tests/unit/topology/available.rs"]
mod tests;
